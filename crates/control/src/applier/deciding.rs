//! From a wish to a verdict: admission is asked again, then the engine, and the place it names is taken in the picture.

use std::sync::Arc;

use engine::{Admission, AdmitInput, DecisionRecord, Occupant, Request, Verdict, admit, admit::CheckCode};
use store::{
    StoreError, Tx,
    placing::{self, WishRow},
    skus::SkuRow,
};

use model::PoolId;

use super::admission_body;
use crate::queues::Admitted;
use crate::snapshot::{self, Chosen, Snapshot};

/// A wish with its answer, before it is written.
#[derive(Debug)]
pub(super) struct Decided {
    pub(super) wish: WishRow,
    pub(super) answer: Decision,
    /// The workload that it is a member of, which gets its quota in the same commit or not at all.
    pub(super) workload: Option<Arc<Admitted>>,
}

/// Who refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// The fleet has no place.
    Fleet,
    /// Admission: it may not enter.
    Rules,
    /// Admission: the project has as many GPUs as it may have, for now.
    Cap,
}

/// An answer.
#[derive(Debug, Clone)]
pub(super) struct Decision {
    pub(super) sku: Arc<SkuRow>,
    /// The place; none is a refusal.
    pub(super) chosen: Option<Chosen>,
    /// Where it is a refusal: who says so.
    pub(super) by: By,
    /// The record of the decision, as it is stored.
    pub(super) body: String,
    /// Which picture it was made on.
    pub(super) snapshot_version: i64,
}

impl Decision {
    /// The same answer without a place.
    pub(super) fn refusal(&self) -> Self {
        Self { chosen: None, ..self.clone() }
    }
}

/// What came of looking at a wish.
#[derive(Debug)]
pub(super) enum Answer {
    Decided(Box<Decision>),
    /// It would fit only on nodes that are set aside.
    Postpone,
}

/// What admission looks at besides the wishes themselves, read once a batch.
#[derive(Debug, Default)]
pub(super) struct Grounds(placing::Grounds);

impl Grounds {
    /// Reads them.
    pub(super) fn read(tx: &mut Tx<'_>, wishes: &[WishRow]) -> Result<Self, StoreError> {
        placing::grounds(tx, wishes).map(Self)
    }

    fn admit(&self, wish: &WishRow, sku: &SkuRow) -> Result<Admission, StoreError> {
        let standing = self.0.standings.get(&wish.project_id).ok_or(StoreError::NotFound)?;
        let region_enabled = *self.0.regions.get(&wish.region_id).ok_or(StoreError::NotFound)?;
        Ok(admit(&AdmitInput {
            tenant: standing.tenant,
            tenant_desired: standing.tenant_desired,
            project: standing.project,
            project_desired: standing.project_desired,
            region_enabled,
            sku_enabled: sku.terms.enabled,
            sku_gpu_counts: sku.terms.gpu_counts.iter().map(|count| number(*count)).collect(),
            gpu_count: number(wish.gpu_count),
            project_gpus_held: number(standing.gpus_held.saturating_sub(wish.gpu_count)),
            project_gpu_cap: number(standing.gpu_cap),
        }))
    }

    // Whoever is refused asks for nothing any more, and leaves room for the next.
    fn refused(&mut self, wish: &WishRow) {
        if let Some(standing) = self.0.standings.get_mut(&wish.project_id) {
            standing.gpus_held = standing.gpus_held.saturating_sub(wish.gpu_count);
        }
    }

    /// One that counts as asking from now on: a refusal that was not written, or a member of a workload whose turn has come.
    pub(super) fn asks_again(&mut self, wish: &WishRow) {
        if let Some(standing) = self.0.standings.get_mut(&wish.project_id) {
            standing.gpus_held = standing.gpus_held.saturating_add(wish.gpu_count);
        }
    }
}

/// Decides about one wish. What it gets is taken in the picture.
/// `pool_id`: only there, whatever else it wishes.
pub(super) fn decide(
    snapshot: &mut Snapshot,
    grounds: &mut Grounds,
    wish: &WishRow,
    pool_id: Option<&PoolId>,
) -> Result<Answer, StoreError> {
    let sku = Arc::clone(grounds.0.skus.get(&wish.sku_id).ok_or(StoreError::NotFound)?);
    let admission = grounds.admit(wish, &sku)?;
    let snapshot_version = snapshot.version;
    if !admission.admitted() {
        grounds.refused(wish);
        let body = admission_body(&admission)?;
        let capped = admission.first_refusal().is_some_and(|check| check.code == CheckCode::GpuCap);
        let by = if capped { By::Cap } else { By::Rules };
        return Ok(Answer::Decided(Box::new(Decision { sku, chosen: None, by, body, snapshot_version })));
    }
    let mut request = request(wish, &sku)?;
    request.pool_id = pool_id.cloned().or(request.pool_id);
    let (verdict, on_aside) = snapshot.place(&request);
    if on_aside {
        return Ok(Answer::Postpone);
    }
    let policy = snapshot.inventory.policy_id();
    let body = DecisionRecord::new(&request, &verdict, policy, snapshot_version, Some(&admission)).to_json();
    let chosen = match verdict {
        Verdict::Refused(_) => {
            grounds.refused(wish);
            None
        }
        Verdict::Placed(placement) => {
            let occupant = Occupant {
                allocation_id: wish.id.clone(),
                tenant_id: request.tenant_id,
                project_id: request.project_id,
                group: request.group,
                co_tenancy: request.co_tenancy,
                slot_ids: placement.slot_ids,
            };
            let taken = snapshot.claim(&placement.chosen.node_id, wish.shape, occupant);
            Some(taken.map_err(|error| StoreError::Other(format!("a verdict that its own picture refuses: {error}")))?)
        }
    };
    Ok(Answer::Decided(Box::new(Decision { sku, chosen, by: By::Fleet, body, snapshot_version })))
}

/// What a wish asks of the engine.
pub(crate) fn request(wish: &WishRow, sku: &SkuRow) -> Result<Request, StoreError> {
    let why = |why| StoreError::Corrupt { column: "placement".into(), why };
    let wishes = snapshot::wishes(&wish.placement).map_err(why)?;
    Ok(Request {
        shape: wish.shape,
        gpu_model: sku.gpu_model,
        gpu_count: number(wish.gpu_count),
        region_id: wish.region_id.clone(),
        pool_id: wishes.pool_id,
        tenant_id: wish.tenant_id.clone(),
        project_id: wish.project_id.clone(),
        group: wishes.group.map(|group| group.to_string()),
        spread: wishes.spread,
        co_tenancy: wishes.co_tenancy,
    })
}

fn number(value: i64) -> u32 {
    u32::try_from(value.max(0)).unwrap_or(u32::MAX)
}
