//! Lays a [`Grid`] out on paper of a given width.
//!
//! A cell's pieces stand side by side, or, where that makes the table too wide, in two lines. Where even this does
//! not fit, pieces stand side by side again and the columns are continued in further tables below, with the rows'
//! names repeated: a cell is never broken. Bars have a line of their own below stacked pieces; beside others they stand
//! only where all columns fit with them.

use crate::grid::{BAR, Cell, Column, Grid, Piece};
use crate::style::{Style, Tone};
use crate::text;

/// Blanks between columns.
const GAP: usize = 2;

/// Blanks between pieces that stand side by side.
const PIECE_GAP: usize = 1;

/// How the pieces of a cell are spread over lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// All in one line.
    Flat,
    /// All in one line, but for bars, which are left out.
    Barless,
    /// The first piece above all others, and the bar below them.
    Stacked,
}

impl Form {
    /// Which line a piece is on.
    fn line(self, piece: usize) -> usize {
        match self {
            Self::Flat | Self::Barless => 0,
            Self::Stacked if piece == BAR => 2,
            Self::Stacked => piece.min(1),
        }
    }

    /// How many of so many pieces are shown.
    fn shown(self, pieces: usize) -> usize {
        if self == Self::Barless { pieces.min(BAR) } else { pieces }
    }
}

/// A column with the widths of its pieces, in one form.
struct Measured<'a> {
    column: &'a Column,
    form: Form,
    pieces: Vec<usize>,
    width: usize,
}

impl<'a> Measured<'a> {
    fn new(column: &'a Column, form: Form) -> Self {
        let count = form.shown(column.cells.iter().map(Vec::len).max().unwrap_or(0));
        let pieces: Vec<usize> = (0..count)
            .map(|at| {
                let widths = column.cells.iter().filter_map(|cell| cell.get(at));
                widths.map(|piece| text::width(&piece.text)).max().unwrap_or(0)
            })
            .collect();
        let mut measured = Self { column, form, pieces, width: 0 };
        let headings = [&column.group, &column.name, &column.unit].map(|text| text::width(text));
        let lines = (0..measured.lines()).map(|line| measured.line_width(line));
        measured.width = lines.chain(headings).max().unwrap_or(0);
        measured
    }

    /// How many lines a cell takes.
    fn lines(&self) -> usize {
        self.pieces.len().checked_sub(1).map_or(1, |last| self.form.line(last) + 1)
    }

    /// Which pieces are on a line.
    fn on_line(&self, line: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.pieces.len()).filter(move |&piece| self.form.line(piece) == line)
    }

    /// Where bars begin on this line: all of them below each other, whatever stands before.
    fn before_bar(&self, line: usize) -> usize {
        let before = self.on_line(line).filter(|&piece| piece < BAR);
        before.map(|piece| self.pieces[piece] + PIECE_GAP).sum()
    }

    fn line_width(&self, line: usize) -> usize {
        let widths: Vec<usize> = self.on_line(line).map(|piece| self.pieces[piece]).collect();
        widths.iter().sum::<usize>() + PIECE_GAP * widths.len().saturating_sub(1)
    }
}

/// One line of output, to which pieces are added at growing columns.
struct Line {
    style: Style,
    text: String,
    end: usize,
}

impl Line {
    fn new(style: Style) -> Self {
        Self { style, text: String::new(), end: 0 }
    }

    /// Adds a piece at a column; blanks at a piece's end are left out, so no line ends in blanks.
    fn put(&mut self, at: usize, piece: &Piece) {
        let words = piece.text.trim_end();
        if words.is_empty() {
            return;
        }
        self.text.push_str(&" ".repeat(at.saturating_sub(self.end)));
        self.text.push_str(&self.style.paint(piece.tone, words));
        self.end = at.max(self.end) + text::width(words);
    }
}

impl Grid {
    /// The table as text, every line with its end.
    pub(crate) fn render(&self, style: Style) -> String {
        let draft = |form| Draft::new(self, form, usize::from(style.width));
        let fits = |draft: &Draft<'_>| draft.panels.len() <= 1;
        let forms = [Form::Flat, Form::Barless, Form::Stacked];
        let fitting = forms.into_iter().map(draft).find(fits);
        fitting.unwrap_or_else(|| draft(Form::Barless)).render(style)
    }
}

/// A grid in one form, its columns spread over as many tables as the width asks for.
struct Draft<'a> {
    names: Measured<'a>,
    panels: Vec<Vec<Measured<'a>>>,
}

impl<'a> Draft<'a> {
    fn new(grid: &'a Grid, form: Form, width: usize) -> Self {
        let names = Measured::new(&grid.names, form);
        let mut panels: Vec<Vec<Measured<'a>>> = Vec::new();
        let mut used = 0;
        for column in &grid.columns {
            let column = Measured::new(column, form);
            let wider = used + GAP + column.width;
            match panels.last_mut() {
                Some(panel) if wider <= width => {
                    used = wider;
                    panel.push(column);
                }
                _ => {
                    used = names.width + GAP + column.width;
                    panels.push(vec![column]);
                }
            }
        }
        Self { names, panels }
    }

