//! An engine on a machine that is reached by ssh: Docker's own client runs `docker system dial-stdio` there, and so do we.
//!
//! For the library the engine is a Unix socket, in a directory that is nobody else's. Whoever connects to it is handed to
//! an ssh of its own as standard input and output: nothing is copied on the way.

use std::fs::DirBuilder;
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::UnixListener;
use tokio::task::JoinHandle;

/// A socket behind which an engine elsewhere is. Dropping it ends every connection by it.
pub(crate) struct Tunnel {
    directory: PathBuf,
    children: Arc<Mutex<Vec<Child>>>,
    accepting: JoinHandle<()>,
}

impl Tunnel {
    /// Opens a socket for the engine of a host, as ssh takes it: `USER@HOST` or `HOST:PORT`. Within an event loop.
    pub(crate) fn open(host: &str) -> io::Result<Self> {
        let random = RandomState::new().hash_one(host);
        let directory = std::env::temp_dir().join(format!("tare-ssh-{random:016x}"));
        DirBuilder::new().mode(0o700).create(&directory)?;
        let children = Arc::<Mutex<Vec<Child>>>::default();
        let bound = UnixListener::bind(directory.join(SOCKET));
        let listener = bound.inspect_err(|_| drop(std::fs::remove_dir_all(&directory)))?;
        let (kept, host) = (Arc::clone(&children), host.to_owned());
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // Whoever connected sees the end of a connection that could not be made.
                let _ = stream.into_std().and_then(|stream| {
                    stream.set_nonblocking(false)?;
                    keep(&kept, dial(&host, stream.into())?);
                    Ok(())
                });
            }
        });
        Ok(Self { directory, children, accepting })
    }

    /// The socket.
    pub(crate) fn socket(&self) -> PathBuf {
        self.directory.join(SOCKET)
    }
}

const SOCKET: &str = "docker.sock";

/// Starts an ssh between a socket and the engine.
fn dial(host: &str, socket: OwnedFd) -> io::Result<Child> {
    let output = socket.try_clone()?;
    Command::new("ssh")
        .args(words(host))
        .stdin(Stdio::from(socket))
        .stdout(Stdio::from(output))
        .spawn()
}

/// What ssh is told: never to ask, for nobody could answer.
fn words(host: &str) -> Vec<String> {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() => (name, Some(port)),
        _ => (host, None),
    };
    let mut words =
        ["-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"].map(str::to_owned).to_vec();
    words.extend(port.into_iter().flat_map(|port| ["-p".to_owned(), port.to_owned()]));
    words.extend(["--", name, "docker", "system", "dial-stdio"].map(str::to_owned));
    words
}

/// Keeps a child until it has ended.
fn keep(children: &Mutex<Vec<Child>>, child: Child) {
    let mut children = children.lock().unwrap_or_else(PoisonError::into_inner);
    children.retain_mut(|one| matches!(one.try_wait(), Ok(None)));
    children.push(child);
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        self.accepting.abort();
        for child in self.children.lock().unwrap_or_else(PoisonError::into_inner).iter_mut() {
            // One that has ended already is only waited for.
            let _ = child.kill();
            let _ = child.wait();
        }
        remove(&self.directory);
    }
}

fn remove(directory: &Path) {
    // It is in the directory for temporary files: whatever stays there is removed with it.
    let _ = std::fs::remove_dir_all(directory);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ssh_is_told_where_and_never_asks() {
        assert_eq!(words("me@db1")[5..], ["--", "me@db1", "docker", "system", "dial-stdio"]);
        assert_eq!(words("db1:2222")[5..8], ["-p", "2222", "--"]);
        assert!(words("-oProxyCommand=x")[5..7] == ["--", "-oProxyCommand=x"]);
    }
}
