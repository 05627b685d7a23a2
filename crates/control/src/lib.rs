//! The control plane: use cases, authorization, the placement applier, the one driver that runs all lifecycles, and HTTP.
//!
//! A request enters through [`front_door`], which is the same for HTTP and for simulated clients: authenticate, authorize,
//! run one use case in one transaction, audit, remember the answer. Handlers only record wishes. The [`plane`] holds what
//! lives between requests: the leader's lease, the driver, the numbering of events and audit rows; all of it moves by
//! `step(now)` and spawns nothing.

pub mod agents;
pub mod applier;
pub mod auditor;
pub mod authority;
pub mod authz;
mod availability;
pub mod background;
pub mod bootstrap;
mod comparison;
mod driver;
pub mod front_door;

mod host_findings;
mod host_orders;
mod host_words;
pub mod http;
pub mod image_files;
mod leader;
pub mod leadership;
pub mod metrics;
pub mod node_plane;
mod numbering;
pub mod observability;
pub mod plane;
mod poke;
pub mod ports;
mod promotion;
pub mod proof_check;
pub mod providers;
mod queues;
mod reports;
pub mod runner;
pub mod sign_in;
mod snapshot;
pub mod streams;
pub(crate) mod use_cases;
mod usual_image;
pub mod views;
pub mod webhooks;

pub use ports::{Clock, Entropy, Ports};
