//! `rootlesskit-slirp`: RootlessKit that has slirp4netns forward published ports, as packets of its tap device.

use super::rootlesskit::{ROOTLESSKIT, attach_with_driver, further_requirements};
use super::slirp4netns::SLIRP4NETNS;
use super::stack::{StackAttachment, StackProgram, UserModeStack, refuse_ipv6};
use crate::plan::wiring::Wiring;
use tare_network::{Error, Requirement};

/// RootlessKit with slirp4netns as its port driver.
pub(super) struct RootlessKitSlirpStack;

impl UserModeStack for RootlessKitSlirpStack {
    fn program(&self) -> StackProgram {
        ROOTLESSKIT
    }

    fn other_listener(&self) -> Option<&'static str> {
        Some(SLIRP4NETNS)
    }

    fn other_tap_holder(&self) -> Option<&'static str> {
        Some(SLIRP4NETNS)
    }

    fn further_requirements(&self) -> Vec<Requirement> {
        further_requirements()
    }

    fn check(&self, to: &StackAttachment) -> Result<(), Error> {
        refuse_ipv6(SLIRP4NETNS, to)
    }

    fn attach(&self, wiring: &mut Wiring, to: &StackAttachment) {
        attach_with_driver(wiring, to, SLIRP4NETNS);
    }
}
