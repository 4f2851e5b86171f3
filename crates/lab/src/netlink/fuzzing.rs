//! Fuzz target for the kernel's lists.

use super::dump::{counted, described};
use super::socket::{acknowledged, describe, read};
use netlink_packet_core::NetlinkPayload;
use netlink_packet_route::RouteNetlinkMessage;

/// Parses an answer of the kernel: devices and queues.
pub fn answer(bytes: &[u8]) {
    let mut messages = 0;
    let _ = read(bytes, |message| {
        messages += 1;
        match message.payload {
            NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewLink(link)) => {
                drop((describe(&link), counted(&link)));
            }
            NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewQueueDiscipline(queue)) => {
                drop(described(&queue));
            }
            NetlinkPayload::Error(answer) => drop(acknowledged(&answer)),
            _ => {}
        }
        Ok(())
    });
    assert!(messages <= bytes.len(), "every message takes some bytes");
}
