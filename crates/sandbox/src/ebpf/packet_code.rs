//! Instructions of the programs that redirect packets. Both find the device of a packet's destination, count the packet,
//! and name the device; they differ in the hook that runs them.

use super::pair_program::PairProgram;
use super::program_builder::{ProgramBuilder, R0, R1, R2, R3, R6, R7, STACK};
use crate::netlink::MacAddress;
use crate::sys::bpf::{BpfInstruction, ProgramKind};
use std::os::fd::BorrowedFd;

/// Kernel helpers.
const REDIRECT: i32 = 23;
const CHANGE_TYPE: i32 = 32;
const REDIRECT_PEER: i32 = 155;

/// `PACKET_HOST`: the packet is for this machine. For the node it was a packet for another.
const PACKET_HOST: i32 = 0;

/// Length of an Ethernet header, bytes. It begins with the destination's address.
const ETHERNET_HEADER: i32 = 14;

/// Offsets on the program's stack, from its end: the key of the devices, and that of the count.
const ADDRESS: i16 = -8;
const ADDRESS_END: i16 = -4;
const COUNT: i16 = -12;

/// Registers that a call preserves.
const CONTEXT: u8 = R6;
const DEVICE: u8 = R7;

/// Jump target in the program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum JumpLabel {
    Pass,
}

/// Properties of the hook that runs a program.
struct Hook {
    /// Offsets in the context of the addresses of a packet's first byte and of its end.
    data: [i16; 2],
    /// Result for packets that are not redirected.
    pass: i32,
}

impl Hook {
    fn new(program: PairProgram) -> Self {
        match program {
            // `struct __sk_buff`, `TCX_PASS`.
            PairProgram::Peer => Self { data: [76, 80], pass: 0 },
            // `struct xdp_md`, `XDP_PASS`.
            PairProgram::Xdp => Self { data: [0, 4], pass: 2 },
        }
    }
}

/// Returns the kind of a program, as the kernel knows it.
pub(super) fn kind(program: PairProgram) -> ProgramKind {
    match program {
        PairProgram::Peer => ProgramKind::Classifier,
        PairProgram::Xdp => ProgramKind::Xdp,
    }
}

/// Returns the key of an address in the map of devices: its first four and its last two bytes, as the program loads
/// them.
pub(super) fn map_key(mac: MacAddress) -> [u32; 2] {
    let [a, b, c, d, e, f] = mac.bytes();
    [u32::from_ne_bytes([a, b, c, d]), u32::from(u16::from_ne_bytes([e, f]))]
}

/// Writes a program. It finds the device of a packet's destination in `devices`, and counts in `packets`.
pub(super) fn build_program(
    program: PairProgram,
    devices: BorrowedFd<'_>,
    packets: BorrowedFd<'_>,
) -> Vec<BpfInstruction> {
    let Hook { data: [data, data_end], pass } = Hook::new(program);
    let mut text = ProgramBuilder::new();
    text.copy(CONTEXT, R1);
    text.load_word(R2, CONTEXT, data);
    text.load_word(R3, CONTEXT, data_end);
    text.copy(R1, R2);
    text.add(R1, ETHERNET_HEADER);
    text.if_greater(R1, R3, JumpLabel::Pass);
    text.load_word(R1, R2, 0);
    text.store_word(STACK, ADDRESS, R1);
    text.load_half_word(R1, R2, 4);
    text.store_word(STACK, ADDRESS_END, R1);
    text.look_up(devices, ADDRESS);
    text.if_equal(R0, 0, JumpLabel::Pass);
    text.load(DEVICE, R0, 0);
    text.count(packets, COUNT, JumpLabel::Pass);
    redirect(&mut text, program);
    text.exit();
    text.label(JumpLabel::Pass);
    text.set(R0, pass);
    text.exit();
    text.finish()
}

/// Writes a program that lets all packets pass.
pub(super) fn passing_program(program: PairProgram) -> Vec<BpfInstruction> {
    let mut text = ProgramBuilder::<JumpLabel>::new();
    text.set(R0, Hook::new(program).pass);
    text.exit();
    text.finish()
}

/// Calls the helper that names the device, and returns its result.
fn redirect(text: &mut ProgramBuilder<JumpLabel>, program: PairProgram) {
    let helper = match program {
        PairProgram::Peer => {
            text.copy(R1, CONTEXT);
            text.set(R2, PACKET_HOST);
            text.call(CHANGE_TYPE);
            REDIRECT_PEER
        }
        PairProgram::Xdp => REDIRECT,
    };
    text.copy(R1, DEVICE);
    text.set(R2, 0);
    text.call(helper);
}
