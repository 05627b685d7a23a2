//! `gpuaas-hostd`, the small root process of a GPU host, and the client by which the agent asks it.
//!
//! The agent speaks with the network and has no rights; this process has all rights and speaks with nobody but the agent, over
//! a socket, in a closed list of verbs. It puts together what is done to a real host: disks, machines, their network and their
//! devices.
//!
//! ```text
//!   agent ── socket ── server ─┬─ planning ── look, bundle, disks
//!                              ├─ provision, ready, notice, stop, wipe, guests, stream, images
//!                              └─ reconcile
//!   what outlives the process: record (one file a guest), marks (one file a used disk), leases, seeds, image cache
//! ```
//!
//! Every verb can be repeated, also after the process was killed in the middle of it. It refuses: whoever is neither root nor
//! the agent's user, every field that it does not know, a laboratory's slot where it is no laboratory, a disk that another guest
//! had and that was not wiped and read back since, and, where its settings name the disks of guests, every other disk. Which
//! slot was approved with which disk it does not know: that is in the order, and the disk must be the one it names.

pub mod bundle;
pub mod check;
pub mod client;
pub mod config;
mod console;
pub mod devices;
pub mod disks;
pub mod failed;
mod guests;
mod host;
pub mod host_key;
mod images;
pub mod look;
mod marks;
mod notice;
mod planning;
pub mod protocol;
mod provision;
mod ready;
pub mod reconcile;
pub mod record;
pub mod server;
mod stop;
mod stream;
mod wipe;
mod work;

pub use client::{Client, ClientFault, Waiting};
pub use config::{Config, ConfigFault, SOCKET};
pub use failed::Failed;
pub use host::{Hostd, now};
pub use provision::Order;
pub use server::Server;
pub use work::Work;
