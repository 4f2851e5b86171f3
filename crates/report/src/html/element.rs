//! Markup that is well formed by construction: elements, attributes and text, with everything escaped that a parser
//! would interpret. The same bytes are valid HTML and XML.

use std::fmt::{self, Display};

/// HTML elements that have no end tag.
const VOID: [&str; 5] = ["br", "hr", "input", "link", "meta"];

/// SVG elements that have no content here, unless a child is pushed.
const EMPTY: [&str; 6] = ["circle", "line", "path", "polygon", "rect", "use"];

/// Element with its attributes and its content.
#[derive(Clone, Debug)]
pub(crate) struct Element {
    name: &'static str,
    attributes: Vec<(&'static str, String)>,
    content: Vec<MarkupNode>,
}

/// Content of an element.
#[derive(Clone, Debug)]
pub(crate) enum MarkupNode {
    Element(Element),
    Text(String),
    /// Text that is not escaped: a style sheet, a script.
    Raw(String),
}

impl Element {
    pub(crate) fn new(name: &'static str) -> Self {
        Self { name, attributes: Vec::new(), content: Vec::new() }
    }

    /// Adds an attribute and returns the element.
    pub(crate) fn with(mut self, name: &'static str, value: impl Display) -> Self {
        self.attributes.push((name, value.to_string()));
        self
    }

    /// Adds an attribute if it has a value, and returns the element.
    pub(crate) fn with_some(self, name: &'static str, value: Option<impl Display>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Adds a `class` attribute and returns the element.
    pub(crate) fn class(self, classes: impl Display) -> Self {
        self.with("class", classes)
    }

    /// Appends a node and returns the element.
    pub(crate) fn push(mut self, node: impl Into<MarkupNode>) -> Self {
        self.content.push(node.into());
        self
    }

    /// Appends several nodes and returns the element.
    pub(crate) fn extend<N: Into<MarkupNode>>(
        mut self,
        nodes: impl IntoIterator<Item = N>,
    ) -> Self {
        self.content.extend(nodes.into_iter().map(Into::into));
        self
    }

    /// Appends a node in place.
    pub(crate) fn add(&mut self, node: impl Into<MarkupNode>) {
        self.content.push(node.into());
    }

    fn write(&self, out: &mut String) {
        out.push('<');
        out.push_str(self.name);
        for (name, value) in &self.attributes {
            out.push(' ');
            out.push_str(name);
            out.push_str("=\"");
            escape(value, out);
            out.push('"');
        }
        let childless = VOID.contains(&self.name) || EMPTY.contains(&self.name);
        if childless && self.content.is_empty() {
            out.push_str("/>");
            return;
        }
        out.push('>');
        for node in &self.content {
            node.write(out);
        }
        out.push_str("</");
        out.push_str(self.name);
        out.push('>');
    }
}

impl MarkupNode {
    fn write(&self, out: &mut String) {
        match self {
            Self::Element(element) => element.write(out),
            Self::Text(text) => escape(text, out),
            Self::Raw(text) => out.push_str(text),
        }
    }
}

/// Escapes a text for HTML and XML, and replaces characters that XML forbids with blanks.
fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push(' '),
            c => out.push(c),
        }
    }
}

impl From<Element> for MarkupNode {
    fn from(element: Element) -> Self {
        Self::Element(element)
    }
}

impl From<String> for MarkupNode {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for MarkupNode {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.write(&mut text);
        f.write_str(&text)
    }
}

/// Coordinate, displayed to a tenth of a pixel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Px(pub(crate) f64);

impl Display for Px {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Adding 0 turns -0 into 0.
        write!(f, "{}", (self.0 * 10.0).round() / 10.0 + 0.0)
    }
}

/// Formats a line through these points as the `d` attribute of a path. Empty if there are no points.
pub(crate) fn polyline(points: impl IntoIterator<Item = (f64, f64)>) -> String {
    let mut d = String::new();
    for (x, y) in points {
        d.push(if d.is_empty() { 'M' } else { 'L' });
        d.push_str(&format!("{},{}", Px(x), Px(y)));
    }
    d
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_in_a_text_is_obeyed() {
        let element = Element::new("p").with("title", "a\"b<").push("<script>&\u{1b}");
        let expected = "<p title=\"a&quot;b&lt;\">&lt;script&gt;&amp; </p>";
        assert_eq!(element.to_string(), expected);
    }

    #[test]
    fn elements_end_as_html_and_xml_both_want() {
        let of = |name| Element::new(name).to_string();
        assert_eq!([of("br"), of("a"), of("rect")], ["<br/>", "<a></a>", "<rect/>"]);
        let titled = Element::new("rect").push(Element::new("title").push("x"));
        assert_eq!(titled.to_string(), "<rect><title>x</title></rect>");
    }

    #[test]
    fn coordinates_are_short() {
        assert_eq!([Px(1.0), Px(1.26), Px(-0.01)].map(|px| px.to_string()), ["1", "1.3", "0"]);
        assert_eq!(polyline([(0.0, 1.0), (2.54, 3.0)]), "M0,1L2.5,3");
        assert_eq!(polyline([]), "");
    }

    proptest! {
        #[test]
        fn text_is_kept(text in "[ -~µ]{0,30}") {
            let written = Element::new("p").push(text.as_str()).to_string();
            let inner = &written["<p>".len()..written.len() - "</p>".len()];
            let read = inner
                .replace("&lt;", "<")
                .replace("&gt;", ">")
                .replace("&quot;", "\"")
                .replace("&amp;", "&");
            prop_assert!(!inner.contains(['<', '>']));
            prop_assert_eq!(read, text);
        }
    }
}
