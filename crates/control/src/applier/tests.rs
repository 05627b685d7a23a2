//! Races, on both engines: whatever changes between a verdict and its commit, by whomever, nothing is sold twice, nothing that
//! was taken away is sold, and whoever lost gets another place.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::{
    collections::BTreeSet,
    sync::{Arc, Barrier},
    thread,
};

use model::{
    AllocationId, NodeId, SlotId,
    allocation::{Desired, State},
    sku::CapacityShape,
};
use store::{
    Dialect, StoreError, Value, allocations, lease,
    testing::{CommitFailure, Place, both_engines, both_places},
};

use super::{ground::Ground, *};

fn turn(applier: &mut Applier, leader: &Leader) -> Turn {
    applier.turn(leader, &mut || Ok(())).unwrap()
}

/// One round of a turn, with something happening between the verdicts and their commit.
fn round(ground: &Ground, applier: &mut Applier, leader: &Leader, between: impl FnOnce(&[Decided])) -> Turn {
    let mut turn = Turn::default();
    let now = leader.now;
    let (wishes, mut grounds) = leader
        .read(move |tx| {
            let wishes = placing::due(tx, now, 1000)?;
            let grounds = Grounds::read(tx, &wishes)?;
            Ok((wishes, grounds))
        })
        .unwrap();
    applier.refresh(leader).unwrap();
    let looked = Looked { grounds: &mut grounds, postponed: &mut vec![], turn: &mut turn };
    let decided = applier.decide_all(wishes, now, looked).unwrap();
    between(&decided);
    let decided = Arc::new(decided);
    let written = commit::commit(leader, &decided).unwrap();
    let again = applier.settle(leader, &decided, written, &mut turn).unwrap();
    assert_eq!(ground.claims().len(), claimed_slots(ground).len(), "one claim a slot");
    let left: Vec<WishRow> = again.iter().map(|at| decided[*at].wish.clone()).collect();
    applier.answer(leader, left, &mut grounds, &mut turn).unwrap();
    turn
}

fn claimed_slots(ground: &Ground) -> BTreeSet<Option<SlotId>> {
    ground.claims().into_iter().map(|claim| claim.slot_id).collect()
}

fn chosen(decided: &[Decided]) -> (NodeId, SlotId) {
    let chosen = decided[0].answer.chosen.as_ref().unwrap();
    (chosen.node_id.clone(), chosen.slots[0].0.clone())
}

#[test]
fn many_wishes_are_answered_in_one_commit_with_everything_that_belongs_to_it() {
    both_engines(|db| {
        let ground = Ground::new(&db, 3);
        let sizes = [4, 1, 2, 1, 8, 4];
        let ids: Vec<AllocationId> = sizes.iter().map(|size| ground.wish(*size, CapacityShape::GpuSlice)).collect();
        let leader = ground.leader(&db);
        let mut applier = Applier::default();
        let before = db.counts().commits;
        let done = turn(&mut applier, &leader);
        assert_eq!((done.placed, done.refused, done.lost), (6, 0, 0));
        assert_eq!(db.counts().commits, before + 1);
        assert_eq!(ground.claims().len(), 20);
        assert_eq!(ground.count("SELECT COUNT(*) FROM decisions WHERE outcome = 'placed' AND length(body) <= 1024"), 6);
        assert_eq!(ground.count("SELECT COUNT(*) FROM audit WHERE action = 'allocation_place'"), 6);
        assert_eq!(ground.count("SELECT COUNT(*) FROM events WHERE noun = 'slot' AND state_to = 'reserved'"), 20);
        for id in &ids {
            let row = ground.allocation(id);
            assert_eq!((row.state, row.version, row.node_id.is_some()), (State::Reserved, 2, true));
        }
        assert_eq!(applier.picture_fault(&leader).unwrap(), None);
        // Twenty of 24 are taken, and the four that are left are on one node or they are not.
        let metal = ground.wish(8, CapacityShape::Baremetal);
        let leader = ground.leader(&db);
        let done = turn(&mut applier, &leader);
        assert_eq!((done.placed, done.refused), (0, 1));
        let decision = db.read(move |tx| store::decisions::latest(tx, metal.as_str())).unwrap().unwrap();
        let read = PlacementDecision::read(&decision.body).unwrap();
        assert_eq!((decision.outcome.as_str(), read.code), (REFUSED, Some(Code::SkuUnavailable)));
        assert!(decision.body.len() <= store::decisions::BODY_BYTES_MAX);
        assert_eq!(turn(&mut applier, &leader), Turn::default(), "a refusal is final");
    });
}

