//! Fuzz target of the parsers of the kernel's route netlink messages.

use super::dump::{device_stats, parse_device_counters, qdisc_stats};
use super::socket::{device_state, parse_ack, parse_messages};
use netlink_packet_core::NetlinkPayload;
use netlink_packet_route::RouteNetlinkMessage;

/// Parses an answer of the kernel: devices, their counters, queueing disciplines and acknowledgements.
pub fn answer(bytes: &[u8]) {
    let mut messages = 0;
    let _ = parse_messages(bytes, |message| {
        messages += 1;
        match message.payload {
            NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewLink(link)) => {
                drop((device_state(&link), device_stats(&link)));
            }
            NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewQueueDiscipline(queue)) => {
                drop(qdisc_stats(&queue));
            }
            NetlinkPayload::Error(answer) => drop(parse_ack(&answer)),
            _ => {}
        }
        Ok(())
    });
    assert!(messages <= bytes.len(), "every message takes some bytes");
    let mut counters = Vec::new();
    let _ = parse_device_counters(bytes, &mut counters);
    assert!(counters.len() <= bytes.len(), "every device takes some bytes");
}
