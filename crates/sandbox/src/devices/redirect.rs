//! Redirection (tc-mirred(8)): every packet that a device receives leaves by another device of its namespace, before the
//! IP layer and before any bridge.

use crate::NamespaceChange;
use crate::netlink::{DeviceRef, NetlinkRequest};
use netlink_packet_route::tc::{
    TcAction, TcActionAttribute, TcActionMirrorOption, TcActionOption, TcActionType, TcAttribute,
    TcFilterU32Option, TcMirror, TcOption, TcU32Key, TcU32Selector, TcU32SelectorFlags,
};

/// Point in the reception of a device to which filters can be attached (tc(8), `ingress`).
#[derive(Clone, Copy, Debug)]
pub struct NewIngressHook<'a> {
    /// Device whose received packets are filtered.
    pub device: DeviceRef<'a>,
}

impl NamespaceChange for NewIngressHook<'_> {
    fn request(&self, place: &str) -> NetlinkRequest {
        let what = format!("add filters of received packets to {place}:{}", self.device.name);
        NetlinkRequest::add_ingress_hook(what, self.device)
    }

    fn command(&self, place: &str) -> String {
        format!("tc -n {place} qdisc add dev {} ingress", self.device.name)
    }
}

/// Redirection to add to a device that has a [`NewIngressHook`].
#[derive(Clone, Copy, Debug)]
pub struct NewRedirection<'a> {
    /// Device that receives the packets.
    pub from: DeviceRef<'a>,
    /// Device by which they leave.
    pub to: DeviceRef<'a>,
}

impl NewRedirection<'_> {
    /// Returns a filter that matches every packet (tc-u32(8)). The filter `matchall` says the same, but not all kernels
    /// that have u32 have it.
    fn filter(&self) -> Vec<TcAttribute> {
        let mut everything = TcU32Selector::default();
        everything.flags = TcU32SelectorFlags::Terminal;
        everything.nkeys = 1;
        everything.keys = vec![TcU32Key::default()];
        let options = [
            TcFilterU32Option::Selector(everything),
            TcFilterU32Option::Action(vec![self.action()]),
        ];
        vec![
            TcAttribute::Kind("u32".to_owned()),
            TcAttribute::Options(options.into_iter().map(TcOption::U32).collect()),
        ]
    }

    /// Returns the action that takes a packet out of its reception, and sends it by the other device.
    fn action(&self) -> TcAction {
        let mut redirection = TcMirror::default();
        redirection.generic.action = TcActionType::Stolen;
        redirection.ifindex = self.to.index;
        let options = TcActionOption::Mirror(TcActionMirrorOption::Parms(redirection));
        let mut action = TcAction::default();
        action.attributes = vec![
            TcActionAttribute::Kind("mirred".to_owned()),
            TcActionAttribute::Options(vec![options]),
        ];
        action
    }
}

impl NamespaceChange for NewRedirection<'_> {
    fn request(&self, place: &str) -> NetlinkRequest {
        let Self { from, to } = self;
        let what = format!("redirect the packets of {place}:{} to {}", from.name, to.name);
        NetlinkRequest::add_ingress_filter(what, *from, self.filter())
    }

    fn command(&self, place: &str) -> String {
        let Self { from, to } = self;
        let action = format!("action mirred egress redirect dev {}", to.name);
        let to_all = "protocol all u32 match u32 0 0";
        format!("tc -n {place} filter add dev {} ingress {to_all} {action}", from.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netlink_packet_route::RouteNetlinkMessage;

    #[test]
    fn a_redirection_takes_every_packet() {
        let [from, to] =
            [("node", 7), ("switch", 8)].map(|(name, index)| DeviceRef { name, index });
        let one = NewRedirection { from, to };
        assert_eq!(
            one.command("link-0"),
            "tc -n link-0 filter add dev node ingress protocol all u32 match u32 0 0 action mirred egress redirect dev switch"
        );
        let RouteNetlinkMessage::NewTrafficFilter(message) = one.request("link-0").message else {
            panic!("a filter is added");
        };
        assert_eq!((message.header.index, message.header.parent.major), (7, 0xffff));
        // ETH_P_ALL in network byte order, below a priority that the kernel chooses.
        assert_eq!(message.header.info, u32::from(3_u16.to_be()));
    }
}
