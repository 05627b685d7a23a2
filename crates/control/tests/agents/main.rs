//! The agents' door on real sockets with real TLS: who is let in, who is refused and why, how polls are held, and what a
//! heartbeat costs.

#![allow(clippy::unwrap_used, clippy::too_many_lines, missing_docs)]

mod door;
mod enrolling;
mod fleet;
mod images;
mod liars;
mod polls;
mod world;
