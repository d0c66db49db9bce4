//! Drops the capabilities of root before a sandboxed command starts.

use std::io;

use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

/// Root keeps access to all files; Landlock restricts it to the allowed ones.
const KEPT: CapabilitySet = CapabilitySet::DAC_READ_SEARCH
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::CHOWN)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID);

/// Drops, for this thread and its children, the capabilities that would let root inspect other processes or change
/// the system: the kernel lets root read the environment of any process, even inside the sandbox.
pub fn give_up() -> io::Result<()> {
    let had = capabilities(None)?;
    let kept = CapabilitySets {
        effective: had.effective & KEPT,
        permitted: had.permitted & KEPT,
        inheritable: CapabilitySet::empty(),
    };
    Ok(set_capabilities(None, kept)?)
}
