//! Figure: its title, caption, drawings, data, and links to download both.
//!
//! Each figure is drawn for a wide and for a narrow page, so that text is never shrunk, and, where useful, on a linear
//! and on a logarithmic scale. Style sheets choose among the drawings, without a script.

use super::data_table::{DataTable, data_link};
use super::element::{Element, MarkupNode};
use crate::Error;
use crate::scale::ScaleKind;

/// Width of drawings for a wide page, px.
pub(crate) const WIDE: f64 = 720.0;

/// Width of drawings for a narrow page, px.
pub(crate) const NARROW: f64 = 330.0;

/// Style sheet of all drawings, in the page and as separate files.
pub(crate) const STYLE: &str = include_str!("figure.css");

/// Elements of an SVG drawing, with its size in px.
#[derive(Clone, Debug)]
pub(crate) struct Drawing {
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) content: Vec<Element>,
}

/// Drawings of the data on one scale, for both widths.
struct FigureView {
    spread: Option<ScaleKind>,
    wide: Drawing,
    narrow: Option<Drawing>,
}

/// Figure of the page.
pub(crate) struct Figure {
    pub(crate) id: String,
    pub(crate) title: String,
    /// Instructions for reading the figure, shown to all readers.
    pub(crate) caption: String,
    /// Description of the content for readers who cannot see the figure.
    pub(crate) description: String,
    views: Vec<FigureView>,
    table: DataTable,
    /// Data as CSV, if there are more than in the table next to the figure.
    csv: Option<String>,
}

/// Source of the SVG downloads: embedded in the links, or made from the page by a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SvgLinks {
    Embedded,
    Scripted,
}

impl Figure {
    pub(crate) fn new(id: impl Into<String>, title: impl Into<String>, table: DataTable) -> Self {
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

    /// Sets the caption and the description.
    pub(crate) fn with_text(
        mut self,
        caption: impl Into<String>,
        description: impl Into<String>,
    ) -> Self {
        self.caption = caption.into();
        self.description = description.into();
        self
    }

    /// Sets the CSV for a figure with more data than its table.
    pub(crate) fn with_csv(mut self, csv: String) -> Self {
        self.csv = Some(csv);
        self
    }

    /// Draws the figure on one scale, for both widths.
    pub(crate) fn with_drawings(mut self, draw: impl Fn(f64) -> Drawing) -> Self {
        self.views =
            vec![FigureView { spread: None, wide: draw(WIDE), narrow: Some(draw(NARROW)) }];
        self
    }

    /// Sets one drawing for pages of any width.
    pub(crate) fn with_drawing(mut self, drawing: Drawing) -> Self {
        self.views = vec![FigureView { spread: None, wide: drawing, narrow: None }];
        self
    }

    /// Draws the figure on both scales. `first` is shown first.
    pub(crate) fn with_both_scales(
        mut self,
        first: ScaleKind,
        draw: impl Fn(f64, ScaleKind) -> Drawing,
    ) -> Self {
        let second = if first == ScaleKind::Linear { ScaleKind::Log } else { ScaleKind::Linear };
        self.views = [first, second]
            .map(|spread| FigureView {
                spread: Some(spread),
                wide: draw(WIDE, spread),
                narrow: Some(draw(NARROW, spread)),
            })
            .into();
        self
    }

    /// Renders the figure for the page.
    ///
    /// # Errors
    /// Fails if the data cannot be written as CSV.
    pub(crate) fn render(&self, links: SvgLinks) -> Result<Element, Error> {
        let permalink = Element::new("a")
            .class("self")
            .with("href", format!("#{}", self.id))
            .push(&*self.title);
        let heading = Element::new("h3").with("id", format!("{}-h", self.id)).push(permalink);
        let mut caption = Element::new("figcaption").push(heading);
        if !self.caption.is_empty() {
            caption.add(Element::new("p").push(self.caption.as_str()));
        }
        let views = self.views.iter().enumerate().map(|(at, view)| self.view(at, view));
        Ok(Element::new("figure")
            .with("id", &self.id)
            .with("aria-labelledby", format!("{}-h", self.id))
            .push(caption)
            .extend(self.scale_switch())
            .extend(views)
            .push(self.data_and_links(links)?))
    }

    /// Renders the switch between the scales. Returns `None` if there is only one.
    fn scale_switch(&self) -> Option<Element> {
        if self.views.len() < 2 {
            return None;
        }
        let choices = self.views.iter().enumerate().flat_map(|(at, view)| {
            let name = scale_name(view.spread);
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

    fn view(&self, at: usize, view: &FigureView) -> Element {
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

    /// Renders a drawing with a title and a description for readers who cannot see it.
    fn svg(&self, drawing: &Drawing, spread: Option<ScaleKind>, id: &str) -> Element {
        let scale = spread.map_or_else(String::new, |_| format!(" ({} scale)", scale_name(spread)));
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

    /// Renders the data table and the download links.
    fn data_and_links(&self, links: SvgLinks) -> Result<Element, Error> {
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
                SvgLinks::Embedded => (data_link("image/svg+xml", &self.svg_file(view)), "svg"),
                SvgLinks::Scripted => (format!("#{}", self.id), "svg scripted"),
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

    /// Renders the first wide drawing as a separate SVG file. Returns `None` if nothing is drawn.
    pub(crate) fn file(&self) -> Option<String> {
        self.views.first().map(|view| self.svg_file(view))
    }

    /// Renders the wide drawing as a separate SVG file.
    fn svg_file(&self, view: &FigureView) -> String {
        let style = Element::new("style").push(MarkupNode::Raw(compact(STYLE)));
        let mut drawing = view.wide.clone();
        drawing.content.insert(0, style);
        self.svg(&drawing, view.spread, &self.id).class("fig").to_string()
    }
}

fn scale_name(spread: Option<ScaleKind>) -> &'static str {
    match spread {
        Some(ScaleKind::Log) => "logarithmic",
        _ => "linear",
    }
}

/// Removes comments and unnecessary blanks from a style sheet.
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
