//! Sections of the page, in their order.

use super::element::Element;
use super::figure::{Figure, SvgLinks};
use super::networks::PageNetworks;
use super::subject::subjects;
use super::{
    Page, answer, bars, cpu, heat_map, latency, node_heat_map, notes, paths, published, sweeps,
    trial_timelines,
};
use crate::Error;

/// Level of detail of a page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DetailLevel {
    /// Largest number of workloads and shapes with all figures.
    pub(crate) subjects: usize,
    /// Largest number of sweeps that are drawn.
    pub(crate) sweeps: usize,
    /// Source of the SVG downloads.
    pub(crate) links: SvgLinks,
}

/// Section of the page under a heading.
pub(crate) struct PageSection {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    lead: String,
    body: Vec<Element>,
    /// CSS class of the body.
    class: &'static str,
}

/// Content of the page without its header.
pub(crate) struct PageContent {
    pub(crate) answer: Vec<Element>,
    pub(crate) sections: Vec<PageSection>,
}

impl PageSection {
    pub(crate) fn render(self) -> Element {
        let id = format!("{}-title", self.id);
        let rail = Element::new("header")
            .class("rail")
            .push(Element::new("h2").with("id", &id).push(self.title))
            .push(Element::new("p").push(self.lead));
        Element::new("section")
            .class("story")
            .with("id", self.id)
            .with("aria-labelledby", &id)
            .push(rail)
            .push(Element::new("div").class(self.class).extend(self.body))
    }
}

/// Builder of the sections.
struct PageBuilder {
    links: SvgLinks,
    sections: Vec<PageSection>,
}

impl PageBuilder {
    /// Adds a section of figures, unless it is empty.
    fn add_figures(
        &mut self,
        id: &'static str,
        title: &'static str,
        lead: impl Into<String>,
        class: &'static str,
        figures: impl IntoIterator<Item = Figure>,
    ) -> Result<(), Error> {
        let mut body = Vec::new();
        let mut said: Vec<String> = Vec::new();
        for mut figure in figures {
            // A caption that several figures share is shown once.
            if said.contains(&figure.caption) {
                figure.caption.clear();
            } else {
                said.push(figure.caption.clone());
            }
            body.push(figure.render(self.links)?);
        }
        self.add_section(id, title, lead, class, body);
        Ok(())
    }

    /// Adds a section of elements, unless it is empty.
    fn add_section(
        &mut self,
        id: &'static str,
        title: &'static str,
        lead: impl Into<String>,
        class: &'static str,
        body: Vec<Element>,
    ) {
        if !body.is_empty() {
            self.sections.push(PageSection { id, title, lead: lead.into(), body, class });
        }
    }
}

impl PageContent {
    /// # Errors
    /// Fails if data cannot be written as CSV.
    pub(crate) fn new(
        page: &Page<'_>,
        networks: &PageNetworks<'_>,
        detail: DetailLevel,
    ) -> Result<Self, Error> {
        let all = subjects(page.document, &page.run.plan);
        let told = &all[..all.len().min(detail.subjects)];
        let rest = left_out(told.len(), all.len());
        let mut telling = PageBuilder { links: detail.links, sections: Vec::new() };
        let picture = page.picture;
        telling.add_figures(
            "glance",
            "At a glance",
            format!("Every network compared with the baseline, in every metric.{rest}"),
            "body",
            heat_map::heat_map(told, networks),
        )?;
        telling.add_figures(
            "figures",
            "Figures",
            format!("Measured figures with their 95 % intervals.{rest}"),
            "body",
            told.iter().filter_map(|subject| bars::bars(subject, networks)),
        )?;
        telling.add_figures(
            "sweeps",
            "Scaling",
            "Figures by number of containers, processes, flows or nodes, or by MTU.",
            "body",
            sweeps::sweeps(&all, networks, detail.sweeps),
        )?;
        telling.add_figures(
            "nodes",
            "Pairs of nodes",
            "Figures by the node of the client and the node of the server.",
            "body",
            node_heat_map::node_heat_maps(page.document, networks),
        )?;
        telling.add_figures(
            "loss",
            "Loss",
            "Share of datagrams that were lost, by the rate at which they were sent.",
            "body",
            sweeps::losses(&all, networks, detail.sweeps),
        )?;
        let latencies =
            told.iter().flat_map(|one| latency::latencies(one, &picture.distributions, networks));
        telling.add_figures(
            "latency",
            "Latency",
            format!(
                "Distributions instead of means: users wait for the tail. For exploration only: no test is based on \
                 them.{rest}"
            ),
            "body",
            latencies,
        )?;
        telling.add_figures(
            "cpu",
            "CPU cost",
            "Of two networks with equal throughput, one may need twice the CPU time, which a busy machine lacks elsewhere.",
            "body",
            told.iter().filter_map(|subject| cpu::cpu(subject, &picture.costs, networks)),
        )?;
        let told_courses = told
            .iter()
            .map(|subject| trial_timelines::trial_timelines(subject, &picture.courses, networks))
            .collect::<Result<Vec<_>, Error>>()?;
        telling.add_figures(
            "courses",
            "Trials over time",
            format!(
                "Steadiness of each trial, and the part that was cut off as its warm-up.{rest}"
            ),
            "body",
            told_courses.into_iter().flatten(),
        )?;
        telling.add_figures(
            "paths",
            "Path of a packet",
            "Every hop from client to server, in order; bands are network namespaces. An open circle is a device, a \
             full circle decides, counts or rewrites.",
            "maps",
            paths::paths(page.document, &all, &picture.costs, networks),
        )?;
        Self::add_text_sections(page, &mut telling);
        Ok(Self { answer: answer::answer(page.document), sections: telling.sections })
    }

    /// Adds the sections that have no figures.
    fn add_text_sections(page: &Page<'_>, telling: &mut PageBuilder) {
        let rerun = page.document.rerun.as_ref();
        let (title, about) = match rerun.and_then(|rerun| rerun.question.as_ref()) {
            Some(_) => ("The question", "What this run says of the sentence that answers it."),
            None => (
                "Published and measured",
                "Published figures next to the figures of this run. Machines and kernels differ: compare the order, not the values.",
            ),
        };
        let parts = rerun.map(published::published).unwrap_or_default();
        telling.add_section("published", title, about, "body", parts);
        telling.add_section(
            "findings",
            "Findings",
            "Facts that affect these figures.",
            "body",
            notes::remark_list(page.document).into_iter().collect(),
        );
        telling.add_section(
            "machine",
            "The machine",
            "State before the run.",
            "body",
            notes::machine(&page.document.environment),
        );
        telling.add_section(
            "again",
            "Repeat the run",
            "The same seed gives the same order of blocks; the journal has every trial.",
            "body",
            notes::repetition(page.document, page.run),
        );
    }
}

/// Notes that some workloads and shapes are left out. Empty if none are.
fn left_out(told: usize, all: usize) -> String {
    if told == all {
        return String::new();
    }
    format!(
        " Shown for {told} of {all} workloads and shapes, to keep the page small; the journal has the others."
    )
}
