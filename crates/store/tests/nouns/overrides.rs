//! What stands in for a proof, and what is kept of those that proved nothing: overrides by two, refused proofs, ways in.

use std::net::Ipv4Addr;

use model::identity::MemberRole;
use model::proof::{ProofFault, WipeStep};
use model::supply::{IngressProtocol, OverrideState, SlotState};
use model::{AllocationId, IngressId, PrincipalId, SlotId};
use store::ingresses::{self, IngressNew};
use store::proofs::{self, ProofNew};
use store::slots::{self, Health, SlotRow};
use store::testing::both_engines;
use store::wipe_overrides::{self, WipeOverrideNew, WipeOverrideRow};
use store::{Db, Page, Stamp, StoreError, Tx, claims, regions};

use crate::world::{
    Site, changes, enter, fresh, member, placed, project, proof_for, read, releasing, scope, site, started, user, write,
};

/// Keeps a proof as it would be for this slot.
pub fn keep(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    slot: &SlotRow,
    proof: &model::proof::Proof,
    refused: Option<ProofFault>,
) -> Result<bool, StoreError> {
    let new = ProofNew {
        id: &fresh!(ProofId),
        node_id: &proof.node_id,
        slot_id: &slot.id,
        use_generation: proof.use_generation,
        nonce: &proof.nonce,
        proof,
        public_key: "key",
        disk_identity: slot.parts.nvme_identity.as_deref().unwrap(),
        steps: WipeStep::ALL,
    };
    match refused {
        None => proofs::insert(tx, &new, stamp.now),
        Some(fault) => proofs::refuse(tx, &new, fault, stamp.now),
    }
}

/// Takes a slot through a use that is never proved.
pub fn blocked(db: &Db, site: &Site, slot_id: &SlotId) -> SlotRow {
    let held = placed(db, site, std::slice::from_ref(slot_id));
    started(db, &held);
    releasing(db, &held);
    let id = slot_id.clone();
    write(db, move |tx, stamp| {
        let slots = slots::of_allocation(tx, &held)?;
        slots::enter_all(tx, stamp, &slots, SlotState::CleanupBlocked, Some("no_proof"))?;
        claims::end_of_allocation(tx, &held, stamp.now)?;
        enter(tx, stamp, &held, model::allocation::State::Released, None)?;
        Ok(slots::get(tx, &id)?.unwrap())
    })
    .unwrap()
}

/// Asks for an override of a slot's latest use.
pub fn asked(db: &Db, slot: &SlotRow, who: &PrincipalId) -> Result<WipeOverrideRow, StoreError> {
    let (slot, who) = (slot.clone(), who.clone());
    write(db, move |tx, stamp| {
        let id = fresh!(WipeOverrideId);
        let new = WipeOverrideNew {
            id: &id,
            slot_id: &slot.id,
            use_generation: slot.use_generation,
            reason: "The disk was taken out and shredded.",
            evidence_ref: "protocol 4711",
            requested_by: &who,
            expires: stamp.now.plus_seconds(3600),
        };
        wipe_overrides::insert(tx, stamp, new)?;
        Ok(wipe_overrides::get(tx, &id)?.unwrap())
    })
}

/// Lets a slot go on by two people.
pub fn overridden(db: &Db, slot: &SlotRow) -> WipeOverrideRow {
    let row = asked(db, slot, &user(db)).unwrap();
    let (second, slot) = (user(db), slot.clone());
    write(db, move |tx, stamp| {
        wipe_overrides::decide(tx, stamp, &row, OverrideState::Approved, &second)?;
        let approved = wipe_overrides::get(tx, &row.id)?.unwrap();
        available(tx, stamp, &slot)?;
        wipe_overrides::use_up(tx, stamp, &approved)?;
        Ok(wipe_overrides::get(tx, &row.id)?.unwrap())
    })
    .unwrap()
}

fn available(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, slot: &SlotRow) -> Result<i64, StoreError> {
    slots::enter(tx, stamp, slot, SlotState::Available, Health { state: "overridden", detail: "" }, Some("overridden"))
}

/// Accepts a way in.
pub fn way_in(db: &Db, site: &Site, to: &AllocationId, port: u16) -> Result<IngressId, StoreError> {
    let (site, to, id) = (site.clone(), to.clone(), fresh!(IngressId));
    let made = id.clone();
    write(db, move |tx, stamp| {
        let new = IngressNew {
            id: &made,
            tenant_id: &site.tenant_id,
            project_id: &site.project_id,
            allocation_id: &to,
            region_id: &site.region_id,
            protocol: IngressProtocol::Tcp,
            address: Ipv4Addr::new(203, 0, 113, 9),
            public_port: port,
            guest_port: 22,
        };
        ingresses::insert(tx, stamp, new)
    })?;
    Ok(id)
}

