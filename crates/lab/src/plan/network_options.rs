//! Options that change any wiring in the same way: no connection tracking, another MTU, received packets spread over
//! cores, packets redirected between veth pairs.

use crate::plan::ebpf_redirect;
use crate::plan::layout::{Layout, Waypoint};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;
use tare_network::{Hop, HopKind, MtuSource, NetworkOptions, Requirement, Shape, UnmetRequirement};
use tare_sandbox::Sysctl;

/// Returns the requirements of the options, without those of the network.
pub(crate) fn requirements(options: &NetworkOptions) -> Vec<Requirement> {
    let mut needs = Vec::new();
    if options.untracked {
        needs.push(Requirement::Kernel { module: "nft_ct" });
    }
    needs.extend(options.redirect.and_then(ebpf_redirect::unmet_requirement));
    if options.rps && !Path::new(RPS_SYSCTL_FILE).exists() {
        needs.push(Requirement::Unmet(UnmetRequirement {
            reason: format!("this kernel has no sysctl {RPS_SYSCTL}"),
            remedy: "use Linux 6.3 or later, with CONFIG_RPS, or leave out +rps".to_owned(),
        }));
    }
    needs
}

/// Returns the shape with the options applied.
pub(crate) fn apply_to_shape<'a>(shape: &'a Shape, options: &NetworkOptions) -> Cow<'a, Shape> {
    match options.mtu {
        None => Cow::Borrowed(shape),
        Some(mtu) => Cow::Owned(Shape { mtu, mtu_by: MtuSource::User, ..shape.clone() }),
    }
}

/// Applies the options to a layout.
pub(crate) fn apply_to_layout(layout: &mut Layout, options: &NetworkOptions) {
    if options.untracked {
        untrack(layout);
    }
    if let Some(program) = options.redirect {
        ebpf_redirect::redirect(layout, program);
    }
    if options.rps {
        let all = Sysctl { value: all_cores().into(), ..Sysctl::required(RPS_SYSCTL, "0") };
        for space in &mut layout.wiring.spaces {
            space.sysctls.push(all.clone());
        }
    }
}

/// Mask of cores that may process packets which arrive by a device that is made later
/// (Documentation/admin-guide/sysctl/net.rst). Each namespace has its own mask, and setting it needs no privilege.
const RPS_SYSCTL: &str = "net.core.rps_default_mask";
const RPS_SYSCTL_FILE: &str = "/proc/sys/net/core/rps_default_mask";

/// Returns the mask of all cores up to the last that is online. The kernel ignores those that are not.
fn all_cores() -> String {
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    mask(1 + last(&online))
}

/// Returns the last number of a list such as `0-3,6-7`.
fn last(cores: &str) -> usize {
    cores.trim().rsplit([',', '-']).next().and_then(|last| last.parse().ok()).unwrap_or(0)
}

/// Returns the mask of the first `cores` cores, as the kernel formats a set of them: in hexadecimal words of 32 bits,
/// the highest first.
fn mask(cores: usize) -> String {
    let whole = cores / 32;
    let rest = (!cores.is_multiple_of(32)).then(|| format!("{:x}", (1_u64 << (cores % 32)) - 1));
    let words = rest.into_iter().chain(std::iter::repeat_n("ffffffff".to_owned(), whole));
    words.collect::<Vec<_>>().join(",")
}

/// Adds a rule to every namespace with rules that exempts all packets from connection tracking. It is loaded with the
/// other rules, so that no packet passes between them.
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

/// Rules at the priority of iptables' table `raw`, which is before connection tracking.
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
