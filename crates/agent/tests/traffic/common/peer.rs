//! Programs of `examples/peer.rs`, run in a namespace.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStdout, Command, Stdio};
use tare_dev::TestNamespace;

/// Running program, which has reported that it is ready. It ends when this is dropped or when the test ends.
pub(crate) struct PeerProgram {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl PeerProgram {
    /// Starts the program with these arguments.
    pub(crate) fn start(namespace: &TestNamespace, words: &[&str]) -> Self {
        let prefix = namespace.enter_command();
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

    /// Ends the program, and returns the numbers that it prints.
    pub(crate) fn finish(mut self) -> Vec<u64> {
        drop(self.child.stdin.take());
        let mut said = String::new();
        self.output.read_to_string(&mut said).unwrap();
        said.split_whitespace().map(|number| number.parse().unwrap()).collect()
    }
}

impl Drop for PeerProgram {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
