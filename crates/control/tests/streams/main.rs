//! The way in to guests, from end to end: clients on real sockets, agents on real TLS with the agent's own code, and between
//! them the gateway. A guest is whatever a test wants: an echo, a console that talks, or silence.

#![allow(clippy::unwrap_used)]

#[path = "../agents/world.rs"]
#[allow(dead_code)]
mod agents;
mod carrying;
mod consoles;
mod endings;
mod limits;
mod nodes;
mod replicas;
mod site;
