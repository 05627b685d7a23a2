//! Scheduling in the way of GPU clusters with teams: gangs are placed whole or not at all, queues may use more than their
//! quota while others do not need it, and what they use beyond it can be reclaimed.
//!
//! ```text
//!   allocate       pending jobs take what is free, or what is being released
//!   consolidation  preemptible jobs are moved together when that makes room, none is stopped
//!   reclaim        a queue below its share takes from those above theirs
//!   preempt        within a queue, higher priority takes from lower
//!   stale gangs    what is left of a gang that lost members is stopped
//! ```
//!
//! A [`session::Session`] holds nodes, queues, jobs and tasks as they are. Every attempt is a statement: changes are made at
//! once, written down, and either kept or taken back. What costs somebody something is searched as a row of growing sets of
//! victims; each is tried out in full (the victims leave, the claimant is placed, the victims are placed again where they
//! fit) and then judged; only what passes both is kept.
//!
//! Like the scheduler whose rules these are, it does not promise to come to rest: between rounds, what was promised a place is
//! only waiting again, and where quotas are over-committed or gangs straddle them, one round can undo another. Whoever uses
//! these rules for real work adds budgets for evictions.

pub mod account;
pub mod action;
pub mod line;
pub mod model;
pub mod place;
pub mod room;
pub mod search;
pub mod session;

#[cfg(test)]
mod tests;
