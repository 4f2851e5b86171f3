//! Client of rtnetlink (rtnetlink(7), RFC 3549), as much of it as tare needs, synchronous and in batches.
//!
//! A [`NetlinkRequest`] is one message with its purpose in words. A [`NetlinkSocket`] carries out many at once and
//! reports the first that the kernel refused. Devices are created with an index that the caller chose, so that later
//! requests can name them without a query.

mod bridge_ports;
mod dump;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod link;
mod mac_address;
pub(crate) mod raw;
mod request;
mod route_lookup;
mod socket;

pub use dump::{DeviceStats, QdiscStats};
pub use link::DeviceRef;
pub(crate) use link::{new_link, push_link_info, set_link_up};
pub use mac_address::MacAddress;
pub use request::NetlinkRequest;
pub(crate) use request::{CREATE, family};
pub use socket::{DeviceState, NetlinkSocket};
