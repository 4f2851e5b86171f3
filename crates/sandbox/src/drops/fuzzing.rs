//! Fuzz target of the parser of kernel type information (BTF).

use super::btf::Btf;

/// Parses type information and looks up the types that the drop counter uses.
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
