//! Bindings of bpf(2), as far as they are needed to count and to redirect in the kernel: maps, a program, and the
//! tracepoint or the devices that it is attached to.
//!
//! Attributes are laid out as in linux/bpf.h. The kernel takes all fields after the last given one for zero.

use rustix::io::{Errno, Result};
use std::ffi::CStr;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Commands of bpf(2) (linux/bpf.h).
const MAP_CREATE: libc::c_int = 0;
const MAP_LOOKUP: libc::c_int = 1;
const MAP_UPDATE: libc::c_int = 2;
const MAP_DELETE: libc::c_int = 3;
const MAP_NEXT: libc::c_int = 4;
const PROGRAM_LOAD: libc::c_int = 5;
const PROGRAM_ATTACH: libc::c_int = 8;
const OBJECT_INFO: libc::c_int = 15;
const RAW_TRACEPOINT_OPEN: libc::c_int = 17;
const LINK_CREATE: libc::c_int = 28;
const ENABLE_STATISTICS: libc::c_int = 32;

/// `BPF_MAP_TYPE_HASH` and `BPF_MAP_TYPE_PERCPU_ARRAY`.
const HASH: u32 = 1;
const PER_CPU_ARRAY: u32 = 6;

/// `BPF_MAP_TYPE_SOCKHASH`.
const SOCKET_HASH: u32 = 18;

/// `BPF_CGROUP_SOCK_OPS`: the operations of TCP sockets of a control group.
const SOCKET_OPERATIONS: u32 = 3;

/// `BPF_SK_MSG_VERDICT`: what the sockets of a map send.
const SOCKET_MESSAGES: u32 = 7;

/// `BPF_TCX_INGRESS`: the reception of a device, before the IP layer and before any bridge (Linux 6.6).
const RECEPTION: u32 = 46;

/// Largest number of cores of any kernel (`NR_CPUS`).
const MOST_CORES: usize = 8192;

/// Kind of a program, `enum bpf_prog_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum ProgramKind {
    /// Classifier of packets at a device (`BPF_PROG_TYPE_SCHED_CLS`).
    Classifier = 3,
    /// Program at the reception of a device, before a packet has a socket buffer (`BPF_PROG_TYPE_XDP`).
    Xdp = 6,
    /// Program at operations of TCP sockets (`BPF_PROG_TYPE_SOCK_OPS`).
    SocketOperations = 13,
    /// Program at what sockets send (`BPF_PROG_TYPE_SK_MSG`).
    SocketMessage = 16,
    /// Program at a raw tracepoint (`BPF_PROG_TYPE_RAW_TRACEPOINT`).
    RawTracepoint = 17,
}

/// License of tare's programs, in a string that the kernel accepts: it accepts "MIT" only together with the GPL, and
/// only programs under the GPL may call the helper that reads kernel memory.
const LICENSE: &CStr = c"Dual MIT/GPL";

impl ProgramKind {
    /// Returns the flags with which such a program is loaded.
    fn flags(self) -> u32 {
        /// `BPF_F_XDP_HAS_FRAGS`: the program accepts packets in several pieces, without which a device's MTU is at most
        /// 3,506 bytes.
        const ACCEPTS_FRAGMENTS: u32 = 1 << 5;
        match self {
            Self::Xdp => ACCEPTS_FRAGMENTS,
            Self::Classifier
            | Self::SocketOperations
            | Self::SocketMessage
            | Self::RawTracepoint => 0,
        }
    }
}

/// BPF instruction, `struct bpf_insn`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct BpfInstruction {
    code: u8,
    registers: u8,
    offset: i16,
    constant: i32,
}

impl BpfInstruction {
    /// Returns an instruction with its registers: the one written to, and the one read.
    pub(crate) fn new(code: u8, to: u8, from: u8, offset: i16, constant: i32) -> Self {
        let registers =
            if cfg!(target_endian = "little") { from << 4 | to } else { to << 4 | from };
        Self { code, registers, offset, constant }
    }

