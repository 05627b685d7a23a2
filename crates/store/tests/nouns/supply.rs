//! Regions, pools, SKUs, nodes, slots, proofs, and the fleet as placement sees it.

use model::sku::CapacityShape;
use model::supply::{NodeState, OccupancyMode, SlotState};
use model::{AllocationId, NodeId, PoolId, SlotId};
use store::claims::NodeClaim;
use store::slots::{Health, SlotNew, SlotRow};
use store::testing::both_engines;
use store::{Db, Page, StoreError, Tx, claims, fleet, living, nodes, pools, proofs, regions, skus, slots};

use crate::world::{
    changes, fresh, node, parts, placed, proof_for, read, request, site, slots_on, started, terms, tick, write,
};

fn slot(db: &Db, id: &SlotId) -> SlotRow {
    let id = id.clone();
    read(db, move |tx| slots::get(tx, &id)).unwrap()
}

#[test]
fn regions_pools_and_skus_are_kept_changed_and_erased_only_when_unused() {
    both_engines(|db| {
        let site = site(&db, 1);
        let at = site.clone();
        write(&db, move |tx, stamp| {
            let region = regions::get(tx, &at.region_id)?.unwrap();
            assert_eq!(regions::by_slug(tx, &region.slug)?, Some(region.clone()));
            regions::update(tx, stamp, &region, &"There".parse().unwrap(), false)?;
            assert_eq!(regions::update(tx, stamp, &region, &region.name, true), Err(StoreError::StaleVersion));
            let region = regions::get(tx, &at.region_id)?.unwrap();
            assert_eq!((region.name.as_str(), region.enabled, region.version), ("There", false, 2));

            let pool = pools::get(tx, &at.pool_id)?.unwrap();
            assert_eq!(pools::by_slug(tx, &pool.slug)?, Some(pool.clone()));
            let name = "Big".parse().unwrap();
            let changed = pools::PoolTerms { name: &name, slices_enabled: false, private_range: Some("10.64.0.0/12") };
            pools::update(tx, stamp, &pool, changed)?;
            let pool = pools::list(tx, Some(&at.region_id), Page::first(5))?.remove(0);
            assert_eq!((pool.slices_enabled, pool.private_range.as_deref()), (false, Some("10.64.0.0/12")));

            let sku = skus::get(tx, &at.sku_id)?.unwrap();
            assert_eq!(sku.terms, terms());
            assert_eq!(skus::by_slug(tx, &sku.slug)?, Some(sku.clone()));
            let dearer = skus::SkuTerms { price_micros_per_gpu_hour: 4_000_000, gpu_counts: vec![8], ..terms() };
            skus::update(tx, stamp, &sku, &dearer)?;
            assert_eq!(skus::list(tx, Page::first(5))?[0].terms, dearer);
            Ok(())
        })
        .unwrap();

        placed(&db, &site, &site.slot_ids);
        let at = site.clone();
        let used = write(&db, move |tx, stamp| {
            let region = regions::get(tx, &at.region_id)?.unwrap();
            assert_eq!(
                tx.savepoint(|tx| regions::delete(tx, stamp, &region)),
                Err(StoreError::ForeignKeyViolation),
                "a region with a pool"
            );
            let pool = pools::get(tx, &at.pool_id)?.unwrap();
            assert_eq!(tx.savepoint(|tx| pools::delete(tx, stamp, &pool)), Err(StoreError::ForeignKeyViolation));
            let sku = skus::get(tx, &at.sku_id)?.unwrap();
            assert_eq!(tx.savepoint(|tx| skus::delete(tx, stamp, &sku)), Err(StoreError::ForeignKeyViolation));
            Ok(())
        });
        assert_eq!(used, Ok(()));
        assert_eq!(changes(&db, site.region_id.as_str()), ["created", "updated"]);

        let id = fresh!(RegionId);
        let made = id.clone();
        write(&db, move |tx, stamp| {
            regions::insert(tx, stamp, &made, &"empty".parse().unwrap(), &"Empty".parse().unwrap(), true)?;
            let region = regions::get(tx, &made)?.unwrap();
            regions::delete(tx, stamp, &region)?;
            assert_eq!(regions::delete(tx, stamp, &region), Err(StoreError::StaleVersion));
            Ok(())
        })
        .unwrap();
        assert_eq!(changes(&db, id.as_str()), ["created", "deleted"]);
    });
}

