//! Who looks at a network of an engine's while trials run over it: a program in each of its containers, which says what
//! its network namespace has counted whenever it is asked. It needs no rights, and is as near on an engine elsewhere.

use crate::engine::Engine;
use crate::exec::{self, Exec, Input, Lines, Words};
use crate::image::PROGRAM;
use crate::look::{self, Counted};
use crate::work::Running;
use std::collections::BTreeSet;
use std::sync::Arc;
use tare_network::{PlaceCounts, Watch};
use tokio::io::AsyncWriteExt as _;

/// The most containers that are looked into: the first client and the servers come first, then the engine's machine.
const MOST: usize = 16;

/// A container to look into.
pub(crate) struct Wanted<'a> {
    /// What its namespace is called on the path of a packet.
    pub(crate) place: &'a str,
    pub(crate) engine: &'a Arc<Engine>,
    pub(crate) container: &'a Running,
    /// The devices that count, where it is a machine's own namespace, in which others have theirs; else all of them do.
    pub(crate) devices: Option<BTreeSet<String>>,
}

/// Looks into containers.
pub(crate) struct Watcher {
    places: Vec<Place>,
}

impl Watcher {
    /// Begins to look into them, each network namespace by the first container that is in it; into none that does not
    /// answer.
    pub(crate) fn watch(wanted: Vec<Wanted<'_>>) -> Self {
        let mut known = BTreeSet::new();
        let places = wanted.into_iter().take(MOST).filter_map(|wanted| {
            let (place, namespace) = Place::enter(wanted).ok()?;
            known.insert(namespace).then_some(place)
        });
        Self { places: places.collect() }
    }
}

impl Watch for Watcher {
    fn count(&mut self) -> Vec<PlaceCounts> {
        let mut gained = Vec::new();
        // Whoever does not answer once is gone, with its network.
        self.places.retain_mut(|place| place.gained().map(|gains| gained.push(gains)).is_ok());
        gained.retain(|gains| !gains.is_empty());
        gained
    }
}

/// A container that is looked into, and what was counted when it was last asked.
struct Place {
    engine: Arc<Engine>,
    input: Input,
    lines: Lines,
    devices: Option<BTreeSet<String>>,
    before: PlaceCounts,
}

impl Place {
    /// Starts the program there; with it, which namespace it is in. What went wrong is in words.
    fn enter(wanted: Wanted<'_>) -> Result<(Self, String), String> {
        let Wanted { place, engine, container, devices } = wanted;
        let command = [PROGRAM, "look", "--count", place].map(str::to_owned).to_vec();
        let words = container.words(Words { command, ..Words::default() });
        let starting = exec::start(engine.docker(), &container.id, words);
        let Exec { input, output, .. } =
            engine.wait(starting).map_err(|refusal| refusal.to_string())?;
        let (engine, lines) = (Arc::clone(engine), Lines::of(output));
        let mut place = Self { engine, input, lines, devices, before: PlaceCounts::default() };
        let Counted { namespace, counts } = place.ask()?;
        place.before = counts;
        Ok((place, namespace))
    }

    /// What is counted there so far.
    fn ask(&mut self) -> Result<Counted, String> {
        let Self { engine, input, lines, .. } = self;
        let line = engine.wait(async {
            input.write_all(b"\n").await.map_err(|error| error.to_string())?;
            input.flush().await.map_err(|error| error.to_string())?;
            lines.next(look::limit()).await
        })?;
        let mut told = look::parse(&line)?.counted.ok_or_else(|| format!("it says {line}"))?;
        if let Some(devices) = &self.devices {
            told.counts.devices.retain(|name, _| devices.contains(name));
            told.counts.protocols.clear();
        }
        Ok(told)
    }

    /// What was gained since it was last asked.
    fn gained(&mut self) -> Result<PlaceCounts, String> {
        let now = self.ask()?.counts;
        let gained = now.since(&self.before);
        self.before = now;
        Ok(gained)
    }
}
