//! The program that the kernel runs for every packet that it drops: it finds out whose the packet was, and counts.
//!
//! It is written in instructions of the BPF machine (Documentation/bpf/standardization/instruction-set.rst), a few dozen,
//! so that nothing has to be compiled or shipped beside the binary. It reads and never writes but to its own map, and the
//! kernel proves of it that it ends.

use super::btf::Btf;
use crate::sys::bpf::Instruction;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Helpers of the kernel's.
const LOOK_UP: i32 = 1;
const UPDATE: i32 = 2;
const READ_KERNEL: i32 = 113;
/// `BPF_NOEXIST`: what another core has begun to count is not begun again.
const UNLESS_THERE: i32 = 1;

/// Where things lie on the program's stack, from its end: the key of what is counted (namespace, device, reason), a word
/// to read into, and what is counted to begin with.
const NAMESPACE: i16 = -16;
const DEVICE: i16 = -12;
const REASON: i16 = -8;
const WORD: i16 = -24;
const ONE: i16 = -32;

/// Address families of linux/socket.h: sockets of others carry no packets of a network.
const INET: i32 = 2;
const INET6: i32 = 10;

/// Where the running kernel keeps what the program reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offsets {
    /// `sk_buff.dev`, and its socket.
    device: i16,
    socket: i16,
    /// `net_device.ifindex`, and the namespace the device is in.
    index: i16,
    device_namespace: i16,
    /// `sock.skc_family`, and the namespace the socket is of.
    family: i16,
    socket_namespace: i16,
    /// The inode number of a namespace.
    inode: i16,
    /// Whether the kernel says whose buffer a received packet was for (Linux 6.11).
    tells_receiver: bool,
}