fn slot_of(db: &Db, id: &SlotId) -> SlotRow {
    let id = id.clone();
    read(db, move |tx| slots::get(tx, &id)).unwrap()
}

#[test]
fn a_slot_becomes_available_only_by_an_approved_override_of_this_use_and_only_once() {
    both_engines(|db| {
        let site = site(&db, 2);
        let slot = blocked(&db, &site, &site.slot_ids[0]);
        let enters = |slot: &SlotRow| {
            let slot = slot.clone();
            write(&db, move |tx, stamp| available(tx, stamp, &slot))
        };
        assert_eq!(enters(&slot), Err(StoreError::StaleVersion), "without anything");
        let first = user(&db);
        let row = asked(&db, &slot, &first).unwrap();
        assert_eq!(row.state, OverrideState::Requested);
        assert_eq!(enters(&slot), Err(StoreError::StaleVersion), "asked for is not agreed to");
        assert!(matches!(asked(&db, &slot, &user(&db)), Err(StoreError::UniqueViolation { .. })), "one at a time");

        let alone = row.clone();
        let refused = write(&db, move |tx, stamp| {
            wipe_overrides::decide(tx, stamp, &alone, OverrideState::Approved, &alone.requested_by)
        });
        assert!(matches!(refused, Err(StoreError::CheckViolation { .. })), "{refused:?}");

        // An approved override of another slot, or of another use, opens nothing here.
        let other = blocked(&db, &site, &site.slot_ids[1]);
        let (theirs, second) = (asked(&db, &other, &first).unwrap(), user(&db));
        let (by, approved) = (second.clone(), theirs.clone());
        write(&db, move |tx, stamp| wipe_overrides::decide(tx, stamp, &approved, OverrideState::Approved, &by))
            .unwrap();
        assert_eq!(enters(&slot), Err(StoreError::StaleVersion), "another slot's");
        assert!(enters(&other).is_ok());

        let (by, rejected) = (second.clone(), row.clone());
        write(&db, move |tx, stamp| wipe_overrides::decide(tx, stamp, &rejected, OverrideState::Rejected, &by))
            .unwrap();
        assert_eq!(enters(&slot), Err(StoreError::StaleVersion), "refused");
        let used = overridden(&db, &slot);
        assert_eq!((used.state, used.version), (OverrideState::Used, 3));
        assert_eq!(changes(&db, used.id.as_str()), ["created", "state_changed", "state_changed"]);
        let now = slot_of(&db, &slot.id);
        assert_eq!((now.state, now.health_state.as_str()), (SlotState::Available, "overridden"));

        // Taken out and put back, it needs another word.
        let out = now.clone();
        write(&db, move |tx, stamp| {
            slots::enter(tx, stamp, &out, SlotState::Disabled, Health { state: "disabled", detail: "" }, None)
        })
        .unwrap();
        assert_eq!(enters(&slot_of(&db, &slot.id)), Err(StoreError::StaleVersion), "used once");
        let (id, generation) = (slot.id.clone(), slot.use_generation);
        assert_eq!(read(&db, move |tx| wipe_overrides::of_use(tx, &id, generation)).len(), 2);
    });
}

#[test]
fn what_nobody_decided_in_time_expires_and_cannot_be_decided_any_more() {
    both_engines(|db| {
        let site = site(&db, 1);
        let slot = blocked(&db, &site, &site.slot_ids[0]);
        let row = asked(&db, &slot, &user(&db)).unwrap();
        let (late, by) = (row.clone(), user(&db));
        let decided = write(&db, move |tx, stamp| {
            let mut bits = || [0; 10];
            let mut later = Stamp::new(late.expires, &mut bits);
            assert!(stamp.now < late.expires);
            wipe_overrides::decide(tx, &mut later, &late, OverrideState::Approved, &by)
        });
        assert_eq!(decided, Err(StoreError::StaleVersion));
        let (before, at) = (row.requested, row.expires);
        assert!(read(&db, move |tx| wipe_overrides::due(tx, before, 10)).is_empty());
        let due = read(&db, move |tx| wipe_overrides::due(tx, at, 10));
        assert_eq!(due, [row]);
        write(&db, move |tx, stamp| wipe_overrides::expire(tx, stamp, &due[0])).unwrap();
        let listed = read(&db, |tx| wipe_overrides::list(tx, Page::first(10)));
        assert_eq!(listed.iter().map(|row| row.state).collect::<Vec<_>>(), [OverrideState::Expired]);
        asked(&db, &slot, &user(&db)).unwrap();
    });
}

