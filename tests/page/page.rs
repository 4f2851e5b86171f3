//! HTML page of a run in a real browser, at two widths: complete, readable with and without scripts, reproducible, and
//! without network requests.

use serde_json::Value;
use std::path::{Path, PathBuf};
use support::chromium::Browser;
use support::program::Tare;
use support::{ScratchDirectory, shared, text};

/// Size limit of a page, bytes.
const LARGEST: usize = 1_500_000;

/// Sections of the page for this run.
const SECTIONS: [&str; 10] = [
    "glance", "figures", "sweeps", "loss", "latency", "cpu", "courses", "paths", "machine", "again",
];

/// Run whose page all tests use: two numbers of clients, two rates, round trips. The first test makes it.
struct PageRun {
    directory: PathBuf,
    page: String,
}

impl PageRun {
    fn get() -> Self {
        let directory = shared::files("page", Self::make);
        let page = std::fs::read_to_string(directory.join("page.html")).expect("a page");
        Self { directory, page }
    }

    fn make(directory: &Path) {
        let study = "networks = [\"host\", \"bridge\", \"published\"]\n\
             metrics = [\"throughput\", \"transactions\", \"latency_p50\", \"loss\"]\n\
             [[workload]]\nname = \"tcp-stream\"\nduration = \"300ms\"\n\
             [[workload]]\nname = \"tcp-rr\"\nduration = \"300ms\"\n\
             [[workload]]\nname = \"udp-rate\"\nduration = \"200ms\"\nparameters = { rate = \"50mbit\" }\n\
             [[workload]]\nname = \"udp-rate\"\nduration = \"200ms\"\nparameters = { rate = \"100mbit\" }\n\
             [shape]\nclients = [1, 2]\n\
             [method]\nblocks = 3\ninterval = \"10ms\"\nseed = 7\n";
        std::fs::write(directory.join("page.toml"), study).expect("room for a small file");
        let run = ["run", "page.toml", "--out", "out", "--html", "page.html"];
        Tare::in_directory(directory).run(&run).expect(0);
    }

    /// Opens the page in a browser.
    fn browser(&self, scratch: &ScratchDirectory) -> Browser {
        let mut browser = Browser::start(&scratch.path("profile"));
        browser.set_window(1440, "light");
        browser.open(&self.directory.join("page.html"));
        browser
    }
}

#[test]
fn the_same_journal_gives_the_same_page() {
    let run = PageRun::get();
    let tare = Tare::in_directory(&run.directory);
    let again = tare.run(&["report", "out", "--html", "-"]).expect(0);
    assert!(again.text() == run.page, "the page differs");
    assert!(run.page.len() < LARGEST, "{} bytes", run.page.len());
}

#[test]
fn the_page_is_all_there_is_of_it() {
    let page = PageRun::get().page;
    let links =
        [" href=\"", " src=\"", " xlink:href=\"", "url(", "@import", " srcset=\"", " action=\""];
    for (kind, after) in
        links.iter().flat_map(|kind| page.split(kind).skip(1).map(move |a| (kind, a)))
    {
        let target = &after[..after.len().min(40)];
        assert!(target.starts_with('#') || target.starts_with("data:"), "{kind}{target}");
    }
    for section in SECTIONS {
        assert!(page.contains(&format!("<section class=\"story\" id=\"{section}\"")), "{section}");
    }
}

#[test]
fn a_browser_finds_no_fault_and_asks_for_nothing() {
    let scratch = ScratchDirectory::new();
    let mut browser = PageRun::get().browser(&scratch);
    let taken = "(() => { const link = document.querySelector('a.svg');\
                 link.addEventListener('click', (event) => event.preventDefault());\
                 link.click(); return link.href; })()";
    assert!(browser.value(taken).as_str().unwrap_or_default().starts_with("blob:"));
    let complaints =
        browser.events(&["Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"]);
    assert!(complaints.is_empty(), "{complaints:?}");
    let asked: Vec<Value> = browser
        .events(&["Network.requestWillBeSent"])
        .into_iter()
        .filter(|event| {
            let url = text(&event["params"]["request"], "url").to_owned();
            !(url.starts_with("file://") && url.ends_with("/page.html") || url.starts_with("data:"))
        })
        .collect();
    assert!(asked.is_empty(), "{asked:?}");
}

