//! Endpoints of a network that processes hold: tap devices and listening sockets; and the executables of processes.

use crate::sys;
use crate::sys::socket::ForeignSocket;
use rustix::net::SocketType;
use rustix::process::Pid;
use std::fs;
use std::net::SocketAddr;
use std::os::fd::RawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Returns true if a process holds a descriptor of the tap device with this name in the network namespace with this
/// inode number. It is false if this process may not trace that one.
#[must_use]
pub fn holds_tap(pid: Pid, device: &str, namespace: u64) -> bool {
    let is_it = |descriptor: RawFd| {
        let file = format!("/proc/{}/fdinfo/{descriptor}", pid.as_raw_nonzero());
        fs::read_to_string(file).is_ok_and(|text| tap_name(&text) == Some(device))
            && sys::tap::namespace(pid, descriptor).is_ok_and(|inode| inode == namespace)
    };
    descriptors(pid).any(is_it)
}

/// Returns true if a process has a TCP socket that listens on this address. It is false if this process may not trace
/// that one.
#[must_use]
pub fn listens_on(pid: Pid, address: SocketAddr) -> bool {
    let is_it = |descriptor: RawFd| {
        let Ok(socket) = ForeignSocket::open(pid, descriptor) else { return false };
        socket.kind().is_ok_and(|(_, kind)| kind == SocketType::STREAM)
            && socket.accepts_connections()
            && socket.internet_address().is_some_and(|own| own == address.to_string())
    };
    descriptors(pid).any(is_it)
}

/// Returns true if a process runs this executable, or the variant of it for this CPU: passt(1) replaces itself by
/// `passt.avx2` where that is of use.
#[must_use]
pub fn is_executable_of(pid: Pid, program: &Path) -> bool {
    let Ok(running) = fs::metadata(format!("/proc/{}/exe", pid.as_raw_nonzero())) else {
        return false;
    };
    let is_same = |path: &Path| {
        fs::metadata(path)
            .is_ok_and(|file| (file.dev(), file.ino()) == (running.dev(), running.ino()))
    };
    let variant = |path: &Path| {
        let mut name = path.as_os_str().to_owned();
        name.push(CPU_VARIANT);
        is_same(Path::new(&name))
    };
    let linked = fs::canonicalize(program);
    is_same(program) || variant(program) || linked.is_ok_and(|path| variant(&path))
}

/// End of the name of an executable's variant for CPUs with AVX2.
const CPU_VARIANT: &str = ".avx2";

/// Returns the open descriptors of a process.
fn descriptors(pid: Pid) -> impl Iterator<Item = RawFd> {
    let entries = fs::read_dir(format!("/proc/{}/fd", pid.as_raw_nonzero()));
    let entries = entries.into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Returns the name of the tap device of an `fdinfo` file (tun_chr_show_fdinfo in the kernel's drivers/net/tun.c).
fn tap_name(fdinfo: &str) -> Option<&str> {
    fdinfo.lines().find_map(|line| line.strip_prefix("iff:")).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_listener_is_found_by_its_address() {
        let own = rustix::process::getpid();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        assert!(listens_on(own, address));
        let connected = std::net::TcpStream::connect(address).unwrap();
        assert!(!listens_on(own, connected.local_addr().unwrap()), "it is connected");
        drop(listener);
        assert!(!listens_on(own, address));
    }

    #[test]
    fn a_process_runs_its_own_file_only() {
        let own = rustix::process::getpid();
        assert!(is_executable_of(own, &std::env::current_exe().unwrap()));
        assert!(!is_executable_of(own, Path::new("/bin/sh")));
    }

    #[test]
    fn a_tap_device_is_named_by_its_descriptor() {
        assert_eq!(tap_name("pos:\t0\nflags:\t0104002\nmnt_id:\t15\niff:\ttap0\n"), Some("tap0"));
        assert_eq!(tap_name("pos:\t0\n"), None);
    }
}
