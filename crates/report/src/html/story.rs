//! What is told, in which order.

use super::element::Element;
use super::figure::{Figure, Links};
use super::networks::Networks;
use super::subject::subjects;
use super::{Page, answer, bars, courses, cpu, heat, latency, notes, paths, published, sweeps};
use crate::Error;

/// How much is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Detail {
    /// Workloads and shapes that are told in full.
    pub(crate) subjects: usize,
    /// Sweeps that are drawn.
    pub(crate) sweeps: usize,
    /// What links to drawings hold.
    pub(crate) links: Links,
}

/// A part of the page under a heading.
pub(crate) struct Section {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    lead: String,
    body: Vec<Element>,
    /// The class of the body.
    class: &'static str,
}

/// The whole page but its head.
pub(crate) struct Story {
    pub(crate) answer: Vec<Element>,
    pub(crate) sections: Vec<Section>,
}

impl Section {
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

/// Sections as they come together.
struct Telling {
    links: Links,
    sections: Vec<Section>,
}

impl Telling {
    /// Adds a section of figures, where there are any.
    fn figures(
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
            // How to read a kind of figure is said once.
            if said.contains(&figure.caption) {
                figure.caption.clear();
            } else {
                said.push(figure.caption.clone());
            }
            body.push(figure.render(self.links)?);
        }
        self.parts(id, title, lead, class, body);
        Ok(())
    }

    /// Adds a section of whatever it is, where there is any.
    fn parts(
        &mut self,
        id: &'static str,
        title: &'static str,
        lead: impl Into<String>,
        class: &'static str,
        body: Vec<Element>,
    ) {
        if !body.is_empty() {
            self.sections.push(Section { id, title, lead: lead.into(), body, class });
        }
    }
}

impl Story {
    /// # Errors
    /// When data cannot be written as CSV.
    pub(crate) fn of(
        page: &Page<'_>,
        networks: &Networks<'_>,
        detail: Detail,
    ) -> Result<Self, Error> {
        let all = subjects(page.document, &page.run.plan);
        let told = &all[..all.len().min(detail.subjects)];
        let rest = left_out(told.len(), all.len());
        let mut telling = Telling { links: detail.links, sections: Vec::new() };
        let picture = page.picture;
        telling.figures(
            "glance",
            "At a glance",
            format!("Every network beside the baseline, in every metric.{rest}"),
            "body",
            heat::heat_map(told, networks),
        )?;
        telling.figures(
            "figures",
            "The figures",
            format!("What was measured, with its intervals.{rest}"),
            "body",
            told.iter().filter_map(|subject| bars::bars(subject, networks)),
        )?;
        telling.figures(
            "sweeps",
            "As it grows",
            "What becomes of a network when there is more of everything.",
            "body",
            sweeps::sweeps(&all, networks, detail.sweeps),
        )?;
        telling.figures(
            "loss",
            "What gets lost",
            "Datagrams that never came, by the rate at which they were sent.",
            "body",
            sweeps::losses(&all, networks, detail.sweeps),
        )?;
        let latencies =
            told.iter().flat_map(|one| latency::latencies(one, &picture.distributions, networks));
        telling.figures(
            "latency",
            "How long it takes",
            format!(
                "All of them, not their mean: what a user waits for is in the tail. For looking at: nothing is tested \
                 on it.{rest}"
            ),
            "body",
            latencies,
        )?;
        telling.figures(
            "cpu",
            "What it costs in CPU",
            "A network that is as fast may still take twice the CPU, and a busy machine pays for it elsewhere.",
            "body",
            told.iter().filter_map(|subject| cpu::cpu(subject, &picture.costs, networks)),
        )?;
        let told_courses = told
            .iter()
            .map(|subject| courses::courses(subject, &picture.courses, networks))
            .collect::<Result<Vec<_>, Error>>()?;
        telling.figures(
            "courses",
            "Interval by interval",
            format!("How steady it was, and what was cut off as its beginning.{rest}"),
            "body",
            told_courses.into_iter().flatten(),
        )?;
        telling.figures(
            "paths",
            "The way of a packet",
            "From client to server, every hop in its order; bands are network namespaces. An open circle is a device, a \
             full one decides, counts or rewrites.",
            "maps",
            paths::paths(page.document, &all, &picture.costs, networks),
        )?;
        Self::words(page, &mut telling);
        Ok(Self { answer: answer::answer(page.document, &all), sections: telling.sections })
    }

    /// The sections that are no figures.
    fn words(page: &Page<'_>, telling: &mut Telling) {
        telling.parts(
            "published",
            "Published and measured",
            "What others found, beside the same on this machine. Other machines, other kernels: compare the order.",
            "body",
            page.document.rerun.iter().flat_map(published::published).collect(),
        );
        telling.parts(
            "findings",
            "What was noticed",
            "What a reader of these figures should know.",
            "body",
            notes::noticed(page.document).into_iter().collect(),
        );
        telling.parts(
            "machine",
            "The machine",
            "As it was before the run.",
            "body",
            notes::machine(&page.document.environment),
        );
        telling.parts(
            "again",
            "Do it again",
            "The same seed gives the same order of blocks; the journal has every trial.",
            "body",
            notes::again(page.document, page.run),
        );
    }
}

/// What is said where not everything is told.
fn left_out(told: usize, all: usize) -> String {
    if told == all {
        return String::new();
    }
    format!(
        " Told for {told} of {all} workloads and shapes, to keep the page small; the journal has the others."
    )
}
