//! Tests of what a place learns of its engine, with a Podman of the test's own: a socket that answers a few requests.

use super::*;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

/// Starts an ordinary user's Podman that refuses its own API this many times, as one that is busy.
fn start_busy_podman(directory: &Path, refusals: u32) -> EngineAddress {
    let socket = directory.join("podman.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let left = Arc::new(AtomicU32::new(refusals));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, left) = (stream.unwrap(), Arc::clone(&left));
            std::thread::spawn(move || serve(stream, &left));
        }
    });
    EngineAddress::Unix(socket)
}

/// Answers the requests of one connection, none of which has a body.
fn serve(stream: UnixStream, refusals: &AtomicU32) {
    let mut output = stream.try_clone().unwrap();
    let mut lines = BufReader::new(stream).lines();
    while let Some(Ok(request)) = lines.next() {
        while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
        let (status, body) = answer(request.split(' ').nth(1).unwrap(), refusals);
        let (length, head) = (body.to_string().len(), "Content-Type: application/json");
        write!(output, "HTTP/1.1 {status} X\r\n{head}\r\nContent-Length: {length}\r\n\r\n{body}")
            .unwrap();
    }
}

fn answer(target: &str, refusals: &AtomicU32) -> (u16, Value) {
    if target.contains("/libpod/info") {
        let take = |left: u32| left.checked_sub(1);
        if refusals.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_ok() {
            return (500, json!({"message": "resource temporarily unavailable"}));
        }
        return (200, json!({"host": {"security": {"rootless": true}}}));
    }
    let path = target.split('?').next().unwrap_or_default();
    match path.rsplit('/').next() {
        Some("version") => (
            200,
            json!({"ApiVersion": "1.41", "Components": [{"Name": "Podman Engine", "Version": "4.3.1"}]}),
        ),
        Some("networks") => (200, json!([])),
        _ => (200, json!({})),
    }
}

fn place(directory: &Path, refusals: u32) -> EnginePlace {
    let address = start_busy_podman(directory, refusals);
    EnginePlace::new(EngineProduct::Podman, Ok(address), None, DockerOptions::default())
}

#[test]
fn a_podman_that_does_not_say_what_it_is_is_not_taken_for_another_kind() {
    let directory = tempfile::tempdir().unwrap();
    let place = place(directory.path(), 2);
    let unmet = place.info().unwrap_err();
    assert!(unmet.reason.contains("resource temporarily unavailable"), "{unmet:?}");
    // The list of networks asks once, and a run again.
    assert!(place.info().is_err() && place.info_for_run().is_err());
}

#[test]
fn a_run_asks_a_busy_podman_again() {
    let directory = tempfile::tempdir().unwrap();
    let place = place(directory.path(), 1);
    assert!(place.info().is_err());
    let is_rootless = |known: &EngineInfo| known.podman.as_ref().is_some_and(|one| one.rootless);
    assert!(is_rootless(place.info_for_run().unwrap()));
    assert!(is_rootless(place.info().unwrap()), "from then on it is known");
}
