//! What the governor has to say to those who do not get it now: why they wait, or that they have to go. It is written down in
//! one transaction, and where somebody has moved on meanwhile nothing of it is.

use model::{DecisionId, PreemptionId, WorkloadId, workload::State};
use serde::Serialize;
use store::{
    Stamp, StoreError, Tx,
    decisions::{self, DecisionRow},
    living::{self, Living as Table},
    placing::WishRow,
    preemptions::{self, PreemptionNew},
    workloads::{self, WorkloadRow},
};

use super::{Told, Waits, words};
use crate::{applier::REFUSED, driver::write_json, leader::Leader};

/// What was written about a workload.
#[derive(Debug, Clone)]
pub(crate) struct Wrote {
    pub(super) id: WorkloadId,
    /// Its version after it.
    pub(super) version: i64,
    /// The state it was moved to, if it was.
    pub(super) state: Option<State>,
    /// Why it waits, if that was written.
    pub(super) wait: Option<String>,
}

/// Writes it down. Nothing where somebody has moved on: then everybody is decided about again.
pub(crate) fn write(leader: &Leader, told: Vec<Told>, waits: Vec<Waits>) -> Result<Option<Vec<Wrote>>, StoreError> {
    let news: Vec<Waits> = waits.into_iter().filter(is_news).collect();
    if told.is_empty() && news.is_empty() {
        return Ok(Some(vec![]));
    }
    let wrote = leader.commit(move |tx, stamp| {
        let mut written = Vec::with_capacity(told.len() + news.len());
        for one in &told {
            let (id, version) = (one.row.id.clone(), tell(tx, stamp, one)?);
            written.push(Wrote { id, version, state: Some(State::Preempting), wait: None });
        }
        for one in &news {
            let (id, wait) = (one.row.id.clone(), write_json(&one.wait)?);
            written.push(match &one.refused {
                Some(wishes) => {
                    refuse(tx, stamp, one, wishes)?;
                    Wrote { id, version: one.row.version, state: Some(State::Refused), wait: None }
                }
                None => {
                    let version = workloads::set_wait(tx, stamp, &one.row, &wait)?;
                    Wrote { id, version, state: None, wait: Some(wait) }
                }
            });
        }
        Ok(written)
    });
    match wrote {
        Ok(written) => Ok(Some(written)),
        Err(StoreError::StaleVersion | StoreError::UniqueViolation { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

// What stays the same is not written again.
fn is_news(waits: &Waits) -> bool {
    let before = waits.row.wait.as_deref().and_then(|before| serde_json::from_str(before).ok());
    waits.refused.is_some() || before.as_ref() != Some(&waits.wait)
}

// So long a workload waits before it is tried again, when its project has as many GPUs as it may have.
const CAPPED_S: i64 = 30;

/// Lets workloads wait whose projects have as many GPUs as they may have.
pub(crate) fn hold_back(leader: &Leader, capped: Vec<WorkloadRow>) -> Result<(), StoreError> {
    if capped.is_empty() {
        return Ok(());
    }
    leader.commit(move |tx, stamp| {
        let due = stamp.now.plus_seconds(CAPPED_S);
        for row in &capped {
            let wait = words::capped(row, due);
            let told = workloads::set_wait(tx, stamp, row, &write_json(&wait)?);
            let told = told.and_then(|version| {
                let row = WorkloadRow { version, ..row.clone() };
                workloads::set_due(tx, stamp, &row, Some(due))
            });
            match told {
                // Whoever has moved on is decided about again.
                Ok(_) | Err(StoreError::StaleVersion) => (),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    })
}

fn tell(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, told: &Told) -> Result<i64, StoreError> {
    let id = PreemptionId::from_parts(stamp.now, stamp.bits());
    let body = told.body.to_string();
    let new = PreemptionNew {
        id: &id,
        by_workload_id: told.by.as_ref(),
        rule: told.rule,
        notice_s: told.notice_s,
        grace_s: told.grace_s,
        body: &body,
    };
    preemptions::insert(tx, stamp, &told.row, new)
}

#[derive(Serialize)]
struct Refusal<'a> {
    code: api::Code,
    because: &'a str,
}

fn refuse(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, waits: &Waits, wishes: &[WishRow]) -> Result<(), StoreError> {
    let body = write_json(&Refusal { code: api::Code::QuotaExceeded, because: &waits.wait.sentence })?;
    let mut rows = Vec::with_capacity(wishes.len());
    for wish in wishes {
        rows.push(DecisionRow {
            id: DecisionId::from_parts(stamp.now, stamp.bits()),
            subject_id: wish.id.to_string(),
            outcome: REFUSED.to_owned(),
            body: body.clone(),
            snapshot_version: 0,
            at: stamp.now,
        });
    }
    decisions::insert_all(tx, &rows)?;
    for wish in wishes {
        living::poke(tx, Table::Allocations, wish.id.as_str(), stamp.now)?;
    }
    // The members go first, and the workload follows them.
    Ok(())
}
