//! Watcher of a lab network while trials run over it: it reads the counters of every hop.

use crate::counters::NetworkCounters;
use crate::plan::layout::Layout;
use crate::programs::RunningPrograms;
use std::sync::Arc;
use tare_network::{CounterWatch, KernelProgramRuns, NamespaceCounts};
use tare_sandbox::{Namespace, Sandbox};

/// Reader of the counters in the namespaces of one network.
pub(crate) struct NetworkWatcher {
    counters: NetworkCounters,
}

impl NetworkWatcher {
    /// Starts to read the counters in the namespaces of a layout that was built.
    pub(crate) fn start(
        sandbox: &Sandbox,
        layout: &Layout,
        spaces: &[Arc<Namespace>],
        programs: &Arc<RunningPrograms>,
    ) -> Self {
        Self { counters: NetworkCounters::start(sandbox, layout, spaces, programs) }
    }
}

impl CounterWatch for NetworkWatcher {
    fn read_gains(&mut self) -> Vec<NamespaceCounts> {
        self.counters.read_gains()
    }

    fn drop_program_cost(&self) -> Option<KernelProgramRuns> {
        self.counters.drop_program_cost()
    }
}
