//! Record of the congestion control of programs that choose none: the default of their network namespace.

use tare_record::Parameters;
use tare_traffic::parameters::CONGESTION;
use tare_traffic::{Error, SentBytes, Server, SideReport, default_congestion};

/// Adds the default congestion control of this process's network namespace to parameters in force.
pub(crate) fn record_default(parameters: &mut Parameters) {
    if let Some(name) = default_congestion() {
        parameters.insert(CONGESTION.to_owned(), name.into());
    }
}

/// Server of a tool that chooses no congestion control. Its report names the one in force.
pub(crate) struct DefaultCongestionServer(Box<dyn Server>);

impl DefaultCongestionServer {
    /// Adds the record to a server.
    pub(crate) fn new(server: Box<dyn Server>) -> Self {
        Self(server)
    }
}

impl Server for DefaultCongestionServer {
    fn settle(&mut self, sent: u64) -> Result<SentBytes, Error> {
        self.0.settle(sent)
    }

    fn finish(self: Box<Self>) -> Result<SideReport, Error> {
        let mut report = self.0.finish()?;
        record_default(&mut report.parameters);
        Ok(report)
    }
}
