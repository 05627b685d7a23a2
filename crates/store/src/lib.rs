//! The only SQL of the platform: migrations, one file a noun, and a thin layer that runs the same statements on embedded
//! SQLite and on PostgreSQL.
//!
//! Writes go through [`Db::write`]: a closure gets an open [`Tx`], and nothing else can be awaited while it is open.
//! The layer owns BEGIN, COMMIT, group commit, bounded retries and the rule that a failed COMMIT is *unknown*. It
//! decides nothing about tenants, slots or placement: constraints guard, callers decide.

pub mod bulk;
pub mod db;
pub mod dialect;
pub mod error;
pub mod incarnation;
pub mod inline;
mod job;
pub mod lease;
pub mod migrate;
mod postgres;
mod queue;
mod run;
mod sql_text;
mod sqlite;
#[cfg(feature = "testing")]
pub mod testing;
pub mod tx;
pub mod value;

// nouns
pub mod allocations;
pub mod audit;
pub mod certificates;
pub mod claims;
pub mod decisions;
pub mod discoveries;
pub mod drifts;
pub mod enrollment;
pub mod events;
pub mod fleet;
pub mod governance;
pub mod grants;
pub mod idempotency;
pub mod identities;
pub mod images;
pub mod incidents;
pub mod ingresses;
pub mod invariants;
pub mod living;
pub mod machines;
pub mod members;
pub mod node_reports;
pub mod nodes;
pub mod operations;
pub mod placing;
pub mod pools;
pub mod preemptions;
pub mod principals;
pub mod projects;
pub mod proofs;
mod record;
pub mod regions;
pub mod scope;
pub mod sessions;
pub mod skus;
pub mod slot_profiles;
pub mod slots;
pub mod ssh_keys;
pub mod standing;
pub mod streams;
pub mod tasks;
pub mod tenants;
pub mod timeline;
pub mod tokens;
pub mod usage;
pub mod webhooks;
pub mod wipe_overrides;
pub mod workloads;
pub use record::Stamp;
pub use scope::{Page, Scope};

pub use bulk::{Batch, Bulk, BulkInsert, BulkUpdate, Kind};
pub use db::{Counts, Db, DbConfig};
pub use dialect::Dialect;
pub use error::StoreError;
pub use incarnation::{StoreIdentity, incarnation, incarnation_bump, store_identity};
pub use inline::{CommitFault, CommitFaults, NoFaults};
pub use lease::{LEADER, LeaderGuard, Lease, LeaseWatch};
pub use run::TRIES_MAX;
pub use tx::Tx;
pub use value::{Row, Value};
