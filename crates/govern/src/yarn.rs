//! Capacity sharing in the way of large data clusters: guarantees in a tree of queues, and a monitor that takes containers
//! back from whoever holds more than its ideal share while somebody waits.
//!
//! [`ideal`] computes what each queue should have, [`victims`] which containers go, [`reserved`]
//! makes room on a node, [`intra`] says what apps of one queue take from each other, [`fair`] shares by weight between a minimum and a maximum, and [`order`] who is served next.

pub mod bundle;
pub mod fair;
pub mod ideal;
pub mod intra;
pub mod order;
pub mod reserved;
pub mod victims;

#[cfg(test)]
mod tests;
