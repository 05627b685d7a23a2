//! What is known about hosts: discoveries and whose each device is, drift with when it was first seen, disk grants, slots
//! approved and approved again, and how a node stands.

use model::event::Noun;
use model::supply::SaidBy;
use model::supply::{NodeDesired, SlotState};
use model::task::{Fence, Task, TaskInput, TaskKind};
use model::{NodeId, SlotId};
use store::discoveries::Devices;
use store::drifts::DriftSeen;
use store::grants::GrantRow;
use store::operations::OperationNew;
use store::slots::{Approval, Marks, SlotNew, SlotRow};
use store::standing::SlotStanding;
use store::tasks::TaskNew;
use store::testing::both_engines;
use store::{Db, Page, Scope, StoreError, allocations, discoveries, drifts, events, fleet, grants, nodes, operations};
use store::{slots, standing, tasks};

use crate::world::{
    allocation, changes, fresh, node, parts, placed, proof_for, read, releasing, site, started, user, write,
};

fn slot(db: &Db, id: &SlotId) -> SlotRow {
    let id = id.clone();
    read(db, move |tx| slots::get(tx, &id)).unwrap()
}

fn devices(gpus: &[&str], nvme: &[&str]) -> Devices {
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Devices { gpus: set(gpus), nvme: set(nvme) }
}

#[test]
fn the_newest_discoveries_are_kept_and_counted() {
    both_engines(|db| {
        let site = site(&db, 0);
        let id = site.node_id.clone();
        let made = id.clone();
        assert_eq!(read(&db, move |tx| discoveries::latest(tx, &made)), None);
        for number in 1..=7_i64 {
            let (id, task) = (id.clone(), fresh!(TaskId));
            let given = write(&db, move |tx, stamp| {
                discoveries::insert(tx, &id, &task, "digest", &format!("{{\"n\":{number}}}"), stamp.now)
            });
            assert_eq!(given, Ok(number));
        }
        let made = id.clone();
        let (latest, kept) =
            read(&db, move |tx| Ok((discoveries::latest(tx, &made)?.unwrap(), discoveries::count(tx, &made)?)));
        assert_eq!((latest.number, latest.body.as_str(), kept), (7, "{\"n\":7}", discoveries::KEPT));
    });
}

#[test]
fn a_device_belongs_to_one_node_until_that_node_no_longer_shows_it() {
    both_engines(|db| {
        let site = site(&db, 0);
        let (first, second) = (site.node_id.clone(), node(&db, &site.pool_id));
        let register = |id: &NodeId, has: Devices| {
            let id = id.clone();
            write(&db, move |tx, _| discoveries::register(tx, &id, &has))
        };
        let foreign = |id: &NodeId, has: Devices| {
            let id = id.clone();
            read(&db, move |tx| discoveries::foreign(tx, &id, &has))
        };
        assert_eq!(register(&first, devices(&["g1", "g2"], &["d1"])), Ok(()));
        assert_eq!(register(&first, devices(&["g1", "g2"], &["d1"])), Ok(()), "again the same");
        assert_eq!(foreign(&first, devices(&["g1"], &["d1"])), [], "its own");
        let strange = foreign(&second, devices(&["g2", "g3"], &["d1"]));
        let named: Vec<_> = strange.iter().map(|found| (found.kind.as_str(), found.identity.as_str())).collect();
        assert_eq!(named, [("gpu", "g2"), ("nvme", "d1")]);
        assert!(strange.iter().all(|found| found.node_id == first));
        let taken = register(&second, devices(&["g2"], &[]));
        assert!(matches!(taken, Err(StoreError::UniqueViolation { .. })), "{taken:?}");
        assert_eq!(register(&first, devices(&["g1"], &["d1"])), Ok(()));
        assert_eq!(register(&second, devices(&["g2"], &[])), Ok(()), "the first no longer shows it");
        let device = strange[1].clone();
        write(&db, move |tx, _| discoveries::take_over(tx, &device)).unwrap();
        assert_eq!(foreign(&second, devices(&[], &["d1"])), []);
    });
}

