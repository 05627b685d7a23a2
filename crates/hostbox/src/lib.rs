//! A GPU host in a box, for tests and measurements: namespaces of its own for mounts, network and processes, with a libvirt, an
//! Open vSwitch and folders of its own, and loop devices for disks. Nothing that ships uses it.
//!
//! ```text
//!   the program ── world("name") ── makes the box, starts itself in it once more, waits, takes the box away
//!        └── in the box: world("name") ── Some(World): the host as it is from inside
//! ```
//!
//! The program itself runs in there too, because the root process of a host asks the kernel who speaks to it. What it starts is
//! in the box with it, by inheritance alone; everything in it ends when the first process of the box does. One box at a time is
//! on a machine. The box has an uplink `up0` (203.0.113.1/24, the other end is `up1`) and no way out.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "what does not work in a test ends it, and is said aloud")]

mod image;
mod outside;
mod running;
mod world;

pub use image::{KEY_ID, debian_image, folder as images_folder, image, image_of, image_with, key, key_hex, tiny_image};
pub use outside::{world, world_for};
pub use running::Running;
pub use world::World;

use std::time::{Duration, Instant};

/// A mebibyte.
pub const MIB: u64 = 1 << 20;

// What any guest on this machine needs at most, by far.
const PATIENCE: Duration = Duration::from_secs(180);

/// Looks until there is something to see; a panic after three minutes, with what was looked for.
pub fn until<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    until_within(PATIENCE, what, look)
}

/// Looks until there is something to see; a panic after the time, with what was looked for.
pub fn until_within<T>(time: Duration, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let late = Instant::now() + time;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < late, "never: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Whether nothing of a process is left but, at most, its entry that nobody has collected. Its command line is empty sooner,
/// and so may be the state of its first thread: until the last thread is gone it holds its files, and the locks on them.
pub fn has_ended(pid: &str) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return true };
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
    let state = stat.rsplit(')').next().unwrap_or_default().trim();
    threads <= 1 && state.starts_with(['Z', 'X'])
}
