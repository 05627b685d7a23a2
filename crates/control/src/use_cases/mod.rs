//! One function for each operation of the contract, one file for each noun. A use case records wishes and reads rows; it
//! never waits for anything and never moves a workflow. What it may touch it gets from [`Ctx`](crate::front_door::Ctx),
//! which asks the policies.

mod allocations;
mod audit;
mod catalog;
mod enrollment;
pub(crate) mod events;
mod fleet;
mod governance;
mod hardware;
pub(crate) mod images;
mod ingress;
mod lab;
mod machines;
mod members;
mod operations;
mod operators;
mod placement;
mod platform;
mod service_accounts;
mod sessions;
mod slot_profiles;
mod ssh_keys;
mod streams;
mod supply;
mod tenancy;
pub(crate) mod timeline;
mod tokens;
mod usage;
mod webhooks;
mod workloads;

pub(crate) use platform::noun;

use api::{Code, Problem};
use model::text::Slug;
use store::StoreError;

use crate::front_door::{Refusal, Route};

/// Every route.
pub(crate) fn routes() -> Vec<Route> {
    [
        platform::routes(),
        members::routes(),
        service_accounts::routes(),
        operators::routes(),
        tokens::routes(),
        tenancy::routes(),
        catalog::routes(),
        slot_profiles::routes(),
        images::routes(),
        ssh_keys::routes(),
        workloads::routes(),
        allocations::routes(),
        placement::routes(),
        streams::routes(),
        timeline::routes(),
        usage::routes(),
        operations::routes(),
        events::routes(),
        audit::routes(),
        fleet::routes(),
        machines::routes(),
        enrollment::routes(),
        supply::routes(),
        ingress::routes(),
        governance::routes(),
        sessions::routes(),
        webhooks::routes(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Turns a broken unique rule into the problem of a taken name.
fn name_taken(pointer: &'static str, name: &str) -> impl FnOnce(StoreError) -> Refusal {
    let detail = format!("The name {name} is in use.");
    move |error| match error {
        StoreError::UniqueViolation { .. } => {
            Problem::new(Code::NameTaken, detail).with_field(pointer, "a name that is not in use").into()
        }
        other => other.into(),
    }
}

/// Turns a broken reference into the problem of something that is still needed.
fn still_in_use(what: &'static str) -> impl FnOnce(StoreError) -> Refusal {
    move |error| match error {
        StoreError::ForeignKeyViolation => Refusal::new(Code::StillInUse, what),
        other => other.into(),
    }
}

fn state_conflict(detail: impl Into<String>) -> Refusal {
    Refusal::new(Code::StateConflict, detail)
}

/// The problem of a body that names something absent or invisible.
fn unknown(pointer: &str) -> Refusal {
    Problem::unknown_reference(pointer).into()
}

/// A slug is a name for people too.
fn as_display_name(slug: &Slug) -> Result<model::text::DisplayName, Refusal> {
    slug.as_str().parse().map_err(|_| Refusal::Problem(crate::front_door::internal()))
}
