//! Capabilities: what is left of root's rights (capabilities(7)).

use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};
use std::io;

/// Gives up the right to gain rights by running a program, and all capabilities but `kept` of this thread and `inherited`
/// of the programs that it runs.
pub(crate) fn give_up_capabilities(
    kept: CapabilitySet,
    inherited: CapabilitySet,
) -> io::Result<()> {
    set_no_new_privs(true)?;
    clear_ambient()?;
    reduce_bounding_set(inherited)?;
    reduce_capabilities(kept)
}

/// Removes what is not kept from the capabilities of this thread.
pub(crate) fn reduce_capabilities(kept: CapabilitySet) -> io::Result<()> {
    let CapabilitySets { effective, permitted, inheritable } = capabilities(None)?;
    let reduced = CapabilitySets {
        effective: effective.intersection(kept),
        permitted: permitted.intersection(kept),
        inheritable: inheritable.intersection(kept),
    };
    Ok(set_capabilities(None, reduced)?)
}

fn clear_ambient() -> io::Result<()> {
    match clear_ambient_capability_set() {
        // Linux before 4.3 has none.
        Err(Errno::INVAL) => Ok(()),
        cleared => Ok(cleared?),
    }
}

/// Removes what is not kept from the capabilities that a program can have after exec.
fn reduce_bounding_set(kept: CapabilitySet) -> io::Result<()> {
    for bit in (0..u64::BITS).map(|bit| CapabilitySet::from_bits_retain(1 << bit)) {
        if kept.contains(bit) {
            continue;
        }
        match remove_capability_from_bounding_set(bit) {
            // The kernel does not know it, or the process may not give up what it may not use either.
            Err(Errno::INVAL | Errno::PERM) | Ok(()) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}
