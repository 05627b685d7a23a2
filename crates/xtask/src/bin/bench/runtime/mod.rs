//! What is done on a host: images on disks, disks read back, and guests launched on real parts. All of it needs root and the
//! programs of `scripts/install-real-tools`; where they are missing it says so and measures nothing.

mod clone;
mod guests;
mod loops;
mod spans;
mod stage;
mod wipe;

use crate::figure::{Report, say};

/// Measures the parts that are wanted.
pub fn measure(report: &mut Report, is_wanted: impl Fn(&str) -> bool) -> Result<(), String> {
    for (name, part) in [("clone", clone::measure as fn(&mut Report) -> _), ("wipe", wipe::measure)] {
        match loops::lack() {
            _ if !is_wanted(name) => {}
            Some(reason) => say(&format!("# {name} skipped: {reason}")),
            None => part(report)?,
        }
    }
    if is_wanted("guests") {
        guests::measure()?;
    }
    Ok(())
}
