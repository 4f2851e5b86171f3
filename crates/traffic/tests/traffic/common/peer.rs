//! Programs of `examples/peer.rs` in a namespace.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStdout, Command, Stdio};
use tare_dev::Namespace;

/// Program that is ready, and ends when this is dropped or when the test ends.
pub(crate) struct Peer {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Peer {
    /// Starts it with these words.
    pub(crate) fn start(namespace: &Namespace, words: &[&str]) -> Self {
        let prefix = namespace.enter();
        let mut child = Command::new(&prefix[0])
            .args(&prefix[1..])
            .arg(super::example("peer"))
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n", "{words:?}");
        Self { child, output }
    }

    /// Ends it, and returns the numbers that it says.
    pub(crate) fn finish(mut self) -> Vec<u64> {
        drop(self.child.stdin.take());
        let mut said = String::new();
        self.output.read_to_string(&mut said).unwrap();
        said.split_whitespace().map(|number| number.parse().unwrap()).collect()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
