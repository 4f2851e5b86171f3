use super::*;
use crate::files::lay_out;
use crate::sys::perf::{BURNT, burn};

fn reading(time: u64, values: [u64; 2]) -> [Reading; 2] {
    values.map(|value| Reading { enabled: time, running: time, value })
}

#[test]
fn cores_are_told_apart_and_agents_are_one() {
    let readings = [
        (Nanos(0), Some(vec![reading(5, [100, 10]), reading(5, [0, 0])])),
        (Nanos(9), Some(vec![reading(6, [150, 30]), reading(6, [7, 1])])),
    ];
    let executed = |counted| told(counted, &readings).unwrap().samples[1].executed.clone();
    let of = |cycles, instructions| Executed { cycles, instructions };
    assert_eq!(executed(Counting::Machine), [of(50, 20), of(7, 1)]);
    assert_eq!(executed(Counting::Agents), [of(57, 21)]);
    assert_eq!(told(Counting::Machine, &readings).unwrap().running, 1.0);
}

#[test]
fn what_was_not_counted_all_the_time_is_not_told() {
    let lost = [(Nanos(0), Some(vec![reading(5, [1, 1])])), (Nanos(9), None)];
    assert_eq!(told(Counting::Machine, &lost), None);
    let never = reading(9, [1, 1]).map(|reading| Reading { running: 5, ..reading });
    let without_turn = [(Nanos(0), Some(vec![reading(5, [1, 1])])), (Nanos(9), Some(vec![never]))];
    assert_eq!(told(Counting::Machine, &without_turn), None);
    assert_eq!(told(Counting::Machine, &[]), None);
}

#[test]
fn cores_that_are_online_are_listed() {
    let root = tempfile::tempdir().unwrap();
    let files = lay_out(root.path(), &[("sys/devices/system/cpu/online", "0-2,5\n")]);
    assert_eq!(online(&files), [0, 1, 2, 5]);
    assert_eq!(online(&Files::under(tempfile::tempdir().unwrap().path())), [0_u32; 0]);
}

/// The whole way, with events that need no processor's counters: whoever may count the cores sees the time pass on each,
/// whoever may not counts this process.
#[test]
fn the_kernel_counts_what_this_user_may_see() {
    let files = Files::machine();
    let counters = Counters::of_software().unwrap();
    let before = counters.read();
    burn();
    let readings = [(Nanos(0), before), (Nanos(30_000_000), counters.read())];
    let hardware = counters.told(&readings).unwrap();
    let last = hardware.samples.last().unwrap();
    match hardware.counted {
        Counting::Machine => {
            assert_eq!(last.executed.len(), online(&files).len());
            assert!(last.executed.iter().all(|core| core.cycles >= BURNT), "{last:?}");
        }
        Counting::Agents | Counting::AgentsCode => {
            assert!(last.executed[0].cycles > BURNT / 2, "{last:?}");
        }
    }
    assert!(hardware.running > 0.99, "nobody takes turns with these: {hardware:?}");
}

/// The way of those who may not look at the whole machine.
#[test]
fn a_process_is_counted_with_all_its_threads() {
    let events = [Event::TASK_CLOCK, Event::CONTEXT_SWITCHES];
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let old = std::thread::spawn(move || {
        let _ = stopped.recv();
        burn();
    });
    let threads = threads(&Files::machine(), &[std::process::id()]);
    assert!(threads.len() > 1);
    let pairs = of_threads(events, &threads, Depth::Programs).unwrap();
    let counters = Counters { counted: Counting::AgentsCode, pairs };
    let before = counters.read();
    drop(stop);
    old.join().unwrap();
    let hardware = counters.told(&[(Nanos(0), before), (Nanos(1), counters.read())]).unwrap();
    assert!(hardware.samples[1].executed[0].cycles > BURNT / 2, "{hardware:?}");
}

#[test]
fn either_the_processor_counts_or_somebody_says_why_not() {
    match counting() {
        Ok(counted) => {
            let counters = Counters::machine(&[std::process::id()]).unwrap();
            assert_eq!(counters.counted, counted);
            assert!(counters.read().is_some());
        }
        Err(refused) => assert!(!refused.why.is_empty() && !refused.remedy.is_empty()),
    }
}

/// A thread that is born between the opening of two events inherits one of them alone.
#[test]
fn threads_that_are_born_meanwhile_spoil_no_count() {
    let events = [Event::TASK_CLOCK, Event::CONTEXT_SWITCHES];
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
        let pairs = of_threads(events, &[thread], Depth::Programs).unwrap();
        let counters = Counters { counted: Counting::AgentsCode, pairs };
        assert!(counters.read().is_some());
    }
    drop(stop);
    parent.join().unwrap();
}