#[test]
fn bare_metal_takes_the_node_with_every_slot_and_raises_its_generation() {
    both_engines(|db| {
        let ground = Ground::new(&db, 2);
        let id = ground.wish(8, CapacityShape::Baremetal);
        let slice = ground.wish(1, CapacityShape::GpuSlice);
        let leader = ground.leader(&db);
        let mut applier = Applier::default();
        assert_eq!(turn(&mut applier, &leader).placed, 2);
        let metal = ground.allocation(&id).node_id;
        assert_ne!(metal, ground.allocation(&slice).node_id);
        let claim = ground.claims().into_iter().find(|claim| claim.slot_id.is_none()).unwrap();
        assert_eq!((Some(claim.node_id), claim.fence), (metal, 1));
        let sold: ClaimSnapshot = serde_json::from_str(&claim.snapshot).unwrap();
        assert_eq!((sold.billable_gpus, sold.devices.len()), (8, 8));
        assert_eq!(ground.count("SELECT COUNT(*) FROM node_resource_slots WHERE state = 'reserved'"), 9);
        assert_eq!(applier.picture_fault(&leader).unwrap(), None);
    });
}

#[test]
fn a_pair_under_one_switch_goes_before_pairs_that_straddle_two() {
    both_engines(|db| {
        let ground = Ground::new(&db, 1);
        ground.by_hand("UPDATE node_resource_slots SET pcie_switch = gpu_module_id", &[]);
        ground.by_hand("UPDATE node_resource_slots SET pcie_switch = 9 WHERE gpu_module_id IN (6, 8)", &[]);
        ground.wish(2, CapacityShape::GpuSlice);
        assert_eq!(turn(&mut Applier::default(), &ground.leader(&db)).placed, 1);
        let reserved = "SELECT COUNT(*) FROM node_resource_slots WHERE state = 'reserved'";
        assert_eq!(ground.count(reserved), 2);
        let together = "SELECT COUNT(*) FROM node_resource_slots WHERE state = 'reserved' AND pcie_switch = 9";
        assert_eq!(ground.count(together), 2, "all other pairs cost more, though they come first by number");
    });
}

/// What a person may do to a row, given the node and the slot that were just chosen.
const BY_HAND: &[(&str, &str)] = &[
    ("the slot is disabled", "UPDATE node_resource_slots SET state = 'disabled' WHERE id = $2 AND node_id = $1"),
    ("the slot is in use", "UPDATE node_resource_slots SET state = 'in_use' WHERE id = $2 AND node_id = $1"),
    ("the slot is blocked", "UPDATE node_resource_slots SET state = 'cleanup_blocked' WHERE id = $2 AND node_id = $1"),
    (
        "the slot has a new version",
        "UPDATE node_resource_slots SET version = version + 1 WHERE id = $2 AND node_id = $1",
    ),
    ("the slot has drifted", "UPDATE node_resource_slots SET drifted = 1 WHERE id = $2 AND node_id = $1"),
    (
        "the slot's memory node is unknown",
        "UPDATE node_resource_slots SET numa_node = NULL WHERE id = $2 AND node_id = $1",
    ),
    ("the node is silent", "UPDATE nodes SET state = 'silent' WHERE id = $1 AND $2 = $2"),
    ("the node is drained", "UPDATE nodes SET desired = 'drained' WHERE id = $1 AND $2 = $2"),
    ("the node is not promoted", "UPDATE nodes SET promoted_us = NULL WHERE id = $1 AND $2 = $2"),
    ("the node has a new version", "UPDATE nodes SET version = version + 1 WHERE id = $1 AND $2 = $2"),
    ("the node is held whole", "UPDATE node_occupancy SET mode = 'exclusive' WHERE node_id = $1 AND $2 = $2"),
];

#[test]
fn whatever_is_flipped_by_hand_between_verdict_and_commit_makes_the_verdict_lose() {
    for (what, sql) in BY_HAND {
        both_engines(|db| {
            let ground = Ground::new(&db, 2);
            let id = ground.wish(2, CapacityShape::GpuSlice);
            let (leader, mut applier) = (ground.leader(&db), Applier::default());
            let mut flipped = None;
            let done = round(&ground, &mut applier, &leader, |decided| {
                let (node, slot) = chosen(decided);
                assert_eq!(ground.by_hand(sql, &[(&node).into(), (&slot).into()]), 1, "{what}");
                flipped = Some((node, slot));
            });
            let (node, slot) = flipped.unwrap();
            assert_eq!((done.lost, done.placed, done.refused), (1, 1, 0), "{what}");
            assert_eq!(ground.allocation(&id).state, State::Reserved, "{what}");
            // A new version alone takes nothing away: the same place will do, seen again.
            let claims = ground.claims();
            assert_eq!(claims.len(), 2, "{what}");
            if !what.contains("version") {
                let sold = claims.iter().any(|claim| claim.slot_id.as_ref() == Some(&slot));
                let on_node = what.contains("the node") && claims.iter().any(|claim| claim.node_id == node);
                assert!(!sold && !on_node, "{what}: {claims:?}");
            }
            assert_eq!(applier.picture_fault(&leader).unwrap(), None, "{what}");
        });
    }
}

