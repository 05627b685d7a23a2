//! The node plane: what runs on a GPU host and carries out orders.
//!
//! The agent calls the control plane; nothing calls it. An order is one of a closed list, carries a fence, is written to a
//! journal before anything is touched, and is refused once a newer one for the same slot has been taken. Losing the control
//! plane changes nothing for a running guest. The host itself is reached through one trait, [`Host`], with a real and a
//! simulated home; the loop above it is the same in both.
//!
//! The loop has no clock or socket: [`Agent::step`] is given the time and the messages that arrived, makes at most one durable
//! write or begins one piece of work, and returns the messages to send. Whoever calls it may stop between any two steps, or
//! lose what a step returned, and start again from the same journal. Work on the host is done on the spot or, on a real one,
//! on [threads](Hands) beside the loop: orders that touch different slots then go on side by side.
//!
//! Around the loop, for the program `gpuaas-agent`: the [`real`] host, the journal in a [file](file_journal), what is kept
//! in the [state] directory, and how the control plane is [reached](wire) and [joined](enrollment).

mod agent;
pub mod book;
pub mod clock;
pub mod enrollment;
pub mod file_journal;
pub mod hands;
mod hex;
pub mod host;
pub mod identity;
mod in_hand;
pub mod journal;
mod looks;
mod notices;
pub mod real;
pub mod redact;
pub mod state;
pub mod streams;
pub mod wire;
mod work;

pub use agent::{Agent, HEARTBEAT_S, POLL_S, PROGRESS_S, RESEND_S, STILL_S};
pub use file_journal::{FileJournal, Survives};
pub use hands::Hands;
pub use host::{Effect, Guest, Host, HostFault, SlotUse, Step, Watch};
pub use identity::{Challenge, Identity};
pub use journal::{Journal, JournalFault, MemoryJournal, Record};
