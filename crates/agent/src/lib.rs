//! The node plane: what runs on a GPU host and carries out orders.
//!
//! The agent calls the control plane; nothing calls it. An order is one of a closed list, carries a fence, is written to a
//! journal before anything is touched, and is refused once a newer one for the same slot has been taken. Losing the control
//! plane changes nothing for a running guest. The host itself is reached through one trait, [`Host`], with a real and a
//! simulated home; everything above it, in this crate, is the same in both.
//!
//! There is no clock, thread or socket in here: [`Agent::step`] is given the time and the messages that arrived, makes at
//! most one durable write or one change to the host, and returns the messages to send. Whoever calls it may stop between any
//! two steps, or lose what a step returned, and start again from the same journal.

mod agent;
pub mod book;
pub mod host;
pub mod identity;
pub mod journal;
mod work;

pub use agent::{Agent, HEARTBEAT_S, POLL_S, RESEND_S};
pub use host::{Effect, Guest, Host, HostFault, SlotUse, Step};
pub use identity::Identity;
pub use journal::{Journal, JournalFault, MemoryJournal, Record};
