//! What the governor is made from, read in one go: the objects, everything that waits or holds quota, and who is behind it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use engine::Request;
use model::{AllocationId, PoolId, SkuId, Timestamp, WorkloadId, governance::Governance, supply::GpuModel, text::Slug};
use store::{
    StoreError, Tx, events, governance, placing,
    placing::WishRow,
    pools,
    preemptions::{self, PreemptionRow},
    scope::Page,
    skus::{self, SkuRow},
    workloads::{self, Member, RunRow, WorkloadRow},
};

use super::lately;
use crate::applier;

/// Rows that were true together.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rows {
    pub(crate) version: i64,
    pub(crate) head: i64,
    pub(crate) governance: Governance,
    pub(crate) pools: BTreeMap<Slug, PoolId>,
    pub(crate) workloads: Vec<WorkloadRow>,
    members: Vec<Member>,
    wishes: Vec<WishRow>,
    skus: BTreeMap<SkuId, Arc<SkuRow>>,
    /// Who held quota and gave it back, in queues where that counts.
    pub(super) runs: Vec<RunRow>,
    /// Who was told to go for somebody who still waits.
    pub(super) told: Vec<PreemptionRow>,
}

/// What was committed since somebody last looked.
#[derive(Debug, Clone, Default)]
pub(crate) struct News {
    /// Of the objects of governance.
    pub(crate) version: i64,
    /// How far the event sequence has come.
    pub(crate) head: i64,
    /// Workloads that were changed, with their versions after it.
    pub(crate) touched: Vec<(WorkloadId, i64)>,
}

/// What was committed after a number.
pub(crate) fn news(tx: &mut Tx<'_>, after: i64) -> Result<News, StoreError> {
    let (head, touched) = events::touched_workloads(tx, after)?;
    Ok(News { version: governance::version(tx)?, head, touched })
}

// More pools than this are not governed by name.
const POOLS_MAX: i64 = 10_000;

/// Everything.
pub(crate) fn read(tx: &mut Tx<'_>, now: Timestamp) -> Result<Rows, StoreError> {
    let head = events::head(tx)?;
    let objects = governance::all(tx)?;
    let (version, governance) = (objects.version, objects.governance());
    let pools = pools::list(tx, None, Page::first(POOLS_MAX))?.into_iter().map(|pool| (pool.slug, pool.id)).collect();
    let runs = lately::read(tx, &governance, now)?;
    let told = preemptions::for_waiting(tx)?;
    let rows = Rows { version, head, governance, pools, runs, told, ..Rows::default() };
    let live = workloads::live(tx)?;
    fill(tx, rows, live)
}

/// These alone, without the objects.
pub(crate) fn read_some(tx: &mut Tx<'_>, ids: &BTreeSet<WorkloadId>) -> Result<Rows, StoreError> {
    let found = workloads::of_ids(tx, ids)?;
    fill(tx, Rows::default(), found)
}

fn fill(tx: &mut Tx<'_>, mut rows: Rows, found: Vec<WorkloadRow>) -> Result<Rows, StoreError> {
    let ids = |holds: bool| {
        let chosen = found.iter().filter(|row| !row.state.is_terminal() && row.state.holds_quota() == holds);
        chosen.map(|row| row.id.clone()).collect::<BTreeSet<_>>()
    };
    rows.members = workloads::members(tx, &ids(true))?;
    rows.wishes = placing::wishes_of(tx, &ids(false))?;
    rows.skus = placing::grounds(tx, &rows.wishes)?.skus;
    let choices = found.iter().filter_map(|row| row.hardware.as_ref()).flat_map(|hardware| &hardware.choices);
    let unknown: BTreeSet<&SkuId> = choices.map(|it| &it.sku_id).filter(|id| !rows.skus.contains_key(id)).collect();
    if !unknown.is_empty() {
        let read = skus::of_ids(tx, unknown.into_iter())?;
        rows.skus.extend(read.into_iter().map(|sku| (sku.id.clone(), Arc::new(sku))));
    }
    rows.workloads = found;
    Ok(rows)
}

impl Rows {
    /// The allocations of those that hold quota.
    pub(super) fn members(&self) -> BTreeMap<WorkloadId, Vec<AllocationId>> {
        let mut all: BTreeMap<WorkloadId, Vec<AllocationId>> = BTreeMap::new();
        for member in self.members.iter().filter(|member| member.allocation_state.holds_claims()) {
            all.entry(member.workload_id.clone()).or_default().push(member.allocation_id.clone());
        }
        all
    }

    /// The wishes of those that wait.
    pub(super) fn wishes(&self) -> BTreeMap<WorkloadId, Vec<WishRow>> {
        let mut all: BTreeMap<WorkloadId, Vec<WishRow>> = BTreeMap::new();
        for wish in &self.wishes {
            if let Some(workload) = &wish.workload_id {
                all.entry(workload.clone()).or_default().push(wish.clone());
            }
        }
        all
    }

    /// The GPUs of a SKU.
    pub(super) fn gpu_model(&self, sku: &SkuId) -> Option<GpuModel> {
        self.skus.get(sku).map(|sku| sku.gpu_model)
    }

    /// What each of these asks for. Members of one workload ask for the same.
    pub(super) fn request(&self, wishes: &[WishRow]) -> Option<Request> {
        let first = wishes.first()?;
        applier::request(first, self.skus.get(&first.sku_id)?).ok()
    }
}
