//! Usage as it was, claim by claim. Nothing is added up and nothing is billed: every number is read from a claim, which
//! carries what was sold and at what price.

use api::{
    page::Page,
    usage::{UsageList, UsageView},
};
use model::{
    Timestamp,
    time::{MICROS_PER_SECOND, UtcTime},
};
use store::{
    StoreError,
    usage::{self, UsageRow},
};

use crate::{
    applier::ClaimSnapshot,
    front_door::{Answer, Ctx, Input, Refusal, Route, route},
};

pub(super) fn routes() -> Vec<Route> {
    vec![route::<UsageList>(usage_list)]
}

fn usage_list(ctx: &mut Ctx<'_, '_>, input: Input<UsageList>) -> Result<Answer<Page<UsageView>>, Refusal> {
    let project = ctx.project(&input.path.project_id)?;
    let query = input.query;
    let cursor = ctx.cursor(&query)?;
    let from = query.from.map_or(Timestamp::from_micros(0), UtcTime::get);
    let to = query.to.map_or(ctx.now(), UtcTime::get).min(ctx.now());
    let rows = usage::of_project(ctx.tx, &project.id, (from, to), cursor.rows())?;
    Ok(Answer::page(cursor.page(rows, |row| row.claim_id.as_str(), |row| view(row, (from, to)))?))
}

fn view(row: UsageRow, within: (Timestamp, Timestamp)) -> Result<UsageView, StoreError> {
    let sold: ClaimSnapshot = serde_json::from_str(&row.snapshot)
        .map_err(|error| StoreError::Corrupt { column: "snapshot".into(), why: error.to_string() })?;
    Ok(UsageView {
        micros: micros(&sold, (row.from, row.to), within),
        claim_id: row.claim_id,
        allocation_id: row.allocation_id,
        sku_id: sold.sku_id,
        sku: sold.sku,
        shape: sold.shape,
        gpus: sold.billable_gpus,
        price_micros_per_gpu_hour: sold.price_micros_per_gpu_hour,
        from: row.from,
        to: row.to,
    })
}

const HOUR_US: i128 = 3600 * MICROS_PER_SECOND as i128;

/// What the part of an interval inside a time comes to, rounded down.
fn micros(
    sold: &ClaimSnapshot,
    (from, to): (Timestamp, Option<Timestamp>),
    (first, last): (Timestamp, Timestamp),
) -> i64 {
    let (from, to) = (from.max(first), to.unwrap_or(last).min(last));
    let held_us = i128::from(to.micros_since(from).max(0));
    // At most 64 bits times 64 bits times 7 bits: prices and times are bounded far below that.
    let product = i128::from(sold.price_micros_per_gpu_hour)
        .saturating_mul(i128::from(sold.billable_gpus))
        .saturating_mul(held_us);
    i64::try_from(product / HOUR_US).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{SkuId, sku::CapacityShape};
    use std::collections::BTreeMap;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(0).plus_seconds(seconds)
    }

    #[test]
    fn only_what_lies_in_the_asked_time_is_counted() {
        let sold = ClaimSnapshot {
            sku_id: SkuId::from_parts(at(0), [0; 10]),
            sku: "slice".to_owned(),
            shape: CapacityShape::GpuSlice,
            profile: String::new(),
            price_micros_per_gpu_hour: 3_600_000,
            billable_gpus: 2,
            vcpus: 0,
            memory_mib: 0,
            devices: BTreeMap::new(),
        };
        let hour = (at(0), at(3600));
        assert_eq!(micros(&sold, (at(0), Some(at(3600))), hour), 7_200_000);
        assert_eq!(micros(&sold, (at(0), None), hour), 7_200_000, "what goes on is counted until the end");
        assert_eq!(micros(&sold, (at(3000), Some(at(7200))), hour), 1_200_000);
        assert_eq!(micros(&sold, (at(4000), Some(at(7200))), hour), 0);
    }
}
