//! Tests of what agents may do: less than the user who started the run.

use rustix::process::{Pid, Signal};
use support::listener::{ENDLESS, TestListener};
use support::program::{Tare, User};
use support::{ScratchDirectory, eventually, machine};

/// Number of the capability to load kernel modules, and of those to trace and to administer (capability.h).
const GIVEN_UP: [u32; 3] = [16, 19, 21];

/// Mask of the capabilities for network options, low ports, priorities and limits.
const KEPT_BY_LISTENERS: u64 = 1 << 12 | 1 << 10 | 1 << 23 | 1 << 24;

/// Returns the threads of a process.
fn threads(pid: Pid) -> Vec<Pid> {
    let path = format!("/proc/{}/task", pid.as_raw_nonzero());
    let tasks = std::fs::read_dir(path).expect("it runs").filter_map(Result::ok);
    let number = |name: std::ffi::OsString| name.to_str()?.parse().ok().and_then(Pid::from_raw);
    tasks.filter_map(|task| number(task.file_name())).collect()
}

/// Checks whether a thread has more filters of system calls than this test, which has some in a container.
fn has_filters(thread: Pid) -> bool {
    let own = rustix::process::getpid();
    let filters = |thread| status(thread, "Seccomp_filters").parse::<u32>().expect("a number");
    filters(thread) > filters(own)
}

/// Returns a field of a process's or thread's status.
fn status(pid: Pid, field: &str) -> String {
    let path = format!("/proc/{}/status", pid.as_raw_nonzero());
    let text = std::fs::read_to_string(path).expect("it runs");
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    line.expect("the kernel says it").trim().to_owned()
}

#[test]
fn agents_have_no_rights_that_workloads_do_not_need_and_no_secrets() {
    // An agent of its own for each container, and one for many.
    let cases = User::all().iter().flat_map(|&user| [(user, "1", 2), (user, "40", 4)]);
    for (user, clients, agents) in cases {
        let scratch = ScratchDirectory::new();
        let tare = Tare::copied(&scratch, user)
            .with_variable("TARE_TOKEN", "0123456789abcdef-secret")
            .with_variable("AWS_SECRET_ACCESS_KEY", "hidden-0123456789");
        let network = ["run", "--network", "bridge", "--clients", clients, "--slice", "off"];
        let method = ["--workload", "tcp-stream", "--duration", "1h", "--blocks", "1"];
        let running = tare.start(&[&network[..], &method, &["--out", "out"]].concat());
        let found = || machine::descendants(running.pid(), "internal agent");
        eventually("the agents run", || found().len() >= 2 && found().len() <= agents);
        eventually("the agents have given up their rights", || {
            found().into_iter().all(|agent| {
                let bounding = u64::from_str_radix(&status(agent, "CapBnd"), 16).expect("a mask");
                let has_given_up = GIVEN_UP.iter().all(|right| bounding >> right & 1 == 0);
                let filtered = has_given_up && status(agent, "NoNewPrivs") == "1";
                filtered && threads(agent).into_iter().any(has_filters)
            })
        });
        for agent in found() {
            let path = format!("/proc/{}/environ", agent.as_raw_nonzero());
            let environment =
                String::from_utf8_lossy(&std::fs::read(path).expect("it runs")).into_owned();
            assert!(environment.contains("PATH="), "{environment}");
            for secret in ["0123456789abcdef-secret", "hidden-0123456789"] {
                assert!(!environment.contains(secret), "{environment}");
            }
        }
        running.signal(Signal::INT);
        running.wait().expect(130);
    }
}

#[test]
fn a_listener_has_no_rights_that_traffic_does_not_need() {
    for user in User::all() {
        let scratch = ScratchDirectory::new();
        let tare = Tare::copied(&scratch, *user);
        let listening = TestListener::start(&tare, &[]);
        let probe = listening.start_probe(&tare, ENDLESS);
        let pid = i32::try_from(listening.running.pid()).ok().and_then(Pid::from_raw);
        let pid = pid.expect("a process");
        eventually("the listener serves a trial", || threads(pid).len() > 2);
        let permitted = u64::from_str_radix(&status(pid, "CapPrm"), 16).expect("a mask");
        assert_eq!(permitted & !KEPT_BY_LISTENERS, 0);
        assert_eq!(status(pid, "NoNewPrivs"), "1");
        assert!(threads(pid).into_iter().all(has_filters));
        probe.signal(Signal::INT);
        probe.wait();
    }
}
