//! A run as one page: a file that needs nothing but itself, offline, with or without scripts.
//!
//! Everything is drawn when the page is made, as SVG, from what the analysis found: the page calculates nothing but
//! places on paper. The same run gives the same bytes.

mod answer;
mod bars;
mod courses;
mod cpu;
mod data;
mod element;
mod figure;
mod heat;
mod latency;
mod lines;
mod networks;
mod notes;
mod paths;
mod plot;
mod published;
mod story;
mod subject;
mod sweeps;
mod toll;

use crate::Error;
use element::{Element, Node};
use figure::{Links, STYLE, compact};
use networks::Networks;
use story::{Detail, Story};
use tare_record::journal::Run;
use tare_record::{Document, Picture};

/// The largest page, bytes: larger ones tell less of each workload and shape.
const LARGEST: usize = 1_400_000;

/// How much is told, from everything to the least: workloads and shapes that are told in full, sweeps, what links hold.
const DETAILS: [Detail; 6] = [
    Detail { subjects: usize::MAX, sweeps: usize::MAX, links: Links::Embedded },
    Detail { subjects: usize::MAX, sweeps: usize::MAX, links: Links::Scripted },
    Detail { subjects: 12, sweeps: 24, links: Links::Scripted },
    Detail { subjects: 6, sweeps: 12, links: Links::Scripted },
    Detail { subjects: 3, sweeps: 6, links: Links::Scripted },
    Detail { subjects: 1, sweeps: 3, links: Links::Scripted },
];

/// All that a page is made from.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// The figures.
    pub document: &'a Document,
    /// The journal's first line: what was going to be measured.
    pub run: &'a Run,
    /// What lies beneath the figures.
    pub picture: &'a Picture,
}

/// The page, well formed as HTML and as XML, with no reference to anything outside of it.
///
/// # Errors
/// When data cannot be written as CSV.
pub fn html(page: &Page<'_>) -> Result<String, Error> {
    let mut text = String::new();
    for detail in DETAILS {
        text = render(page, detail)?;
        if text.len() <= LARGEST {
            break;
        }
    }
    Ok(text)
}

fn render(page: &Page<'_>, detail: Detail) -> Result<String, Error> {
    let document = page.document;
    let networks = Networks::of(document, &page.run.plan.baseline);
    let story = Story::of(page, &networks, detail)?;
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

/// A count in letters, as far as one writes it so.
fn in_letters(count: usize) -> String {
    const WORDS: [&str; 13] = [
        "No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten",
        "Eleven", "Twelve",
    ];
    WORDS.get(count).map_or_else(|| count.to_string(), |word| (*word).to_owned())
}

fn headline(document: &Document, networks: &Networks<'_>) -> String {
    let count = networks.labels().len();
    if document.cells.iter().any(|cell| cell.network == "probe") {
        return "The way between two machines, weighed".to_owned();
    }
    let noun = if count == 1 { "container network" } else { "container networks" };
    match networks.baseline().filter(|_| count > 1) {
        Some(baseline) => format!("{} {noun}, weighed against {baseline}", in_letters(count)),
        None => format!("{} {noun}, weighed", in_letters(count)),
    }
}

fn head(title: &str, document: &Document, networks: &Networks<'_>) -> Element {
    let meta = |name: &str, content: &str| {
        Element::new("meta").with("name", name).with("content", content)
    };
    let policy =
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";
    let style = |css: String| Element::new("style").push(Node::Raw(css));
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
        .push(style(compact(include_str!("page.css")) + &networks.rules()))
}

/// The script, so that a reader of XML does not take its signs for markup.
fn script() -> Element {
    let text = format!("//<![CDATA[\n{}//]]>", include_str!("page.js"));
    Element::new("script").push(Node::Raw(text))
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
        crate::text::counted(cores, "core", "cores"),
        crate::text::counted(document.blocks, "block", "blocks"),
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

fn main(document: &Document, networks: &Networks<'_>, story: Story) -> Element {
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
        main.add(networks.switches());
    }
    main.extend(story.sections.into_iter().map(story::Section::render))
}
