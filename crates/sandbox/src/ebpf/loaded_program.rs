//! Program that the kernel has verified, and its attachment to devices.

use super::errors::{check_privilege, error, map_errno};
use super::packet_code::{build_program, kind, map_key, passing_program};
use super::pair_program::PairProgram;
use super::redirect_target::RedirectTarget;
use crate::netlink::{DeviceRef, NetlinkRequest, NetlinkSocket};
use crate::sys::bpf::{self, BpfInstruction, BpfMap, PerCpuCounter};
use std::os::fd::{AsFd, OwnedFd};
use tare_network::Error;

/// Program in the kernel. It stays as long as this value or a device to which it is attached.
pub(super) struct LoadedProgram {
    program: PairProgram,
    descriptor: OwnedFd,
}

impl LoadedProgram {
    /// Loads the program that redirects packets to these devices. Returns it with the counter of its packets.
    pub(super) fn redirecting(
        program: PairProgram,
        targets: &[RedirectTarget<'_>],
    ) -> Result<(Self, PerCpuCounter), Error> {
        check_support(program)?;
        let devices = map_errno(BpfMap::new(targets.len().max(1) as u32))?;
        for RedirectTarget { device, mac } in targets {
            map_errno(devices.set(&map_key(*mac), u64::from(device.index)))?;
        }
        let packets = map_errno(PerCpuCounter::new())?;
        let instructions = build_program(program, devices.as_fd(), packets.as_fd());
        Ok((Self::load(program, &instructions)?, packets))
    }

    /// Loads a program for the same hook that lets all packets pass.
    pub(super) fn passing(program: PairProgram) -> Result<Self, Error> {
        check_support(program)?;
        Self::load(program, &passing_program(program))
    }

    /// Attaches the program to a device of this thread's network namespace, as long as the device exists.
    pub(super) fn attach(&self, device: DeviceRef<'_>) -> Result<(), Error> {
        let descriptor = self.descriptor.as_fd();
        match self.program {
            PairProgram::Peer => map_errno(bpf::attach_to_reception(descriptor, device.index)),
            PairProgram::Xdp => {
                NetlinkSocket::open()?.execute(&[NetlinkRequest::attach_xdp(device, descriptor)])
            }
        }
    }

    fn load(program: PairProgram, instructions: &[BpfInstruction]) -> Result<Self, Error> {
        let descriptor = map_errno(bpf::load(kind(program), instructions))?;
        Ok(Self { program, descriptor })
    }
}

/// Refuses what this process may not do, or this kernel cannot.
fn check_support(program: PairProgram) -> Result<(), Error> {
    check_privilege()?;
    if program == PairProgram::Peer && !bpf::has_reception_hook() {
        return Err(error("this kernel cannot attach eBPF programs to the reception of devices")
            .with_remedy("use Linux 6.6 or later"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::MacAddress;

    /// The kernel's verifier accepts the programs, or the error says what is required.
    #[test]
    fn a_program_can_be_loaded_or_the_error_has_a_remedy() {
        let device = DeviceRef { name: "veth-s0", index: 7 };
        let targets = [RedirectTarget { device, mac: MacAddress::new([2, 0, 0, 0, 0, 1]) }];
        for program in PairProgram::ALL {
            let passing = LoadedProgram::passing(program).map(drop);
            match LoadedProgram::redirecting(program, &targets) {
                Ok((_, packets)) => assert_eq!((packets.read(), passing), (Ok(0), Ok(()))),
                Err(error) => assert!(!error.remedy.is_empty() && passing.is_err(), "{error}"),
            }
        }
    }
}