impl Offsets {
    /// Reads them off a kernel's description of itself; nothing where it does not tell why it drops (before Linux 5.17).
    pub(crate) fn of(btf: &Btf) -> Option<Self> {
        // Its own data, the packet, the code's address, the reason, and the receiving socket.
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

/// Registers: what calls take and give, and those that calls leave alone.
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

/// Places in the program that are jumped to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Label {
    BySocket,
    Known,
    Inet,
    Count,
    Add,
    Exit,
}

/// A program that is being written: jumps are filled in when all of it is there.
#[derive(Default)]
struct Text {
    instructions: Vec<Instruction>,
    jumps: Vec<(usize, Label)>,
    labels: Vec<(Label, usize)>,
}

impl Text {
    fn put(&mut self, code: u8, to: u8, from: u8, offset: i16, constant: i32) {
        self.instructions.push(Instruction::new(code, to, from, offset, constant));
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

    /// Eight bytes from memory.
    fn load(&mut self, to: u8, from: u8, offset: i16) {
        self.put(0x79, to, from, offset, 0);
    }

    /// A map's address: the kernel puts it in place of the descriptor.
    fn map(&mut self, to: u8, map: BorrowedFd<'_>) {
        self.put(0x18, to, 1, 0, map.as_raw_fd());
        self.put(0, 0, 0, 0, 0);
    }

    fn call(&mut self, helper: i32) {
        self.put(0x85, 0, 0, 0, helper);
    }

    fn jump(&mut self, code: u8, register: u8, constant: i32, label: Label) {
        self.jumps.push((self.instructions.len(), label));
        self.put(code, register, 0, 0, constant);
    }

    fn go_to(&mut self, label: Label) {
        self.jump(0x05, 0, 0, label);
    }

    fn if_equal(&mut self, register: u8, constant: i32, label: Label) {
        self.jump(0x15, register, constant, label);
    }

    fn if_not_zero(&mut self, register: u8, label: Label) {
        self.jump(0x55, register, 0, label);
    }

    /// Addresses of the kernel's own memory have their highest bit set, and are negative therefore.
    fn unless_pointer(&mut self, register: u8, label: Label) {
        self.put(0x65, register, 0, 0, -1);
        self.jumps.push((self.instructions.len() - 1, label));
    }

    fn label(&mut self, label: Label) {
        self.labels.push((label, self.instructions.len()));
    }

    /// Reads so many bytes of the kernel's memory onto the stack. What cannot be read is zero.
    fn read(&mut self, to: i16, bytes: i32, from: u8, offset: i16) {
        self.copy(R1, STACK);
        self.add(R1, i32::from(to));
        self.set(R2, bytes);
        self.copy(R3, from);
        self.add(R3, i32::from(offset));
        self.call(READ_KERNEL);
    }

    /// Reads a pointer of the kernel's.
    fn follow(&mut self, to: u8, from: u8, offset: i16) {
        self.read(WORD, 8, from, offset);
        self.load(to, STACK, WORD);
    }

    /// Looks a key on the stack up.
    fn look_up(&mut self, map: BorrowedFd<'_>, key: i16) {
        self.map(R1, map);
        self.copy(R2, STACK);
        self.add(R2, i32::from(key));
        self.call(LOOK_UP);
    }

    /// The program, its jumps filled in.
    fn finished(mut self) -> Vec<Instruction> {
        for (at, label) in self.jumps {
            let to = self.labels.iter().find(|(one, _)| *one == label).map_or(at, |(_, to)| *to);
            // Offsets count from the instruction behind the jump.
            self.instructions[at].jumps_over(to as i16 - at as i16 - 1);
        }
        self.instructions
    }
}

/// Writes the program: packets of the namespaces in `watched` are counted in `counts`.
pub(crate) fn write(
    offsets: Offsets,
    watched: BorrowedFd<'_>,
    counts: BorrowedFd<'_>,
) -> Vec<Instruction> {
    let mut text = Text::default();
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
    text.finished()
}

/// The namespace of the packet's device. A packet that waits in a socket keeps other things where its device was: that is
/// no pointer then, or one to something that no namespace of the lab's is found behind.
fn by_device(text: &mut Text, offsets: Offsets, watched: BorrowedFd<'_>) {
    text.follow(POINTER, PACKET, offsets.device);
    text.unless_pointer(POINTER, Label::BySocket);
    text.read(DEVICE, 4, POINTER, offsets.index);
    text.follow(POINTER, POINTER, offsets.device_namespace);
    text.read(NAMESPACE, 4, POINTER, offsets.inode);
    text.look_up(watched, NAMESPACE);
    text.if_not_zero(R0, Label::Count);
}

/// Else that of the socket that it was for, or came from; then no device is known.
fn by_socket(text: &mut Text, offsets: Offsets, watched: BorrowedFd<'_>) {
    text.label(Label::BySocket);
    // *(u32 *)(stack + DEVICE) = 0
    text.put(0x62, STACK, 0, DEVICE, 0);
    text.copy(POINTER, RECEIVER);
    text.if_not_zero(POINTER, Label::Known);
    text.follow(POINTER, PACKET, offsets.socket);
    text.label(Label::Known);
    text.unless_pointer(POINTER, Label::Exit);
    // *(u64 *)(stack + WORD) = 0: the family has two bytes.
    text.put(0x7a, STACK, 0, WORD, 0);
    text.read(WORD, 2, POINTER, offsets.family);
    text.put(0x69, R1, STACK, WORD, 0);
    text.if_equal(R1, INET, Label::Inet);
    text.if_equal(R1, INET6, Label::Inet);
    text.go_to(Label::Exit);
    text.label(Label::Inet);
    text.follow(POINTER, POINTER, offsets.socket_namespace);
    text.read(NAMESPACE, 4, POINTER, offsets.inode);
    text.look_up(watched, NAMESPACE);
    text.if_equal(R0, 0, Label::Exit);
}

/// One more of this namespace, device and reason.
fn count(text: &mut Text, counts: BorrowedFd<'_>) {
    text.label(Label::Count);
    text.look_up(counts, NAMESPACE);
    text.if_not_zero(R0, Label::Add);
    text.put(0x7a, STACK, 0, ONE, 1);
    text.map(R1, counts);
    text.copy(R2, STACK);
    text.add(R2, i32::from(NAMESPACE));
    text.copy(R3, STACK);
    text.add(R3, i32::from(ONE));
    text.set(R4, UNLESS_THERE);
    text.call(UPDATE);
    text.if_equal(R0, 0, Label::Exit);
    // Another core was first.
    text.look_up(counts, NAMESPACE);
    text.if_equal(R0, 0, Label::Exit);
    text.label(Label::Add);
    text.set(R1, 1);
    // lock *(u64 *)(r0 + 0) += r1
    text.put(0xdb, R0, R1, 0, 0);
    text.label(Label::Exit);
    text.set(R0, 0);
    text.put(0x95, 0, 0, 0, 0);
}
