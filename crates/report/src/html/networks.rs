//! Networks of a page: their order, and their colours and dashes in all drawings.
//!
//! The baseline has the colour of the text. All others take the qualitative colours of P. Tol (*Colour Schemes*,
//! SRON/EPS/TN/09-002, issue 3.2, 2021), which are distinct with any common colour vision: *vibrant*, *muted* and
//! *medium contrast* in light mode, *light* in dark mode. With more networks than colours, lines are dashed. Colour is
//! never the only distinction: every line and every row carries its name.

use super::element::Element;
use tare_record::Document;

/// Number of colours.
const COLOURS: usize = 7;

/// Number of dash patterns.
const DASHES: usize = 4;

/// Networks that have figures, in the order of the document.
pub(crate) struct PageNetworks<'a> {
    labels: Vec<&'a str>,
    baseline: Option<&'a str>,
}

impl<'a> PageNetworks<'a> {
    pub(crate) fn new(document: &'a Document, baseline: &'a str) -> Self {
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

    /// Returns the baseline, or `None` if it was not measured.
    pub(crate) fn baseline(&self) -> Option<&'a str> {
        self.baseline
    }

    /// Returns the CSS classes of a network: its index, its colour, its dashes.
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

    /// Makes an SVG group in a network's classes.
    pub(crate) fn group(&self, label: &str) -> Element {
        Element::new("g").class(self.classes(label))
    }

    /// Returns the CSS rules that fade the drawings of a network that is switched off.
    pub(crate) fn css_rules(&self) -> String {
        (0..self.labels.len())
            .map(|n| format!("body:has(#net-{n}:not(:checked)) .n{n}{{opacity:.08}}"))
            .collect()
    }

    /// Renders a checkbox for each network. They need no script.
    pub(crate) fn checkboxes(&self) -> Element {
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
