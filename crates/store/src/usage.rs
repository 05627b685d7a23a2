//! Usage as it was: one interval for each claim, read from the claims themselves, which are never changed but to end them.

use model::{AllocationId, ClaimId, ProjectId, RegionId, Timestamp, supply::GpuModel};

use crate::scope::Page;
use crate::{Row, StoreError, Tx};

/// One claim as an interval of use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageRow {
    /// The claim.
    pub claim_id: ClaimId,
    /// Who held it.
    pub allocation_id: AllocationId,
    /// When it began.
    pub from: Timestamp,
    /// When it ended; none while it holds.
    pub to: Option<Timestamp>,
    /// What was sold, as JSON.
    pub snapshot: String,
}

/// GPUs that come back at a known moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseEnd {
    /// Where.
    pub region_id: RegionId,
    /// Which GPUs.
    pub gpu_model: GpuModel,
    /// How many.
    pub gpus: i64,
    /// When.
    pub at: Timestamp,
}

const OF_PROJECT: &str = "SELECT c.id, c.allocation_id, c.claimed_us, c.released_us, c.snapshot \
    FROM allocation_resource_claims c JOIN allocations a ON a.id = c.allocation_id \
    WHERE a.project_id = $3 AND c.id > $1 AND c.claimed_us < $5 AND (c.released_us IS NULL OR c.released_us > $4) \
    ORDER BY c.id LIMIT $2";
const LEASE_ENDS: &str = "SELECT a.region_id, s.gpu_model, CAST(SUM(a.gpu_count) AS BIGINT), a.lease_ends_us \
    FROM allocations a JOIN skus s ON s.id = a.sku_id \
    WHERE a.lease_ends_us IS NOT NULL AND a.lease_ends_us > $1 AND a.lease_ends_us <= $2 \
    AND a.state IN ('reserved', 'provisioning', 'running') AND a.desired = 'running' \
    GROUP BY a.region_id, s.gpu_model, a.lease_ends_us ORDER BY a.lease_ends_us, a.region_id, s.gpu_model LIMIT $3";

/// The claims of a project that held at any moment from `from` until before `to`, in id order.
pub fn of_project(
    tx: &mut Tx<'_>,
    project_id: &ProjectId,
    (from, to): (Timestamp, Timestamp),
    page: Page<'_>,
) -> Result<Vec<UsageRow>, StoreError> {
    let params = [page.after.into(), page.rows().into(), project_id.into(), from.into(), to.into()];
    let read = |row: &Row| {
        Ok(UsageRow {
            claim_id: row.parse(0)?,
            allocation_id: row.parse(1)?,
            from: row.timestamp(2)?,
            to: row.opt_timestamp(3)?,
            snapshot: row.text(4)?.to_owned(),
        })
    };
    tx.query(OF_PROJECT, &params)?.iter().map(read).collect()
}

/// What comes back by itself between two moments, soonest first: the GPUs of leases that end then and were not extended.
pub fn lease_ends(
    tx: &mut Tx<'_>,
    (after, until): (Timestamp, Timestamp),
    limit: i64,
) -> Result<Vec<LeaseEnd>, StoreError> {
    let read = |row: &Row| {
        Ok(LeaseEnd { region_id: row.parse(0)?, gpu_model: row.parse(1)?, gpus: row.int(2)?, at: row.timestamp(3)? })
    };
    tx.query(LEASE_ENDS, &[after.into(), until.into(), limit.into()])?.iter().map(read).collect()
}
