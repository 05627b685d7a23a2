//! Allocations, claims, tasks, decisions and operations.

use model::allocation::{Desired, State};
use model::event::Noun;
use model::identity::MemberRole;
use model::operation::OperationState;
use model::sku::CapacityShape;
use model::supply::{OccupancyMode, SlotState};
use model::task::{Fence, TaskFailure, TaskKind, TaskResult, TaskState};
use model::{AllocationId, Timestamp};
use store::allocations::AllocationFilter;
use store::claims::{NodeClaim, SlotClaim};
use store::decisions::DecisionRow;
use store::operations::OperationNew;
use store::tasks::TaskNew;
use store::testing::both_engines;
use store::{Db, Page, Scope, StoreError, allocations, claims, decisions, operations, slots, tasks};

use crate::world::{
    Site, allocation, answer, changes, count, enter, fresh, member, narrowed, order, ordered, place, placed, project,
    read, released, request, scope, site, slots_on, started, story, tick, user, write,
};

fn occupancy(db: &Db, site: &Site) -> OccupancyMode {
    let id = site.node_id.clone();
    read(db, move |tx| claims::occupancy(tx, &id))
}

fn take_node(db: &Db, site: &Site, id: &AllocationId) -> Result<bool, StoreError> {
    let (id, node_id) = (id.clone(), site.node_id.clone());
    write(db, move |tx, stamp| {
        let node = store::nodes::get(tx, &node_id)?.unwrap();
        let claim = NodeClaim { id: fresh!(ClaimId), fence: node.use_generation + 1, snapshot: "{}".into() };
        if !claims::take_node(tx, &id, &node_id, &claim, stamp.now)? {
            return Ok(false);
        }
        store::nodes::raise_generation(tx, stamp, &node)?;
        enter(tx, stamp, &id, State::Reserved, Some(&node_id))?;
        Ok(true)
    })
}

#[test]
fn an_allocation_walks_from_wish_to_release() {
    both_engines(|db| {
        let site = site(&db, 2);
        let id = placed(&db, &site, &site.slot_ids);
        assert_eq!(occupancy(&db, &site), OccupancyMode::Sliced);
        started(&db, &id);
        let made = id.clone();
        write(&db, move |tx, stamp| {
            let row = allocation(tx, &made)?;
            allocations::wish(tx, stamp, &row, Desired::Released, Some("done"))?;
            assert_eq!(allocations::wish(tx, stamp, &row, Desired::Released, None), Err(StoreError::StaleVersion));
            Ok(())
        })
        .unwrap();
        released(&db, &id);
        let made = id.clone();
        let row = read(&db, move |tx| allocation(tx, &made));
        assert_eq!((row.state, row.desired, row.version), (State::Released, Desired::Released, 7));
        assert_eq!(row.node_id.as_ref(), Some(&site.node_id));
        let states: Vec<String> = story(&db, id.as_str()).into_iter().filter_map(|told| told.3).collect();
        assert_eq!(states, ["requested", "reserved", "provisioning", "running", "releasing", "released"]);
        assert_eq!(occupancy(&db, &site), OccupancyMode::Free);
        let made = id.clone();
        let held = read(&db, move |tx| claims::of_allocation(tx, &made));
        assert_eq!(held.len(), 2);
        assert!(held.iter().all(|claim| !claim.active && claim.released.is_some() && claim.fence == 1));
        let slot_changes = changes(&db, site.slot_ids[0].as_str());
        assert_eq!(slot_changes.len(), 6, "created, reserved, in_use, challenged, wiping, available");

        let second = placed(&db, &site, &site.slot_ids[..1]);
        let slot_id = site.slot_ids[0].clone();
        let latest = read(&db, move |tx| claims::of_slot(tx, &slot_id, 10));
        assert_eq!(latest.iter().map(|claim| (claim.fence, claim.active)).collect::<Vec<_>>(), [(2, true), (1, false)]);
        assert_eq!(latest[0].allocation_id, second);
    });
}

