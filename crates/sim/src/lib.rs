//! A world in one process: a seeded fleet of simulated hosts behind the same host trait as the real agent, a network that
//! loses and reorders, a control plane that crashes, and the invariants that must hold after every step.
//!
//! The same fleet is what `gpuaas dev` shows, and the same seed gives the same history: a failure found here is replayed by
//! its seed and commit.

mod auditor;
mod clients;
pub mod crash;
pub mod dev;
pub mod dice;
pub mod fleet;
mod ground;
pub mod host;
mod host_looks;
pub mod journal;
mod liar;
pub mod metal;
pub mod network;
mod owners;
#[cfg(feature = "planted-bugs")]
pub mod planted;
pub mod ports;
mod promises;
mod quotas;
mod replica;
mod rest;
pub mod run;
mod seat;
pub mod seed;
pub mod swarm;
pub mod trace;
pub mod world;
