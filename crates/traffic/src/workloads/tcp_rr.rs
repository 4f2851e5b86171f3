//! `tcp-rr`: request and response over TCP.

use super::rr::{
    self, MessageSizes, MessageTransport, ReceiveProgress, Responder, RrClient, RrServer,
};
use super::serving_state::ServingState;
use crate::slices::progress::SliceProgress;
use crate::tcp::{AcceptedFlows, CONGESTION, TcpOptions, TcpServerThread, connect, shut_down};
use crate::udp::SleepingSockets;
use crate::wait_mode::WaitMode;
use crate::workers;
use crate::{Client, Error, Parameter, Server, TrialTask, Workload, WorkloadInfo, WorkloadRequest};
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::io;
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use tare_record::{Metric, SliceKind};

/// Workload `tcp-rr`.
#[derive(Debug)]
pub(crate) struct TcpRr;

impl Workload for TcpRr {
    fn info(&self) -> WorkloadInfo {
        WorkloadInfo {
            name: "tcp-rr",
            summary: "requests and responses over TCP, one outstanding per flow; their rate and latency",
            stands_for: "netperf TCP_RR, sockperf ping-pong",
            source: "https://hewlettpackard.github.io/netperf/doc/netperf.html#TCP_005fRR",
        }
    }

    fn metrics(&self) -> &'static [Metric] {
        &rr::METRICS
    }

    fn port_count(&self) -> usize {
        1
    }

    fn parameters(&self) -> &'static [Parameter] {
        const PARAMETERS: &[Parameter] = &{
            let [request, response, open_loop, count, wait, threads] = rr::parameters(16 << 20);
            [request, response, open_loop, count, CONGESTION, wait, threads]
        };
        PARAMETERS
    }

    fn validate(&self, asked: &WorkloadRequest<'_>) -> Result<(), Error> {
        rr::validate(asked)
    }

    fn slice_kind(&self) -> Option<SliceKind> {
        Some(SliceKind::Messages)
    }

    fn serve(&self, task: &TrialTask) -> Result<Box<dyn Server>, Error> {
        let sizes = MessageSizes::from_parameters(&task.parameters)?;
        let progress = SliceProgress::for_task(task);
        let shared = ServingState::new(task, progress.clone());
        let serving =
            TcpServerThread::start_with(task, &options(task), task.flows, move |gathered| {
                let AcceptedFlows { flows, task, cores, patience, .. } = gathered;
                let wait = WaitMode::from_parameters(&task.parameters);
                let mut lanes = Vec::new();
                for hand in workers::distribute(flows, &cores, &task.parameters) {
                    hand.iter()
                        .try_for_each(|flow| wait.prepare_socket(&flow.stream, &flow.stream))?;
                    let wires = hand
                        .into_iter()
                        .map(|flow| (TcpTransport::new(flow.stream), flow.origin.client));
                    lanes.push(Responder::new(wires.collect(), sizes, &task, &shared));
                }
                workers::run_flow_groups(lanes, &cores, &task, &patience)
            })?;
        let (granted, asleep) = (serving.granted.clone(), SleepingSockets::default());
        Ok(Box::new(RrServer { serving, granted, asleep, progress }))
    }

    fn connect(&self, task: &TrialTask) -> Result<Box<dyn Client>, Error> {
        let (streams, granted) = connect(task, &options(task))?;
        let wait = WaitMode::from_parameters(&task.parameters);
        streams.iter().try_for_each(|stream| wait.prepare_socket(stream, stream))?;
        let wires = streams.into_iter().map(TcpTransport::new).collect();
        let sizes = MessageSizes::from_parameters(&task.parameters)?;
        Ok(Box::new(RrClient::new(wires, sizes, granted, task)))
    }
}

/// Returns the options of the flows of a trial.
fn options(task: &TrialTask) -> TcpOptions {
    TcpOptions { no_delay: true, ..TcpOptions::from_parameters(&task.parameters) }
}

/// Returns options with TCP_NODELAY. Without it, a small request would wait for the acknowledgement of the previous one
/// (RFC 896).
pub(super) fn no_delay_options() -> TcpOptions {
    TcpOptions { no_delay: true, ..TcpOptions::default() }
}

