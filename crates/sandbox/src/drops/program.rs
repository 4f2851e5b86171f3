//! BPF program that the kernel runs for every packet that it drops. It finds the namespace of the packet, and counts.
//!
//! It is written in a few dozen instructions of the BPF machine
//! (Documentation/bpf/standardization/instruction-set.rst), so that no compiler and no second file are needed. It reads
//! kernel memory and writes only to its own map, and the kernel's verifier proves that it ends.

use super::btf::Btf;
use crate::sys::bpf::BpfInstruction;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Kernel helpers.
const LOOK_UP: i32 = 1;
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

/// Registers: those that hold the arguments and the result of a call, and those that a call preserves.
const R0: u8 = 0;
const R1: u8 = 1;
const R2: u8 = 2;
const R3: u8 = 3;
const R4: u8 = 4;
const PACKET: u8 = 6;
const NUMBER: u8 = 7;
const RECEIVER: u8 = 8;
const POINTER: u8 = 9;
const STACK: u8 = 10;

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

/// Program under construction. Jump offsets are set when it is complete.
#[derive(Default)]
struct ProgramBuilder {
    instructions: Vec<BpfInstruction>,
    jumps: Vec<(usize, JumpLabel)>,
    labels: Vec<(JumpLabel, usize)>,
}

impl ProgramBuilder {
    fn put(&mut self, code: u8, to: u8, from: u8, offset: i16, constant: i32) {
        self.instructions.push(BpfInstruction::new(code, to, from, offset, constant));
    }

    fn copy(&mut self, to: u8, from: u8) {
        self.put(0xbf, to, from, 0, 0);
    }

    fn set(&mut self, to: u8, constant: i32) {
        self.put(0xb7, to, 0, 0, constant);
    }

    fn add(&mut self, to: u8, constant: i32) {
        self.put(0x07, to, 0, 0, constant);
    }

    /// Loads eight bytes from memory.
    fn load(&mut self, to: u8, from: u8, offset: i16) {
        self.put(0x79, to, from, offset, 0);
    }

    /// Loads the address of a map, which the kernel substitutes for the descriptor.
    fn map(&mut self, to: u8, map: BorrowedFd<'_>) {
        self.put(0x18, to, 1, 0, map.as_raw_fd());
        self.put(0, 0, 0, 0, 0);
    }

    fn call(&mut self, helper: i32) {
        self.put(0x85, 0, 0, 0, helper);
    }

    fn jump(&mut self, code: u8, register: u8, constant: i32, label: JumpLabel) {
        self.jumps.push((self.instructions.len(), label));
        self.put(code, register, 0, 0, constant);
    }

    fn go_to(&mut self, label: JumpLabel) {
        self.jump(0x05, 0, 0, label);
    }

    fn if_equal(&mut self, register: u8, constant: i32, label: JumpLabel) {
        self.jump(0x15, register, constant, label);
    }

    fn if_not_zero(&mut self, register: u8, label: JumpLabel) {
        self.jump(0x55, register, 0, label);
    }

    /// Jumps unless the register holds a kernel address. Kernel addresses have their highest bit set and are therefore
    /// negative.
    fn unless_pointer(&mut self, register: u8, label: JumpLabel) {
        self.put(0x65, register, 0, 0, -1);
        self.jumps.push((self.instructions.len() - 1, label));
    }

    fn label(&mut self, label: JumpLabel) {
        self.labels.push((label, self.instructions.len()));
    }

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

    /// Looks up a key on the stack.
    fn look_up(&mut self, map: BorrowedFd<'_>, key: i16) {
        self.map(R1, map);
        self.copy(R2, STACK);
        self.add(R2, i32::from(key));
        self.call(LOOK_UP);
    }

    /// Returns the program with its jump offsets set.
    fn finish(mut self) -> Vec<BpfInstruction> {
        for (at, label) in self.jumps {
            let to = self.labels.iter().find(|(one, _)| *one == label).map_or(at, |(_, to)| *to);
            // Jump offsets count from the instruction after the jump.
            self.instructions[at].set_jump_offset(to as i16 - at as i16 - 1);
        }
        self.instructions
    }
}

/// Writes the program. It counts packets of the namespaces in `watched` in the map `counts`.
pub(crate) fn build_program(
    offsets: KernelOffsets,
    watched: BorrowedFd<'_>,
    counts: BorrowedFd<'_>,
) -> Vec<BpfInstruction> {
    let mut text = ProgramBuilder::default();
    text.load(PACKET, R1, 0);
    text.load(NUMBER, R1, 16);
    if offsets.tells_receiver {
        text.load(RECEIVER, R1, 24);
    } else {
        text.set(RECEIVER, 0);
    }
    // Four bytes each: *(u32 *)(stack + REASON) = reason.
    text.put(0x63, STACK, NUMBER, REASON, 0);
    by_device(&mut text, offsets, watched);
    by_socket(&mut text, offsets, watched);
    count(&mut text, counts);
    text.finish()
}

/// Finds the namespace of the packet's device. A packet that waits in a socket stores other data in the device's field:
/// then that is not a pointer, or no network namespace is found behind it.
fn by_device(text: &mut ProgramBuilder, offsets: KernelOffsets, watched: BorrowedFd<'_>) {
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
fn by_socket(text: &mut ProgramBuilder, offsets: KernelOffsets, watched: BorrowedFd<'_>) {
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
    text.put(0x69, R1, STACK, WORD, 0);
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
fn count(text: &mut ProgramBuilder, counts: BorrowedFd<'_>) {
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
    text.set(R1, 1);
    // lock *(u64 *)(r0 + 0) += r1
    text.put(0xdb, R0, R1, 0, 0);
    text.label(JumpLabel::Exit);
    text.set(R0, 0);
    text.put(0x95, 0, 0, 0, 0);
}
