//! Client of rtnetlink (rtnetlink(7), RFC 3549), as much of it as the lab needs, synchronous and in batches.
//!
//! A [`NetlinkRequest`] is one message with its purpose in words. A [`NetlinkSocket`] carries out many at once and
//! reports the first that the kernel refused. Devices are created with an index that the caller chose, so that later
//! requests can name them without a query.

mod child_device;
mod device_pair;
mod dump;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
pub(crate) mod raw;
mod request;
mod route;
mod socket;
mod tunnel;

pub(crate) use child_device::NewChildDevice;
pub(crate) use device_pair::{NewDevicePair, NewPairEnd};
pub(crate) use dump::{DeviceStats, QdiscStats};
pub(crate) use request::{NetlinkRequest, NewBridge};
pub(crate) use socket::{DeviceState, NetlinkSocket};
