//! Webhooks on their way: whoever leads takes events on for every webhook that wants them, sends what is due, and writes down
//! what came of it.
//!
//! ```text
//! events ── take on ──▶ deliveries ── due ──▶ one attempt after the other, for each webhook ──▶ written down together
//!             (one commit: the deliveries and how far each webhook has come)      ▲                     │
//!                                                                                 └── again, later ◀────┘
//! ```
//!
//! Nothing that matters is held here. What was sent and not written down is sent again by whoever leads next, with the same
//! id: delivery is at least once. For each webhook new events go out one by one in their order, and what failed before is
//! tried again beside them, so one failure holds nothing up for long and a slow receiver holds up nobody else.

mod address;
mod courier;
mod post;
mod signature;

pub use address::{AddressRange, NotARange, Reach};
pub use courier::{Courier, CourierStep, spawn};
pub use post::{BadRoots, Names, Poster, SystemNames};

use api::webhook::WebhookHeaderView;
use model::{EventId, Timestamp, time::MICROS_PER_SECOND};

/// The moment of an attempt as its header says it.
fn seconds(at: Timestamp) -> i64 {
    at.as_micros().div_euclid(MICROS_PER_SECOND)
}

/// What an attempt sent along, without what it was signed with.
pub(crate) fn shown_headers(id: &EventId, at: Timestamp) -> Vec<WebhookHeaderView> {
    [
        ("content-type", post::CONTENT_TYPE.to_owned()),
        ("user-agent", post::USER_AGENT.to_owned()),
        ("webhook-id", id.to_string()),
        ("webhook-timestamp", seconds(at).to_string()),
    ]
    .map(|(name, value)| WebhookHeaderView { name: name.to_owned(), value })
    .into()
}
