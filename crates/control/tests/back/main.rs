//! What moves between requests: leadership, the driver, placement, node agents. The same stories on SQLite and PostgreSQL,
//! with a clock that only the test moves and an agent that says exactly what the test makes it say.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod crashes;
mod failures;
mod history;
mod housekeeping;
mod leading;
mod maas;
mod machines;
mod metal;
mod model;
mod node_messages;
mod operators;
mod overrides;
mod poison;
mod proofs;
mod queues;
mod returning;
mod running;
mod skeleton;
mod tenancy;
mod terms;
mod ways_in;
mod webhooks;
mod world;

// The same server as the provider's own tests have.
#[allow(dead_code, reason = "its own tests use all of it")]
#[path = "../../../machines/tests/maas/server/mod.rs"]
mod server;
