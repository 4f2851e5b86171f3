//! Who looks at a network of the lab's while trials run over it: at what every hop counts.

use crate::counters::Counters;
use crate::lab::Lab;
use crate::layout::Layout;
use crate::namespace::Namespace;
use std::sync::Arc;
use tare_network::{PlaceCounts, Ran, Watch};

/// Looks into the namespaces of one network.
pub(crate) struct Watcher {
    counters: Counters,
}

impl Watcher {
    /// Begins to look into the namespaces of a layout that was built.
    pub(crate) fn watch(lab: &Lab, layout: &Layout, spaces: &[Arc<Namespace>]) -> Self {
        Self { counters: Counters::watch(lab, layout, spaces) }
    }
}

impl Watch for Watcher {
    fn count(&mut self) -> Vec<PlaceCounts> {
        self.counters.gained()
    }

    fn ran(&self) -> Option<Ran> {
        self.counters.ran()
    }
}