#[test]
fn slices_and_bare_metal_exclude_each_other() {
    both_engines(|db| {
        let site = site(&db, 2);
        let sliced = placed(&db, &site, &site.slot_ids[..1]);
        let metal = request(&db, &site, CapacityShape::Baremetal, 8);
        assert_eq!(take_node(&db, &site, &metal), Ok(false));
        let made = sliced.clone();
        write(&db, move |tx, stamp| claims::end_of_allocation(tx, &made, stamp.now)).unwrap();
        assert_eq!(occupancy(&db, &site), OccupancyMode::Free);
        assert_eq!(take_node(&db, &site, &metal), Ok(true));
        assert_eq!(occupancy(&db, &site), OccupancyMode::Exclusive);
        let late = request(&db, &site, CapacityShape::GpuSlice, 1);
        let (node_id, slot_id) = (site.node_id.clone(), site.slot_ids[1].clone());
        let beside = write(&db, move |tx, stamp| {
            tx.savepoint(|tx| match place(tx, stamp, &late, &node_id, std::slice::from_ref(&slot_id))? {
                true => Ok(true),
                false => Err(StoreError::NotFound),
            })
        });
        assert_eq!(beside, Err(StoreError::NotFound));
        let other = request(&db, &site, CapacityShape::Baremetal, 8);
        assert_eq!(take_node(&db, &site, &other), Ok(false), "a second tenant of the whole node");
        let made = metal.clone();
        assert_eq!(write(&db, move |tx, stamp| claims::end_of_allocation(tx, &made, stamp.now)), Ok(1));
        assert_eq!(occupancy(&db, &site), OccupancyMode::Free);
    });
}

#[test]
fn the_schema_itself_refuses_a_second_claim_and_a_mode_change() {
    both_engines(|db| {
        let site = site(&db, 2);
        placed(&db, &site, &site.slot_ids[..1]);
        let late = request(&db, &site, CapacityShape::GpuSlice, 1);
        let at = site.clone();
        let twice = write(&db, move |tx, stamp| {
            let slot_id = at.slot_ids[0].clone();
            let claim = SlotClaim { id: fresh!(ClaimId), slot_id, fence: 2, snapshot: "{}".into() };
            claims::take_slots(tx, &late, &at.node_id, std::slice::from_ref(&claim), stamp.now)
        });
        assert!(matches!(twice, Err(StoreError::UniqueViolation { .. })), "{twice:?}");
        let moved: Result<u64, StoreError> =
            db.write(|tx| tx.execute("UPDATE node_occupancy SET mode = 'exclusive'", &[]));
        assert_eq!(moved, Err(StoreError::ForeignKeyViolation));
        assert_eq!(count(&db, "SELECT COUNT(*) FROM allocation_resource_claims"), 1);
    });
}

#[test]
fn claims_keep_their_order_whatever_the_clocks_say() {
    both_engines(|db| {
        let site = site(&db, 1);
        let first = placed(&db, &site, &site.slot_ids);
        let made = first.clone();
        let early = Timestamp::from_micros(1);
        assert_eq!(write(&db, move |tx, _| claims::end_of_allocation(tx, &made, early)), Ok(1));
        let slot_id = site.slot_ids[0].clone();
        let ended = read(&db, move |tx| claims::of_slot(tx, &slot_id, 1)).remove(0);
        assert_eq!(ended.released, Some(ended.claimed), "never before it began");

        let second = request(&db, &site, CapacityShape::GpuSlice, 1);
        let at = site.clone();
        write(&db, move |tx, _| {
            let slot_id = at.slot_ids[0].clone();
            let claim = SlotClaim { id: fresh!(ClaimId), slot_id, fence: 2, snapshot: "{}".into() };
            claims::take_slots(tx, &second, &at.node_id, std::slice::from_ref(&claim), early)
        })
        .unwrap();
        let slot_id = site.slot_ids[0].clone();
        let next = read(&db, move |tx| claims::of_slot(tx, &slot_id, 1)).remove(0);
        assert_eq!((next.fence, Some(next.claimed)), (2, ended.released), "never before the last one ended");
    });
}