/// Expression for figures whose drawing is missing or empty, or has text beyond its edges, and for a page that is wider
/// than the window.
const LOOK: &str = r#"(() => {
    const faults = [];
    const figures = [...document.querySelectorAll("figure")];
    for (const figure of figures) {
        const seen = [...figure.querySelectorAll("svg.fig")].filter((svg) => svg.getBoundingClientRect().width > 0);
        if (seen.length !== 1) { faults.push(`${figure.id}: ${seen.length} drawings`); continue; }
        const svg = seen[0];
        const box = svg.getBoundingClientRect();
        const marks = svg.querySelectorAll("path, rect, circle, line").length;
        const words = [...svg.querySelectorAll("text")].filter((text) => text.textContent.trim());
        if (marks < 3 || words.length < 2) faults.push(`${figure.id}: ${marks} marks, ${words.length} words`);
        for (const text of words) {
            const at = text.getBoundingClientRect();
            const out = Math.max(box.left - at.left, at.right - box.right, box.top - at.top, at.bottom - box.bottom);
            if (out > 2) faults.push(`${figure.id}: “${text.textContent}” is ${out} px beyond its edge`);
        }
        if (box.right > window.innerWidth + 1) faults.push(`${figure.id} is wider than the window`);
    }
    const wide = document.documentElement.scrollWidth;
    if (wide > window.innerWidth) faults.push(`the page is ${wide} px wide`);
    for (const element of document.querySelectorAll("h1, h2, h3, p, li, dt, dd, summary, label")) {
        const at = element.getBoundingClientRect();
        const scrolls = element.closest(".networks, .scroll, pre, .skip");
        if (!scrolls && at.width > 0 && at.right > window.innerWidth + 1) faults.push(`clipped: ${element.textContent}`);
    }
    return { faults, figures: figures.length };
})()"#;

#[test]
fn every_figure_is_drawn_and_no_word_is_clipped_at_any_width() {
    let scratch = ScratchDirectory::new();
    let mut browser = PageRun::get().browser(&scratch);
    for width in [320, 375, 768, 1024, 1440] {
        for scheme in ["light", "dark"] {
            browser.set_window(width, scheme);
            let look = browser.value(LOOK);
            assert_eq!(look["faults"], Value::Array(Vec::new()), "{width} px, {scheme}");
            assert!(look["figures"].as_u64() > Some(20), "{look}");
        }
    }
}

#[test]
fn a_network_is_switched_off_and_a_scale_changed_without_a_script() {
    let scratch = ScratchDirectory::new();
    let run = PageRun::get();
    let mut browser = Browser::start(&scratch.path("profile"));
    browser.set_window(1440, "light");
    browser.call("Emulation.setScriptExecutionDisabled", serde_json::json!({"value": true}));
    browser.open(&run.directory.join("page.html"));
    let opacity = "getComputedStyle(document.querySelector('#figures g.n1')).opacity";
    assert_eq!(browser.value(opacity), "1");
    browser.value("document.querySelector('#net-1').click()");
    assert_eq!(browser.value(opacity), "0.08");
    assert_eq!(browser.value("document.documentElement.classList.contains('js')"), false);
    let shown = "[0, 1].map((n) => getComputedStyle(document.querySelector(`#figures figure .view-${n}`)).display)";
    assert_eq!(browser.value(shown), serde_json::json!(["block", "none"]));
    browser.value("document.querySelector('#figures figure .to-1').click()");
    assert_eq!(browser.value(shown), serde_json::json!(["none", "block"]));
}

