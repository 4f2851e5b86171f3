//! Tests of the token: it is in no record, result, page or archive, and not on the command line for long.

use rustix::process::Signal;
use std::fs;
use std::path::Path;
use std::process::Command;
use support::listener::{ENDLESS, SHORT, TOKEN, TestListener, in_scratch, write_token};

/// Returns the command line of a process, with its NUL bytes.
fn command_line(pid: u32) -> String {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).expect("the process runs");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Fails if a file below a directory has the token.
fn assert_no_token(directory: &Path) {
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() {
            assert_no_token(&path);
        } else {
            let bytes = fs::read(&path).expect("a file");
            let has = bytes.windows(TOKEN.len()).any(|part| part == TOKEN.as_bytes());
            assert!(!has, "{} has the token", path.display());
        }
    }
}

#[test]
fn a_token_on_the_command_line_is_overwritten() {
    let (_scratch, tare) = in_scratch();
    let mut listening = TestListener::start(&tare, &["--token", TOKEN]);
    let port = listening.port();
    let with_value = format!("--token={TOKEN}");
    for token in [&["--token", TOKEN][..], &[&with_value]] {
        let arguments =
            TestListener::probe_arguments(&port, "127.0.0.1", &[ENDLESS, token].concat());
        let mut probing = tare.start(&arguments);
        listening.running.wait_for_again("tcp-rr");
        for pid in [listening.running.pid(), probing.pid()] {
            let told = command_line(pid);
            assert!(!told.contains(TOKEN), "{told:?}");
            assert!(told.contains(&"x".repeat(TOKEN.len())), "{told:?}");
        }
        assert!(probing.is_running());
        probing.signal(Signal::INT);
        probing.wait();
    }
}

#[test]
fn a_token_is_in_no_result() {
    let (scratch, tare) = in_scratch();
    let listening = TestListener::start(&tare, &["--token", TOKEN]);
    let flags = ["--token", TOKEN, "--blocks", "2", "--out", "out", "--json"];
    let outcome = listening.run_probe(&tare, &[SHORT, &flags].concat()).expect(0);
    assert!(!outcome.text().contains(TOKEN) && !outcome.stderr.contains(TOKEN));
    tare.run(&["report", "out", "--html", "out/page.html", "--csv", "out/all.csv"]).expect(0);
    tare.run(&["bundle", "out", "--out", "out/run.tar.gz"]).expect(0);
    let unpack = ["-xzf", "out/run.tar.gz", "-C", "out"];
    let unpacked = Command::new("tar").args(unpack).current_dir(scratch.root()).status();
    assert!(unpacked.expect("tar").success());
    assert_no_token(&scratch.path("out"));
    let journal = fs::read_to_string(scratch.path("out/journal.jsonl")).expect("a journal");
    assert!(journal.contains("HIDDEN"), "the command line is recorded without the token");
}

#[test]
fn a_token_file_that_others_may_read_is_refused() {
    let (scratch, tare) = in_scratch();
    for mode in [0o644, 0o640, 0o604, 0o620] {
        write_token(&scratch, mode);
        let words = format!("its mode is {mode:04o}");
        for command in [
            &["listen", "--token-file", "token"][..],
            &["probe", "127.0.0.1", "--token-file", "token"],
        ] {
            tare.run(command).assert_error(2, &[&words, "chmod 600 token"]);
        }
    }
    let piped = tare.in_private_mounts(
        "mkfifo pipe; (echo short >pipe) & exec \"$tare\" listen --bind 0.0.0.0 --token-file pipe",
    );
    piped.assert_error(2, &["fewer than 16 characters"]);
}

#[test]
fn a_short_token_is_for_this_machine_alone() {
    let (_scratch, tare) = in_scratch();
    for bind in ["0.0.0.0", "::", "10.99.0.1"] {
        tare.run(&["listen", "--bind", bind, "--token", "fifteen letters"])
            .assert_error(2, &[bind, "fewer than 16 characters", "openssl rand"]);
    }
    // Nothing is sent to an address of TEST-NET-1 (RFC 5737).
    tare.run(&["probe", "192.0.2.1", "--token", "fifteen letters"])
        .assert_error(1, &["192.0.2.1", "fewer than 16 characters"]);
    let listening = TestListener::start(&tare, &["--token", "short"]);
    listening.run_probe(&tare, &[SHORT, &["--token", "short"]].concat()).expect(0);
}
