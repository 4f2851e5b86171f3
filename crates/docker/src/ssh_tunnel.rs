//! Tunnel to an engine on a machine that is reached by ssh. Docker's own client runs `docker system dial-stdio` there,
//! and so does tare.
//!
//! For the library the engine is a Unix socket, in a directory that only this user can open. Each connection to it
//! becomes standard input and output of an ssh process of its own, so nothing is copied on the way.

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

/// Unix socket that leads to an engine on another machine. Dropping it ends every connection through it.
pub(crate) struct SshTunnel {
    directory: PathBuf,
    children: Arc<Mutex<Vec<Child>>>,
    accepting: JoinHandle<()>,
}

impl SshTunnel {
    /// Opens a socket for the engine of a host, as ssh takes it: `USER@HOST` or `HOST:PORT`. Must be called within an
    /// event loop.
    pub(crate) fn open(host: &str) -> io::Result<Self> {
        let random = RandomState::new().hash_one(host);
        let directory = std::env::temp_dir().join(format!("tare-ssh-{random:016x}"));
        DirBuilder::new().mode(0o700).create(&directory)?;
        let children = Arc::<Mutex<Vec<Child>>>::default();
        let bound = UnixListener::bind(directory.join(SOCKET_NAME));
        let listener = bound.inspect_err(|_| drop(std::fs::remove_dir_all(&directory)))?;
        let (kept, host) = (Arc::clone(&children), host.to_owned());
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // If the connection cannot be made, its client sees the stream end.
                let _ = stream.into_std().and_then(|stream| {
                    stream.set_nonblocking(false)?;
                    keep_child(&kept, start_ssh(&host, stream.into())?);
                    Ok(())
                });
            }
        });
        Ok(Self { directory, children, accepting })
    }

    /// Returns the path of the socket.
    pub(crate) fn socket(&self) -> PathBuf {
        self.directory.join(SOCKET_NAME)
    }
}

const SOCKET_NAME: &str = "docker.sock";

/// Starts an ssh process between a socket and the engine.
fn start_ssh(host: &str, socket: OwnedFd) -> io::Result<Child> {
    let output = socket.try_clone()?;
    Command::new("ssh")
        .args(ssh_arguments(host))
        .stdin(Stdio::from(socket))
        .stdout(Stdio::from(output))
        .spawn()
}

/// Returns the arguments of ssh. Batch mode keeps it from asking for a password, which no one could enter here.
fn ssh_arguments(host: &str) -> Vec<String> {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() => (name, Some(port)),
        _ => (host, None),
    };
    let options = [
        "BatchMode=yes",
        "ConnectTimeout=10",
        // A machine that no longer answers ends the connection within a quarter of a minute.
        "ServerAliveInterval=5",
        "ServerAliveCountMax=3",
    ];
    let mut words = vec!["-T".to_owned()];
    words.extend(options.iter().flat_map(|option| ["-o".to_owned(), (*option).to_owned()]));
    words.extend(port.into_iter().flat_map(|port| ["-p".to_owned(), port.to_owned()]));
    words.extend(["--", name, "docker", "system", "dial-stdio"].map(str::to_owned));
    words
}

/// Keeps a child process until it has ended.
fn keep_child(children: &Mutex<Vec<Child>>, child: Child) {
    let mut children = children.lock().unwrap_or_else(PoisonError::into_inner);
    children.retain_mut(|one| matches!(one.try_wait(), Ok(None)));
    children.push(child);
}

impl Drop for SshTunnel {
    fn drop(&mut self) {
        self.accepting.abort();
        for child in self.children.lock().unwrap_or_else(PoisonError::into_inner).iter_mut() {
            // A child that has ended already is only reaped.
            let _ = child.kill();
            let _ = child.wait();
        }
        remove_directory(&self.directory);
    }
}

fn remove_directory(directory: &Path) {
    // It is in the directory for temporary files, and is removed with those if this fails.
    let _ = std::fs::remove_dir_all(directory);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ssh_is_told_where_and_never_asks() {
        assert_eq!(
            ssh_arguments("me@db1")[9..],
            ["--", "me@db1", "docker", "system", "dial-stdio"]
        );
        assert_eq!(ssh_arguments("db1:2222")[9..12], ["-p", "2222", "--"]);
        assert!(ssh_arguments("-oProxyCommand=x")[9..11] == ["--", "-oProxyCommand=x"]);
    }
}
