//! Resources that a trial takes on the machine of its server, before it is served: upper bounds, as far as the
//! parameters tell. A listener holds strangers to them.

use crate::placement::{SideCores, TrafficRole};
use crate::wait_mode::WaitMode;
use crate::{ParameterKind, TrialTask, Workload, parameters, workers};
use tare_record::Metric;

/// Resources of one trial's server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerResources {
    /// Number of sockets that are open at the same time.
    pub sockets: u64,
    /// Number of threads that carry flows.
    pub threads: u64,
    /// True if these threads never sleep.
    pub spins: bool,
    /// Memory of the process and of its sockets, bytes. Buffers that the kernel sizes by itself are not included.
    pub memory: u64,
}

/// Memory of a socket in addition to its messages and buffers, bytes.
const SOCKET_OVERHEAD: u64 = 64 << 10;

/// Memory of a thread in addition to its messages, bytes: 64 datagrams of the largest size received in one call.
const THREAD_OVERHEAD: u64 = 4 << 20;

/// Memory of a thread's latencies before they are in histograms, bytes.
const LATENCY_LOG: u64 = 8 << 20;

/// Memory of an interval record of a thread, with its text in the report, bytes.
const INTERVAL_RECORD: u64 = 1 << 10;

/// Memory of the histogram in an interval record, with its text in the report, bytes.
const INTERVAL_HISTOGRAM: u64 = 8 << 10;

impl ServerResources {
    /// Returns the resources of a task's server. The parameters are as [`Workload::resolve`] returns them.
    #[must_use]
    pub fn for_task(workload: &dyn Workload, task: &TrialTask) -> Self {
        let flows = u64::from(task.flows);
        let carriers = flows.saturating_mul(workload.carriers_per_flow(&task.parameters));
        // A flow may have a control connection too.
        let sockets = flows.saturating_add(carriers);
        let cores = SideCores::for_role(&task.cpus, TrafficRole::Server);
        let threads = workers::thread_count(task.flows as usize, &cores, &task.parameters) as u64;
        let spins = WaitMode::from_parameters(&task.parameters) == WaitMode::Spin;
        let messages = message_memory(workload, task);
        let (log, histogram) = match has_latencies(workload, task) {
            true => (LATENCY_LOG, INTERVAL_HISTOGRAM),
            false => (0, 0),
        };
        let intervals = task.duration.0 / task.interval.0.max(1);
        let by_socket = sockets
            .saturating_mul(SOCKET_OVERHEAD)
            .saturating_add(carriers.saturating_mul(messages));
        let records = intervals.saturating_mul(INTERVAL_RECORD + histogram);
        let by_thread = messages
            .saturating_add(THREAD_OVERHEAD + log)
            .saturating_add(records)
            .saturating_mul(threads);
        Self { sockets, threads, spins, memory: by_socket.saturating_add(by_thread) }
    }
}

/// Returns the memory of one message in each direction and of the socket buffers asked for, bytes.
fn message_memory(workload: &dyn Workload, task: &TrialTask) -> u64 {
    workload
        .parameters()
        .iter()
        .filter(|parameter| matches!(parameter.kind, ParameterKind::Bytes { .. }))
        .filter_map(|parameter| parameters::optional_size(&task.parameters, parameter.name))
        .fold(0, |sum, size| sum.saturating_add(size as u64))
}

/// Returns true if the server measures latencies: those of one way, which it can where both sides read one clock.
fn has_latencies(workload: &dyn Workload, task: &TrialTask) -> bool {
    task.one_clock && workload.metrics().contains(&Metric::OneWayP50)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::registry;
    use tare_record::Nanos;

    fn resources(workload: &str, edit: impl Fn(&mut TrialTask)) -> ServerResources {
        let mut task = TrialTask::for_test(workload, vec![([127, 0, 0, 1], 7).into()]);
        edit(&mut task);
        ServerResources::for_task(registry().find(workload).unwrap(), &task)
    }

    #[test]
    fn everything_that_a_client_can_ask_for_is_counted() {
        let few = resources("tcp-crr", |_| {});
        assert_eq!(few.sockets, 1 + 8, "a control connection, and those in progress");
        let many = resources("tcp-crr", |task| {
            task.flows = 3;
            task.parameters.insert("slots".to_owned(), 100.into());
            task.parameters.insert("response".to_owned(), (1 << 20).into());
        });
        assert_eq!(many.sockets, 3 * 101);
        assert!(many.memory >= 300 << 20);
        let threads = resources("tcp-rr", |task| {
            task.flows = 300;
            task.parameters.insert("threads".to_owned(), 200.into());
            task.parameters.insert("wait".to_owned(), "spin".into());
        });
        assert_eq!((threads.threads, threads.spins, threads.sockets), (200, true, 600));
        assert!(threads.memory >= 200 * (8 << 20), "latencies of both on one clock");
    }

    #[test]
    fn no_numbers_break_the_sums() {
        let all = resources("tcp-stream", |task| {
            task.flows = u32::MAX;
            (task.duration, task.interval) = (Nanos(u64::MAX), Nanos(0));
            task.parameters.insert("buffer".to_owned(), (1u64 << 40).into());
            task.parameters.insert("threads".to_owned(), (1u64 << 40).into());
        });
        assert_eq!(all.memory, u64::MAX);
    }
}
