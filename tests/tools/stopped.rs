//! Tests of foreign tools that a signal stops: the run goes on as if the tool had failed at once.

use rustix::process::{Pid, Signal, kill_process};
use support::program::{RunningProgram, Tare, User};
use support::{ScratchDirectory, eventually, machine};

/// Beginning of the command line of a client.
const CLIENT: &str = "iperf3 -J -c";

/// Waits for the process of a run with these words in its command line, and returns it.
fn awaited(running: &RunningProgram, words: &str) -> Pid {
    eventually(words, || machine::descendants(running.pid(), words).first().copied())
}

#[test]
fn a_stopped_tool_is_noticed_long_before_its_trial_would_end() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::copied(&scratch, User::Caller);
    let asked = ["run", "--network", "bridge", "--workload", "iperf3", "--slice", "off"];
    let method = ["--blocks", "1", "--duration", "1h", "--out", "out"];
    let mut running = tare.start(&[&asked[..], &method].concat());
    for (side, said) in
        [(CLIENT, "is tried once again"), ("iperf3 -s", "is not measured on this network")]
    {
        // The server is stopped when its client runs: a server that does not listen has another error.
        awaited(&running, CLIENT);
        kill_process(awaited(&running, side), Signal::STOP).expect("it runs");
        running.wait_for(said);
        assert!(running.awaited_output().contains("stopped iperf3, which the agent runs"));
    }
    running.wait().expect(1);
    machine::wait_for_the_end_of(tare.program());
}
