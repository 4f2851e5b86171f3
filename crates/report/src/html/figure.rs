//! A figure: its title, what to see in it, its drawings, its data, and links to take both along.
//!
//! It is drawn for a wide and for a narrow page, so that text is never shrunk, and, where that helps, on a linear and on
//! a logarithmic scale. Style sheets choose among the drawings, without a script.

use super::data::{Table, data_link};
use super::element::{Element, Node};
use crate::Error;
use crate::scale::Spread;

/// The width of drawings for a wide page, px.
pub(crate) const WIDE: f64 = 720.0;

/// The width of drawings for a narrow page, px.
pub(crate) const NARROW: f64 = 330.0;

/// What every drawing looks like, in the page and as a file of its own.
pub(crate) const STYLE: &str = include_str!("figure.css");

/// What is drawn on a paper of a certain size.
#[derive(Clone, Debug)]
pub(crate) struct Drawing {
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) content: Vec<Element>,
}

/// The same data on one scale, for both widths.
struct View {
    spread: Option<Spread>,
    wide: Drawing,
    narrow: Option<Drawing>,
}

/// A figure of the page.
pub(crate) struct Figure {
    pub(crate) id: String,
    pub(crate) title: String,
    /// How to read it, for everybody.
    pub(crate) caption: String,
    /// What is seen in it, for who does not see it.
    pub(crate) description: String,
    views: Vec<View>,
    table: Table,
    /// The data as CSV, where they are more than the table beside the figure holds.
    csv: Option<String>,
}

/// Whether links to drawings hold them, or a script makes them from the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Links {
    Embedded,
    Scripted,
}

impl Figure {
    pub(crate) fn new(id: impl Into<String>, title: impl Into<String>, table: Table) -> Self {
        Self {
            id: id.into(),
            title: title.into(),
            caption: String::new(),
            description: String::new(),
            views: Vec::new(),
            table,
            csv: None,
        }
    }

    /// The same with words on how to read it and on what is seen.
    pub(crate) fn told(
        mut self,
        caption: impl Into<String>,
        description: impl Into<String>,
    ) -> Self {
        self.caption = caption.into();
        self.description = description.into();
        self
    }

    /// The same with more data than stand beside it.
    pub(crate) fn with_csv(mut self, csv: String) -> Self {
        self.csv = Some(csv);
        self
    }

    /// The same with its drawings on one scale.
    pub(crate) fn drawn(mut self, draw: impl Fn(f64) -> Drawing) -> Self {
        self.views = vec![View { spread: None, wide: draw(WIDE), narrow: Some(draw(NARROW)) }];
        self
    }

    /// The same with one drawing for every page.
    pub(crate) fn drawn_once(mut self, drawing: Drawing) -> Self {
        self.views = vec![View { spread: None, wide: drawing, narrow: None }];
        self
    }

    /// The same with its drawings on both scales, this one shown first.
    pub(crate) fn drawn_on_both(
        mut self,
        first: Spread,
        draw: impl Fn(f64, Spread) -> Drawing,
    ) -> Self {
        let second = if first == Spread::Linear { Spread::Log } else { Spread::Linear };
        self.views = [first, second]
            .map(|spread| View {
                spread: Some(spread),
                wide: draw(WIDE, spread),
                narrow: Some(draw(NARROW, spread)),
            })
            .into();
        self
    }

    /// The figure as it stands in the page.
    ///
    /// # Errors
    /// When the data cannot be written as CSV.
    pub(crate) fn render(&self, links: Links) -> Result<Element, Error> {
        let heading = Element::new("h3").with("id", format!("{}-h", self.id)).push(&*self.title);
        let mut caption = Element::new("figcaption").push(heading);
        if !self.caption.is_empty() {
            caption.add(Element::new("p").push(self.caption.as_str()));
        }
        let views = self.views.iter().enumerate().map(|(at, view)| self.view(at, view));
        Ok(Element::new("figure")
            .with("id", &self.id)
            .with("aria-labelledby", format!("{}-h", self.id))
            .push(caption)
            .extend(self.switch())
            .extend(views)
            .push(self.below(links)?))
    }

