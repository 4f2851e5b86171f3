//! The kernel's description of its types, from bytes.

use super::btf::Btf;

/// Reads a table, and looks for what the lab looks for.
pub fn types(bytes: &[u8]) {
    let Some(btf) = Btf::parse(bytes) else { return };
    for path in [&["dev"][..], &["nd_net", "net"], &["ns", "inum"], &["a", "b", "c"]] {
        for structure in ["sk_buff", "net_device", "net", "outer"] {
            let _ = btf.offset(structure, path);
        }
    }
    let _ = btf.constants("skb_drop_reason");
    let _ = btf.parameters("btf_trace_kfree_skb");
}