#[test]
fn drift_keeps_when_it_was_first_seen_and_is_forgotten_when_gone() {
    both_engines(|db| {
        let site = site(&db, 1);
        let id = site.slot_ids[0].clone();
        let seen = |field: &str, kind: &str, seen: &str| DriftSeen {
            field: field.into(),
            kind: kind.into(),
            approved: "as it was".into(),
            seen: seen.into(),
            detail: "It changed.".into(),
        };
        let replace = |now: Vec<DriftSeen>| {
            let id = id.clone();
            write(&db, move |tx, stamp| {
                drifts::replace(tx, &id, SaidBy::Discovery, &now, stamp.now)?;
                Ok(stamp.now)
            })
            .unwrap()
        };
        let of_slot = || {
            let id = id.clone();
            read(&db, move |tx| drifts::of_slot(tx, &id))
        };
        let first = replace(vec![seen("nvme_identity", "moved", "x"), seen("nvme_identity", "disk_mounted", "/a")]);
        let second =
            replace(vec![seen("nvme_identity", "disk_mounted", "/b"), seen("gpu_link", "link_degraded", "x8")]);
        let shown: Vec<_> =
            of_slot().into_iter().map(|row| (row.field, row.kind, row.seen, row.first, row.last)).collect();
        assert_eq!(
            shown,
            [
                ("gpu_link".into(), "link_degraded".into(), "x8".into(), second, second),
                ("nvme_identity".into(), "disk_mounted".into(), "/b".into(), first, second),
            ]
        );
        let node_id = site.node_id.clone();
        assert_eq!(read(&db, move |tx| drifts::of_node(tx, &node_id))[&id].len(), 2);
        // What a host refused an order for is not taken back because nobody sees it from outside.
        let refused = vec![seen("hugepages", "refused", "12 free")];
        let other = id.clone();
        let said = write(&db, move |tx, stamp| drifts::replace(tx, &other, SaidBy::Plan, &refused, stamp.now)).unwrap();
        assert!(said);
        replace(vec![]);
        let left: Vec<_> = of_slot().into_iter().map(|row| (row.said_by, row.field)).collect();
        assert_eq!(left, [(SaidBy::Plan, "hugepages".to_owned())]);
        let other = id.clone();
        assert!(!write(&db, move |tx, stamp| drifts::replace(tx, &other, SaidBy::Plan, &[], stamp.now)).unwrap());
        assert_eq!(of_slot(), []);
        let row = slot(&db, &id);
        assert!(!row.drifted);
        let drifting = row.clone();
        write(&db, move |tx, stamp| slots::set_drifted(tx, stamp, &drifting, true)).unwrap();
        let stale = write(&db, move |tx, stamp| slots::set_drifted(tx, stamp, &row, true));
        assert_eq!(stale, Err(StoreError::StaleVersion));
        let row = slot(&db, &id);
        assert_eq!((row.drifted, row.state, row.version), (true, SlotState::Available, 2), "no move");
        let fleet = read(&db, fleet::load);
        assert!(fleet.slots[0].drifted && fleet.nodes[0].promoted);
        assert_eq!(fleet.nodes[0].desired, NodeDesired::InService);
    });
}

#[test]
fn grants_are_given_once_listed_and_taken_back() {
    both_engines(|db| {
        let site = site(&db, 0);
        let grant = |disk: &str| GrantRow {
            node_id: site.node_id.clone(),
            nvme_identity: disk.into(),
            reason: "wiped".into(),
            granted_by: "ada@acme.example".into(),
            at: crate::world::tick(),
        };
        for disk in ["b", "a", "c"] {
            let grant = grant(disk);
            write(&db, move |tx, _| grants::insert(tx, &grant)).unwrap();
        }
        let again = grant("a");
        let twice = write(&db, move |tx, _| grants::insert(tx, &again));
        assert!(matches!(twice, Err(StoreError::UniqueViolation { .. })));
        let id = site.node_id.clone();
        let (page, all) =
            read(&db, move |tx| Ok((grants::list(tx, &id, Page::after("a", 1))?, grants::of_node(tx, &id)?.len())));
        assert_eq!((page[0].nvme_identity.as_str(), page.len(), all), ("b", 1, 3));
        let id = site.node_id.clone();
        let gone = write(&db, move |tx, _| Ok((grants::delete(tx, &id, "b")?, grants::delete(tx, &id, "b")?)));
        assert_eq!(gone, Ok((true, false)));
    });
}