    /// The switch between the scales, where there are two.
    fn switch(&self) -> Option<Element> {
        if self.views.len() < 2 {
            return None;
        }
        let choices = self.views.iter().enumerate().flat_map(|(at, view)| {
            let name = word(view.spread);
            let id = format!("{}-{name}", self.id);
            let checked = (at == 0).then_some("checked");
            let input = Element::new("input")
                .class(format!("to-{at}"))
                .with("type", "radio")
                .with("name", format!("{}-scale", self.id))
                .with("id", &id)
                .with_some("checked", checked)
                .with("autocomplete", "off");
            [input, Element::new("label").with("for", &id).push(name)]
        });
        let legend = Element::new("legend").push(format!("Scale of “{}”", self.title));
        Some(Element::new("fieldset").class("scale").push(legend).extend(choices))
    }

    fn view(&self, at: usize, view: &View) -> Element {
        let svg = |drawing: &Drawing, size: &str| {
            self.svg(drawing, view.spread, &format!("{}-{at}{size}", self.id))
        };
        let wide = match &view.narrow {
            Some(_) => svg(&view.wide, "w").class("fig wide"),
            None => svg(&view.wide, "w").class("fig once"),
        };
        Element::new("div")
            .class(format!("view view-{at}"))
            .push(wide)
            .extend(view.narrow.as_ref().map(|narrow| svg(narrow, "n").class("fig narrow")))
    }

    /// A drawing with its name and description for those who do not see it.
    fn svg(&self, drawing: &Drawing, spread: Option<Spread>, id: &str) -> Element {
        let scale = spread.map_or_else(String::new, |_| format!(" ({} scale)", word(spread)));
        Element::new("svg")
            .with("xmlns", "http://www.w3.org/2000/svg")
            .with("viewBox", format!("0 0 {} {}", drawing.width, drawing.height.ceil()))
            .with("width", drawing.width)
            .with("height", drawing.height.ceil())
            .with("role", "img")
            .with("aria-labelledby", format!("{id}-t"))
            .with("aria-describedby", format!("{id}-d"))
            .push(
                Element::new("title")
                    .with("id", format!("{id}-t"))
                    .push(self.title.clone() + &scale),
            )
            .push(
                Element::new("desc").with("id", format!("{id}-d")).push(self.description.as_str()),
            )
            .extend(drawing.content.iter().cloned())
    }

    /// The data and the links.
    fn below(&self, links: Links) -> Result<Element, Error> {
        let summary = Element::new("summary").push("Data");
        let table = Element::new("div")
            .class("scroll")
            .with("tabindex", 0)
            .with("role", "region")
            .with("aria-label", format!("Data of “{}”", self.title))
            .push(self.table.render(&self.title));
        let csv = match &self.csv {
            Some(csv) => csv.clone(),
            None => self.table.csv()?,
        };
        let mut downloads = Element::new("p")
            .class("downloads")
            .push(self.link("csv", data_link("text/csv", &csv)).push("CSV"));
        if let Some(view) = self.views.first() {
            let (href, class) = match links {
                Links::Embedded => (data_link("image/svg+xml", &self.file(view)), "svg"),
                Links::Scripted => (format!("#{}", self.id), "svg scripted"),
            };
            downloads.add(self.link("svg", href).class(class).push("SVG"));
        }
        Ok(Element::new("div")
            .class("below")
            .push(Element::new("details").push(summary).push(table))
            .push(downloads))
    }

    fn link(&self, extension: &str, href: String) -> Element {
        Element::new("a")
            .with("download", format!("{}.{extension}", self.id))
            .with("href", href)
            .with("aria-label", format!("“{}” as {}", self.title, extension.to_uppercase()))
    }

    /// The wide drawing as a file of its own.
    fn file(&self, view: &View) -> String {
        let style = Element::new("style").push(Node::Raw(compact(STYLE)));
        let mut drawing = view.wide.clone();
        drawing.content.insert(0, style);
        self.svg(&drawing, view.spread, &self.id).class("fig").to_string()
    }
}

fn word(spread: Option<Spread>) -> &'static str {
    match spread {
        Some(Spread::Log) => "logarithmic",
        _ => "linear",
    }
}

/// A style sheet without the blanks and comments that only people need.
pub(crate) fn compact(style: &str) -> String {
    let mut out = String::with_capacity(style.len());
    let mut rest = style;
    while let Some((before, after)) = rest.split_once("/*") {
        out.push_str(before);
        rest = after.split_once("*/").map_or("", |(_, rest)| rest);
    }
    out.push_str(rest);
    out.lines().map(str::trim).collect::<String>().replace(": ", ":").replace(" {", "{")
}
