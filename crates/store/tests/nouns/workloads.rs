//! Workloads: what waits in queues, what was admitted and told to go, and their members.

use std::collections::{BTreeMap, BTreeSet};

use model::allocation::{AllocationTerms, Desired, State as Member};
use model::governance::{Identity, Kind};
use model::sku::CapacityShape;
use model::workload::{IfUnavailable, PreemptionRule, State};
use model::{PreemptionId, Timestamp, WorkloadId};
use serde_json::Value;
use store::allocations::{self, AllocationNew};
use store::preemptions::{self, PreemptionNew};
use store::testing::both_engines;
use store::workloads::{self, Entering, Recent, Returning, WorkloadFilter, WorkloadNew, WorkloadRow};
use store::{Db, Page, Scope, StoreError, governance, placing, projects};

use crate::governance::governed;
use crate::world::{Site, changes, enter, fresh, read, request, site, tick, user, write};

/// A workload in the queue of a governed project.
pub fn submitted(db: &Db, site: &Site, members: i64, priority: i64) -> WorkloadId {
    let (id, site) = (fresh!(WorkloadId), site.clone());
    let made = id.clone();
    write(db, move |tx, stamp| {
        let name = "train".parse().unwrap();
        let new = WorkloadNew {
            id: &made,
            tenant_id: &site.tenant_id,
            project_id: &site.project_id,
            name: &name,
            local_queue: &"main".parse().unwrap(),
            queue: &"vision".parse().unwrap(),
            priority_class: Some(&"usual".parse().unwrap()),
            priority,
            members,
            sku_id: &site.sku_id,
            hardware: None,
            region_id: &site.region_id,
            shape: CapacityShape::GpuSlice,
            gpu_count: 1,
            if_unavailable: IfUnavailable::Queue,
            max_run_s: Some(3600),
        };
        workloads::insert(tx, stamp, new)?;
        for _ in 0..members {
            let member = AllocationNew {
                id: &fresh!(AllocationId),
                tenant_id: &site.tenant_id,
                project_id: &site.project_id,
                name: &name,
                sku_id: &site.sku_id,
                region_id: &site.region_id,
                shape: CapacityShape::GpuSlice,
                gpu_count: 1,
                terms: &AllocationTerms::default(),
                recreated_from: None,
                workload_id: Some(&made),
            };
            allocations::insert(tx, stamp, member)?;
        }
        Ok(())
    })
    .unwrap();
    id
}

fn returning(due: Timestamp) -> Returning<'static> {
    let recent = Recent { stops: 1, since: Some(due), displaced_by: None };
    Returning { due: Some(due), recent, reason: Some("preempted") }
}

fn row(db: &Db, id: &WorkloadId) -> WorkloadRow {
    let id = id.clone();
    read(db, move |tx| workloads::get(tx, &id)).unwrap()
}

fn only(id: &WorkloadId) -> BTreeSet<WorkloadId> {
    BTreeSet::from([id.clone()])
}

fn entered(db: &Db, row: &WorkloadRow, state: State, flavor: Option<&'static str>) -> Result<i64, StoreError> {
    let row = row.clone();
    let borrowed_gpus = i64::from(flavor.is_some());
    write(db, move |tx, stamp| {
        workloads::enter(
            tx,
            stamp,
            &row,
            Entering { state, flavor, sku_id: None, borrowed_gpus, reason: Some("a test") },
        )
    })
}

fn told_to_go(db: &Db, row: &WorkloadRow, by: Option<WorkloadId>) -> PreemptionId {
    let (id, row) = (fresh!(PreemptionId), row.clone());
    let made = id.clone();
    write(db, move |tx, stamp| {
        let rule = PreemptionRule::Reclaim;
        let new = PreemptionNew { id: &made, by_workload_id: by.as_ref(), rule, notice_s: 60, grace_s: 30, body: "{}" };
        preemptions::insert(tx, stamp, &row, new)
    })
    .unwrap();
    id
}