/// One end of a TCP flow.
#[derive(Debug)]
struct TcpTransport {
    stream: TcpStream,
    /// Bytes of the current message that have been sent (`given`), or received (`taken`).
    given: usize,
    taken: usize,
    head: [u8; 8],
}

impl TcpTransport {
    fn new(stream: TcpStream) -> Self {
        Self { stream, given: 0, taken: 0, head: [0; 8] }
    }

    /// Keeps the first bytes of a message.
    #[inline]
    fn keep_head(&mut self, piece: &[u8]) {
        if let Some(space) = self.head.get_mut(self.taken..) {
            let fits = space.len().min(piece.len());
            space[..fits].copy_from_slice(&piece[..fits]);
        }
    }
}

impl MessageTransport for TcpTransport {
    const LOST_AFTER: Option<u64> = None;

    fn socket(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    #[inline]
    fn send_some(&mut self, message: &[u8]) -> io::Result<bool> {
        self.given += send(&self.stream, &message[self.given..], SendFlags::NOSIGNAL)?;
        let whole = self.given == message.len();
        if whole {
            self.given = 0;
        }
        Ok(whole)
    }

    #[inline]
    fn receive_some(&mut self, buffer: &mut [u8], size: usize) -> io::Result<ReceiveProgress> {
        let most = buffer.len().min(size - self.taken);
        let (bytes, _) = recv(&self.stream, &mut buffer[..most], RecvFlags::empty())?;
        if bytes == 0 {
            return Ok(ReceiveProgress::End);
        }
        self.keep_head(&buffer[..bytes]);
        self.taken += bytes;
        if self.taken < size {
            return Ok(ReceiveProgress::Part);
        }
        self.taken = 0;
        Ok(ReceiveProgress::Whole)
    }

    fn head(&self) -> [u8; 8] {
        self.head
    }

    fn close_sending(&mut self) -> io::Result<()> {
        shut_down(&self.stream, Shutdown::Write)
    }

    /// Returns false: a read of the stream reports its end.
    fn is_closed_by_peer(&self) -> io::Result<bool> {
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SideReport;
    use crate::tcp::receive_greeting;
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpListener};
    use std::thread;
    use std::time::{Duration, Instant};
    use tare_dev::eventually;
    use tare_record::finding::{CountShortfall, SlowSender};
    use tare_record::{Finding, Nanos};

    /// Runs a server that delays each response. Returns the number of requests it received.
    fn slow_server(listener: TcpListener, token: u64, delay: Duration) -> u64 {
        let mut stream = receive_greeting(listener.accept().unwrap().0, token).unwrap().stream;
        let mut requests = 0;
        while stream.read(&mut [0]).unwrap() == 1 {
            requests += 1;
            let came = Instant::now();
            eventually("the delay is over", || came.elapsed() >= delay);
            stream.write_all(&[0]).unwrap();
        }
        requests
    }

    /// Runs a client against a slow server. Returns its report, and the number of requests that the server received.
    fn against(delay: Duration, asked: &[(&str, serde_json::Value)]) -> (SideReport, u64) {
        against_for(TrialTask::for_test("tcp-rr", Vec::new()).duration, delay, asked)
    }

    /// Runs a client for this long, or until its transactions are done, as [`against`] does.
    fn against_for(
        duration: Nanos,
        delay: Duration,
        asked: &[(&str, serde_json::Value)],
    ) -> (SideReport, u64) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut task = TrialTask::for_test("tcp-rr", vec![listener.local_addr().unwrap()]);
        task.duration = duration;
        task.parameters
            .extend(asked.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        let token = task.token;
        let server = thread::spawn(move || slow_server(listener, token, delay));
        let report = TcpRr.connect(&task).unwrap().run().unwrap();
        (report, server.join().unwrap())
    }

    #[test]
    fn a_server_that_delays_is_seen_to_delay_however_one_waits() {
        const DELAY: Duration = Duration::from_millis(3);
        for wait in ["block", "spin"] {
            let (report, requests) = against(DELAY, &[("wait", wait.into())]);
            assert_eq!(report.ends.completed, requests);
            // Histograms keep three digits.
            let least = Nanos::from(DELAY).0 * 999 / 1000;
            for latency in report.series[0].intervals.iter().filter_map(|one| one.latency.as_ref())
            {
                assert!(latency.iter().all(|(nanos, _)| nanos >= least), "{wait}");
            }
        }
    }

    /// Returns the transactions per second that were begun, if they were too few.
    fn offered(report: &SideReport) -> Option<f64> {
        report.findings.iter().find_map(|finding| match finding {
            Finding::SlowSender(SlowSender { offered, .. }) => Some(*offered),
            _ => None,
        })
    }

    #[test]
    fn a_server_slower_than_the_schedule_makes_latencies_that_grow_and_a_finding() {
        const DELAY: Duration = Duration::from_millis(3);
        let (report, requests) = against(DELAY, &[("open_loop", 1000.0.into())]);
        assert_eq!(report.ends.completed, requests);
        // At most every third transaction can be begun in time.
        assert_eq!(offered(&report), Some(requests as f64 / 0.05));
        let mut latencies: Vec<u64> = (report.series[0].intervals.iter())
            .flat_map(|interval| interval.latency.iter().flat_map(|latency| latency.iter()))
            .flat_map(|(nanos, count)| std::iter::repeat_n(nanos, count as usize))
            .collect();
        latencies.sort_unstable();
        assert!(requests - latencies.len() as u64 <= 1, "one may complete after the end");
        // A transaction is due every millisecond, and done after at least three more: however slow the machine is, each
        // has waited two longer than the one before it. Histograms keep three digits.
        for (latency, nth) in latencies.into_iter().zip(0u64..) {
            assert!(latency >= (3 + 2 * nth) * 999_000, "{nth}: {latency}");
        }
    }

    #[test]
    fn an_open_loop_keeps_its_rate_however_one_waits() {
        for wait in ["block", "spin"] {
            let asked = [("open_loop", 200.0.into()), ("wait", wait.into())];
            let (report, requests) = against(Duration::ZERO, &asked);
            assert_eq!(report.ends.completed, requests, "{wait}");
            // Due at 0, 5 … 45 ms. If a busy machine did not reach the last of them, a finding says so.
            assert!(requests <= 10, "{wait}: {requests}");
            let few = (requests < 8).then_some(requests as f64 / 0.05);
            assert_eq!(offered(&report), few, "{wait}: {requests}");
        }
    }

    #[test]
    fn a_number_of_transactions_ends_the_trial_and_each_of_them_counts() {
        // A busy machine needs longer than a short trial lasts.
        let asked = [("count", 7.into())];
        let (report, requests) =
            against_for(Duration::from_secs(60).into(), Duration::from_millis(1), &asked);
        assert_eq!((report.ends.completed, requests), (7, 7));
        let intervals = &report.series[0].intervals;
        assert_eq!(intervals.iter().map(|one| one.operations).sum::<u64>(), 7);
        // What comes after the last transaction is no part of the trial.
        assert!(intervals.last().is_some_and(|last| last.operations > 0), "{intervals:?}");
    }

    #[test]
    fn a_number_of_transactions_that_time_cuts_short_is_said() {
        let asked = 1_000_000_u64;
        let (report, _) = against(Duration::from_millis(1), &[("count", asked.into())]);
        let completed = report.ends.completed;
        assert!(completed < asked);
        let expected = Finding::CountShortfall(CountShortfall { asked, completed });
        assert!(report.findings.contains(&expected), "{:?}", report.findings);
    }

    #[test]
    fn a_server_that_goes_away_breaks_the_flow() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let task = crate::TrialTask::for_test("tcp-rr", vec![listener.local_addr().unwrap()]);
        let token = task.token;
        let server =
            thread::spawn(move || drop(receive_greeting(listener.accept().unwrap().0, token)));
        let client = TcpRr.connect(&task).unwrap();
        server.join().unwrap();
        assert!(matches!(client.run(), Err(Error::Io { .. })));
    }
}