    /// Sets the offset of a jump.
    pub(crate) fn set_jump_offset(&mut self, offset: i16) {
        self.offset = offset;
    }
}

#[repr(C)]
struct MapCreate {
    kind: u32,
    key: u32,
    value: u32,
    most: u32,
    flags: u32,
}

#[repr(C)]
struct MapElement {
    map: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
struct ProgramLoad {
    kind: u32,
    count: u32,
    instructions: u64,
    terms: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
}

#[repr(C)]
struct ProgramAttach {
    target: u32,
    program: i32,
    hook: u32,
    flags: u32,
}

#[repr(C)]
struct LinkCreate {
    program: u32,
    target: u32,
    hook: u32,
    flags: u32,
}

#[repr(C)]
struct TracepointOpen {
    name: u64,
    program: u32,
    padding: u32,
}

#[repr(C)]
struct EnableStatistics {
    /// `BPF_STATS_RUN_TIME`.
    kind: u32,
}

#[repr(C)]
struct ObjectInfo {
    object: u32,
    size: u32,
    info: u64,
}

/// First part of `struct bpf_prog_info`, up to the last member that is used here. A zeroed value requests no list.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct ProgramInfo {
    _up_to_run_time: [u64; 24],
    run_time: u64,
    runs: u64,
}

/// Hash map in the kernel, from `[u32; N]` to `u64`.
pub(crate) struct BpfMap<const N: usize>(OwnedFd);

impl<const N: usize> BpfMap<N> {
    /// Creates a map with room for this many keys.
    pub(crate) fn new(most: u32) -> Result<Self> {
        let create = MapCreate { kind: HASH, key: 4 * N as u32, value: 8, most, flags: 0 };
        // SAFETY: the attributes hold no addresses.
        unsafe { descriptor(MAP_CREATE, &create) }.map(Self)
    }

    /// Returns the descriptor of the map.
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        std::os::fd::AsFd::as_fd(&self.0)
    }

    /// Returns the value of a key.
    pub(crate) fn get(&self, key: &[u32; N]) -> Result<u64> {
        let mut value = 0u64;
        let element = self.element(key, std::ptr::from_mut(&mut value) as u64);
        // SAFETY: the key has the map's size, and the kernel writes one value of eight bytes, for which there is room.
        unsafe { command(MAP_LOOKUP, &element) }.map(|_| value)
    }

    /// Sets the value of a key.
    pub(crate) fn set(&self, key: &[u32; N], value: u64) -> Result<()> {
        let element = self.element(key, std::ptr::from_ref(&value) as u64);
        // SAFETY: key and value have the map's sizes, are only read, and live as long as the call.
        unsafe { command(MAP_UPDATE, &element) }.map(|_| ())
    }

    /// Removes a key.
    pub(crate) fn remove(&self, key: &[u32; N]) -> Result<()> {
        // SAFETY: the key has the map's size, is only read, and lives as long as the call.
        unsafe { command(MAP_DELETE, &self.element(key, 0)) }.map(|_| ())
    }

    /// Returns the key after this one, in the kernel's order. Returns the first key if this one does not exist.
    pub(crate) fn next_key(&self, key: Option<&[u32; N]>) -> Result<[u32; N]> {
        let mut next = [0u32; N];
        let at = key.map_or(0, |key| key.as_ptr() as u64);
        let into = next.as_mut_ptr() as u64;
        let element = MapElement { map: self.number(), padding: 0, key: at, value: into, flags: 0 };
        // SAFETY: the key has the map's size or is null, which is allowed; the kernel writes one key, for which there
        // is room.
        unsafe { command(MAP_NEXT, &element) }.map(|_| next)
    }

    fn element(&self, key: &[u32; N], value: u64) -> MapElement {
        let key = key.as_ptr() as u64;
        MapElement { map: self.number(), padding: 0, key, value, flags: 0 }
    }

    fn number(&self) -> u32 {
        self.0.as_raw_fd() as u32
    }
}

/// Counter in the kernel that a program increases, with a count for each core.
pub(crate) struct PerCpuCounter(OwnedFd);

