//! How hosts become capacity: looked at, compared, approved slot by slot, promoted, drained, repaired. Everything here is an
//! operator's, but for the counts of what can be had, which everybody reads.

mod approval;
mod availability;
mod grants;
mod host_orders;
mod looks;
mod node_wishes;
mod overrides;
mod proofs;
mod slots;

use api::{Code, Problem};
use store::principals;

use crate::front_door::{Ctx, Refusal, Route, internal};

pub(super) fn routes() -> Vec<Route> {
    let mut all = availability::routes();
    all.extend(node_wishes::routes());
    all.extend(looks::routes());
    all.extend(host_orders::routes());
    all.extend(slots::routes());
    all.extend(grants::routes());
    all.extend(proofs::routes());
    all.extend(overrides::routes());
    all
}

/// What the caller is called, for records that people read.
fn caller_name(ctx: &mut Ctx<'_, '_>) -> Result<String, Refusal> {
    let caller = principals::get(ctx.tx, &ctx.caller.principal_id)?.ok_or_else(internal)?;
    Ok(caller.name)
}

/// A problem whose parts are listed one by one, each as (pointer, detail).
fn listed(code: Code, detail: String, parts: impl IntoIterator<Item = (String, String)>) -> Refusal {
    let problem = Problem::new(code, detail);
    parts.into_iter().fold(problem, |problem, (pointer, detail)| problem.with_field(pointer, detail)).into()
}
