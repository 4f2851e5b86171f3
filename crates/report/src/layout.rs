//! Layout of a [`Grid`] for output of a given width.
//!
//! A cell's pieces are placed side by side, or, if that makes the table too wide, on two lines. If even this does not
//! fit, pieces are placed side by side again and the columns are continued in further tables below, with the rows'
//! names repeated: a cell is never broken. Bars have a line of their own below stacked pieces. Side by side, they are
//! drawn only if all columns fit with them.

use crate::grid::{BAR, CellPiece, Grid, GridCell, GridColumn};
use crate::style::{Style, Tone};
use crate::text;

/// Blanks between columns.
const GAP: usize = 2;

/// Blanks between pieces side by side.
const PIECE_GAP: usize = 1;

/// Distribution of a cell's pieces over lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CellForm {
    /// All pieces on one line.
    Flat,
    /// All pieces on one line, without bars.
    Barless,
    /// First piece above all others, and the bar below them.
    Stacked,
}

impl CellForm {
    /// Returns the line of a piece.
    fn line_of(self, piece: usize) -> usize {
        match self {
            Self::Flat | Self::Barless => 0,
            Self::Stacked if piece == BAR => 2,
            Self::Stacked => piece.min(1),
        }
    }

    /// Returns the number of pieces that are shown.
    fn shown_count(self, pieces: usize) -> usize {
        if self == Self::Barless { pieces.min(BAR) } else { pieces }
    }
}

/// Column with the widths of its pieces, in one form.
struct MeasuredColumn<'a> {
    column: &'a GridColumn,
    form: CellForm,
    pieces: Vec<usize>,
    width: usize,
}

impl<'a> MeasuredColumn<'a> {
    fn new(column: &'a GridColumn, form: CellForm) -> Self {
        let count = form.shown_count(column.cells.iter().map(Vec::len).max().unwrap_or(0));
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

    /// Returns the number of lines of a cell.
    fn lines(&self) -> usize {
        self.pieces.len().checked_sub(1).map_or(1, |last| self.form.line_of(last) + 1)
    }

    /// Returns the pieces on a line.
    fn pieces_on_line(&self, line: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.pieces.len()).filter(move |&piece| self.form.line_of(piece) == line)
    }

    /// Returns the offset of bars on this line. It is the same in all rows, so that bars are aligned.
    fn bar_offset(&self, line: usize) -> usize {
        let before = self.pieces_on_line(line).filter(|&piece| piece < BAR);
        before.map(|piece| self.pieces[piece] + PIECE_GAP).sum()
    }

    fn line_width(&self, line: usize) -> usize {
        let widths: Vec<usize> =
            self.pieces_on_line(line).map(|piece| self.pieces[piece]).collect();
        widths.iter().sum::<usize>() + PIECE_GAP * widths.len().saturating_sub(1)
    }
}

/// Line of output, to which pieces are added from left to right.
struct LineWriter {
    style: Style,
    text: String,
    end: usize,
}

impl LineWriter {
    fn new(style: Style) -> Self {
        Self { style, text: String::new(), end: 0 }
    }

    /// Adds a piece at a column. Blanks at its end are removed, so that no line ends in blanks.
    fn put(&mut self, at: usize, piece: &CellPiece) {
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
    /// Renders the table as text. Every line ends in a line feed.
    pub(crate) fn render(&self, style: Style) -> String {
        let draft = |form| TableLayout::new(self, form, usize::from(style.width));
        let fits = |draft: &TableLayout<'_>| draft.panels.len() <= 1;
        let forms = [CellForm::Flat, CellForm::Barless, CellForm::Stacked];
        let fitting = forms.into_iter().map(draft).find(fits);
        fitting.unwrap_or_else(|| draft(CellForm::Barless)).render(style)
    }
}

/// Grid in one form, its columns distributed over as many tables as the width requires.
struct TableLayout<'a> {
    names: MeasuredColumn<'a>,
    panels: Vec<Vec<MeasuredColumn<'a>>>,
}

impl<'a> TableLayout<'a> {
    fn new(grid: &'a Grid, form: CellForm, width: usize) -> Self {
        let names = MeasuredColumn::new(&grid.names, form);
        let mut panels: Vec<Vec<MeasuredColumn<'a>>> = Vec::new();
        let mut used = 0;
        for column in &grid.columns {
            let column = MeasuredColumn::new(column, form);
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

    /// Returns the number of lines of a row.
    fn row_height(&self) -> usize {
        let all = self.panels.iter().flatten().chain([&self.names]);
        all.map(MeasuredColumn::lines).max().unwrap_or(1)
    }

    fn render(&self, style: Style) -> String {
        let panels: Vec<String> =
            self.panels.iter().map(|panel| self.panel(panel, style)).collect();
        panels.join("\n")
    }

    /// Renders one table: headings, a rule, the rows.
    fn panel(&self, panel: &[MeasuredColumn<'a>], style: Style) -> String {
        let columns: Vec<(usize, &MeasuredColumn<'a>)> = self.columns_with_offsets(panel);
        let mut lines = headings(&columns, style);
        let spaced = self.row_height() == 2;
        // A network without any text in these columns is in another table.
        let rows = (0..self.names.column.cells.len())
            .filter(|&row| panel.iter().any(|column| column.column.has_text(row)));
        for (at, row) in rows.enumerate() {
            if spaced && at > 0 {
                lines.push(String::new());
            }
            lines.extend((0..self.row_height()).map(|line| row_line(&columns, row, line, style)));
        }
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    /// Returns the names and a table's columns, each with its offset.
    fn columns_with_offsets<'b>(
        &'b self,
        panel: &'b [MeasuredColumn<'a>],
    ) -> Vec<(usize, &'b MeasuredColumn<'a>)> {
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

/// Renders groups, names, units and a rule. Lines without text are left out.
fn headings(columns: &[(usize, &MeasuredColumn<'_>)], style: Style) -> Vec<String> {
    let [mut groups, mut names, mut units] =
        [LineWriter::new(style), LineWriter::new(style), LineWriter::new(style)];
    let mut group = "";
    for (at, MeasuredColumn { column, .. }) in columns {
        if column.group != group {
            groups.put(*at, &CellPiece::new(Tone::Strong, column.group.clone()));
        }
        group = &column.group;
        names.put(*at, &CellPiece::new(Tone::Strong, column.name.clone()));
        units.put(*at, &CellPiece::new(Tone::Faint, column.unit.clone()));
    }
    let end = columns.last().map_or(0, |(at, column)| at + column.width);
    let rule = style.paint(Tone::Faint, &"─".repeat(end));
    let lines = [groups.text, names.text, units.text, rule];
    lines.into_iter().filter(|line| !line.is_empty()).collect()
}

fn row_line(
    columns: &[(usize, &MeasuredColumn<'_>)],
    row: usize,
    line: usize,
    style: Style,
) -> String {
    let none = GridCell::new();
    let mut text = LineWriter::new(style);
    for (at, column) in columns {
        let cell = column.column.cells.get(row).unwrap_or(&none);
        let begin = *at;
        let mut at = begin;
        for piece in column.pieces_on_line(line) {
            // A blank piece is skipped, and the next one takes its place: the word about a figure that has no ratio.
            let Some(words) = cell.get(piece).filter(|words| !words.text.trim().is_empty()) else {
                continue;
            };
            if piece == BAR {
                at = begin + column.bar_offset(line);
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

    fn column(name: &str, cells: &[Vec<String>]) -> GridColumn {
        let piece = |text: &String| CellPiece::new(Tone::Plain, text.clone());
        GridColumn {
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
