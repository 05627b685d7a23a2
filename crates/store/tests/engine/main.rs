//! Tests of the engine layer, on SQLite and on a temporary PostgreSQL cluster alike. One binary, so that they share the
//! cluster.
#![allow(clippy::unwrap_used, missing_docs)]

mod bulk;
mod cluster;
mod commits;
mod constraints;
mod inline;
mod leases;
mod opening;
mod runtime_rules;
mod transactions;
