//! An hour of trials, one block after another: no process of the run gains descriptors or threads, and the command keeps
//! next to nothing of a trial.

use crate::holdings::{Holdings, holdings};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use support::ScratchDirectory;
use support::journal::trials;
use support::program::{Tare, User};

/// Variable that sets the length of the run, s, and the length without it.
const VARIABLE: &str = "TARE_LONG_RUN";
const HOUR: &str = "3600";
/// Time between two samples.
const INTERVAL: Duration = Duration::from_millis(500);
/// Memory that a trial may leave in the command, KiB: its record is in the journal.
const PER_TRIAL: u64 = 1;
/// Memory that does not follow from the trials, KiB.
const SLACK: u64 = 4096;

#[test]
#[ignore = "takes an hour: make soak"]
fn an_hour_of_trials_shows_no_growth() {
    let seconds = std::env::var(VARIABLE).unwrap_or_else(|_| HOUR.to_owned());
    let scratch = ScratchDirectory::new();
    let tare = Tare::copied(&scratch, User::Ordinary);
    let what = ["run", "--network", "host,bridge", "--workload", "tcp-rr,udp-rate"];
    let how = ["--blocks", "100000", "--duration", "100ms", "--slice", "off", "--out", "out"];
    let running = tare.start(&[&what[..], &how, &["--budget", "10h"]].concat());
    let command = i32::try_from(running.pid()).expect("a process id");
    let end = Instant::now() + Duration::from_secs(seconds.parse().expect("seconds"));
    let mut moments: Vec<BTreeMap<i32, Holdings>> = Vec::new();
    while Instant::now() < end && !crate::ended_within(&running, INTERVAL) {
        moments.push(holdings(tare.program()));
    }
    running.signal(Signal::INT);
    running.wait().expect(130);
    let measured = trials(&tare.directory().join("out")).len() as u64;
    let quarter = moments.len() / 4;
    let (second, last) = (&moments[quarter..2 * quarter], &moments[3 * quarter..]);
    // Agents come and go with their networks.
    let lasting = moments[quarter].keys().filter(|id| last.iter().all(|one| one.contains_key(id)));
    let mut is_watched = false;
    for id in lasting {
        let of = |moments: &[BTreeMap<i32, Holdings>]| -> Vec<Holdings> {
            moments.iter().filter_map(|one| one.get(id).copied()).collect()
        };
        let (before, after) = (Holdings::most(&of(second)), Holdings::most(&of(last)));
        println!("process {id}, {measured} trials: {before:?}, later {after:?}");
        // Moments are samples: a short-lived descriptor or thread may be missed in one quarter.
        assert!(after.descriptors <= before.descriptors + 4, "{before:?}, later {after:?}");
        assert!(after.threads <= before.threads + 2, "{before:?}, later {after:?}");
        let kept = if *id == command { PER_TRIAL * measured } else { 0 };
        assert!(after.memory <= before.memory + kept + SLACK, "{before:?}, later {after:?}");
        is_watched |= *id == command && before.descriptors > 0;
    }
    assert!(is_watched && measured > 8, "{measured} trials");
}