#[test]
fn a_slice_begins_after_the_whole_node_was_given_back_whatever_the_clocks_say() {
    both_engines(|db| {
        let site = site(&db, 1);
        let metal = request(&db, &site, CapacityShape::Baremetal, 8);
        assert_eq!(take_node(&db, &site, &metal), Ok(true));
        let late = tick().plus_seconds(60);
        assert_eq!(write(&db, move |tx, _| claims::end_of_allocation(tx, &metal, late)), Ok(1));
        let (slice, at) = (request(&db, &site, CapacityShape::GpuSlice, 1), site.clone());
        let taken = write(&db, move |tx, stamp| {
            let slot_id = at.slot_ids[0].clone();
            let claim = SlotClaim { id: fresh!(ClaimId), slot_id, fence: 1, snapshot: "{}".into() };
            claims::take_slots(tx, &slice, &at.node_id, std::slice::from_ref(&claim), stamp.now)
        });
        assert_eq!(taken, Ok(true));
        let slot_id = site.slot_ids[0].clone();
        assert_eq!(read(&db, move |tx| claims::of_slot(tx, &slot_id, 1)).remove(0).claimed, late);
    });
}

#[test]
fn of_two_last_claims_that_end_together_one_frees_the_node() {
    both_engines(|db| {
        for _ in 0..8 {
            let site = site(&db, 2);
            let pair: Vec<AllocationId> =
                site.slot_ids.iter().map(|slot| placed(&db, &site, std::slice::from_ref(slot))).collect();
            std::thread::scope(|threads| {
                for id in &pair {
                    let (db, id) = (db.clone(), id.clone());
                    threads.spawn(move || {
                        write(&db, move |tx, stamp| claims::end_of_allocation(tx, &id, stamp.now)).unwrap();
                    });
                }
            });
            assert_eq!(occupancy(&db, &site), OccupancyMode::Free);
            let id = site.node_id.clone();
            assert_eq!(read(&db, move |tx| claims::active_on_node(tx, &id)), []);
        }
    });
}

