//! Server of the request/response workloads: its threads, to the end of a trial in one piece or of its slices.

use super::{MessageTransport, Responder, merge_responders};
use crate::placement::TrafficRole;
use crate::slices::progress::SliceProgress;
use crate::tcp::{GrantedOptions, TcpServerThread};
use crate::udp::SleepingSockets;
use crate::{Error, SentBytes, Server, SideReport};
use std::sync::Arc;

/// Server of the request/response workloads.
pub(in crate::workloads) struct RrServer<W> {
    pub(in crate::workloads) serving: TcpServerThread<Responder<W>>,
    /// Options granted to the sockets that carry the messages.
    pub(in crate::workloads) granted: GrantedOptions,
    /// Sockets that no end of a flow wakes: none over TCP.
    pub(in crate::workloads) asleep: SleepingSockets,
    /// Slices of the trial. `None` if it runs in one piece.
    pub(in crate::workloads) progress: Option<Arc<SliceProgress>>,
}

impl<W: MessageTransport> Server for RrServer<W> {
    fn settle(&mut self, sent: u64) -> Result<SentBytes, Error> {
        self.progress.as_ref().ok_or_else(Error::not_in_slices)?.settle(sent)
    }

    fn finish(mut self: Box<Self>) -> Result<SideReport, Error> {
        if self.progress.is_some() {
            self.asleep.wake();
        }
        let report = merge_responders(self.serving.finish()?)?;
        Ok(report.with_granted(&self.granted, &self.serving.cores, TrafficRole::Server))
    }
}