#[test]
fn proofs_are_kept_for_every_use_taken_or_not_and_read_newest_first() {
    both_engines(|db| {
        let site = site(&db, 1);
        let slot = blocked(&db, &site, &site.slot_ids[0]);
        let (row, forged) = (slot.clone(), ProofFault::StepFailed);
        let kept = write(&db, move |tx, stamp| {
            let proof = proof_for(&row);
            let once = keep(tx, stamp, &row, &proof, Some(forged))?;
            Ok((once, keep(tx, stamp, &row, &proof, Some(forged))?))
        });
        assert_eq!(kept, Ok((true, false)), "one for each challenge");
        let (id, none, row) = (slot.id.clone(), slot.id.clone(), slot.clone());
        let newest = read(&db, move |tx| proofs::newest(tx, &id, None)).unwrap();
        assert_eq!((newest.refused, &newest.proof), (Some(forged), &proof_for(&row)));
        assert_eq!((newest.public_key.as_str(), newest.steps.as_slice()), ("key", WipeStep::ALL));
        let generation = slot.use_generation;
        assert!(read(&db, move |tx| proofs::get(tx, &none, generation)).is_none(), "what was refused opens nothing");
        let row = slot.clone();
        write(&db, move |tx, stamp| keep(tx, stamp, &row, &proof_for(&row), None)).unwrap();
        let id = slot.id.clone();
        let (all, newest, other) = read(&db, move |tx| {
            let (newest, other) = (proofs::newest(tx, &id, Some(1))?, proofs::newest(tx, &id, Some(2))?);
            Ok((proofs::list(tx, &id, Page::first(10))?, newest, other))
        });
        assert_eq!(all.iter().map(|row| row.refused).collect::<Vec<_>>(), [Some(forged), None]);
        assert_eq!((newest.unwrap().refused, other), (None, None));
    });
}

#[test]
fn a_way_in_is_had_once_seen_by_its_own_and_goes_with_its_allocation() {
    both_engines(|db| {
        let site = site(&db, 1);
        let held = placed(&db, &site, &site.slot_ids);
        let id = way_in(&db, &site, &held, 2000).unwrap();
        assert!(matches!(way_in(&db, &site, &held, 2000), Err(StoreError::UniqueViolation { .. })));
        way_in(&db, &site, &held, 2001).unwrap();
        let (mine, stranger) = (user(&db), user(&db));
        member(&db, &mine, &site.tenant_id, Some(&site.project_id), MemberRole::Viewer);
        member(&db, &stranger, &site.tenant_id, Some(&project(&db, &site.tenant_id)), MemberRole::Viewer);
        let (scopes, own) = ([scope(&mine), scope(&stranger)], id.clone());
        let [seen, hidden] = read(&db, move |tx| {
            let [mine, stranger] = &scopes;
            Ok([ingresses::get_visible(tx, mine, &own)?, ingresses::get_visible(tx, stranger, &own)?])
        });
        assert_eq!((seen.map(|row| row.public_port), hidden), (Some(2000), None));
        let (region, of) = (site.region_id.clone(), site.project_id.clone());
        let (taken, count, listed) = read(&db, move |tx| {
            let listed = ingresses::of_project(tx, &of, Page::first(10))?;
            Ok((ingresses::taken(tx, &region)?.len(), ingresses::count(tx, &of)?, listed.len()))
        });
        assert_eq!((taken, count, listed), (2, 2, 2));
        let gone = write(&db, move |tx, stamp| ingresses::delete_of_allocation(tx, stamp, &held));
        assert_eq!((gone, changes(&db, id.as_str())), (Ok(2), vec!["created".to_owned(), "deleted".to_owned()]));
        let region = site.region_id.clone();
        let set = write(&db, move |tx, stamp| {
            let row = regions::get(tx, &region)?.unwrap();
            regions::set_ingress(tx, stamp, &row, Some("{}"))?;
            Ok(regions::get(tx, &region)?.unwrap().ingress)
        });
        assert_eq!(set, Ok(Some("{}".to_owned())));
    });
}