#[test]
fn a_node_begins_free_and_lives() {
    both_engines(|db| {
        let site = site(&db, 1);
        let id = site.node_id.clone();
        let made = id.clone();
        write(&db, move |tx, stamp| {
            let row = nodes::get(tx, &made)?.unwrap();
            assert_eq!((row.state, row.use_generation, row.last_seen), (NodeState::Enrolled, 0, None));
            assert_eq!(claims::occupancy(tx, &made)?, OccupancyMode::Free);
            assert_eq!(nodes::by_name(tx, &row.name)?, Some(row.clone()));
            assert_eq!(nodes::by_public_key(tx, &row.public_key)?, Some(row.clone()));
            nodes::enter(tx, stamp, &row, NodeState::Online, Some("heard"))?;
            let row = nodes::get(tx, &made)?.unwrap();
            assert_eq!(nodes::raise_generation(tx, stamp, &row)?, 1);
            assert_eq!(nodes::raise_generation(tx, stamp, &row), Err(StoreError::StaleVersion));
            let row = nodes::get(tx, &made)?.unwrap();
            nodes::set_partitions(tx, stamp, &row, "[[1,2]]")
        })
        .unwrap();
        assert_eq!(changes(&db, id.as_str()), ["created", "state_changed", "updated", "updated"]);
        let pool_id = site.pool_id.clone();
        let listed = read(&db, move |tx| nodes::list(tx, Some(&pool_id), Page::first(5)));
        assert_eq!((listed[0].partitions.as_str(), listed[0].version), ("[[1,2]]", 4));
    });
}

#[test]
fn heartbeats_move_time_forward_wake_silent_nodes_and_are_no_transitions() {
    both_engines(|db| {
        let site = site(&db, 0);
        let (first, second) = (site.node_id.clone(), node(&db, &site.pool_id));
        let at = tick();
        let row = |id: &NodeId| {
            let id = id.clone();
            read(&db, move |tx| nodes::get(tx, &id)).unwrap()
        };
        for id in [&first, &second] {
            let seen = row(id);
            write(&db, move |tx, stamp| {
                nodes::enter(tx, stamp, &seen, NodeState::Online, None)?;
                let seen = nodes::get(tx, &seen.id)?.unwrap();
                living::rest(tx, living::Living::Nodes, seen.seen())
            })
            .unwrap();
        }
        let quiet = row(&second);
        write(&db, move |tx, stamp| {
            nodes::enter(tx, stamp, &quiet, NodeState::Silent, None)?;
            let quiet = nodes::get(tx, &quiet.id)?.unwrap();
            living::rest(tx, living::Living::Nodes, quiet.seen())
        })
        .unwrap();
        let versions = (row(&first).version, row(&second).version);
        let flush = |beats: Vec<(NodeId, model::Timestamp)>| {
            write(&db, move |tx, stamp| nodes::heartbeats_flush(tx, &beats, stamp.now, 30)).unwrap()
        };
        let absent = fresh!(NodeId);
        let later = at.plus_seconds(1);
        assert_eq!(flush(vec![(first.clone(), at), (first.clone(), later), (second.clone(), at), (absent, at)]), 2);
        assert_eq!(row(&first).last_seen, Some(later));
        assert_eq!(row(&second).last_seen, Some(at));
        assert_eq!(flush(vec![(first.clone(), at)]), 0, "a late heartbeat moves nothing");
        assert_eq!(flush(Vec::new()), 0);
        assert_eq!(row(&first).life.look, None, "an online node rests on");
        assert!(row(&second).life.look.is_some(), "a silent node is looked at");
        assert_eq!((row(&first).version, row(&second).version), versions);
    });
}

