//! Workloads as readers see them: where one stands in its queue, what it waits for, and who it had to go for.

use std::collections::{BTreeMap, BTreeSet};

use api::queue::ExplanationView;
use api::workload::{
    HardwareChoiceView, HardwareView, PreemptionView, WorkloadExplanationView, WorkloadMemberView, WorkloadView,
};
use model::{
    Timestamp, WorkloadId,
    allocation::Desired,
    workload::{Hardware, HardwareChoice, State},
};
use store::{
    StoreError, Tx,
    preemptions::{self, PreemptionRow},
    scope::{Page, Scope},
    workloads::{self, Member, WorkloadRow},
};

use super::{progress, sentence, stored};

/// What is read besides the rows of workloads to show them.
#[derive(Debug, Default)]
pub(crate) struct Beside {
    positions: BTreeMap<WorkloadId, i64>,
    members: BTreeMap<WorkloadId, Vec<Member>>,
    preemptions: BTreeMap<WorkloadId, PreemptionRow>,
}

// Who made somebody go is told by id inside a tenant and to operators; everybody else is told the queue alone.
fn named_for(scope: &Scope, row: &WorkloadRow, told: PreemptionRow) -> PreemptionRow {
    let named = *scope == Scope::All || told.by_tenant_id.as_ref() == Some(&row.tenant_id);
    PreemptionRow { by_workload_id: told.by_workload_id.filter(|_| named), ..told }
}

impl Beside {
    /// Reads it for some workloads, for somebody who may see this much.
    pub(crate) fn read(tx: &mut Tx<'_>, scope: &Scope, rows: &[WorkloadRow]) -> Result<Self, StoreError> {
        let ids: BTreeSet<WorkloadId> = rows.iter().map(|row| row.id.clone()).collect();
        let mut beside = Self::default();
        if ids.is_empty() {
            return Ok(beside);
        }
        for member in workloads::members(tx, &ids)? {
            beside.members.entry(member.workload_id.clone()).or_default().push(member);
        }
        for told in preemptions::newest_of(tx, &ids)? {
            if let Some(row) = rows.iter().find(|row| row.id == told.workload_id) {
                beside.preemptions.insert(row.id.clone(), named_for(scope, row, told));
            }
        }
        for row in rows.iter().filter(|row| row.state == State::Queued) {
            if let Some(position) = workloads::position(tx, &row.id)? {
                beside.positions.insert(row.id.clone(), position);
            }
        }
        Ok(beside)
    }
}

/// A workload.
pub(crate) fn workload(row: WorkloadRow, beside: &mut Beside, now: Timestamp) -> Result<WorkloadView, StoreError> {
    let told = beside.preemptions.remove(&row.id);
    let member = |member: Member| WorkloadMemberView {
        allocation_id: member.allocation_id,
        desired: member.desired,
        execution: member.allocation_state,
    };
    Ok(WorkloadView {
        projected: workload_sentence(&row, told.as_ref()),
        progress: progress(&row.life, now),
        position: beside.positions.remove(&row.id),
        members: beside.members.remove(&row.id).unwrap_or_default().into_iter().map(member).collect(),
        preemption: told.map(preemption),
        wait: row.wait.as_deref().map(explained).transpose()?,
        name: stored(row.name.as_str(), "workloads.name")?,
        id: row.id,
        tenant_id: row.tenant_id,
        project_id: row.project_id,
        queue: row.local_queue,
        cluster_queue: row.queue,
        priority_class: row.priority_class,
        priority: row.priority,
        member_count: row.members,
        sku_id: row.sku_id,
        hardware: row.hardware.map(hardware),
        shape: row.shape,
        gpu_count: row.gpu_count,
        region_id: row.region_id,
        if_unavailable: row.if_unavailable,
        max_run_s: row.max_run_s,
        desired: row.desired,
        execution: row.state,
        queued_at: row.queued,
        not_before: row.due,
        gated: row.gated,
        stops: row.stops,
        flavor: row.flavor,
        borrowed_gpus: row.borrowed_gpus,
        admitted_at: row.admitted,
        version: row.version,
        created_at: row.created,
    })
}

fn hardware(kept: Hardware) -> HardwareView {
    let choice = |it: HardwareChoice| HardwareChoiceView { flavor: it.flavor, sku_id: it.sku_id };
    HardwareView { profile: kept.profile, choices: kept.choices.into_iter().map(choice).collect() }
}

/// Why a workload stands where it stands.
pub(crate) fn explanation(
    tx: &mut Tx<'_>,
    scope: &Scope,
    row: &WorkloadRow,
) -> Result<WorkloadExplanationView, StoreError> {
    const PREEMPTIONS_MAX: i64 = 100;
    let told = preemptions::of_workload(tx, &row.id, Page::first(PREEMPTIONS_MAX))?;
    let told: Vec<PreemptionRow> = told.into_iter().map(|told| named_for(scope, row, told)).collect();
    Ok(WorkloadExplanationView {
        workload_id: row.id.clone(),
        execution: row.state,
        cluster_queue: row.queue.clone(),
        position: workloads::position(tx, &row.id)?,
        wait: row.wait.as_deref().map(explained).transpose()?,
        waits_since: row.wait_at,
        not_before: row.due,
        gated: row.gated,
        projected: workload_sentence(row, told.last()),
        preemptions: told.into_iter().map(preemption).collect(),
    })
}

fn explained(wait: &str) -> Result<ExplanationView, StoreError> {
    let unreadable = |error: serde_json::Error| StoreError::Corrupt { column: "wait".into(), why: error.to_string() };
    serde_json::from_str(wait).map_err(unreadable)
}

fn preemption(row: PreemptionRow) -> PreemptionView {
    PreemptionView {
        id: row.id,
        by_workload_id: row.by_workload_id,
        by_queue: row.by_queue,
        rule: row.rule,
        notice_s: row.notice_s,
        grace_s: row.grace_s,
        noticed_at: row.noticed,
        stop_at: row.stop,
        checkpointed_at: row.checkpointed,
        stopped_at: row.stopped,
        gone_at: row.gone,
    }
}

fn workload_sentence(row: &WorkloadRow, told: Option<&PreemptionRow>) -> String {
    let by = |told: &PreemptionRow| match (&told.by_workload_id, &told.by_queue) {
        (Some(by), _) => format!("for {by} under the rule {}", told.rule),
        (None, Some(queue)) => format!("for a workload of the queue {queue} under the rule {}", told.rule),
        (None, None) => format!("under the rule {}", told.rule),
    };
    let base = match row.state {
        State::Queued if row.desired == Desired::Released => {
            "It is about to be given back; it was not admitted.".to_owned()
        }
        State::Queued if row.gated => "It waits until an operator opens its gate.".to_owned(),
        State::Queued => match told {
            Some(told) => format!("It had to go {}, and waits in its queue again.", by(told)),
            None => "It waits in its queue.".to_owned(),
        },
        State::Admitted => "It was admitted; its members are being built.".to_owned(),
        State::Running => "It is running.".to_owned(),
        State::Preempting => match told {
            Some(told) => format!("It was told to go {}; it is stopped at {} at the latest.", by(told), told.stop),
            None => "It was told to go.".to_owned(),
        },
        State::Stopping => "Its members are being released.".to_owned(),
        State::Finished => "It was given back.".to_owned(),
        State::Cancelled => "It was given back before it was admitted.".to_owned(),
        State::Refused => "There was no room for it, and it was not to wait.".to_owned(),
        State::Failed => "A member could not be built; all of them were released.".to_owned(),
    };
    sentence(&base, &row.life)
}
