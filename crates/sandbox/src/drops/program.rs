//! BPF program that the kernel runs for every packet that it drops. It finds the namespace of the packet, and counts.
//!
//! It reads kernel memory and writes only to its own map, and the kernel's verifier proves that it ends.

use super::btf::Btf;
use crate::ebpf::program_builder::{ProgramBuilder, R0, R1, R2, R3, R4, R6, R7, R8, R9, STACK};
use crate::sys::bpf::BpfInstruction;
use std::os::fd::BorrowedFd;

/// Kernel helpers.
const UPDATE: i32 = 2;
const READ_KERNEL: i32 = 113;
/// `BPF_NOEXIST`: does not reset a count that another core has created.
const UNLESS_THERE: i32 = 1;

/// Offsets on the program's stack, from its end: the key of a count (namespace, device, reason), a word to read into,
/// and the first value of a count.
const NAMESPACE: i16 = -16;
const DEVICE: i16 = -12;
const REASON: i16 = -8;
const WORD: i16 = -24;
const ONE: i16 = -32;

/// Address families of linux/socket.h. Sockets of other families carry no packets of a network.
const INET: i32 = 2;
const INET6: i32 = 10;

/// Offsets in the running kernel's structures that the program reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KernelOffsets {
    /// `sk_buff.dev` and `sk_buff.sk`.
    device: i16,
    socket: i16,
    /// `net_device.ifindex`, and the namespace of the device.
    index: i16,
    device_namespace: i16,
    /// `sock.skc_family`, and the namespace of the socket.
    family: i16,
    socket_namespace: i16,
    /// Inode number of a namespace.
    inode: i16,
    /// `true` if the kernel reports the socket that a received packet was for (Linux 6.11).
    tells_receiver: bool,
}

impl KernelOffsets {
    /// Reads the offsets from a kernel's BTF. Returns `None` if the kernel does not report drop reasons (before Linux
    /// 5.17).
    pub(crate) fn from_btf(btf: &Btf) -> Option<Self> {
        // Private data, the packet, the address of the code, the reason, and the receiving socket.
        let parameters = btf.parameters("btf_trace_kfree_skb")?;
        if parameters.len() < 4 {
            return None;
        }
        Some(Self {
            device: btf.offset("sk_buff", &["dev"])?,
            socket: btf.offset("sk_buff", &["sk"])?,
            index: btf.offset("net_device", &["ifindex"])?,
            device_namespace: btf.offset("net_device", &["nd_net", "net"])?,
            family: btf.offset("sock", &["__sk_common", "skc_family"])?,
            socket_namespace: btf.offset("sock", &["__sk_common", "skc_net", "net"])?,
            inode: btf.offset("net", &["ns", "inum"])?,
            tells_receiver: parameters.get(4) == Some(&"sock"),
        })
    }
}

/// Registers that a call preserves.
const PACKET: u8 = R6;
const NUMBER: u8 = R7;
const RECEIVER: u8 = R8;
const POINTER: u8 = R9;

/// Jump targets in the program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum JumpLabel {
    BySocket,
    Known,
    Inet,
    Count,
    Add,
    Exit,
}

/// Program under construction.
type DropProgram = ProgramBuilder<JumpLabel>;

impl DropProgram {
    /// Reads this many bytes of kernel memory onto the stack. Bytes that cannot be read are zero.
    fn read(&mut self, to: i16, bytes: i32, from: u8, offset: i16) {
        self.copy(R1, STACK);
        self.add(R1, i32::from(to));
        self.set(R2, bytes);
        self.copy(R3, from);
        self.add(R3, i32::from(offset));
        self.call(READ_KERNEL);
    }

    /// Reads a kernel pointer.
    fn follow(&mut self, to: u8, from: u8, offset: i16) {
        self.read(WORD, 8, from, offset);
        self.load(to, STACK, WORD);
    }
}

/// Writes the program. It counts packets of the namespaces in `watched` in the map `counts`.
pub(crate) fn build_program(
    offsets: KernelOffsets,
    watched: BorrowedFd<'_>,
    counts: BorrowedFd<'_>,
) -> Vec<BpfInstruction> {
    let mut text = DropProgram::new();
    text.load(PACKET, R1, 0);
    text.load(NUMBER, R1, 16);
    if offsets.tells_receiver {
        text.load(RECEIVER, R1, 24);
    } else {
        text.set(RECEIVER, 0);
    }
    text.store_word(STACK, REASON, NUMBER);
    by_device(&mut text, offsets, watched);
    by_socket(&mut text, offsets, watched);
    count(&mut text, counts);
    text.finish()
}

/// Finds the namespace of the packet's device. A packet that waits in a socket stores other data in the device's field:
/// then that is not a pointer, or no network namespace is found behind it.
fn by_device(text: &mut DropProgram, offsets: KernelOffsets, watched: BorrowedFd<'_>) {
    text.follow(POINTER, PACKET, offsets.device);
    text.unless_pointer(POINTER, JumpLabel::BySocket);
    text.read(DEVICE, 4, POINTER, offsets.index);
    text.follow(POINTER, POINTER, offsets.device_namespace);
    text.read(NAMESPACE, 4, POINTER, offsets.inode);
    text.look_up(watched, NAMESPACE);
    text.if_not_zero(R0, JumpLabel::Count);
}

/// Finds, if the device has none, the namespace of the socket that the packet was for, or came from. Then no device is
/// known.
fn by_socket(text: &mut DropProgram, offsets: KernelOffsets, watched: BorrowedFd<'_>) {
    text.label(JumpLabel::BySocket);
    // *(u32 *)(stack + DEVICE) = 0
    text.put(0x62, STACK, 0, DEVICE, 0);
    text.copy(POINTER, RECEIVER);
    text.if_not_zero(POINTER, JumpLabel::Known);
    text.follow(POINTER, PACKET, offsets.socket);
    text.label(JumpLabel::Known);
    text.unless_pointer(POINTER, JumpLabel::Exit);
    // *(u64 *)(stack + WORD) = 0: the family has two bytes.
    text.put(0x7a, STACK, 0, WORD, 0);
    text.read(WORD, 2, POINTER, offsets.family);
    text.load_half_word(R1, STACK, WORD);
    text.if_equal(R1, INET, JumpLabel::Inet);
    text.if_equal(R1, INET6, JumpLabel::Inet);
    text.go_to(JumpLabel::Exit);
    text.label(JumpLabel::Inet);
    text.follow(POINTER, POINTER, offsets.socket_namespace);
    text.read(NAMESPACE, 4, POINTER, offsets.inode);
    text.look_up(watched, NAMESPACE);
    text.if_equal(R0, 0, JumpLabel::Exit);
}

/// Adds one to the count of this namespace, device and reason.
fn count(text: &mut DropProgram, counts: BorrowedFd<'_>) {
    text.label(JumpLabel::Count);
    text.look_up(counts, NAMESPACE);
    text.if_not_zero(R0, JumpLabel::Add);
    text.put(0x7a, STACK, 0, ONE, 1);
    text.map(R1, counts);
    text.copy(R2, STACK);
    text.add(R2, i32::from(NAMESPACE));
    text.copy(R3, STACK);
    text.add(R3, i32::from(ONE));
    text.set(R4, UNLESS_THERE);
    text.call(UPDATE);
    text.if_equal(R0, 0, JumpLabel::Exit);
    // Another core created the count first.
    text.look_up(counts, NAMESPACE);
    text.if_equal(R0, 0, JumpLabel::Exit);
    text.label(JumpLabel::Add);
    text.increase(R0);
    text.label(JumpLabel::Exit);
    text.set(R0, 0);
    text.exit();
}