#[test]
fn slots_never_share_a_device_and_are_sold_only_when_complete() {
    both_engines(|db| {
        let site = site(&db, 1);
        let insert = |parts: slots::SlotParts, available: bool| {
            let (id, node_id) = (fresh!(SlotId), site.node_id.clone());
            let new = SlotNew { id: id.clone(), node_id, profile: "h200".into(), available, parts, approval: None };
            write(&db, move |tx, stamp| slots::insert_all(tx, stamp, std::slice::from_ref(&new))).map(|()| id)
        };
        let taken = slot(&db, &site.slot_ids[0]).parts;
        let shared: [fn(&mut slots::SlotParts, &slots::SlotParts); 6] = [
            |new, old| new.gpu_pci_address.clone_from(&old.gpu_pci_address),
            |new, old| new.gpu_uuid.clone_from(&old.gpu_uuid),
            |new, old| new.nvme_identity.clone_from(&old.nvme_identity),
            |new, old| new.mgmt_mac.clone_from(&old.mgmt_mac),
            |new, old| new.private_ip.clone_from(&old.private_ip),
            |new, old| new.fabric_vf_pci_address.clone_from(&old.fabric_vf_pci_address),
        ];
        for share in shared {
            let mut new = parts();
            share(&mut new, &taken);
            assert!(matches!(insert(new, true), Err(StoreError::UniqueViolation { .. })));
        }
        let missing: [fn(&mut slots::SlotParts); 5] = [
            |new| new.gpu_pci_address = None,
            |new| new.nvme_identity = None,
            |new| new.mgmt_mac = None,
            |new| new.private_ip = None,
            |new| new.fabric_vf_pci_address = None,
        ];
        for take in missing {
            let mut new = parts();
            take(&mut new);
            assert!(matches!(insert(new.clone(), true), Err(StoreError::CheckViolation { .. })));
            let id = insert(new, false).unwrap();
            assert_eq!(slot(&db, &id).state, SlotState::Disabled);
        }
        let whole = insert(parts(), true).unwrap();
        assert_eq!((slot(&db, &whole).state, slot(&db, &whole).version), (SlotState::Available, 1));
        let node_id = site.node_id.clone();
        let disabled = read(&db, move |tx| slots::list(tx, Some(&node_id), Some(SlotState::Disabled), Page::first(50)));
        assert_eq!(disabled.len(), 5);
        let node_id = site.node_id.clone();
        assert_eq!(read(&db, move |tx| slots::of_node(tx, &node_id)).len(), 7);
    });
}

#[test]
fn a_survey_shows_every_slot_with_who_holds_it() {
    both_engines(|db| {
        let (site, other) = (site(&db, 3), site(&db, 2));
        let held = placed(&db, &site, &site.slot_ids[..1]);
        let whole = request(&db, &other, CapacityShape::Baremetal, 8);
        let (by, node_id) = (whole.clone(), other.node_id.clone());
        let claim = NodeClaim { id: fresh!(ClaimId), fence: 1, snapshot: "{}".into() };
        assert!(write(&db, move |tx, stamp| claims::take_node(tx, &by, &node_id, &claim, stamp.now)).unwrap());
        let survey = |pool_id: Option<&PoolId>, state: Option<SlotState>, after: &str, limit: i64| {
            let (pool_id, after) = (pool_id.cloned(), after.to_owned());
            let found = move |tx: &mut Tx<'_>| slots::survey(tx, pool_id.as_ref(), state, Page::after(&after, limit));
            read(&db, found).into_iter().map(|cell| (cell.id, cell.allocation_id)).collect::<Vec<_>>()
        };
        let all: Vec<(SlotId, Option<AllocationId>)> = [
            (&site.slot_ids[0], Some(&held)),
            (&site.slot_ids[1], None),
            (&site.slot_ids[2], None),
            (&other.slot_ids[0], Some(&whole)),
            (&other.slot_ids[1], Some(&whole)),
        ]
        .map(|(slot, holder)| (slot.clone(), holder.cloned()))
        .into();
        assert_eq!(survey(None, None, "", 50), all);
        assert_eq!(survey(None, None, "", 2), all[..2]);
        assert_eq!(survey(None, None, all[1].0.as_str(), 50), all[2..]);
        assert_eq!(survey(Some(&site.pool_id), None, "", 50), all[..3]);
        assert_eq!(survey(Some(&other.pool_id), Some(SlotState::Reserved), "", 50), []);
        assert_eq!(survey(None, Some(SlotState::Reserved), "", 50), all[..1]);
        let cell = read(&db, |tx| slots::survey(tx, None, None, Page::first(1))).remove(0);
        let row = slot(&db, &cell.id);
        assert_eq!(
            (cell.node_id, cell.gpu_module_id, cell.state, cell.drifted),
            (row.node_id, row.parts.gpu_module_id, row.state, row.drifted)
        );
    });
}