#[test]
fn a_whole_node_is_not_sold_when_anything_of_it_was_flipped() {
    let more: &[(&str, &str)] = &[
        ("slices are on the node", "UPDATE node_occupancy SET mode = 'sliced' WHERE node_id = $1 AND $2 = $2"),
        (
            "a slot was approved meanwhile",
            "INSERT INTO node_resource_slots (id, node_id, profile, state, fabric_claim_mode, partition_ids, \
             capacity_metadata, health_state, health_detail, state_since_us, version, created_us) \
             SELECT 'slt_01jh2n6f4zw8q9r0s1t2v3x4y5', $1, 'p', 'disabled', 'none', '[]', '{}', 'ok', '', 1, 1, 1 WHERE $2 = $2",
        ),
    ];
    let not_for_metal = |what: &str| what.contains("promoted");
    for (what, sql) in BY_HAND.iter().filter(|(what, _)| !not_for_metal(what)).chain(more) {
        both_engines(|db| {
            let ground = Ground::new(&db, 2);
            let id = ground.wish(8, CapacityShape::Baremetal);
            let (leader, mut applier) = (ground.leader(&db), Applier::default());
            let mut flipped = None;
            let done = round(&ground, &mut applier, &leader, |decided| {
                let (node, slot) = chosen(decided);
                assert_eq!(ground.by_hand(sql, &[(&node).into(), (&slot).into()]), 1, "{what}");
                flipped = Some(node);
            });
            assert_eq!((done.lost, done.placed), (1, 1), "{what}");
            let taken = ground.allocation(&id).node_id;
            assert_eq!((taken == flipped, taken.is_some()), (what.contains("version"), true), "{what}");
            assert_eq!(ground.claims().len(), 1, "{what}");
        });
    }
}

#[test]
fn a_claim_made_by_hand_breaks_the_batch_which_is_halved_until_the_culprit_is_alone() {
    both_engines(|db| {
        let ground = Ground::new(&db, 4);
        let mut applier = Applier::default();
        let held = ground.wish(1, CapacityShape::GpuSlice);
        assert_eq!(turn(&mut applier, &ground.leader(&db)).placed, 1);
        let ids: Vec<AllocationId> = (0..12).map(|_| ground.wish(2, CapacityShape::GpuSlice)).collect();
        let leader = ground.leader(&db);
        let done = round(&ground, &mut applier, &leader, |decided| {
            // The row of the slot says nothing of it.
            let taken = decided[7].answer.chosen.as_ref().unwrap();
            let params: [Value; 3] = [(&held).into(), (&taken.node_id).into(), (&taken.slots[0].0).into()];
            ground.by_hand("UPDATE node_occupancy SET mode = 'sliced' WHERE node_id = $1", &params[1..2]);
            let sql = "INSERT INTO allocation_resource_claims (id, allocation_id, node_id, slot_id, kind, active_mode, \
                fence, claimed_us, snapshot) VALUES ('clm_01jh2n6f4zw8q9r0s1t2v3x4y5', $1, $2, $3, 'slot', 'sliced', 99, 1, '{}')";
            assert_eq!(ground.by_hand(sql, &params), 1);
        });
        assert!(done.halved >= 3, "{done:?}");
        assert_eq!((done.placed, done.refused, done.faults.len()), (12, 0, 0), "{done:?}");
        assert_eq!(ground.claims().len(), 1 + 24 + 1);
        assert_eq!(claimed_slots(&ground).len(), 26, "no slot twice");
        assert!(ids.iter().all(|id| ground.allocation(id).state == State::Reserved));
        assert_eq!(applier.picture_fault(&leader).unwrap(), None);
    });
}

