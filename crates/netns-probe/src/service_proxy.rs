//! Mode of kube-proxy, which it tells programs on its node.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use tare_network::scaled_timeout;

/// Timeout of each step of the question. A node without kube-proxy refuses the connection at once.
const TIMEOUT: Duration = Duration::from_millis(500);

/// Longest answer that is read, bytes.
const LONGEST_ANSWER: u64 = 4096;

/// Returns the mode that the kube-proxy at an address reports (`/proxyMode` of its metrics server).
pub(super) fn read_proxy_mode(address: SocketAddr) -> io::Result<Option<String>> {
    let timeout = scaled_timeout(TIMEOUT);
    let mut stream = TcpStream::connect_timeout(&address, timeout)?;
    stream.set_read_timeout(Some(timeout))?;
    stream.set_write_timeout(Some(timeout))?;
    write!(stream, "GET /proxyMode HTTP/1.0\r\nHost: {address}\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.take(LONGEST_ANSWER).read_to_end(&mut answer)?;
    Ok(mode_in(&String::from_utf8_lossy(&answer)))
}

/// Returns the mode in an answer of HTTP: a word such as `iptables`. Anything else that answers there is no kube-proxy.
fn mode_in(answer: &str) -> Option<String> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let is_success = head.split_whitespace().nth(1) == Some("200");
    let is_word =
        (1..=16).contains(&body.len()) && body.bytes().all(|one| one.is_ascii_lowercase());
    (is_success && is_word).then(|| body.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_word_is_a_mode() {
        let answer = |status: &str, body: &str| {
            mode_in(&format!("HTTP/1.0 {status}\r\nContent-Type: text/plain\r\n\r\n{body}"))
        };
        assert_eq!(answer("200 OK", "nftables").as_deref(), Some("nftables"));
        for (status, body) in [
            ("404 Not Found", "iptables"),
            ("200 OK", ""),
            ("200 OK", "<html>"),
            ("200 OK", "a word that is far too long"),
        ] {
            assert_eq!(answer(status, body), None, "{status} {body}");
        }
        assert_eq!(mode_in("iptables"), None, "no HTTP");
    }
}