#[test]
fn a_slot_is_approved_with_a_name_and_approved_again_while_nobody_holds_it() {
    both_engines(|db| {
        let site = site(&db, 0);
        let approval = |by: &str| Approval { devices: "{}".into(), by: by.into() };
        let new = SlotNew {
            id: fresh!(SlotId),
            node_id: site.node_id.clone(),
            profile: "h200-sxm-slice".into(),
            available: true,
            parts: parts(),
            approval: Some(approval("ada")),
        };
        let id = new.id.clone();
        write(&db, move |tx, stamp| slots::insert_all(tx, stamp, std::slice::from_ref(&new))).unwrap();
        let row = slot(&db, &id);
        assert_eq!(row.approval, Some(approval("ada")));
        assert!(row.approved.is_some());
        let reapprove = |row: &SlotRow, state: SlotState, change: fn(&mut slots::SlotParts)| {
            let (row, mut to, by) = (row.clone(), row.parts.clone(), approval("bob"));
            change(&mut to);
            write(&db, move |tx, stamp| slots::reapprove(tx, stamp, &row, state, &to, &by))
        };
        let missing = reapprove(&row, SlotState::Available, |parts| parts.private_ip = None);
        assert!(matches!(missing, Err(StoreError::CheckViolation { .. })), "incomplete stays disabled: {missing:?}");
        assert_eq!(reapprove(&row, SlotState::Disabled, |parts| parts.private_ip = None), Ok(2));
        let row = slot(&db, &id);
        assert_eq!((row.state, row.parts.private_ip.as_deref()), (SlotState::Disabled, None));
        assert_eq!(row.approval, Some(approval("bob")));
        assert_eq!(reapprove(&row, SlotState::Available, |parts| parts.private_ip = Some("10.0.0.9".into())), Ok(3));
        assert_eq!(changes(&db, id.as_str()), ["created", "state_changed", "state_changed"]);

        // Held, it keeps its devices; used and not proved, it does not become available.
        let site = crate::world::Site { slot_ids: vec![id.clone()], ..site };
        let held = placed(&db, &site, &[id.clone()]);
        let row = slot(&db, &id);
        assert_eq!(reapprove(&row, SlotState::Disabled, |_| ()), Err(StoreError::StaleVersion));
        started(&db, &held);
        releasing(&db, &held);
        let made = held.clone();
        write(&db, move |tx, stamp| {
            let held = slots::of_allocation(tx, &made)?;
            slots::enter_all(tx, stamp, &held, SlotState::CleanupBlocked, None)
        })
        .unwrap();
        let row = slot(&db, &id);
        assert_eq!(reapprove(&row, SlotState::Available, |_| ()), Err(StoreError::StaleVersion), "not proved");
        let proved = row.clone();
        write(&db, move |tx, stamp| crate::overrides::keep(tx, stamp, &proved, &proof_for(&proved), None)).unwrap();
        assert!(reapprove(&row, SlotState::Available, |_| ()).is_ok());
    });
}

#[test]
fn slots_are_found_by_what_they_have_wherever_they_are() {
    both_engines(|db| {
        let site = site(&db, 2);
        let (one, two) = (slot(&db, &site.slot_ids[0]), slot(&db, &site.slot_ids[1]));
        let only = |value: &Option<String>| value.clone().into_iter().collect();
        let find = |marks: Marks| {
            let rows = read(&db, move |tx| slots::having(tx, &marks));
            rows.into_iter().map(|slot| slot.id).collect::<Vec<_>>()
        };
        assert_eq!(find(Marks::default()), []);
        let one_way = [
            Marks { gpu_uuids: only(&one.parts.gpu_uuid), ..Marks::default() },
            Marks { nvme_identities: only(&one.parts.nvme_identity), ..Marks::default() },
            Marks { mgmt_macs: only(&one.parts.mgmt_mac), ..Marks::default() },
            Marks { private_ips: only(&one.parts.private_ip), ..Marks::default() },
        ];
        for marks in one_way {
            assert_eq!(find(marks), [one.id.clone()]);
        }
        let both = Marks {
            gpu_uuids: only(&one.parts.gpu_uuid),
            mgmt_macs: only(&one.parts.mgmt_mac),
            private_ips: only(&two.parts.private_ip),
            ..Marks::default()
        };
        assert_eq!(find(both), [one.id, two.id], "each once");
    });
}

#[test]
fn a_state_that_is_begun_anew_forgets_its_wait_and_is_looked_at() {
    both_engines(|db| {
        let site = site(&db, 1);
        let row = slot(&db, &site.slot_ids[0]);
        let anew = row.clone();
        write(&db, move |tx, stamp| slots::begin_anew(tx, stamp, &anew)).unwrap();
        let after = slot(&db, &row.id);
        assert_eq!((after.state, after.version), (row.state, row.version + 1));
        assert!(after.life.state_since > row.life.state_since && after.life.look.is_some());
        assert_eq!(changes(&db, row.id.as_str()), ["created", "wished"]);
        let id = placed(&db, &site, &site.slot_ids);
        let made = id.clone();
        let (before, after) = write(&db, move |tx, stamp| {
            let row = allocation(tx, &made)?;
            allocations::begin_anew(tx, stamp, &row)?;
            Ok((row, allocation(tx, &made)?))
        })
        .unwrap();
        assert_eq!((after.state, after.desired), (before.state, before.desired));
        assert_eq!(after.life.look, Some(after.life.state_since));
    });
}

