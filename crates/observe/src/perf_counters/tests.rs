use super::*;
use crate::files::write_test_files;
use crate::sys::perf::{BURNED_NANOS, burn_cpu};

fn reading(time: u64, values: [u64; 2]) -> [EventReading; 2] {
    values.map(|value| EventReading { enabled: time, running: time, value })
}

#[test]
fn cores_are_told_apart_and_agents_are_one() {
    let readings = [
        (Nanos(0), Some(vec![reading(5, [100, 10]), reading(5, [0, 0])])),
        (Nanos(9), Some(vec![reading(6, [150, 30]), reading(6, [7, 1])])),
    ];
    let executed = |counted| to_record(counted, &readings).unwrap().samples[1].executed.clone();
    let of = |cycles, instructions| HardwareEventCounts { cycles, instructions };
    assert_eq!(executed(CounterScope::Machine), [of(50, 20), of(7, 1)]);
    assert_eq!(executed(CounterScope::Agents), [of(57, 21)]);
    assert_eq!(to_record(CounterScope::Machine, &readings).unwrap().running, 1.0);
}

#[test]
fn what_was_not_counted_all_the_time_is_not_told() {
    let lost = [(Nanos(0), Some(vec![reading(5, [1, 1])])), (Nanos(9), None)];
    assert_eq!(to_record(CounterScope::Machine, &lost), None);
    let never = reading(9, [1, 1]).map(|reading| EventReading { running: 5, ..reading });
    let without_turn = [(Nanos(0), Some(vec![reading(5, [1, 1])])), (Nanos(9), Some(vec![never]))];
    assert_eq!(to_record(CounterScope::Machine, &without_turn), None);
    assert_eq!(to_record(CounterScope::Machine, &[]), None);
}

#[test]
fn cores_that_are_online_are_listed() {
    let root = tempfile::tempdir().unwrap();
    let files = write_test_files(root.path(), &[("sys/devices/system/cpu/online", "0-2,5\n")]);
    assert_eq!(online_cores(&files), [0, 1, 2, 5]);
    assert_eq!(online_cores(&MachineFiles::under(tempfile::tempdir().unwrap().path())), [0_u32; 0]);
}

/// Tests the whole path with events that need no hardware counters: a user who may count the cores sees the time pass
/// on each; any other user counts this process.
#[test]
fn the_kernel_counts_what_this_user_may_see() {
    let files = MachineFiles::machine();
    let counters = PerfCounters::open_software().unwrap();
    let before = counters.read();
    burn_cpu();
    let readings = [(Nanos(0), before), (Nanos(30_000_000), counters.read())];
    let hardware = counters.to_record(&readings).unwrap();
    let last = hardware.samples.last().unwrap();
    match hardware.counted {
        CounterScope::Machine => {
            assert_eq!(last.executed.len(), online_cores(&files).len());
            assert!(last.executed.iter().all(|core| core.cycles >= BURNED_NANOS), "{last:?}");
        }
        CounterScope::Agents | CounterScope::AgentsCode => {
            assert!(last.executed[0].cycles > BURNED_NANOS / 2, "{last:?}");
        }
    }
    assert!(hardware.running > 0.99, "nobody takes turns with these: {hardware:?}");
}

/// Tests the path of users who may not observe the whole machine.
#[test]
fn a_process_is_counted_with_all_its_threads() {
    let events = [PerfEvent::TASK_CLOCK, PerfEvent::CONTEXT_SWITCHES];
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let old = std::thread::spawn(move || {
        let _ = stopped.recv();
        burn_cpu();
    });
    let threads = list_threads(&MachineFiles::machine(), &[std::process::id()]);
    assert!(threads.len() > 1);
    let pairs = open_threads(events, &threads, PrivilegeScope::UserOnly).unwrap();
    let counters = PerfCounters { counted: CounterScope::AgentsCode, pairs };
    let before = counters.read();
    drop(stop);
    old.join().unwrap();
    let hardware = counters.to_record(&[(Nanos(0), before), (Nanos(1), counters.read())]).unwrap();
    assert!(hardware.samples[1].executed[0].cycles > BURNED_NANOS / 2, "{hardware:?}");
}

#[test]
fn either_the_processor_counts_or_somebody_says_why_not() {
    match available_scope() {
        Ok(counted) => {
            let counters = PerfCounters::open_machine(&[std::process::id()]).unwrap();
            assert_eq!(counters.counted, counted);
            assert!(counters.read().is_some());
        }
        Err(refused) => assert!(!refused.why.is_empty() && !refused.remedy.is_empty()),
    }
}

/// A thread that starts between the opening of two events inherits only one of them.
#[test]
fn threads_that_are_born_meanwhile_spoil_no_count() {
    let events = [PerfEvent::TASK_CLOCK, PerfEvent::CONTEXT_SWITCHES];
    let (identity, identified) = std::sync::mpsc::channel();
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let parent = std::thread::spawn(move || {
        identity.send(rustix::thread::gettid().as_raw_pid()).unwrap();
        while stopped.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
            std::thread::spawn(|| ()).join().unwrap();
        }
    });
    let thread = identified.recv().unwrap().unsigned_abs();
    for _ in 0..1_000 {
        let pairs = open_threads(events, &[thread], PrivilegeScope::UserOnly).unwrap();
        let counters = PerfCounters { counted: CounterScope::AgentsCode, pairs };
        assert!(counters.read().is_some());
    }
    drop(stop);
    parent.join().unwrap();
}
