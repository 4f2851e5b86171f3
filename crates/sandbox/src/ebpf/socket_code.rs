//! Instructions of the programs that redirect between sockets: one adds the sockets of a namespace to a map when they
//! are connected, the other finds the other end of the socket that sends.

use super::program_builder::{ProgramBuilder, R0, R1, R2, R3, R4, R6, STACK};
use crate::sys::bpf::BpfInstruction;
use std::os::fd::BorrowedFd;

/// Kernel helpers.
const ADD_SOCKET: i32 = 70;
const REDIRECT_TO_SOCKET: i32 = 71;
const NAMESPACE_COOKIE: i32 = 122;

/// `BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB` and `BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB`.
const CONNECTED: i32 = 4;
const ACCEPTED: i32 = 5;

/// `AF_INET6` of linux/socket.h.
const INET6: i32 = 10;

/// `BPF_F_INGRESS`: to the receive queue of the other socket.
const TO_RECEIVER: i32 = 1;

/// `SK_PASS`, and what a program at sockets' operations returns.
const PASS: i32 = 1;

/// Offsets in `struct bpf_sock_ops` of the operation and of the program's reply to it.
const OPERATION: i16 = 0;
const REPLY: i16 = 4;

/// Offset on the program's stack, from its end, of a socket's key: the last four bytes of the remote and of the local
/// address, the remote and the local port, each of four bytes.
const KEY: i16 = -16;
/// Offset on the stack of the key of the count.
const COUNT: i16 = -20;

/// Length of a socket's key, bytes.
pub(super) const KEY_LENGTH: u32 = 16;

/// Register that a call preserves.
const CONTEXT: u8 = R6;

/// Jump target in a program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum JumpLabel {
    Connected,
    Ipv6,
    Ports,
    Pass,
}

type SocketProgram = ProgramBuilder<JumpLabel>;

/// Offsets in a context of the socket's addresses and ports. The last four bytes of an IPv6 address are enough: all
/// sockets of the map are of one namespace.
struct SocketFields {
    family: i16,
    remote_ipv4: i16,
    local_ipv4: i16,
    remote_ipv6: i16,
    local_ipv6: i16,
    remote_port: i16,
    local_port: i16,
}

/// `struct bpf_sock_ops`.
const OF_OPERATION: SocketFields = SocketFields {
    family: 20,
    remote_ipv4: 24,
    local_ipv4: 28,
    remote_ipv6: 44,
    local_ipv6: 60,
    remote_port: 64,
    local_port: 68,
};

/// `struct sk_msg_md`.
const OF_MESSAGE: SocketFields = SocketFields {
    family: 16,
    remote_ipv4: 20,
    local_ipv4: 24,
    remote_ipv6: 40,
    local_ipv6: 56,
    remote_port: 60,
    local_port: 64,
};

/// Writes the program that adds the connected sockets of the namespace with this cookie to `sockets`.
pub(super) fn collecting_program(cookie: u64, sockets: BorrowedFd<'_>) -> Vec<BpfInstruction> {
    let mut text = SocketProgram::new();
    text.copy(CONTEXT, R1);
    // The reply that leaves all operations to the kernel.
    text.set(R1, -1);
    text.store_word(CONTEXT, REPLY, R1);
    text.load_word(R1, CONTEXT, OPERATION);
    text.if_equal(R1, CONNECTED, JumpLabel::Connected);
    text.if_equal(R1, ACCEPTED, JumpLabel::Connected);
    text.go_to(JumpLabel::Pass);
    text.label(JumpLabel::Connected);
    text.copy(R1, CONTEXT);
    text.call(NAMESPACE_COOKIE);
    text.set_wide(R1, cookie);
    text.if_different(R0, R1, JumpLabel::Pass);
    write_key(&mut text, &OF_OPERATION, [KEY, KEY + 4, KEY + 8, KEY + 12]);
    text.copy(R1, CONTEXT);
    text.map(R2, sockets);
    text.copy(R3, STACK);
    text.add(R3, i32::from(KEY));
    text.set(R4, 0);
    text.call(ADD_SOCKET);
    pass(text)
}

/// Writes the program that appends what a socket sends to the queue of its other end, if that is in `sockets`, and
/// counts in `redirected`.
pub(super) fn redirecting_program(
    sockets: BorrowedFd<'_>,
    redirected: BorrowedFd<'_>,
) -> Vec<BpfInstruction> {
    let mut text = SocketProgram::new();
    text.copy(CONTEXT, R1);
    // What is remote for this end is local for the other.
    write_key(&mut text, &OF_MESSAGE, [KEY + 4, KEY, KEY + 12, KEY + 8]);
    text.copy(R1, CONTEXT);
    text.map(R2, sockets);
    text.copy(R3, STACK);
    text.add(R3, i32::from(KEY));
    text.set(R4, TO_RECEIVER);
    text.call(REDIRECT_TO_SOCKET);
    text.if_equal(R0, 0, JumpLabel::Pass);
    text.count(redirected, COUNT, JumpLabel::Pass);
    pass(text)
}

/// Writes remote address, local address, remote port and local port of a socket to these places of the stack.
fn write_key(text: &mut SocketProgram, from: &SocketFields, to: [i16; 4]) {
    let [remote, local, remote_port, local_port] = to;
    text.load_word(R1, CONTEXT, from.family);
    text.if_equal(R1, INET6, JumpLabel::Ipv6);
    text.load_word(R1, CONTEXT, from.remote_ipv4);
    text.load_word(R2, CONTEXT, from.local_ipv4);
    text.go_to(JumpLabel::Ports);
    text.label(JumpLabel::Ipv6);
    text.load_word(R1, CONTEXT, from.remote_ipv6);
    text.load_word(R2, CONTEXT, from.local_ipv6);
    text.label(JumpLabel::Ports);
    text.store_word(STACK, remote, R1);
    text.store_word(STACK, local, R2);
    text.load_word(R1, CONTEXT, from.remote_port);
    text.host_byte_order(R1);
    text.store_word(STACK, remote_port, R1);
    text.load_word(R1, CONTEXT, from.local_port);
    text.store_word(STACK, local_port, R1);
}

fn pass(mut text: SocketProgram) -> Vec<BpfInstruction> {
    text.label(JumpLabel::Pass);
    text.set(R0, PASS);
    text.exit();
    text.finish()
}
