//! HTML page of a run: one self-contained file, readable offline, with or without scripts.
//!
//! Everything is drawn as SVG when the page is made, from the results of the analysis: the page computes nothing but
//! positions. The same run gives the same bytes.

mod answer;
mod bars;
mod cpu;
mod data_table;
mod element;
mod figure;
mod heat_map;
mod hop_costs;
mod latency;
mod line_chart;
mod networks;
mod node_heat_map;
mod notes;
mod page_sections;
mod paths;
mod plot;
mod published;
mod subject;
mod sweeps;
mod trial_timelines;

use crate::Error;
pub(crate) use bars::bar_chart_file;
pub(crate) use element::{Element, MarkupNode};
pub(crate) use figure::compact;
use figure::{STYLE, SvgLinks};
use networks::PageNetworks;
use page_sections::{DetailLevel, PageContent};
use tare_record::journal::RunHeader;
use tare_record::{ChartData, Document};

/// Size limit of a page, bytes. Larger pages omit details of some workloads and shapes.
const SIZE_LIMIT: usize = 1_400_000;

/// Levels of detail, from the full page to the smallest.
const DETAILS: [DetailLevel; 6] = [
    DetailLevel { subjects: usize::MAX, sweeps: usize::MAX, links: SvgLinks::Embedded },
    DetailLevel { subjects: usize::MAX, sweeps: usize::MAX, links: SvgLinks::Scripted },
    DetailLevel { subjects: 12, sweeps: 24, links: SvgLinks::Scripted },
    DetailLevel { subjects: 6, sweeps: 12, links: SvgLinks::Scripted },
    DetailLevel { subjects: 3, sweeps: 6, links: SvgLinks::Scripted },
    DetailLevel { subjects: 1, sweeps: 3, links: SvgLinks::Scripted },
];

/// Input of a page.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// Figures of the run.
    pub document: &'a Document,
    /// First line of the journal: the plan and the environment.
    pub run: &'a RunHeader,
    /// Series, distributions and CPU costs for the charts.
    pub picture: &'a ChartData,
}

/// Renders the page, well formed as HTML and as XML, with no reference to anything outside of it.
///
/// # Errors
/// Fails if data cannot be written as CSV.
pub fn html(page: &Page<'_>) -> Result<String, Error> {
    let mut text = String::new();
    for detail in DETAILS {
        text = render(page, detail)?;
        if text.len() <= SIZE_LIMIT {
            break;
        }
    }
    Ok(text)
}

fn render(page: &Page<'_>, detail: DetailLevel) -> Result<String, Error> {
    let document = page.document;
    let networks = PageNetworks::new(document, &page.run.plan.baseline);
    let story = PageContent::new(page, &networks, detail)?;
    let title = headline(document, &networks);
    let body = Element::new("body")
        .push(Element::new("a").class("skip").with("href", "#answer").push("Skip to the answer"))
        .push(
            Element::new("div")
                .class("page")
                .push(masthead(document, &title))
                .push(main(document, &networks, story))
                .push(Element::new("footer").extend(notes::method())),
        )
        .push(script());
    let html = Element::new("html")
        .with("lang", "en")
        .with("xmlns", "http://www.w3.org/1999/xhtml")
        .push(head(&title, document, &networks))
        .push(body);
    Ok(format!("<!DOCTYPE html>\n{html}\n"))
}

/// Spells out a count up to twelve. Larger counts are digits.
fn spell_out(count: usize) -> String {
    const WORDS: [&str; 13] = [
        "No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten",
        "Eleven", "Twelve",
    ];
    WORDS.get(count).map_or_else(|| count.to_string(), |word| (*word).to_owned())
}

fn headline(document: &Document, networks: &PageNetworks<'_>) -> String {
    let count = networks.labels().len();
    if document.cells.iter().any(|cell| cell.network == "probe") {
        return "The path between two machines, measured".to_owned();
    }
    let noun = if count == 1 { "container network" } else { "container networks" };
    match networks.baseline().filter(|_| count > 1) {
        Some(baseline) => format!("{} {noun} compared with {baseline}", spell_out(count)),
        None => format!("{} {noun} measured", spell_out(count)),
    }
}

fn head(title: &str, document: &Document, networks: &PageNetworks<'_>) -> Element {
    let meta = |name: &str, content: &str| {
        Element::new("meta").with("name", name).with("content", content)
    };
    let policy =
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";
    let style = |css: String| Element::new("style").push(MarkupNode::Raw(css));
    Element::new("head")
        .push(Element::new("meta").with("charset", "utf-8"))
        .push(
            Element::new("meta")
                .with("http-equiv", "Content-Security-Policy")
                .with("content", policy),
        )
        .push(meta("viewport", "width=device-width, initial-scale=1"))
        .push(meta("color-scheme", "light dark"))
        .push(meta("generator", &format!("tare {}", document.tare)))
        .push(Element::new("title").push(format!("{title} · tare · {}", document.study)))
        .push(Element::new("link").with("rel", "icon").with("href", "data:,"))
        .push(style(compact(STYLE)).with("id", "figure-style"))
        .push(style(compact(include_str!("page.css")) + &networks.css_rules()))
}

/// Renders the script in a CDATA section, so that an XML parser does not take its characters for markup.
fn script() -> Element {
    let text = format!("//<![CDATA[\n{}//]]>", include_str!("page.js"));
    Element::new("script").push(MarkupNode::Raw(text))
}

fn masthead(document: &Document, title: &str) -> Element {
    let kicker = Element::new("p")
        .class("kicker")
        .push(Element::new("b").push("tare"))
        .push(format!(" · {}", document.study));
    let environment = &document.environment;
    let day = environment.time.split('T').next().unwrap_or_default().to_owned();
    let cores = u32::try_from(environment.cores.len()).unwrap_or(u32::MAX);
    let mut facts = vec![
        format!("Linux {}", environment.kernel),
        tare_record::counted(cores, "core", "cores"),
        tare_record::counted(document.blocks, "block", "blocks"),
        day,
    ];
    facts.splice(0..0, environment.cpu.clone());
    facts.retain(|fact| !fact.is_empty());
    Element::new("header")
        .class("masthead")
        .push(kicker)
        .push(Element::new("h1").push(title))
        .push(Element::new("p").class("byline").push(facts.join(" · ")))
}

fn main(document: &Document, networks: &PageNetworks<'_>, story: PageContent) -> Element {
    let answer = Element::new("section")
        .class("answer")
        .with("id", "answer")
        .with("aria-label", "The answer")
        .extend(story.answer);
    let mut main = Element::new("main").push(answer);
    if document.cells.is_empty() {
        main.add(Element::new("p").push("Nothing was measured."));
    }
    let links = story.sections.iter().map(|section| {
        let link = Element::new("a").with("href", format!("#{}", section.id)).push(section.title);
        Element::new("li").push(link)
    });
    main.add(
        Element::new("nav").with("aria-label", "Contents").push(Element::new("ul").extend(links)),
    );
    if networks.labels().len() > 1 {
        main.add(networks.checkboxes());
    }
    main.extend(story.sections.into_iter().map(page_sections::PageSection::render))
}
