//! A guest on a real host: what it is called, the seed that tells it who it is, the machine that libvirt makes of it,
//! whether it answers, and the plan and the leases that come before all of them.
//!
//! What is decided (plans, documents, comparisons, ladders) is decided in plain functions over plain data; what acts is
//! thin and runs fixed programs. Nothing here guesses: an answer that is missing or cannot be read is a fault, and a guest
//! counts as gone only when both libvirt and the list of processes say so.

pub mod domain;
pub mod identity;
pub mod leases;
pub mod machine;
pub mod notice;
pub mod plan;
pub mod ready;
pub mod seed;
mod xml;
