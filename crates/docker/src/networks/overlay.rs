//! Overlay networks of engines that share a store: requests, and the same as commands.

use super::layout::DEFAULT_MTU;
use super::user_bridge;
use bollard::models::NetworkCreateRequest;
use tare_network::Shape;

/// Bytes by which Docker reduces the MTU of an overlay for VXLAN's headers.
pub const VXLAN_OVERHEAD: u32 = 50;
/// Bytes by which Docker reduces the MTU of an encrypted overlay for ESP's headers.
pub const ESP_OVERHEAD: u32 = 26;

/// Builds the request for an overlay in the shape's family, whose containers get the requested MTU.
pub fn overlay_request(shape: &Shape, headers: u32) -> NetworkCreateRequest {
    user_bridge::network_request("overlay", &with_header_room(shape, headers))
}

/// Returns the command that creates the same overlay.
pub fn overlay_command(shape: &Shape, headers: u32, more: &str) -> String {
    user_bridge::create_command("overlay", &with_header_room(shape, headers), more)
}

/// Returns the shape with room for headers in its MTU, if the user requested an MTU.
fn with_header_room(shape: &Shape, headers: u32) -> Shape {
    let asked = shape.mtu != DEFAULT_MTU;
    Shape { mtu: if asked { shape.mtu + headers } else { shape.mtu }, ..shape.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_mtu_that_was_asked_for_has_room_for_vxlan() {
        let line = |mtu| overlay_command(&Shape { mtu, ..Shape::default() }, VXLAN_OVERHEAD, "");
        assert!(line(1400).contains("driver.mtu=1450"), "{}", line(1400));
        assert!(!line(DEFAULT_MTU).contains("mtu"), "{}", line(DEFAULT_MTU));
    }
}