#[test]
fn a_workload_comes_back_as_it_was_written_and_is_found() {
    both_engines(|db| {
        let site = site(&db, 1);
        governed(&db, &site);
        let (id, other) = (submitted(&db, &site, 3, 5), submitted(&db, &site, 1, 0));
        let found = row(&db, &id);
        assert_eq!((found.state, found.desired, found.version), (State::Queued, Desired::Running, 1));
        assert_eq!((found.members, found.priority, found.gpus(), found.stops), (3, 5, 3, 0));
        assert_eq!((found.queue.as_str(), found.local_queue.as_str()), ("vision", "main"));
        assert_eq!((found.queued, found.life.look), (found.created, Some(found.created)));
        assert_eq!((found.due, found.flavor.as_ref(), found.admitted, found.wait.as_ref()), (None, None, None, None));
        let members = read(&db, {
            let ids = only(&id);
            move |tx| workloads::members(tx, &ids)
        });
        assert_eq!(members.len(), 3);
        assert!(members.iter().all(|one| one.workload_id == id && one.allocation_state == Member::Requested));
        let listed = |scope: Scope, queue: &str, state| {
            let (queue, project) = (queue.parse().unwrap(), site.project_id.clone());
            let all = read(&db, move |tx| {
                let filter = WorkloadFilter { project_id: Some(&project), queue: Some(&queue), state };
                workloads::list(tx, &scope, filter, Page::first(10))
            });
            all.into_iter().map(|row| row.id).collect::<Vec<_>>()
        };
        let both = vec![id.clone(), other.clone()];
        assert_eq!(listed(Scope::All, "vision", Some(State::Queued)), both);
        assert_eq!(listed(Scope::All, "vision", Some(State::Running)), []);
        assert_eq!(listed(Scope::All, "another", None), []);
        let stranger = Scope::Principal { principal_id: user(&db), project_only: None };
        assert_eq!(listed(stranger.clone(), "vision", None), [], "somebody without a membership sees none");
        let unseen = {
            let id = id.clone();
            read(&db, move |tx| workloads::get_visible(tx, &stranger, &id))
        };
        assert_eq!(unseen, None);
        let ids = |rows: Vec<WorkloadRow>| rows.into_iter().map(|row| row.id).collect::<Vec<_>>();
        assert_eq!(ids(read(&db, workloads::live)), both);
        let same = only(&other);
        assert_eq!(ids(read(&db, move |tx| workloads::of_ids(tx, &same))), both[1..]);
        let same = only(&other);
        assert_eq!(read(&db, move |tx| workloads::versions(tx, &same)), BTreeMap::from([(other.clone(), 1)]));
    });
}

#[test]
fn a_workload_that_had_to_go_keeps_its_place_and_its_owner_is_told_why() {
    both_engines(|db| {
        let site = site(&db, 1);
        governed(&db, &site);
        let (id, by) = (submitted(&db, &site, 2, 0), submitted(&db, &site, 1, 9));
        let waiting = row(&db, &id);
        entered(&db, &waiting, State::Admitted, Some("h200")).unwrap();
        assert_eq!(entered(&db, &waiting, State::Admitted, Some("h200")), Err(StoreError::StaleVersion));
        let admitted = row(&db, &id);
        let flavor = admitted.flavor.as_ref().map(|flavor| flavor.as_str().to_owned());
        assert_eq!((flavor.as_deref(), admitted.borrowed_gpus, admitted.version), (Some("h200"), 1, 2));
        entered(&db, &admitted, State::Running, None).unwrap();
        let running = row(&db, &id);
        assert_eq!((running.flavor.as_ref(), running.borrowed_gpus), (admitted.flavor.as_ref(), 1));
        assert_eq!(running.admitted, admitted.admitted, "quota is held since then");
        assert!(matches!(entered(&db, &running, State::Preempting, None), Err(StoreError::Other(_))));

        let preemption = told_to_go(&db, &running, Some(by.clone()));
        let detail: Value = read(&db, {
            let id = id.clone();
            move |tx| {
                let sql = "SELECT detail FROM events WHERE subject_id = $1 AND change = 'preempted'";
                let row = tx.query_one(sql, &[(&id).into()])?;
                Ok(serde_json::from_str(row.text(0)?).unwrap())
            }
        });
        let told = [&detail["by_workload_id"], &detail["rule"], &detail["notice_s"], &detail["preemption_id"]];
        assert_eq!(
            told,
            [by.as_str(), "reclaim", "60", preemption.as_str()]
                .map(|text| { if text == "60" { Value::from(60) } else { Value::from(text) } })
                .each_ref()
        );
        let open = read(&db, {
            let ids = only(&id);
            move |tx| preemptions::open_of(tx, &ids)
        });
        assert_eq!(open.len(), 1);
        assert_eq!(open[0].stop, open[0].noticed.plus_seconds(60));
        assert_eq!(detail["stop_at"], serde_json::to_value(open[0].stop).unwrap());

        entered(&db, &row(&db, &id), State::Stopping, None).unwrap();
        let (stopping, due) = (row(&db, &id), tick().plus_seconds(5));
        write(&db, move |tx, stamp| {
            preemptions::stopped(tx, &preemption, stamp.now)?;
            preemptions::gone(tx, &preemption, stamp.now)?;
            assert_eq!(preemptions::gone(tx, &preemption, stamp.now), Err(StoreError::StaleVersion), "over is over");
            workloads::requeue(tx, stamp, &stopping, &returning(due))
        })
        .unwrap();
        let again = row(&db, &id);
        assert_eq!((again.state, again.stops, again.due), (State::Queued, 1, Some(due)));
        assert_eq!(again.recent, returning(due).recent);
        assert_eq!((again.queued, again.flavor, again.admitted, again.borrowed_gpus), (waiting.queued, None, None, 0));
        assert_eq!(
            read(&db, {
                let ids = only(&id);
                move |tx| preemptions::open_of(tx, &ids)
            }),
            []
        );
        let newest = read(&db, {
            let ids = only(&id);
            move |tx| preemptions::newest_of(tx, &ids)
        });
        assert!(newest[0].gone.is_some() && newest[0].stopped.is_some());
        let words = ["created", "state_changed", "state_changed", "preempted", "state_changed", "state_changed"];
        assert_eq!(changes(&db, id.as_str()), words);
    });
}

