//! Contenders of a row, the results of their runs, and how a row's contenders are found.

use crate::peers::{MissingSupport, PEERS, PeerTool, RunTarget, installed};
use crate::rows::{ComparedFigure, ComparisonRow, ParameterValues};
use crate::tare_run;
use crate::traffic::{RunResult, Traffic, TrafficKind};

/// Contender of a row.
pub(crate) enum Contender {
    /// tare, with these parameters in addition to the row's.
    Tare(ParameterValues),
    /// Peer, with the row's traffic and its own write size.
    Peer(&'static dyn PeerTool, Traffic),
}

/// Contender with the results of its runs.
pub(crate) struct ContenderRuns {
    pub(crate) who: Contender,
    /// Results of each block, round by round; `None` if the run failed. A block in which the contender did not take
    /// part has no rounds.
    pub(crate) blocks: Vec<Vec<Option<RunResult>>>,
    /// Reason of the last failure.
    pub(crate) failure: Option<String>,
    /// Number of the block after which the contender left the row, from 1; `None` while it takes part.
    pub(crate) left: Option<usize>,
}

impl ContenderRuns {
    /// Makes a contender without results.
    pub(crate) fn new(who: Contender) -> Self {
        Self { who, blocks: Vec::new(), failure: None, left: None }
    }

    /// Returns the name of the contender for people, with the write size if several are tried.
    pub(crate) fn name(&self) -> String {
        match &self.who {
            Contender::Tare(values) => {
                let told = values.iter().map(|(name, value)| format!(" {name}={value}"));
                std::iter::once("tare".to_owned()).chain(told).collect()
            }
            Contender::Peer(peer, traffic) if traffic.kind == TrafficKind::TcpStream => {
                format!("{} {}K", peer.name(), traffic.size >> 10)
            }
            Contender::Peer(peer, _) => peer.name().to_owned(),
        }
    }

    /// Returns true if the contender is one of tare's tries.
    pub(crate) fn is_tare(&self) -> bool {
        matches!(self.who, Contender::Tare(_))
    }

    /// Returns the results of all runs that did not fail.
    pub(crate) fn runs(&self) -> impl Iterator<Item = &RunResult> {
        self.blocks.iter().flatten().flatten()
    }

    /// Returns the mean share of datagrams that the runs lost.
    pub(crate) fn mean_loss(&self) -> f64 {
        let losses: Vec<f64> = self.runs().map(|run| run.reading.loss).collect();
        losses.iter().sum::<f64>() / losses.len().max(1) as f64
    }
}

/// Results of a row over one network.
pub(crate) struct RowResult {
    pub(crate) row: &'static ComparisonRow,
    pub(crate) network: String,
    /// Contenders, tare first. Empty if nothing is run.
    pub(crate) tallies: Vec<ContenderRuns>,
    /// Tools that could not take part, with the reasons.
    pub(crate) absent: Vec<String>,
}

impl RowResult {
    /// Lists a row's contenders, without results yet.
    pub(crate) fn new(row: &'static ComparisonRow, network: &str, there: &[u32]) -> Self {
        let (peers, mut absent) = peers(row);
        let mut tallies = Vec::new();
        if let Err(error) = tare_run::parameters(row, &[], None) {
            absent.insert(0, format!("tare: {error}"));
        } else if row.traffic.place.cores(there).is_none() {
            absent.insert(0, "needs two cores".to_owned());
        } else if !peers.is_empty() {
            let ours = row.tries.iter().map(|values| Contender::Tare(values));
            tallies = ours.chain(peers).map(ContenderRuns::new).collect();
        }
        Self { row, network: network.to_owned(), tallies, absent }
    }

    /// Returns the number of blocks that the row has run.
    pub(crate) fn blocks(&self) -> usize {
        self.tallies.first().map_or(0, |tally| tally.blocks.len())
    }

    /// Returns the indices of the contenders that take part in the next block.
    pub(crate) fn participants(&self) -> Vec<usize> {
        (0..self.tallies.len()).filter(|&at| self.tallies[at].left.is_none()).collect()
    }

    /// Returns the compared figure of a run of this row, for a run of this many seconds.
    pub(crate) fn figure(
        &self,
        run: &RunResult,
        measure: ComparedFigure,
        seconds: f64,
    ) -> Option<f64> {
        match measure {
            ComparedFigure::Rate => Some(run.reading.rate),
            ComparedFigure::CpuPerGb => run.cpu_per_gb(&self.row.traffic, seconds),
        }
    }
}

/// Lists the peers that support such traffic and are installed, and those that lack support or are missing.
fn peers(row: &ComparisonRow) -> (Vec<Contender>, Vec<String>) {
    let (mut here, mut absent) = (Vec::new(), Vec::new());
    // The address and the duration do not affect the support of a tool.
    let ends = RunTarget { address: [127, 0, 0, 1].into(), port: 0, seconds: 1, buffer: 0 };
    for &peer in PEERS {
        match peer.plan(&row.traffic, &ends) {
            Err(MissingSupport::Mode) => {}
            Err(MissingSupport::Needs(what)) => absent.push(format!("needs {what}")),
            Ok(_) if installed(peer).is_none() => {
                absent.push(format!("{} is not installed", peer.name()));
            }
            Ok(_) => here.extend(versions(peer, row)),
        }
    }
    (here, absent)
}

/// Lists a peer with every write size that it is tried with.
fn versions(peer: &'static dyn PeerTool, row: &ComparisonRow) -> Vec<Contender> {
    match row.writes {
        [] => vec![Contender::Peer(peer, row.traffic)],
        sizes => sizes
            .iter()
            .map(|&size| Contender::Peer(peer, Traffic { size, ..row.traffic }))
            .collect(),
    }
}