#[test]
fn values_are_told_by_pointer_and_by_keys() {
    let scratch = ScratchDirectory::new();
    let mut browser = PageRun::get().browser(&scratch);
    let drawing = "document.querySelector('#figures svg.wide')";
    browser.value(&format!("{drawing}.focus()"));
    let key = format!(
        "{drawing}.dispatchEvent(new KeyboardEvent('keydown', {{key: 'ArrowRight', bubbles: true}}))"
    );
    browser.value(&key);
    let said = browser.value("document.querySelector('.said').textContent");
    let said = said.as_str().expect("a text").to_owned();
    assert!(
        ["host", "bridge", "published"].iter().any(|network| said.starts_with(network)),
        "{said}"
    );
    assert_eq!(browser.value("document.querySelector('.tip').hidden"), false);
    browser.value(&format!(
        "{drawing}.dispatchEvent(new KeyboardEvent('keydown', {{key: 'Escape', bubbles: true}}))"
    ));
    assert_eq!(browser.value("document.querySelector('.tip').hidden"), true);
}

/// Roles that must have a name for screen readers.
const NAMED: [&str; 12] = [
    "image",
    "img",
    "link",
    "button",
    "checkbox",
    "radio",
    "heading",
    "table",
    "figure",
    "navigation",
    "region",
    "radiogroup",
];

#[test]
fn everything_that_is_reached_has_a_name() {
    let scratch = ScratchDirectory::new();
    let mut browser = PageRun::get().browser(&scratch);
    let tree = browser.call("Accessibility.getFullAXTree", serde_json::json!({}));
    let nodes = support::list(&tree, "nodes");
    let mut seen = std::collections::BTreeMap::<String, usize>::new();
    for node in nodes.iter().filter(|node| node["ignored"] == false) {
        let role = node["role"]["value"].as_str().unwrap_or_default();
        if NAMED.contains(&role) {
            let name = node["name"]["value"].as_str().unwrap_or_default();
            assert!(!name.trim().is_empty(), "{node}");
            *seen.entry(role.to_owned()).or_default() += 1;
        }
    }
    for role in ["link", "checkbox", "radio", "heading", "figure"] {
        assert!(seen.get(role).is_some_and(|count| *count > 2), "{role}: {seen:?}");
    }
    let images = seen.get("image").or_else(|| seen.get("img"));
    assert!(images.is_some_and(|count| *count > 20), "{seen:?}");
    assert_eq!(browser.value("document.documentElement.lang"), "en");
    let doubled = "[...document.querySelectorAll('[id]')].map((e) => e.id)\
                   .filter((id, at, all) => all.indexOf(id) !== at)";
    assert_eq!(browser.value(doubled), Value::Array(Vec::new()));
}

#[test]
fn what_is_taken_along_is_whole() {
    let scratch = ScratchDirectory::new();
    let mut browser = PageRun::get().browser(&scratch);
    let links = "Promise.all([...document.querySelectorAll('figure .downloads a')].map(async (link) => {\
                 if (link.classList.contains('scripted')) return 'made when asked for';\
                 const text = decodeURIComponent(link.href.slice(link.href.indexOf(',') + 1));\
                 if (link.download.endsWith('.csv')) return text.trim().split('\\n').length > 1 ? 'data' : link.download;\
                 const parsed = new DOMParser().parseFromString(text, 'image/svg+xml');\
                 return parsed.querySelector('parsererror') || !parsed.querySelector('style') ? link.download : 'drawing';\
                 }))";
    let found = browser.value(links);
    let found: Vec<&str> =
        found.as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect();
    let whole = ["data", "drawing", "made when asked for"];
    assert!(found.iter().all(|one| whole.contains(one)), "{found:?}");
    assert!(found.len() > 40, "{}", found.len());
}

