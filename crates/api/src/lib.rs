//! The contract: every operation, its types, its refusals, and the events that come out.
//!
//! Nothing here knows how an operation is carried out. From these declarations come the OpenAPI document
//! ([`openapi::document`]), the AsyncAPI document ([`asyncapi::document`]), a rendered page ([`reference_page`]) and the
//! typed client (feature `client`). A change to the API or its events starts in this crate.

pub mod allocation;
pub mod asyncapi;
pub mod audit;
pub mod catalog;
#[cfg(feature = "client")]
pub mod client;
pub mod endpoint;
pub mod event;
pub mod fleet;
mod generated;
pub mod governance;
pub mod headers;
pub mod identity;
pub mod image;
pub mod ingress;
pub mod machine;
pub mod node_plane;
pub mod openapi;
pub mod operation;
pub mod page;
pub mod placement;
pub mod platform;
pub mod problem;
pub mod proof;
pub mod queue;
pub mod reference_page;
mod schemas;
pub mod session;
pub mod ssh_key;
pub mod states;
pub mod stream;
pub mod supply;
pub mod tenancy;
pub mod timeline;
pub mod usage;
pub mod webhook;
pub mod wipe_override;
pub mod workload;

pub use endpoint::{Described, Endpoint, Method, Nothing, Operation, Right, Success};
pub use generated::generated_documents;
pub use problem::{Code, Problem};

/// Limits that hold for every request.
pub mod limits {
    /// Bytes of a body.
    pub const BODY_BYTES_MAX: usize = 256 * 1024;
    /// Nesting of a body.
    pub const BODY_DEPTH_MAX: usize = 16;
    /// Bytes of all headers together.
    pub const HEADER_BYTES_MAX: usize = 16 * 1024;
    /// Bytes of the request target.
    pub const URI_BYTES_MAX: usize = 4 * 1024;
    /// Seconds until the headers, and again until the body, must have arrived.
    pub const ARRIVAL_S_MAX: u64 = 10;
    /// Hours for which an answer is kept under its Idempotency-Key.
    pub const IDEMPOTENCY_HOURS: i64 = 24;
}

/// Every operation of the contract, in document order.
pub fn operations() -> Vec<Described> {
    let mut all = platform::described();
    all.extend(identity::described());
    all.extend(tenancy::described());
    all.extend(catalog::described());
    all.extend(image::described());
    all.extend(ssh_key::described());
    all.extend(workload::described());
    all.extend(allocation::described());
    all.extend(placement::described());
    all.extend(stream::described());
    all.extend(timeline::described());
    all.extend(usage::described());
    all.extend(operation::described());
    all.extend(event::described());
    all.extend(audit::described());
    all.extend(fleet::described());
    all.extend(supply::described());
    all.extend(proof::described());
    all.extend(wipe_override::described());
    all.extend(ingress::described());
    all.extend(machine::described());
    all.extend(governance::described());
    all.extend(queue::described());
    all.extend(session::described());
    all.extend(webhook::described());
    all
}