#[test]
fn reserving_is_all_or_none_and_begins_a_new_use() {
    both_engines(|db| {
        let site = site(&db, 2);
        let (one, two) = (slot(&db, &site.slot_ids[0]), slot(&db, &site.slot_ids[1]));
        let first = one.clone();
        write(&db, move |tx, stamp| slots::reserve_all(tx, stamp, std::slice::from_ref(&first))).unwrap();
        let reserved = slot(&db, &one.id);
        assert_eq!((reserved.state, reserved.use_generation, reserved.version), (SlotState::Reserved, 1, 2));
        let (stale, fresh_one) = (one.clone(), two.clone());
        let lost = write(&db, move |tx, stamp| slots::reserve_all(tx, stamp, &[stale.clone(), fresh_one.clone()]));
        assert_eq!(lost, Err(StoreError::StaleVersion));
        assert_eq!(slot(&db, &two.id), two, "the other one was not touched");
        let again = reserved.clone();
        let lost = write(&db, move |tx, stamp| slots::reserve_all(tx, stamp, std::slice::from_ref(&again)));
        assert_eq!(lost, Err(StoreError::StaleVersion), "the version is right, but it is not available");
        assert_eq!(changes(&db, one.id.as_str()), ["created", "state_changed"]);
        let ids = site.slot_ids.clone();
        let chosen = write(&db, move |tx, _| slots::lock_chosen(tx, &[ids[1].clone(), ids[0].clone()])).unwrap();
        assert_eq!(chosen.iter().map(|slot| &slot.id).collect::<Vec<_>>(), [&one.id, &two.id], "in id order");
    });
}

