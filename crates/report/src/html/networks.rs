//! The networks of a page: their order, and how each is drawn everywhere.
//!
//! The baseline is drawn in the ink of the text. All others take the qualitative colours of P. Tol (*Colour Schemes*,
//! SRON/EPS/TN/09-002, issue 3.2, 2021), which people with any common colour vision tell apart: *vibrant*, *muted* and
//! *medium contrast* on paper, *light* in the dark. Where there are more networks than colours, lines are dashed. Nothing
//! is said by colour alone: every line and every row carries its name.

use super::element::Element;
use tare_record::Document;

/// How many colours there are.
const COLOURS: usize = 7;

/// How many ways of dashing a line there are.
const DASHES: usize = 4;

/// The networks that have figures, in the order of the document.
pub(crate) struct Networks<'a> {
    labels: Vec<&'a str>,
    baseline: Option<&'a str>,
}

impl<'a> Networks<'a> {
    pub(crate) fn of(document: &'a Document, baseline: &'a str) -> Self {
        let mut labels: Vec<&str> = Vec::new();
        for cell in &document.cells {
            if !labels.contains(&cell.label.as_str()) {
                labels.push(&cell.label);
            }
        }
        let told = document.cells.iter().find_map(crate::columns::baseline);
        let baseline = told.unwrap_or(baseline);
        Self { baseline: labels.contains(&baseline).then_some(baseline), labels }
    }

    pub(crate) fn labels(&self) -> &[&'a str] {
        &self.labels
    }

    /// The network that all others are beside, where it was measured.
    pub(crate) fn baseline(&self) -> Option<&'a str> {
        self.baseline
    }

    /// The classes of all that is drawn for a network: which it is, its colour, its dashes.
    pub(crate) fn classes(&self, label: &str) -> String {
        let Some(index) = self.labels.iter().position(|other| *other == label) else {
            return "c-none".to_owned();
        };
        if self.baseline == Some(label) {
            return format!("n{index} c-base");
        }
        let others = self.labels.iter().filter(|other| self.baseline != Some(**other));
        let place = others.take_while(|other| **other != label).count();
        format!("n{index} c{} d{}", place % COLOURS, place / COLOURS % DASHES)
    }

    /// A group in which something of a network is drawn.
    pub(crate) fn group(&self, label: &str) -> Element {
        Element::new("g").class(self.classes(label))
    }

    /// The rules by which a network that is switched off fades.
    pub(crate) fn rules(&self) -> String {
        (0..self.labels.len())
            .map(|n| format!("body:has(#net-{n}:not(:checked)) .n{n}{{opacity:.08}}"))
            .collect()
    }

    /// The switches, one a network: they need no script.
    pub(crate) fn switches(&self) -> Element {
        let chips = self.labels.iter().enumerate().map(|(n, label)| {
            let id = format!("net-{n}");
            let input = Element::new("input")
                .with("type", "checkbox")
                .with("id", &id)
                .with("checked", "checked")
                .with("autocomplete", "off");
            let line = Element::new("line").class("line").with("x1", 1).with("x2", 23);
            let swatch = Element::new("svg")
                .class(format!("fig {}", self.classes(label).replacen('n', "of-n", 1)))
                .with("viewBox", "0 0 24 10")
                .with("aria-hidden", "true")
                .push(line.with("y1", 5).with("y2", 5));
            let name = Element::new("label").with("for", &id).push(swatch).push(*label);
            Element::new("span").class("chip").push(input).push(name)
        });
        Element::new("fieldset")
            .class("networks")
            .push(Element::new("legend").push("Networks"))
            .extend(chips)
    }
}