#[test]
fn an_end_is_an_end() {
    both_engines(|db| {
        let site = site(&db, 1);
        governed(&db, &site);
        let id = submitted(&db, &site, 1, 0);
        entered(&db, &row(&db, &id), State::Cancelled, None).unwrap();
        let ended = row(&db, &id);
        for state in [State::Queued, State::Admitted, State::Running] {
            assert_eq!(entered(&db, &ended, state, Some("h200")), Err(StoreError::StaleVersion));
        }
        assert_eq!(row(&db, &id), ended);
        assert_eq!(read(&db, workloads::live), []);
    });
}

#[test]
fn places_go_by_priority_and_then_by_who_came_first() {
    both_engines(|db| {
        let site = site(&db, 1);
        governed(&db, &site);
        let ids = [0, 0, 7].map(|priority| submitted(&db, &site, 1, priority));
        let places = || ids.clone().map(|id| read(&db, move |tx| workloads::position(tx, &id)));
        assert_eq!(places(), [Some(2), Some(3), Some(1)]);
        let second = row(&db, &ids[1]);
        write(&db, move |tx, stamp| {
            workloads::set_priority(tx, stamp, &second, Some(&"usual".parse().unwrap()), 8).map(drop)
        })
        .unwrap();
        assert_eq!(places(), [Some(3), Some(1), Some(2)]);
        entered(&db, &row(&db, &ids[2]), State::Admitted, Some("h200")).unwrap();
        assert_eq!(places(), [Some(2), Some(1), None]);
    });
}

