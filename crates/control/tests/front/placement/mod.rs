//! Placement as people see it: keys, launches and what is wrong with them, plans, decisions, timelines, leases, evacuation,
//! usage. Behind the door a control plane moves things on, and hosts do what they are told.

mod keys;
mod launches;
pub mod live;
mod moving;
mod operators;
mod plans;
mod profiles;
mod timelines;