impl PerCpuCounter {
    /// Creates a counter, at zero. For a program it is an array whose key 0 has eight bytes.
    pub(crate) fn new() -> Result<Self> {
        let create = MapCreate { kind: PER_CPU_ARRAY, key: 4, value: 8, most: 1, flags: 0 };
        // SAFETY: the attributes hold no addresses.
        unsafe { descriptor(MAP_CREATE, &create) }.map(Self)
    }

    /// Returns the descriptor of the array.
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        std::os::fd::AsFd::as_fd(&self.0)
    }

    /// Returns the sum of all cores' counts.
    pub(crate) fn read(&self) -> Result<u64> {
        let mut counts = vec![0_u64; MOST_CORES];
        let (key, value) = (std::ptr::from_ref(&0_u32) as u64, counts.as_mut_ptr() as u64);
        let map = self.0.as_raw_fd() as u32;
        let element = MapElement { map, padding: 0, key, value, flags: 0 };
        // SAFETY: the key has the array's size, and the kernel writes eight bytes for each core that it can have, for
        // which there is room.
        unsafe { command(MAP_LOOKUP, &element) }.map(|_| counts.iter().sum())
    }
}

/// Hash map of sockets in the kernel, which programs fill.
pub(crate) struct SocketMap(OwnedFd);

impl SocketMap {
    /// Creates a map with room for this many sockets, each with a key of this length, bytes.
    pub(crate) fn new(key: u32, most: u32) -> Result<Self> {
        let create = MapCreate { kind: SOCKET_HASH, key, value: 4, most, flags: 0 };
        // SAFETY: the attributes hold no addresses.
        unsafe { descriptor(MAP_CREATE, &create) }.map(Self)
    }

    /// Returns the descriptor of the map.
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        std::os::fd::AsFd::as_fd(&self.0)
    }
}

impl From<SocketMap> for OwnedFd {
    fn from(map: SocketMap) -> Self {
        map.0
    }
}

/// Loads a program. The kernel verifies it.
pub(crate) fn load(kind: ProgramKind, instructions: &[BpfInstruction]) -> Result<OwnedFd> {
    let load = ProgramLoad {
        kind: kind as u32,
        count: instructions.len() as u32,
        instructions: instructions.as_ptr() as u64,
        terms: LICENSE.as_ptr() as u64,
        log_level: 0,
        log_size: 0,
        log: 0,
        kernel_version: 0,
        flags: kind.flags(),
    };
    // SAFETY: both addresses are those of memory that is only read and lives as long as the call; the count is the
    // slice's.
    unsafe { descriptor(PROGRAM_LOAD, &load) }
}

/// Attaches a program to a tracepoint, as long as the returned descriptor is open.
pub(crate) fn attach(program: BorrowedFd<'_>, tracepoint: &CStr) -> Result<OwnedFd> {
    let name = tracepoint.as_ptr() as u64;
    let open = TracepointOpen { name, program: program.as_raw_fd() as u32, padding: 0 };
    // SAFETY: the name ends in a null byte, is only read, and lives as long as the call.
    unsafe { descriptor(RAW_TRACEPOINT_OPEN, &open) }
}

/// Attaches a classifier to the reception of a device of this thread's network namespace, after those that are attached
/// already. It stays as long as the device exists.
pub(crate) fn attach_to_reception(program: BorrowedFd<'_>, device: u32) -> Result<()> {
    let program = program.as_raw_fd();
    let attach = ProgramAttach { target: device, program, hook: RECEPTION, flags: 0 };
    // SAFETY: the attributes hold no addresses.
    unsafe { command(PROGRAM_ATTACH, &attach) }.map(|_| ())
}

/// Attaches a program to what the sockets of a map send, as long as the map's descriptor is open.
pub(crate) fn attach_to_sockets(program: BorrowedFd<'_>, sockets: &SocketMap) -> Result<()> {
    let (target, program) = (sockets.0.as_raw_fd() as u32, program.as_raw_fd());
    let attach = ProgramAttach { target, program, hook: SOCKET_MESSAGES, flags: 0 };
    // SAFETY: the attributes hold no addresses.
    unsafe { command(PROGRAM_ATTACH, &attach) }.map(|_| ())
}