#[test]
fn a_wish_given_back_before_the_commit_gets_nothing_and_leaves_room_for_the_next() {
    both_engines(|db| {
        let ground = Ground::new(&db, 1);
        let first = ground.wish(8, CapacityShape::GpuSlice);
        let second = ground.wish(4, CapacityShape::GpuSlice);
        let (leader, mut applier) = (ground.leader(&db), Applier::default());
        let done = round(&ground, &mut applier, &leader, |decided| {
            assert!(decided[1].answer.chosen.is_none(), "there is no room for it beside the first");
            let id = first.clone();
            ground.write(move |tx, stamp| {
                let row = allocations::get(tx, &id)?.unwrap();
                allocations::wish(tx, stamp, &row, Desired::Released, None)
            });
        });
        assert_eq!((done.placed, done.refused, done.lost), (1, 0, 1));
        assert_eq!(ground.allocation(&first).state, State::Requested);
        assert_eq!(ground.allocation(&second).state, State::Reserved);
        assert_eq!(ground.claims().len(), 4);
    });
}

#[test]
fn an_overtaken_leader_commits_nothing() {
    both_engines(|db| {
        let ground = Ground::new(&db, 1);
        ground.wish(1, CapacityShape::GpuSlice);
        let (leader, mut applier) = (ground.leader(&db), Applier::default());
        applier.refresh(&leader).unwrap();
        let now = ground.ports.now();
        let seen = db.read(|tx| lease::lease_read(tx, store::LEADER)).unwrap();
        let taken = db.write(move |tx| lease::lease_acquire(tx, store::LEADER, "other", seen.as_ref(), now, 1));
        assert_eq!(taken.unwrap().unwrap().epoch, 2);
        let ended = applier.turn(&leader, &mut || Ok(()));
        assert_eq!(ended, Err(StoreError::LostLeadership));
        assert_eq!((ground.claims().len(), ground.count("SELECT COUNT(*) FROM decisions")), (0, 0));
        assert!(applier.snapshot.is_none(), "what it believed is worth nothing");
    });
}

/// Several that all believe they lead, and that the store believes too: the epoch does not help here.
#[test]
fn two_that_decide_at_once_sell_no_slot_twice_and_answer_every_wish_once() {
    both_places(|place| {
        let db = place.open();
        let ground = Ground::new(&db, 12);
        let sizes = [1, 2, 4, 1, 1, 8, 2, 1];
        let ids: Vec<AllocationId> = (0..48)
            .map(|at| match at % 9 {
                8 => ground.wish(8, CapacityShape::Baremetal),
                other => ground.wish(sizes[other], CapacityShape::GpuSlice),
            })
            .collect();
        let start = Arc::new(Barrier::new(3));
        let deciders: Vec<_> = (0..3)
            .map(|_| {
                // An embedded store has one process, and so one handle; a server has as many as there are replicas.
                let db = if db.dialect() == Dialect::Postgres { place.open() } else { db.clone() };
                let (ground, start) = (ground.clone(), Arc::clone(&start));
                thread::spawn(move || {
                    let (mut applier, mut lost) = (Applier::default(), 0);
                    start.wait();
                    for turn in 0..200 {
                        let mut leader = ground.leader(&db);
                        leader.config.placements_per_commit = 7;
                        // Each turn is later than the last one's waits, so that who was postponed is due again.
                        leader.now = leader.now.plus_seconds(3600 + 10 * turn);
                        let done = applier.turn(&leader, &mut || Ok(())).unwrap();
                        assert!(done.faults.is_empty(), "{done:?}");
                        lost += done.lost;
                        if done.answered() == 0 && done.lost == 0 {
                            break;
                        }
                    }
                    lost
                })
            })
            .collect();
        let lost: usize = deciders.into_iter().map(|decider| decider.join().unwrap()).sum();
        let claims = ground.claims();
        let slots: Vec<&SlotId> = claims.iter().filter_map(|claim| claim.slot_id.as_ref()).collect();
        assert_eq!(slots.len(), slots.iter().collect::<BTreeSet<_>>().len(), "no slot twice");
        let mut gpus = 0;
        for id in &ids {
            let held: Vec<_> = claims.iter().filter(|claim| claim.allocation_id == *id).collect();
            let row = ground.allocation(id);
            let expected = match (row.state, row.shape) {
                (State::Reserved, CapacityShape::GpuSlice) => row.gpu_count,
                (State::Reserved, CapacityShape::Baremetal) => 1,
                _ => 0,
            };
            assert_eq!(i64::try_from(held.len()).unwrap(), expected, "{row:?}");
            gpus += if row.state == State::Reserved { row.gpu_count } else { 0 };
        }
        let one_each =
            "SELECT COUNT(*) FROM (SELECT subject_id FROM decisions GROUP BY subject_id HAVING COUNT(*) > 1) AS d";
        assert_eq!(ground.count(one_each), 0, "one answer a wish");
        assert_eq!(ground.count("SELECT COUNT(*) FROM decisions"), 48, "{lost} verdicts lost");
        assert!(gpus > 70, "{gpus} of 96 GPUs were sold although wishes were left");
    });
}

