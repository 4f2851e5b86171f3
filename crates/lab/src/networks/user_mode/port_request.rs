//! Hidden subcommand `publish`: a request to the API socket of slirp4netns, which has no client of its own.
//!
//! The protocol is one JSON object in each direction (slirp4netns(1), API SOCKET).

use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;
use tare_network::Error;

/// Word by which the subcommand is called.
pub(super) const ROLE: &str = "publish";

/// Time limit of an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// Largest answer that is read, bytes.
const MOST: u64 = 64 * 1024;

/// Request that the node forwards a port.
#[derive(Serialize)]
struct ForwardRequest<'a> {
    execute: &'static str,
    arguments: ForwardedPort<'a>,
}

/// Forwarded port, the same on the node and in the container.
#[derive(Serialize)]
struct ForwardedPort<'a> {
    proto: &'a str,
    host_addr: IpAddr,
    host_port: u16,
    guest_port: u16,
}

/// Response to a request: it has an error if the request failed.
#[derive(Deserialize)]
struct ForwardResponse {
    #[serde(default)]
    error: Option<ResponseError>,
}

/// Error of a response.
#[derive(Deserialize)]
struct ResponseError {
    #[serde(default)]
    desc: String,
}

/// Returns the request that forwards a port of the node to the same port of the container, by `tcp` or `udp`.
pub(super) fn forward(transport: &str, host: IpAddr, port: u16) -> String {
    let arguments =
        ForwardedPort { proto: transport, host_addr: host, host_port: port, guest_port: port };
    serde_json::to_string(&ForwardRequest { execute: "add_hostfwd", arguments }).unwrap_or_default()
}

/// Runs the subcommand with its arguments (those after `publish`): the API socket and the request.
///
/// # Errors
/// The arguments are wrong, nobody listens on the socket, or the request was refused.
pub fn request_port(arguments: impl IntoIterator<Item = OsString>) -> Result<(), Error> {
    let what = || "publish a port by slirp4netns".to_owned();
    let words: Vec<OsString> = arguments.into_iter().collect();
    let [socket, request] = words.as_slice() else {
        return Err(Error::new(what(), "invalid arguments: expected SOCKET REQUEST"));
    };
    let answer = exchange(Path::new(socket), request.as_encoded_bytes())
        .map_err(|error| Error::new(what(), error))?;
    check_answer(&answer).map_err(|why| Error::new(what(), why))
}

/// Sends a request and returns the answer.
fn exchange(socket: &Path, request: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
    stream.write_all(request)?;
    stream.shutdown(Shutdown::Write)?;
    let mut answer = Vec::new();
    stream.take(MOST).read_to_end(&mut answer)?;
    Ok(answer)
}

/// Fails with the reason if an answer is an error or no answer at all.
fn check_answer(answer: &[u8]) -> Result<(), String> {
    match serde_json::from_slice(answer) {
        Ok(ForwardResponse { error: None }) => Ok(()),
        Ok(ForwardResponse { error: Some(error) }) => Err(error.desc),
        Err(error) => Err(format!("the answer is not valid: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_request_has_the_words_of_the_manual() {
        let request = forward("udp", IpAddr::from([10, 20, 0, 1]), 7001);
        let expected = r#"{"execute":"add_hostfwd","arguments":{"proto":"udp","host_addr":"10.20.0.1","host_port":7001,"guest_port":7001}}"#;
        assert_eq!(request, expected);
    }

    #[test]
    fn a_refused_request_gives_its_reason() {
        assert_eq!(check_answer(br#"{"return":{"id":1}}"#), Ok(()));
        let refused = br#"{"error":{"desc":"bad request: add_hostfwd: slirp_add_hostfwd failed"}}"#;
        assert!(check_answer(refused).unwrap_err().contains("slirp_add_hostfwd failed"));
        assert!(check_answer(b"").unwrap_err().contains("the answer is not valid"));
    }

    proptest! {
        #[test]
        fn no_answer_breaks_the_reader(answer: Vec<u8>) {
            let _ = check_answer(&answer);
        }
    }
}