#[test]
fn a_reason_to_wait_is_told_when_it_is_another() {
    both_engines(|db| {
        let site = site(&db, 1);
        governed(&db, &site);
        let id = submitted(&db, &site, 1, 0);
        let waits = |text: &'static str| {
            let row = row(&db, &id);
            write(&db, move |tx, stamp| workloads::set_wait(tx, stamp, &row, text)).unwrap()
        };
        assert_eq!(waits(r#"{"code":"no_quota","short":4}"#), 2);
        let first = row(&db, &id);
        assert_eq!(waits(r#"{"code":"no_quota","short":3}"#), 2, "a number that moves is no news");
        let later = row(&db, &id);
        assert_eq!((later.wait.as_deref(), later.wait_at), (Some(r#"{"code":"no_quota","short":3}"#), first.wait_at));
        assert_eq!(waits(r#"{"code":"no_place"}"#), 3);
        assert!(row(&db, &id).wait_at > first.wait_at);
        let found = row(&db, &id);
        write(&db, move |tx, stamp| {
            let version = workloads::set_gate(tx, stamp, &found, true)?;
            let found = WorkloadRow { version, ..found.clone() };
            let version = workloads::set_due(tx, stamp, &found, Some(stamp.now))?;
            workloads::wish(tx, stamp, &WorkloadRow { version, ..found }, Desired::Released, None)
        })
        .unwrap();
        let found = row(&db, &id);
        assert!(found.gated && found.due.is_some() && found.desired == Desired::Released);
        entered(&db, &found, State::Admitted, Some("h200")).unwrap();
        assert_eq!(row(&db, &id).wait, None, "it waits no more");
    });
}

#[test]
fn members_are_placed_with_their_workload_and_not_alone() {
    both_engines(|db| {
        let site = site(&db, 1);
        governed(&db, &site);
        let (id, alone) = (submitted(&db, &site, 2, 0), request(&db, &site, CapacityShape::GpuSlice, 1));
        let due = read(&db, move |tx| placing::due(tx, tick(), 10));
        assert_eq!(due.iter().map(|wish| &wish.id).collect::<Vec<_>>(), [&alone]);
        let wishes = |id: &WorkloadId| {
            let ids = only(id);
            read(&db, move |tx| placing::wishes_of(tx, &ids))
        };
        let found = wishes(&id);
        assert!(found.len() == 2 && found.iter().all(|wish| wish.workload_id.as_ref() == Some(&id)));
        let held = || {
            let id = site.project_id.clone();
            read(&db, move |tx| projects::gpus_held(tx, &id))
        };
        assert_eq!(held(), 1, "what waits in a queue holds nothing");
        let first = found[0].id.clone();
        write(&db, move |tx, stamp| {
            let row = allocations::get(tx, &first)?.unwrap();
            allocations::wish(tx, stamp, &row, Desired::Released, None)
        })
        .unwrap();
        assert_eq!(wishes(&id).len(), 1, "nobody places what is given back");
    });
}

#[test]
fn what_was_launched_again_is_a_member_no_more() {
    both_engines(|db| {
        let site = site(&db, 1);
        governed(&db, &site);
        let id = submitted(&db, &site, 1, 0);
        let members = || {
            let ids = only(&id);
            read(&db, move |tx| workloads::members(tx, &ids))
        };
        let (old, again, at) = (members()[0].allocation_id.clone(), id.clone(), site.clone());
        let before = old.clone();
        write(&db, move |tx, stamp| {
            enter(tx, stamp, &before, Member::Released, None)?;
            let row = allocations::get(tx, &before)?.unwrap();
            let new = AllocationNew {
                id: &fresh!(AllocationId),
                tenant_id: &at.tenant_id,
                project_id: &at.project_id,
                name: &row.name,
                sku_id: &row.sku_id,
                region_id: &row.region_id,
                shape: row.shape,
                gpu_count: row.gpu_count,
                terms: &row.terms,
                recreated_from: Some(&before),
                workload_id: Some(&again),
            };
            allocations::insert(tx, stamp, new)
        })
        .unwrap();
        let now = members();
        assert_eq!(now.len(), 1);
        assert!(now[0].allocation_id != old && now[0].allocation_state == Member::Requested);
    });
}

#[test]
fn a_queue_with_work_in_it_stays_and_one_whose_work_has_ended_may_go() {
    both_engines(|db| {
        let site = site(&db, 1);
        governed(&db, &site);
        let id = submitted(&db, &site, 1, 0);
        let gone = |kind: Kind, slug: &str| {
            let project_id = (kind == Kind::LocalQueue).then(|| site.project_id.clone());
            let identity = Identity { kind, project_id, slug: slug.parse().unwrap() };
            write(&db, move |tx, stamp| {
                let row = governance::get(tx, &identity)?.unwrap();
                governance::delete(tx, stamp, &row)
            })
        };
        assert_eq!(gone(Kind::LocalQueue, "main"), Err(StoreError::ForeignKeyViolation));
        assert_eq!(gone(Kind::ClusterQueue, "vision"), Err(StoreError::ForeignKeyViolation));
        entered(&db, &row(&db, &id), State::Cancelled, None).unwrap();
        assert_eq!(gone(Kind::LocalQueue, "main"), Ok(()));
        assert_eq!(gone(Kind::ClusterQueue, "vision"), Ok(()));
        assert_eq!(row(&db, &id).queue.as_str(), "vision", "what was stays known");
    });
}