#[test]
fn a_commit_without_an_answer_is_either_whole_or_not_at_all() {
    for how in [CommitFailure::Refused, CommitFailure::AnswerLost] {
        let place = Place::new(Dialect::Sqlite);
        let db = place.open();
        let ground = Ground::new(&db, 2);
        let ids: Vec<AllocationId> = (0..5).map(|_| ground.wish(2, CapacityShape::GpuSlice)).collect();
        let mut applier = Applier::default();
        applier.refresh(&ground.leader(&db)).unwrap();
        db.sabotage().unwrap().fail_next_commit(how);
        let ended = applier.turn(&ground.leader(&db), &mut || Ok(()));
        assert_eq!(ended, Err(StoreError::OutcomeUnknown));
        assert!(applier.snapshot.is_none());
        let guard = ground.guard.clone();
        drop((applier, ground, db));
        // The process is gone; another one starts on what is there.
        let db = place.open();
        let placed = db.read(|tx| tx.query_one("SELECT COUNT(*) FROM allocation_resource_claims", &[])?.int(0));
        let expected = if how == CommitFailure::AnswerLost { 10 } else { 0 };
        assert_eq!(placed, Ok::<_, StoreError>(expected));
        let ports = crate::Ports::system();
        let config = crate::plane::PlaneConfig::new("me");
        let leader = Leader { db: db.clone(), now: ports.now(), ports, guard, config };
        let done = Applier::default().turn(&leader, &mut || Ok(())).unwrap();
        assert_eq!(done.placed, if how == CommitFailure::AnswerLost { 0 } else { 5 });
        for id in ids {
            let row = db.read(move |tx| allocations::get(tx, &id)).unwrap().unwrap();
            assert_eq!((row.state, row.version), (State::Reserved, 2));
        }
    }
}

#[test]
fn a_picture_that_goes_on_for_long_is_still_the_store() {
    both_engines(|db| {
        let ground = Ground::new(&db, 3);
        let mut applier = Applier::default();
        let steps: &[&str] = &[
            "UPDATE nodes SET desired = 'drained', version = version + 1 WHERE number = 1",
            "UPDATE node_resource_slots SET state = 'cleanup_blocked', version = version + 1 WHERE gpu_uuid = 'GPU-1-2'",
            "UPDATE pools SET slices_enabled = 0, version = version + 1",
            "UPDATE pools SET slices_enabled = 1, version = version + 1",
            "UPDATE nodes SET desired = 'in_service', version = version + 1 WHERE number = 1",
        ];
        for (at, sql) in steps.iter().enumerate() {
            ground.wish(i64::from(1 << (at % 3)), CapacityShape::GpuSlice);
            turn(&mut applier, &ground.leader(&db));
            // Told as the platform tells it: one event a version.
            ground.by_hand(sql, &[]);
            for tell in TELL {
                ground.by_hand(tell, &[]);
            }
            assert_eq!(applier.picture_fault(&ground.leader(&db)).unwrap(), None, "after {sql}");
        }
    });
}

// An event for every version that has none.
const TELL: [&str; 3] = [
    "INSERT INTO events (id, noun, change, subject_id, object_version, at_us) SELECT 'evt-' || id || '-' || \
     CAST(version AS TEXT), 'node', 'updated', id, version, 1 FROM nodes t WHERE NOT EXISTS (SELECT 1 FROM events e \
     WHERE e.subject_id = t.id AND e.object_version = t.version)",
    "INSERT INTO events (id, noun, change, subject_id, object_version, at_us) SELECT 'evt-' || id || '-' || \
     CAST(version AS TEXT), 'pool', 'updated', id, version, 1 FROM pools t WHERE NOT EXISTS (SELECT 1 FROM events e \
     WHERE e.subject_id = t.id AND e.object_version = t.version)",
    "INSERT INTO events (id, noun, change, subject_id, object_version, at_us) SELECT 'evt-' || id || '-' || \
     CAST(version AS TEXT), 'slot', 'updated', id, version, 1 FROM node_resource_slots t WHERE NOT EXISTS (SELECT 1 \
     FROM events e WHERE e.subject_id = t.id AND e.object_version = t.version)",
];
