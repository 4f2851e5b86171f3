//! Program on a pseudoterminal: its output is read and keys are typed, as by a user.

use crate::program::{User, tied_command};
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use tare_dev::scaled_timeout;

/// Time limit longer than any step takes on the busiest machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Shell script on a pseudoterminal, in the foreground of it. Dropping it ends the script.
pub struct PtyScript {
    child: Child,
    terminal: File,
    chunks: Receiver<Vec<u8>>,
    output: Vec<u8>,
}

impl PtyScript {
    /// Starts a script in this directory, on a terminal of this many columns and 40 rows.
    pub fn start(directory: &Path, variables: &[(&str, &str)], script: &str, columns: u16) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let terminal = openpt(flags).expect("a pseudoterminal");
        unlockpt(&terminal).expect("it is ours");
        let user_side = ioctl_tiocgptpeer(&terminal, flags).expect("its other side");
        set_size(&terminal, columns);
        let side = || Stdio::from(user_side.try_clone().expect("a descriptor"));
        // The script leads a session of its own, whose terminal this is: keys like Ctrl-C reach it and its children.
        let mut command: Command = tied_command(User::Caller, "setsid");
        command.args(["--ctty", "sh", "-c", script]).current_dir(directory);
        command.env("TERM", "xterm").envs(variables.iter().copied());
        command.stdin(side()).stdout(side()).stderr(side());
        let child = command.spawn().expect("setsid of util-linux");
        drop((command, user_side));
        let terminal = File::from(terminal);
        let chunks = read_chunks(terminal.try_clone().expect("a descriptor"));
        Self { child, terminal, chunks, output: Vec::new() }
    }

    /// Types keys.
    pub fn press(&mut self, keys: &str) {
        self.terminal.write_all(keys.as_bytes()).expect("the terminal is open");
    }

    /// Changes the width of the terminal.
    pub fn resize(&self, columns: u16) {
        set_size(&self.terminal, columns);
    }

    /// Returns true if the terminal passes on each key at once.
    pub fn passes_keys(&self) -> bool {
        let mode = tcgetattr(&self.terminal).expect("the terminal is open");
        !mode.local_modes.contains(LocalModes::ICANON)
    }

    /// Waits until these words are displayed that were not waited for before, and returns all output before and with
    /// them since the last wait.
    pub fn wait_for(&mut self, words: &str) -> String {
        loop {
            if let Some(at) = find(&self.output, words.as_bytes()) {
                let rest = self.output.split_off(at + words.len());
                return text(&std::mem::replace(&mut self.output, rest));
            }
            match self.chunks.recv_timeout(scaled_timeout(PATIENCE)) {
                Ok(chunk) => self.output.extend(chunk),
                Err(_) => panic!("`{words}` was not displayed:\n{}", text(&self.output)),
            }
        }
    }

    /// Waits for the end of the script, and returns the output since the last wait.
    pub fn wait(mut self) -> String {
        while let Ok(chunk) = self.chunks.recv_timeout(scaled_timeout(PATIENCE)) {
            self.output.extend(chunk);
        }
        self.child.wait().expect("it is ours");
        text(&self.output)
    }
}

impl Drop for PtyScript {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn set_size(terminal: impl std::os::fd::AsFd, columns: u16) {
    let size = Winsize { ws_col: columns, ws_row: 40, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(terminal, size).expect("the terminal is open");
}

/// Reads until the other side is closed, which is an error of input and output on a pseudoterminal.
fn read_chunks(mut terminal: File) -> Receiver<Vec<u8>> {
    let (sender, chunks) = channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(read @ 1..) = terminal.read(&mut buffer) {
            // The receiver may be gone.
            let _ = sender.send(buffer[..read].to_vec());
        }
    });
    chunks
}

fn find(text: &[u8], words: &[u8]) -> Option<usize> {
    text.windows(words.len()).position(|part| part == words)
}

fn text(output: &[u8]) -> String {
    String::from_utf8_lossy(output).into_owned()
}