#[test]
fn of_many_appliers_one_gets_the_slot() {
    both_engines(|db| {
        let site = site(&db, 1);
        let rivals: Vec<AllocationId> = (0..4).map(|_| request(&db, &site, CapacityShape::GpuSlice, 1)).collect();
        let won: usize = std::thread::scope(|threads| {
            let running: Vec<_> = rivals
                .iter()
                .map(|id| {
                    let (db, id, at) = (db.clone(), id.clone(), site.clone());
                    threads.spawn(move || {
                        let taken = write(&db, move |tx, stamp| {
                            let seen = slots::lock_chosen(tx, &at.slot_ids)?;
                            let free = seen.iter().all(|slot| slot.state == SlotState::Available);
                            if seen.len() != 1 || !free {
                                return Ok(false);
                            }
                            place(tx, stamp, &id, &at.node_id, &at.slot_ids)
                        });
                        usize::from(taken.unwrap())
                    })
                })
                .collect();
            running.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(won, 1);
        assert_eq!(count(&db, "SELECT COUNT(*) FROM allocation_resource_claims"), 1);
    });
}

#[test]
fn an_order_is_given_handed_out_and_answered_once() {
    both_engines(|db| {
        let site = site(&db, 1);
        let id = placed(&db, &site, &site.slot_ids);
        let made = id.clone();
        let task = write(&db, move |tx, stamp| {
            let (row, task) = (allocation(tx, &made)?, order(tx, &made, TaskKind::SliceVmProvision, stamp.now)?);
            tasks::insert(tx, stamp, TaskNew { task: &task, owner: Some((&row.tenant_id, &row.project_id)) })?;
            Ok(task)
        })
        .unwrap();
        let (node_id, given) = (site.node_id.clone(), task.clone());
        write(&db, move |tx, stamp| {
            let open = tasks::open_for_node(tx, &node_id, 10)?;
            let orders: Vec<_> = open.iter().map(store::tasks::TaskRow::order).collect();
            assert_eq!(orders, [given.clone()]);
            assert_eq!(open[0].life.look, Some(given.deadline));
            assert_eq!(
                tasks::finish(tx, stamp, &open[0], &answer(&open[0])),
                Err(StoreError::StaleVersion),
                "answered before it was handed out"
            );
            tasks::deliver_all(tx, stamp, &open)?;
            let open = tasks::open_for_node(tx, &node_id, 10)?;
            assert_eq!((open[0].state, open[0].version), (TaskState::Delivered, 2));
            tasks::deliver_all(tx, stamp, &open)?;
            let open = tasks::open_for_node(tx, &node_id, 10)?;
            assert_eq!(open[0].version, 2, "handing it out again is no change");
            assert!(tasks::progress(tx, &given.id, &node_id, "booting")?);
            assert!(!tasks::progress(tx, &given.id, &fresh!(NodeId), "not mine")?);

            for fence in [
                Fence { incarnation: 2, ..given.fence },
                Fence { generation: 0, ..given.fence },
                Fence { attempt: 2, ..given.fence },
            ] {
                let wrong = TaskResult { fence, ..answer(&open[0]) };
                assert_eq!(tasks::finish(tx, stamp, &open[0], &wrong), Err(StoreError::StaleVersion));
            }
            let failure = Some(TaskFailure::ProvisionFailed);
            let result = TaskResult { failure, detail: "no image".into(), ..answer(&open[0]) };
            tasks::finish(tx, stamp, &open[0], &result)?;
            let done = tasks::get(tx, &given.id)?.unwrap();
            assert_eq!((done.state, done.result.as_ref()), (TaskState::Failed, Some(&result)));
            assert_eq!(tasks::finish(tx, stamp, &done, &answer(&done)), Err(StoreError::StaleVersion));
            assert_eq!(tasks::expire(tx, stamp, &done, None), Err(StoreError::StaleVersion));
            assert!(!tasks::progress(tx, &given.id, &node_id, "late")?);
            assert_eq!(tasks::open_for_node(tx, &node_id, 10)?, []);
            Ok(())
        })
        .unwrap();
        assert_eq!(changes(&db, task.id.as_str()), ["created", "state_changed", "state_changed"]);
    });
}

#[test]
fn an_order_that_ran_out_of_time_makes_room_for_the_next_attempt() {
    both_engines(|db| {
        let site = site(&db, 1);
        let id = placed(&db, &site, &site.slot_ids);
        let first = ordered(&db, &id, TaskKind::SliceVmProvision);
        write(&db, move |tx, stamp| tasks::expire(tx, stamp, &first, Some("deadline"))).unwrap();
        let second = ordered(&db, &id, TaskKind::SliceVmProvision);
        assert_eq!(second.fence.attempt, 2);
        let made = id.clone();
        write(&db, move |tx, stamp| {
            tasks::expire(tx, stamp, &second, Some("deadline"))?;
            let latest = tasks::latest(tx, &made, TaskKind::SliceVmProvision)?.unwrap();
            assert_eq!((latest.state, latest.fence.attempt), (TaskState::Expired, 2));
            assert_eq!(tasks::latest(tx, &made, TaskKind::SliceVmRelease)?, None);
            assert_eq!(tasks::of_allocation(tx, &made)?.len(), 2);
            let row = allocation(tx, &made)?;
            let again = model::task::Task { id: fresh!(TaskId), ..latest.order() };
            let new = TaskNew { task: &again, owner: Some((&row.tenant_id, &row.project_id)) };
            let twice = tx.savepoint(|tx| tasks::insert(tx, stamp, new));
            assert!(matches!(twice, Err(StoreError::UniqueViolation { .. })));
            Ok(())
        })
        .unwrap();
    });
}

#[test]
fn allocations_are_listed_by_filter_and_scope() {
    both_engines(|db| {
        let site = site(&db, 1);
        let other = Site { project_id: project(&db, &site.tenant_id), ..site.clone() };
        let theirs = crate::world::site(&db, 1);
        let ids: Vec<AllocationId> =
            [&site, &other, &theirs].into_iter().map(|site| request(&db, site, CapacityShape::GpuSlice, 1)).collect();
        let (whole, part) = (user(&db), user(&db));
        member(&db, &whole, &site.tenant_id, None, MemberRole::Viewer);
        member(&db, &part, &site.tenant_id, Some(&other.project_id), MemberRole::ProjectMember);
        let seen = |scope: Scope, project: Option<model::ProjectId>, state: Option<State>| -> Vec<AllocationId> {
            read(&db, move |tx| {
                let filter = AllocationFilter { project_id: project.as_ref(), state, ..AllocationFilter::default() };
                allocations::list(tx, &scope, filter, Page::first(10))
            })
            .into_iter()
            .map(|row| row.id)
            .collect()
        };
        assert_eq!(seen(Scope::All, None, None), ids);
        assert_eq!(seen(Scope::All, Some(theirs.project_id.clone()), None), ids[2..]);
        assert_eq!(seen(Scope::All, None, Some(State::Running)), []);
        assert_eq!(seen(scope(&whole), None, Some(State::Requested)), ids[..2]);
        assert_eq!(seen(scope(&whole), Some(theirs.project_id.clone()), None), []);
        assert_eq!(seen(scope(&part), None, None), ids[1..2]);
        assert_eq!(seen(narrowed(&whole, &site.project_id), None, None), ids[..1]);
        let sees = |scope: Scope, id: &AllocationId| {
            let id = id.clone();
            read(&db, move |tx| allocations::get_visible(tx, &scope, &id)).is_some()
        };
        assert!(sees(scope(&whole), &ids[0]) && !sees(scope(&whole), &ids[2]) && !sees(scope(&part), &ids[0]));
    });
}

#[test]
fn an_operation_ends_with_its_subject() {
    both_engines(|db| {
        let site = site(&db, 1);
        let slot_ids = slots_on(&db, &site.node_id, 1);
        let allocation_id = request(&db, &site, CapacityShape::GpuSlice, 1);
        let (asker, stranger) = (user(&db), user(&db));
        let id = fresh!(OperationId);
        let (made, at, subject, who) = (id.clone(), site.clone(), allocation_id.clone(), asker.clone());
        write(&db, move |tx, stamp| {
            let new = OperationNew {
                id: &made,
                kind: "allocation.launch",
                noun: Noun::Allocation,
                subject_id: subject.as_str(),
                tenant_id: Some(&at.tenant_id),
                project_id: Some(&at.project_id),
                created_by: &who,
                succeeds_in: &["running"],
                fails_in: &["refused", "failed", "released"],
            };
            operations::insert(tx, new, stamp.now)
        })
        .unwrap();
        let (subject, node_id) = (allocation_id.clone(), site.node_id.clone());
        write(&db, move |tx, stamp| {
            place(tx, stamp, &subject, &node_id, &slot_ids)?;
            assert_eq!(operations::finish_for(tx, subject.as_str(), "reserved", None, stamp.now)?, []);
            let ended = operations::finish_for(tx, subject.as_str(), "running", Some("{}"), stamp.now)?;
            assert_eq!(ended, [id.clone()]);
            assert_eq!(operations::finish_for(tx, subject.as_str(), "released", None, stamp.now)?, []);
            let row = operations::get(tx, &id)?.unwrap();
            assert_eq!((row.state, row.finished), (OperationState::Succeeded, Some(stamp.now)));
            assert_eq!((row.result.as_deref(), row.noun), (Some("{}"), Noun::Allocation));
            Ok(())
        })
        .unwrap();
        let seen = |scope: Scope| {
            let subject = allocation_id.clone();
            read(&db, move |tx| operations::list(tx, &scope, None, Some(subject.as_str()), Page::first(5))).len()
        };
        assert_eq!((seen(Scope::All), seen(scope(&asker)), seen(scope(&stranger))), (1, 1, 0));
        member(&db, &stranger, &site.tenant_id, Some(&site.project_id), MemberRole::Viewer);
        assert_eq!(seen(scope(&stranger)), 1);
    });
}

#[test]
fn decisions_are_kept_small_and_in_order() {
    both_engines(|db| {
        let made = |outcome: &str, body: String| DecisionRow {
            id: fresh!(DecisionId),
            subject_id: "alc_x".into(),
            outcome: outcome.into(),
            body,
            snapshot_version: 7,
            at: tick(),
        };
        let (first, second) = (made("wait", "{}".into()), made("placed", "{}".into()));
        let both = [first.clone(), second.clone()];
        write(&db, move |tx, _| both.iter().try_for_each(|row| decisions::insert(tx, row))).unwrap();
        assert_eq!(read(&db, |tx| decisions::latest(tx, "alc_x")), Some(second.clone()));
        assert_eq!(read(&db, |tx| decisions::of_subject(tx, "alc_x", Page::first(5))), [first, second]);
        assert_eq!(read(&db, |tx| decisions::latest(tx, "alc_y")), None);
        let long = made("wait", "x".repeat(decisions::BODY_BYTES_MAX + 1));
        let refused = write(&db, move |tx, _| decisions::insert(tx, &long));
        assert!(matches!(refused, Err(StoreError::CheckViolation { .. })));
    });
}