/// Attaches a program to the operations of TCP sockets of a control group (Linux 5.7), beside those that are attached
/// already, as long as the returned descriptor is open.
pub(crate) fn attach_to_group(program: BorrowedFd<'_>, group: BorrowedFd<'_>) -> Result<OwnedFd> {
    let (program, target) = (program.as_raw_fd() as u32, group.as_raw_fd() as u32);
    let create = LinkCreate { program, target, hook: SOCKET_OPERATIONS, flags: 0 };
    // SAFETY: the attributes hold no addresses, and the command returns a new descriptor.
    unsafe { descriptor(LINK_CREATE, &create) }
}

/// Returns whether the kernel has the hook of [`attach_to_reception`]: if so, it rejects the program of an attachment
/// without one, otherwise the hook.
pub(crate) fn has_reception_hook() -> bool {
    let attach = ProgramAttach { target: 1, program: -1, hook: RECEPTION, flags: 0 };
    // SAFETY: the attributes hold no addresses.
    unsafe { command(PROGRAM_ATTACH, &attach) }.is_err_and(|errno| errno == Errno::BADF)
}

/// Makes the kernel time its BPF programs, as long as the returned descriptor is open (Linux 5.8).
pub(crate) fn time_programs() -> Result<OwnedFd> {
    // SAFETY: the attributes hold no addresses.
    unsafe { descriptor(ENABLE_STATISTICS, &EnableStatistics { kind: 0 }) }
}

/// Returns the number of runs of a program while programs were timed, and their total time, ns.
pub(crate) fn program_run_stats(program: BorrowedFd<'_>) -> Result<(u64, u64)> {
    let mut info = ProgramInfo::default();
    let size = size_of::<ProgramInfo>() as u32;
    let at = std::ptr::from_mut(&mut info) as u64;
    let asked = ObjectInfo { object: program.as_raw_fd() as u32, size, info: at };
    // SAFETY: the kernel reads and writes at most `size` bytes at the address, where a value of that size lives through
    // the call; any bytes are a valid value, and the lengths of all lists in it are zero, so that nothing else is
    // written.
    unsafe { command(OBJECT_INFO, &asked) }.map(|_| (info.runs, info.run_time))
}

/// Executes a command that returns a new descriptor.
///
/// # Safety
/// As for [`command`]; and the command must be one that returns a new descriptor.
unsafe fn descriptor<T>(number: libc::c_int, attributes: &T) -> Result<OwnedFd> {
    // SAFETY: the caller vouches for the attributes.
    let descriptor = unsafe { command(number, attributes) }?;
    // SAFETY: the kernel has just opened it for this call, so it has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Executes a command of bpf(2).
///
/// # Safety
/// The attributes must be those of the command, and every address in them valid for the use that the command makes of
/// it.
unsafe fn command<T>(number: libc::c_int, attributes: &T) -> Result<libc::c_int> {
    let at: *const T = attributes;
    // SAFETY: the attributes live as long as the call, and their size is passed; the caller vouches for their contents.
    let result = unsafe { libc::syscall(libc::SYS_bpf, number, at, size_of::<T>()) };
    if result < 0 {
        let error = std::io::Error::last_os_error();
        return Err(Errno::from_io_error(&error).unwrap_or(Errno::INVAL));
    }
    Ok(result as libc::c_int)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn members_lie_where_the_kernel_puts_them() {
        // Offsets by hand from include/uapi/linux/bpf.h.
        assert_eq!(offset_of!(ProgramInfo, run_time), 192);
        assert_eq!(offset_of!(ProgramInfo, runs), 200);
        assert_eq!(offset_of!(ObjectInfo, info), 8);
        assert_eq!(offset_of!(ProgramLoad, flags), 44);
    }
}
