//! Instructions of an eBPF program (Documentation/bpf/standardization/instruction-set.rst), written one by one, so that no
//! compiler and no object file are needed.

use crate::sys::bpf::BpfInstruction;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Kernel helper that looks up a key of a map.
const LOOK_UP: i32 = 1;

/// Register of a result.
pub(crate) const R0: u8 = 0;
/// Registers of arguments, which a call changes.
pub(crate) const R1: u8 = 1;
pub(crate) const R2: u8 = 2;
pub(crate) const R3: u8 = 3;
pub(crate) const R4: u8 = 4;
/// Registers that a call preserves.
pub(crate) const R6: u8 = 6;
pub(crate) const R7: u8 = 7;
pub(crate) const R8: u8 = 8;
pub(crate) const R9: u8 = 9;
/// Register of the stack's end.
pub(crate) const STACK: u8 = 10;

/// Program under construction, with jump targets of type `L`. Jump offsets are set when it is complete.
pub(crate) struct ProgramBuilder<L> {
    instructions: Vec<BpfInstruction>,
    jumps: Vec<(usize, L)>,
    labels: Vec<(L, usize)>,
}

impl<L: Copy + PartialEq> ProgramBuilder<L> {
    /// Creates an empty program.
    pub(crate) fn new() -> Self {
        Self { instructions: Vec::new(), jumps: Vec::new(), labels: Vec::new() }
    }

    /// Adds an instruction by its code.
    pub(crate) fn put(&mut self, code: u8, to: u8, from: u8, offset: i16, constant: i32) {
        self.instructions.push(BpfInstruction::new(code, to, from, offset, constant));
    }

    /// Copies a register.
    pub(crate) fn copy(&mut self, to: u8, from: u8) {
        self.put(0xbf, to, from, 0, 0);
    }

    /// Sets a register.
    pub(crate) fn set(&mut self, to: u8, constant: i32) {
        self.put(0xb7, to, 0, 0, constant);
    }

    /// Sets all eight bytes of a register.
    pub(crate) fn set_wide(&mut self, to: u8, constant: u64) {
        let [low, high] = [constant as u32, (constant >> 32) as u32].map(u32::cast_signed);
        self.put(0x18, to, 0, 0, low);
        self.put(0, 0, 0, 0, high);
    }

    /// Converts four bytes of a register from network byte order.
    pub(crate) fn host_byte_order(&mut self, register: u8) {
        self.put(0xdc, register, 0, 0, 32);
    }

    /// Adds to a register.
    pub(crate) fn add(&mut self, to: u8, constant: i32) {
        self.put(0x07, to, 0, 0, constant);
    }

    /// Loads eight bytes from memory.
    pub(crate) fn load(&mut self, to: u8, from: u8, offset: i16) {
        self.put(0x79, to, from, offset, 0);
    }

    /// Loads four bytes from memory.
    pub(crate) fn load_word(&mut self, to: u8, from: u8, offset: i16) {
        self.put(0x61, to, from, offset, 0);
    }

    /// Loads two bytes from memory.
    pub(crate) fn load_half_word(&mut self, to: u8, from: u8, offset: i16) {
        self.put(0x69, to, from, offset, 0);
    }

    /// Stores four bytes in memory.
    pub(crate) fn store_word(&mut self, to: u8, offset: i16, from: u8) {
        self.put(0x63, to, from, offset, 0);
    }

    /// Loads the address of a map, which the kernel substitutes for the descriptor.
    pub(crate) fn map(&mut self, to: u8, map: BorrowedFd<'_>) {
        self.put(0x18, to, 1, 0, map.as_raw_fd());
        self.put(0, 0, 0, 0, 0);
    }

    /// Calls a kernel helper.
    pub(crate) fn call(&mut self, helper: i32) {
        self.put(0x85, 0, 0, 0, helper);
    }

    /// Looks up a key on the stack.
    pub(crate) fn look_up(&mut self, map: BorrowedFd<'_>, key: i16) {
        self.map(R1, map);
        self.copy(R2, STACK);
        self.add(R2, i32::from(key));
        self.call(LOOK_UP);
    }

    /// Adds one to the eight bytes at an address, also if another program adds to them: one that a process runs can be
    /// preempted.
    pub(crate) fn increase(&mut self, address: u8) {
        self.set(R1, 1);
        // lock *(u64 *)(address + 0) += r1
        self.put(0xdb, address, R1, 0, 0);
    }

    /// Adds one to this core's count in an array of one element. The four bytes of the stack at `key` are overwritten.
    pub(crate) fn count(&mut self, counts: BorrowedFd<'_>, key: i16, missing: L) {
        self.set(R1, 0);
        self.store_word(STACK, key, R1);
        self.look_up(counts, key);
        self.if_equal(R0, 0, missing);
        self.increase(R0);
    }

    /// Jumps.
    pub(crate) fn go_to(&mut self, label: L) {
        self.jump(0x05, [0, 0], 0, label);
    }

    /// Jumps if the register holds this value.
    pub(crate) fn if_equal(&mut self, register: u8, constant: i32, label: L) {
        self.jump(0x15, [register, 0], constant, label);
    }

    /// Jumps if the register does not hold zero.
    pub(crate) fn if_not_zero(&mut self, register: u8, label: L) {
        self.jump(0x55, [register, 0], 0, label);
    }

    /// Jumps if the first register's value is greater than the second's.
    pub(crate) fn if_greater(&mut self, first: u8, second: u8, label: L) {
        self.jump(0x2d, [first, second], 0, label);
    }

    /// Jumps if two registers hold different values.
    pub(crate) fn if_different(&mut self, first: u8, second: u8, label: L) {
        self.jump(0x5d, [first, second], 0, label);
    }

    /// Jumps unless the register holds a kernel address. Kernel addresses have their highest bit set and are therefore
    /// negative.
    pub(crate) fn unless_pointer(&mut self, register: u8, label: L) {
        self.jump(0x65, [register, 0], -1, label);
    }

    /// Ends the program with the value of register 0.
    pub(crate) fn exit(&mut self) {
        self.put(0x95, 0, 0, 0, 0);
    }

    /// Makes the next instruction the target of jumps to the label.
    pub(crate) fn label(&mut self, label: L) {
        self.labels.push((label, self.instructions.len()));
    }

    /// Returns the program with its jump offsets set.
    pub(crate) fn finish(mut self) -> Vec<BpfInstruction> {
        for (at, label) in self.jumps {
            let to = self.labels.iter().find(|(one, _)| *one == label).map_or(at, |(_, to)| *to);
            // Jump offsets count from the instruction after the jump.
            self.instructions[at].set_jump_offset(to as i16 - at as i16 - 1);
        }
        self.instructions
    }

    fn jump(&mut self, code: u8, [first, second]: [u8; 2], constant: i32, label: L) {
        self.jumps.push((self.instructions.len(), label));
        self.put(code, first, second, 0, constant);
    }
}