#[test]
fn a_figure_is_linked_to_and_copied_as_markdown_csv_and_svg() {
    let scratch = ScratchDirectory::new();
    let mut browser = PageRun::get().browser(&scratch);
    let copied = "(() => { const all = [];\
                  const clipboard = { writeText: async (text) => { all.push(text); } };\
                  Object.defineProperty(navigator, 'clipboard', { value: clipboard });\
                  const figure = document.querySelector('figure:has(a.svg)');\
                  for (const button of figure.querySelectorAll('button.copy')) button.click();\
                  return all; })()";
    let copied = browser.value(copied);
    let [markdown, csv, svg] = copied.as_array().unwrap().as_slice() else { panic!("{copied}") };
    let lines: Vec<&str> = markdown.as_str().unwrap().lines().collect();
    assert!(
        lines[0].starts_with("| network |") && lines[1].starts_with("| --- | ---: |"),
        "{markdown}"
    );
    let rows = csv.as_str().unwrap().trim_end().lines().count();
    assert_eq!(lines.len(), rows + 1, "a rule, and else the rows of the data: {markdown}{csv}");
    let svg = svg.as_str().unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("<style"), "{svg}");
    let unlinked = "[...document.querySelectorAll('figure')]\
                    .filter((one) => one.querySelector('h3 a')?.hash !== `#${one.id}`).length";
    assert_eq!(browser.value(unlinked), 0);
}

/// Size of a sheet of A4, points of 1/72 inch.
const A4: (f64, f64) = (595.28, 841.89);

/// Width that a sheet of A4 leaves between the page's margins of 15 mm, px of 1/96 inch.
const PRINTED_WIDTH: u32 = 680;

/// Returns the sizes of a PDF's sheets, points.
fn sheet_sizes(pdf: &[u8]) -> Vec<(f64, f64)> {
    let text = String::from_utf8_lossy(pdf);
    let boxes = text.split("/MediaBox [").skip(1).map(|rest| {
        let numbers = rest.split(']').next().unwrap_or_default().split_whitespace();
        let numbers: Vec<f64> = numbers.map(|number| number.parse().unwrap()).collect();
        (numbers[2] - numbers[0], numbers[3] - numbers[1])
    });
    boxes.collect()
}

#[test]
fn a_printed_page_is_on_a4_and_whole() {
    let scratch = ScratchDirectory::new();
    let mut browser = PageRun::get().browser(&scratch);
    let sheets = sheet_sizes(&browser.print());
    assert!(sheets.len() > 3, "{sheets:?}");
    for (width, height) in &sheets {
        assert!((width - A4.0).abs() < 1.0 && (height - A4.1).abs() < 1.0, "{sheets:?}");
    }
    browser.set_print(PRINTED_WIDTH);
    let cut = "[document.documentElement, ...document.querySelectorAll('pre, .scroll, dd, figure')]\
               .filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.outerHTML.slice(0, 200))";
    assert_eq!(browser.value(cut), Value::Array(Vec::new()));
    let taller = "[...document.querySelectorAll('figure')]\
                  .filter((one) => one.getBoundingClientRect().height > 267 / 25.4 * 96).map((one) => one.id)";
    assert_eq!(browser.value(taller), Value::Array(Vec::new()), "each figure fits on a sheet");
    let idle = "[...document.querySelectorAll('.networks, nav, .scale, .downloads, summary')]\
                .filter((one) => one.checkVisibility()).length";
    assert_eq!(browser.value(idle), 0, "what can only be clicked is not printed");
}

#[test]
fn the_page_is_xml_as_well() {
    let scratch = ScratchDirectory::new();
    let mut browser = PageRun::get().browser(&scratch);
    let parse = "(() => { const text = new XMLSerializer().serializeToString(document); return text.length; })()";
    assert!(browser.value(parse).as_u64() > Some(10_000));
    let url = serde_json::to_string(&PageRun::get().page).unwrap();
    let parsed = format!(
        "new DOMParser().parseFromString({url}, 'application/xhtml+xml').querySelector('parsererror')?.textContent ?? ''"
    );
    assert_eq!(browser.value(&parsed), "");
}