#[test]
fn how_a_node_stands_is_read_for_many_at_once() {
    both_engines(|db| {
        let site = site(&db, 2);
        let other = node(&db, &site.pool_id);
        let row = slot(&db, &site.slot_ids[1]);
        let (first, second) = (site.node_id.clone(), other.clone());
        write(&db, move |tx, stamp| {
            slots::set_drifted(tx, stamp, &row, true)?;
            for (serial, node, revoked, at) in
                [("1", &first, Some(5), 1), ("2", &first, None, 2), ("3", &second, None, 1), ("4", &second, Some(9), 2)]
            {
                let params = [serial.into(), node.into(), revoked.into(), at.into()];
                tx.execute(
                    "INSERT INTO node_certificates (serial, node_id, not_after_us, revoked_us, created_us) \
                     VALUES ($1, $2, 99, $3, $4)",
                    &params,
                )?;
            }
            tx.execute(
                "INSERT INTO node_incidents (id, node_id, kind, detail, count, first_us, last_us) \
                 VALUES ('i1', $1, 'clock_far_off', '', 3, 0, 0), ('i2', $1, 'replayed_result', '', 1, 0, 0)",
                &[(&second).into()],
            )?;
            Ok(())
        })
        .unwrap();
        let (first, last) = (site.node_id.clone(), other.clone());
        let all = read(&db, move |tx| standing::between(tx, &first, &last));
        let free = SlotStanding { state: SlotState::Available, drifted: false };
        assert_eq!(all[&site.node_id].slots, [free, SlotStanding { drifted: true, ..free }]);
        assert_eq!((all[&site.node_id].identity_revoked, all[&site.node_id].incidents), (false, 0));
        assert_eq!((all[&other].identity_revoked, all[&other].incidents), (true, 2), "its newest is revoked");
        let (id, absent) = (other.clone(), fresh!(NodeId));
        let (one, none) = read(&db, move |tx| Ok((standing::of(tx, &id)?, standing::of(tx, &absent)?)));
        assert_eq!((one, none), (all[&other].clone(), standing::Standing::default()));
    });
}

#[test]
fn what_a_discovery_says_about_the_node_is_one_change() {
    both_engines(|db| {
        let site = site(&db, 0);
        let id = site.node_id.clone();
        let row = write(&db, move |tx, stamp| {
            let row = nodes::get(tx, &id)?.unwrap();
            let found = nodes::Found { partitions: "null", readiness: "{}", hardware_serial: Some("S1") };
            nodes::set_found(tx, stamp, &row, found)?;
            assert_eq!(nodes::set_found(tx, stamp, &row, found), Err(StoreError::StaleVersion));
            Ok(nodes::get(tx, &id)?.unwrap())
        })
        .unwrap();
        assert_eq!((row.partitions.as_str(), row.readiness.as_deref(), row.version), ("null", Some("{}"), 2));
        assert_eq!((row.hardware_serial.as_deref(), row.readiness_at.is_some()), (Some("S1"), true));
    });
}

#[test]
fn an_operation_about_an_order_shows_where_the_order_stands() {
    both_engines(|db| {
        let site = site(&db, 0);
        let (node_id, by) = (site.node_id.clone(), user(&db));
        let (task_id, operation) = (fresh!(TaskId), fresh!(OperationId));
        let (order, started) = (task_id.clone(), operation.clone());
        write(&db, move |tx, stamp| {
            let task = Task {
                id: order.clone(),
                node_id: node_id.clone(),
                input: TaskInput::SliceTopologyDiscover {},
                fence: Fence { incarnation: 1, generation: 0, attempt: 1 },
                deadline: stamp.now.plus_seconds(60),
            };
            tasks::insert(tx, stamp, TaskNew { task: &task, owner: None })?;
            let new = OperationNew {
                id: &started,
                kind: "node_discover",
                noun: Noun::Task,
                subject_id: order.as_str(),
                tenant_id: None,
                project_id: None,
                created_by: &by,
                succeeds_in: &["succeeded"],
                fails_in: &["failed", "expired"],
            };
            operations::insert(tx, new, stamp.now)
        })
        .unwrap();
        let id = operation.clone();
        let row = read(&db, move |tx| operations::get_visible(tx, &Scope::All, &id)).unwrap();
        assert_eq!(row.subject_state.as_deref(), Some("pending"));
        let (id, node_id) = (task_id.clone(), site.node_id.clone());
        let finished = write(&db, move |tx, stamp| {
            let given = tasks::latest_of_node(tx, &node_id, TaskKind::SliceTopologyDiscover)?.unwrap();
            tasks::expire(tx, stamp, &given, None)?;
            operations::finish_for(tx, id.as_str(), "expired", None, stamp.now)
        });
        assert_eq!(finished, Ok(vec![operation]));
    });
}

#[test]
fn the_number_of_events_does_not_change_when_they_are_numbered() {
    both_engines(|db| {
        site(&db, 3);
        let before = read(&db, events::total);
        assert!(before > 5 && read(&db, events::head) == 0);
        write(&db, |tx, _| events::number_batch(tx, 4)).unwrap();
        assert!(read(&db, events::head) >= 4);
        assert_eq!(read(&db, events::total), before);
        site(&db, 0);
        assert!(read(&db, events::total) > before);
    });
}
