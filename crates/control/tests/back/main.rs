//! What moves between requests: leadership, the driver, placement, node agents. The same stories on SQLite and PostgreSQL,
//! with a clock that only the test moves and an agent that says exactly what the test makes it say.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod crashes;
mod failures;
mod history;
mod housekeeping;
mod leading;
mod model;
mod node_messages;
mod operators;
mod poison;
mod proofs;
mod running;
mod skeleton;
mod tenancy;
mod terms;
mod world;