#[test]
fn a_used_slot_becomes_available_only_with_the_proof_of_that_use() {
    both_engines(|db| {
        let site = site(&db, 1);
        let allocation_id = placed(&db, &site, &site.slot_ids);
        started(&db, &allocation_id);
        crate::world::releasing(&db, &allocation_id);
        let id = site.slot_ids[0].clone();
        let made = allocation_id.clone();
        write(&db, move |tx, stamp| {
            let held = slots::of_allocation(tx, &made)?;
            assert_eq!(
                slots::enter_all(tx, stamp, &held, SlotState::Available, None),
                Err(StoreError::Other("slots become available one by one, each with its proof".into()))
            );
            slots::enter_all(tx, stamp, &held, SlotState::CleanupBlocked, Some("no_proof"))
        })
        .unwrap();
        let enter = |db: &Db| {
            let row = slot(db, &id);
            write(db, move |tx, stamp| {
                let health = Health { state: "healthy", detail: "proved clean" };
                slots::enter(tx, stamp, &row, SlotState::Available, health, None)
            })
        };
        let store = |db: &Db, change: fn(&mut model::proof::Proof)| {
            let mut proof = proof_for(&slot(db, &id));
            change(&mut proof);
            let row = slot(db, &id);
            write(db, move |tx, stamp| crate::overrides::keep(tx, stamp, &row, &proof, None)).unwrap()
        };
        assert_eq!(enter(&db), Err(StoreError::StaleVersion), "without any proof");
        assert!(store(&db, |proof| proof.use_generation += 1));
        assert_eq!(enter(&db), Err(StoreError::StaleVersion), "with a proof of another use");
        assert!(store(&db, |_| ()));
        assert!(!store(&db, |proof| proof.signature = "forged".into()), "the first answer to a challenge stays");
        let rechallenged = slot(&db, &id);
        write(&db, move |tx, stamp| slots::challenge_all(tx, stamp, &[(&rechallenged, "fresh")])).unwrap();
        let row = slot(&db, &id);
        let asked = row.clone();
        assert_eq!(read(&db, move |tx| proofs::of_latest(tx, &asked)), None);
        assert_eq!(enter(&db), Err(StoreError::StaleVersion), "with a proof that answers an older challenge");
        assert!(store(&db, |_| ()), "a new challenge can be answered");
        assert!(enter(&db).is_ok());
        let clean = slot(&db, &id);
        assert_eq!((clean.state, clean.health_state.as_str()), (SlotState::Available, "healthy"));
        let (made, generation) = (id.clone(), clean.use_generation);
        let kept = read(&db, move |tx| proofs::get(tx, &made, generation)).unwrap();
        assert_eq!(kept.proof, proof_for(&row));
        let made = id.clone();
        assert_eq!(read(&db, move |tx| proofs::of_slot(tx, &made, 10)).len(), 3, "every proof is kept");
    });
}

#[test]
fn the_fleet_is_loaded_whole_or_by_node() {
    both_engines(|db| {
        let site = site(&db, 2);
        let other = node(&db, &site.pool_id);
        slots_on(&db, &other, 1);
        let incomplete = SlotNew {
            id: fresh!(SlotId),
            node_id: other.clone(),
            profile: "h200".into(),
            available: false,
            parts: slots::SlotParts { private_ip: None, ..parts() },
            approval: None,
        };
        write(&db, move |tx, stamp| slots::insert_all(tx, stamp, std::slice::from_ref(&incomplete))).unwrap();
        placed(&db, &site, &site.slot_ids[..1]);
        let all = read(&db, fleet::load);
        assert_eq!((all.nodes.len(), all.slots.len()), (2, 4));
        let first = all.nodes.iter().find(|node| node.id == site.node_id).unwrap();
        assert_eq!((first.occupancy, &first.region_id), (OccupancyMode::Sliced, &site.region_id));
        assert!(first.region_enabled && first.slices_enabled);
        let states: Vec<_> = all.slots.iter().map(|slot| (slot.state, slot.complete, slot.use_generation)).collect();
        assert_eq!(
            states,
            [
                (SlotState::Reserved, true, 1),
                (SlotState::Available, true, 0),
                (SlotState::Available, true, 0),
                (SlotState::Disabled, false, 0)
            ]
        );
        let id = site.node_id.clone();
        let one = read(&db, move |tx| fleet::load_nodes(tx, [&id]));
        assert_eq!((one.nodes, one.slots), (vec![first.clone()], all.slots[..2].to_vec()));
        assert_eq!((one.claims.len(), &one.claims[0].slot_id), (1, &Some(site.slot_ids[0].clone())));
        assert_eq!(one.claims, all.claims, "the other node carries nothing");
        let slot_ids = site.slot_ids.clone();
        assert_eq!(read(&db, move |tx| fleet::nodes_of_slots(tx, &slot_ids)), [site.node_id.clone()]);
        let absent = fresh!(NodeId);
        assert_eq!(read(&db, move |tx| fleet::load_nodes(tx, [&absent])), fleet::Fleet::default());
    });
}
