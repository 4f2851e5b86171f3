//! Lines at the end of a terminal's output that are drawn again in place. The scrollback above them stays.

use super::styled_line::StyledLine;

/// Lines that are drawn in place. The cursor rests at the end of the last of them and stays visible, so that nothing of
/// it has to be restored.
#[derive(Debug, Default)]
pub(super) struct Screen {
    /// Width of each line on the terminal; empty if nothing is drawn.
    drawn: Vec<usize>,
}

impl Screen {
    /// Returns the output that replaces the drawn lines by these, on a terminal of this width.
    ///
    /// The old lines are erased as a whole: a line that was only cleared from some column on keeps its width in some
    /// terminals (tmux), which wrap its blanks when they become narrower. It does not flicker, as it is one write.
    pub(super) fn draw(&mut self, lines: &[StyledLine], columns: usize, colour: bool) -> String {
        let mut output = self.erase(columns);
        let painted: Vec<String> = lines.iter().map(|line| line.paint(colour)).collect();
        output.push_str(&painted.join("\r\n"));
        self.drawn = lines.iter().map(StyledLine::painted_width).collect();
        output
    }

    /// Returns the output that removes the drawn lines.
    pub(super) fn erase(&mut self, columns: usize) -> String {
        if self.drawn.is_empty() {
            return String::new();
        }
        let output = format!("{}\x1b[J", self.to_first_line(columns));
        self.drawn.clear();
        output
    }

    /// Forgets the drawn lines, because other output has come below them.
    pub(super) fn forget(&mut self) {
        self.drawn.clear();
    }

    /// Returns the output that moves the cursor to the beginning of the drawn lines. A terminal that has become
    /// narrower has wrapped them, as all do whose text can be selected across lines; xterm cuts them instead, and then
    /// loses some lines above.
    fn to_first_line(&self, columns: usize) -> String {
        let rows: usize =
            self.drawn.iter().map(|width| width.div_ceil(columns.max(1)).max(1)).sum();
        match rows {
            0 => String::new(),
            1 => "\r".to_owned(),
            rows => format!("\r\x1b[{}A", rows - 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::styled_line::Emphasis;
    use super::*;

    fn lines(texts: &[&str]) -> Vec<StyledLine> {
        texts.iter().map(|text| StyledLine::new(Emphasis::Plain, text)).collect()
    }

    #[test]
    fn lines_are_drawn_over_the_last_ones() {
        let mut screen = Screen::default();
        let first = screen.draw(&lines(&["one", "two"]), 80, true);
        assert_eq!(first, "one\r\ntwo");
        let second = screen.draw(&lines(&["three"]), 80, true);
        assert_eq!(second, "\r\x1b[1A\x1b[Jthree");
        assert_eq!(screen.erase(80), "\r\x1b[J");
        assert_eq!(screen.erase(80), "");
    }

    #[test]
    fn a_narrower_terminal_has_wrapped_the_lines() {
        let mut screen = Screen::default();
        screen.draw(&lines(&["a line of 20 columns", "", "short"]), 80, true);
        assert!(screen.draw(&lines(&["x"]), 8, true).starts_with("\r\x1b[4A"), "3 + 1 + 1 rows");
    }

    #[test]
    fn after_other_output_lines_are_drawn_below_it() {
        let mut screen = Screen::default();
        screen.draw(&lines(&["one", "two"]), 80, false);
        screen.forget();
        assert!(screen.draw(&lines(&["one"]), 80, false).starts_with("one"));
    }
}
