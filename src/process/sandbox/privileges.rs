//! What root can do beyond its files: given up before a held command starts.

use std::io;

use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

/// What makes root the owner of all files. Landlock says which of them count.
const KEPT: CapabilitySet = CapabilitySet::DAC_READ_SEARCH
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::CHOWN)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID);

/// Gives up, for this thread and all that it starts, what would let root look into other processes or change the system:
/// the kernel lets root read the environment of any process, whatever else is refused.
pub fn give_up() -> io::Result<()> {
    let had = capabilities(None)?;
    let kept = CapabilitySets {
        effective: had.effective & KEPT,
        permitted: had.permitted & KEPT,
        inheritable: CapabilitySet::empty(),
    };
    Ok(set_capabilities(None, kept)?)
}
