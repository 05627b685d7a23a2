//! The node plane: what runs on a GPU host and carries out orders.
//!
//! The agent calls the control plane; nothing calls it. An order is one of a closed list, carries a fence, is written to a
//! journal before anything is touched, and is refused once a newer one for the same slot has been taken. Losing the control
//! plane changes nothing for a running guest. The host itself is reached through one trait, [`Host`], with a real and a
//! simulated home; the loop above it is the same in both.
//!
//! The loop has no clock, thread or socket: [`Agent::step`] is given the time and the messages that arrived, makes at most
//! one durable write or one change to the host, and returns the messages to send. Whoever calls it may stop between any two
//! steps, or lose what a step returned, and start again from the same journal.
//!
//! Around the loop, for the program `gpuaas-agent`: the [`real`] host, the journal in a [file](file_journal), what is kept
//! in the [state] directory, and how the control plane is [reached](wire) and [joined](enrollment).

mod agent;
pub mod book;
pub mod clock;
pub mod enrollment;
pub mod file_journal;
mod hex;
pub mod host;
pub mod identity;
pub mod journal;
pub mod real;
pub mod redact;
pub mod state;
pub mod wire;
mod work;

pub use agent::{Agent, HEARTBEAT_S, POLL_S, RESEND_S};
pub use file_journal::{FileJournal, Survives};
pub use host::{Effect, Guest, Host, HostFault, SlotUse, Step};
pub use identity::Identity;
pub use journal::{Journal, JournalFault, MemoryJournal, Record};