    /// Lines of a row.
    fn row_height(&self) -> usize {
        let all = self.panels.iter().flatten().chain([&self.names]);
        all.map(Measured::lines).max().unwrap_or(1)
    }

    fn render(&self, style: Style) -> String {
        let panels: Vec<String> =
            self.panels.iter().map(|panel| self.panel(panel, style)).collect();
        panels.join("\n")
    }

    /// One table: headings, a rule, the rows.
    fn panel(&self, panel: &[Measured<'a>], style: Style) -> String {
        let columns: Vec<(usize, &Measured<'a>)> = self.places(panel);
        let mut lines = headings(&columns, style);
        let spaced = self.row_height() == 2;
        // A network that has nothing in any of these columns is in another table.
        let rows = (0..self.names.column.cells.len())
            .filter(|&row| panel.iter().any(|column| column.column.has(row)));
        for (at, row) in rows.enumerate() {
            if spaced && at > 0 {
                lines.push(String::new());
            }
            lines.extend((0..self.row_height()).map(|line| row_line(&columns, row, line, style)));
        }
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    /// The names and a table's columns, each with where it begins.
    fn places<'b>(&'b self, panel: &'b [Measured<'a>]) -> Vec<(usize, &'b Measured<'a>)> {
        let mut at = 0;
        [&self.names]
            .into_iter()
            .chain(panel)
            .map(|column| {
                let place = (at, column);
                at += column.width + GAP;
                place
            })
            .collect()
    }
}

/// Groups, names, units, a rule; a line without any text is left out.
fn headings(columns: &[(usize, &Measured<'_>)], style: Style) -> Vec<String> {
    let [mut groups, mut names, mut units] = [Line::new(style), Line::new(style), Line::new(style)];
    let mut group = "";
    for (at, Measured { column, .. }) in columns {
        if column.group != group {
            groups.put(*at, &Piece::new(Tone::Strong, column.group.clone()));
        }
        group = &column.group;
        names.put(*at, &Piece::new(Tone::Strong, column.name.clone()));
        units.put(*at, &Piece::new(Tone::Faint, column.unit.clone()));
    }
    let end = columns.last().map_or(0, |(at, column)| at + column.width);
    let rule = style.paint(Tone::Faint, &"─".repeat(end));
    let lines = [groups.text, names.text, units.text, rule];
    lines.into_iter().filter(|line| !line.is_empty()).collect()
}

fn row_line(columns: &[(usize, &Measured<'_>)], row: usize, line: usize, style: Style) -> String {
    let none = Cell::new();
    let mut text = Line::new(style);
    for (at, column) in columns {
        let cell = column.column.cells.get(row).unwrap_or(&none);
        let begin = *at;
        let mut at = begin;
        for piece in column.on_line(line) {
            // What follows a blank piece takes its place: a word about a figure without a ratio.
            let Some(words) = cell.get(piece).filter(|words| !words.text.trim().is_empty()) else {
                continue;
            };
            if piece == BAR {
                at = begin + column.before_bar(line);
            }
            text.put(at, words);
            at += column.pieces[piece] + PIECE_GAP;
        }
    }
    text.text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn column(name: &str, cells: &[Vec<String>]) -> Column {
        let piece = |text: &String| Piece::new(Tone::Plain, text.clone());
        Column {
            group: String::new(),
            name: name.to_owned(),
            unit: String::new(),
            cells: cells.iter().map(|cell| cell.iter().map(piece).collect()).collect(),
        }
    }

    fn figures(rows: usize, columns: usize) -> impl Strategy<Value = Vec<Vec<Vec<String>>>> {
        let cell = prop::collection::vec("[0-9±]{0,8}", 3);
        prop::collection::vec(prop::collection::vec(cell, rows), columns)
    }

    proptest! {
        #[test]
        fn every_piece_is_shown_and_no_line_is_wider_than_the_paper(
            figures in figures(3, 5), width in 50u16..150
        ) {
            let names: Vec<Vec<String>> = (0..3).map(|row| vec![format!("row-{row}")]).collect();
            let grid = Grid {
                names: column("name", &names),
                columns: figures.iter().map(|cells| column("figure", cells)).collect(),
            };
            let text = grid.render(Style { width, colour: false });
            for line in text.lines() {
                prop_assert!(text::width(line) <= usize::from(width));
                prop_assert_eq!(line, line.trim_end());
            }
            let shown = |text: &str| {
                let mut pieces: Vec<String> =
                    text.split_whitespace().filter(|word| !word.contains("row")).map(str::to_owned).collect();
                pieces.retain(|word| !word.contains('─') && word != "name" && word != "figure");
                pieces.sort_unstable();
                pieces
            };
            let all = figures.iter().flatten().flatten().cloned().collect::<Vec<_>>().join(" ");
            prop_assert_eq!(shown(&text), shown(&all));
        }
    }
}
