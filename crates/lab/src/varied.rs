//! Options that change any wiring alike: without connection tracking, with another MTU, received packets spread over
//! cores.

use crate::layout::{Layout, Waypoint};
use crate::wiring::Sysctl;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;
use tare_network::{Hop, HopKind, Missing, MtuBy, Need, Options, Shape};

/// What the options need beside what the network does.
pub(crate) fn needs(options: &Options) -> Vec<Need> {
    let mut needs = Vec::new();
    if options.untracked {
        needs.push(Need::Kernel { module: "nft_ct" });
    }
    if options.rps && !Path::new(STEERING_FILE).exists() {
        needs.push(Need::Lacking(Missing {
            reason: format!("this kernel has no {STEERING}"),
            remedy: "use Linux 6.3 or later, with CONFIG_RPS, or leave out +rps".to_owned(),
        }));
    }
    needs
}

/// The shape as the options change it.
pub(crate) fn shape<'a>(shape: &'a Shape, options: &Options) -> Cow<'a, Shape> {
    match options.mtu {
        None => Cow::Borrowed(shape),
        Some(mtu) => Cow::Owned(Shape { mtu, mtu_by: MtuBy::User, ..shape.clone() }),
    }
}

/// Changes a layout as the options say.
pub(crate) fn vary(layout: &mut Layout, options: &Options) {
    if options.untracked {
        untrack(layout);
    }
    if options.rps {
        let all = Sysctl { value: all_cores().into(), ..Sysctl::required(STEERING, "0") };
        for space in &mut layout.wiring.spaces {
            space.sysctls.push(all.clone());
        }
    }
}

/// On which cores packets may be processed that come in by a device which is made later (Documentation/admin-guide/
/// sysctl/net.rst). A namespace has its own, and needs no privilege to set it.
const STEERING: &str = "net.core.rps_default_mask";
const STEERING_FILE: &str = "/proc/sys/net/core/rps_default_mask";

/// All cores up to the last that is online; the kernel passes over those that are not.
fn all_cores() -> String {
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    mask(1 + last(&online))
}

/// The last number of a list such as `0-3,6-7`.
fn last(cores: &str) -> usize {
    cores.trim().rsplit([',', '-']).next().and_then(|last| last.parse().ok()).unwrap_or(0)
}

/// The first so many cores, as the kernel writes a set of them: in hexadecimal words of 32, the highest first.
fn mask(cores: usize) -> String {
    let whole = cores / 32;
    let rest = (!cores.is_multiple_of(32)).then(|| format!("{:x}", (1_u64 << (cores % 32)) - 1));
    let words = rest.into_iter().chain(std::iter::repeat_n("ffffffff".to_owned(), whole));
    words.collect::<Vec<_>>().join(",")
}

/// In every namespace with rules, nothing is tracked: before connection tracking sees a packet, a rule says so. It is
/// loaded with the others, so that no packet comes between them.
fn untrack(layout: &mut Layout) {
    let mut ruled = BTreeSet::new();
    for rules in &mut layout.wiring.rules {
        if ruled.insert(rules.space.0) {
            rules.text.push_str(NOTRACK);
        }
    }
    for waypoint in &mut layout.path {
        if let Waypoint::Other(hop) = waypoint
            && hop.kind == HopKind::Conntrack
        {
            *hop =
                Hop::new(HopKind::Filter, "raw/notrack", &hop.place).with_detail("counter notrack");
        }
    }
}

/// At the priority of iptables' table `raw`, which is before connection tracking.
const NOTRACK: &str = "table inet untracked {
  chain prerouting {
    type filter hook prerouting priority raw; policy accept;
    counter notrack
  }
  chain output {
    type filter hook output priority raw; policy accept;
    counter notrack
  }
}
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_cores_are_written_as_the_kernel_reads_them() {
        assert_eq!(mask(1), "1");
        assert_eq!(mask(2), "3");
        assert_eq!(mask(32), "ffffffff");
        assert_eq!(mask(40), "ff,ffffffff");
        assert_eq!(mask(64), "ffffffff,ffffffff");
        assert_eq!(["0", "0-1\n", "0-3,6-7\n", ""].map(last), [0, 1, 7, 0]);
    }
}
