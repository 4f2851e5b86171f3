//! Who looks at a network of the lab's while trials run over it: at what every hop counts, and at packets that do not fit.

use crate::counters::Counters;
use crate::fragments::Fragments;
use crate::lab::Lab;
use crate::layout::Layout;
use crate::namespace::Namespace;
use std::sync::Arc;
use tare_network::{Finding, PlaceCounts, Watch};

/// Looks into the namespaces of one network.
pub(crate) struct Watcher {
    fragments: Fragments,
    counters: Counters,
}

impl Watcher {
    /// Begins to look into the namespaces of a layout that was built.
    pub(crate) fn watch(lab: &Lab, layout: &Layout, spaces: &[Arc<Namespace>]) -> Self {
        let counters = Counters::watch(lab, layout, spaces);
        Self { fragments: Fragments::watch(spaces), counters }
    }
}

impl Watch for Watcher {
    fn look(&mut self) -> Vec<Finding> {
        self.fragments.look()
    }

    fn count(&mut self) -> Vec<PlaceCounts> {
        self.counters.gained()
    }
}
