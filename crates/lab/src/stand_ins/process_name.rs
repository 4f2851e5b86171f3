//! Names of the stand-ins' processes.

use std::ffi::CString;

/// Names this process, so that its CPU time and its sockets are reported by this name and not by that of tare. The kernel
/// keeps 15 bytes.
pub(crate) fn set_process_name(name: &str) {
    // A process without the name works as well.
    let _ = CString::new(name).map(|name| rustix::thread::set_name(&name));
}
