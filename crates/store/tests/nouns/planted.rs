//! Every planted bug of this crate, switched on in a store of its own, and the rule that finds it. The store is the
//! simulator's: it runs on this very thread, which is where a planted bug is active.

use model::allocation::State;
use model::identity::MemberRole;
use model::planted::{Bug, activate};
use model::sku::CapacityShape;
use model::{AllocationId, NodeId};
use store::claims::NodeClaim;
use store::idempotency::Kept;
use store::{Db, NoFaults, Page, StoreError, claims, idempotency, invariants, nodes, tenants};

use crate::invariants::rules;
use crate::world::{
    enter, fresh, member, place, placed, read, released, request, scope, site, started, tenant, tick, user, write,
};

/// A store of its own with a bug in it; the bug is off again when this goes.
struct Bugged(Db);

impl Bugged {
    fn new(bug: Bug) -> Self {
        let db = Db::open_inline(Box::new(NoFaults)).unwrap();
        activate(Some(bug));
        Self(db)
    }
    fn without_rules(bug: Bug) -> Self {
        let bugged = Self::new(bug);
        write(&bugged.0, |tx, _| claims::drop_constraint_for_planted_bug(tx)).unwrap();
        bugged
    }
    fn breaks(&self, invariant: &str) {
        let found = read(&self.0, |tx| invariants::check_all(tx, &rules()));
        assert!(found.iter().any(|violation| violation.invariant == invariant), "{invariant}: {found:?}");
    }
}

impl Drop for Bugged {
    fn drop(&mut self) {
        activate(None);
    }
}

fn take_node(db: &Db, id: &AllocationId, node_id: &NodeId) -> Result<bool, StoreError> {
    let (id, node_id) = (id.clone(), node_id.clone());
    write(db, move |tx, stamp| {
        let node = nodes::get(tx, &node_id)?.unwrap();
        let claim = NodeClaim { id: fresh!(ClaimId), fence: 1, snapshot: "{}".into() };
        let taken = claims::take_node(tx, &id, &node_id, &claim, stamp.now)?;
        nodes::raise_generation(tx, stamp, &node)?;
        enter(tx, stamp, &id, State::Reserved, Some(&node_id))?;
        Ok(taken)
    })
}

#[test]
fn a_store_without_rules_and_without_bugs_breaks_none() {
    let db = Db::open_inline(Box::new(NoFaults)).unwrap();
    write(&db, |tx, _| claims::drop_constraint_for_planted_bug(tx)).unwrap();
    crate::invariants::busy(&db);
    assert_eq!(read(&db, |tx| invariants::check_all(tx, &rules())), []);
}

#[test]
fn two_claims_on_one_slot_break_i1() {
    let bugged = Bugged::without_rules(Bug::TwoClaimsOnOneSlot);
    let site = site(&bugged.0, 1);
    placed(&bugged.0, &site, &site.slot_ids);
    placed(&bugged.0, &site, &site.slot_ids);
    bugged.breaks("I1");
}

#[test]
fn a_slice_beside_bare_metal_breaks_i2() {
    let bugged = Bugged::without_rules(Bug::SliceBesideBareMetal);
    let site = site(&bugged.0, 1);
    let metal = request(&bugged.0, &site, CapacityShape::Baremetal, 8);
    assert_eq!(take_node(&bugged.0, &metal, &site.node_id), Ok(true));
    placed(&bugged.0, &site, &site.slot_ids);
    bugged.breaks("I2");
}

#[test]
fn a_claim_that_ends_before_it_began_breaks_i3() {
    let bugged = Bugged::without_rules(Bug::ClaimEndsBeforeStart);
    let site = site(&bugged.0, 1);
    let id = placed(&bugged.0, &site, &site.slot_ids);
    started(&bugged.0, &id);
    released(&bugged.0, &id);
    bugged.breaks("I3");
}

#[test]
fn one_claim_too_few_breaks_i4() {
    let bugged = Bugged::new(Bug::OneClaimTooFew);
    let site = site(&bugged.0, 2);
    placed(&bugged.0, &site, &site.slot_ids);
    bugged.breaks("I4");
}

#[test]
fn a_claim_that_outlives_its_allocation_breaks_i5() {
    let bugged = Bugged::new(Bug::ClaimOutlivesAllocation);
    let site = site(&bugged.0, 1);
    let id = placed(&bugged.0, &site, &site.slot_ids);
    started(&bugged.0, &id);
    released(&bugged.0, &id);
    bugged.breaks("I5");
}

#[test]
fn a_forgotten_idempotency_record_lets_a_request_through_twice() {
    let bugged = Bugged::new(Bug::IdempotencyForgotten);
    let who = user(&bugged.0);
    let kept =
        Kept { fingerprint: "f".into(), status: 201, answer: "{}".into(), etag: None, location: None, at: tick() };
    for _ in 0..2 {
        let (who, kept) = (who.clone(), kept.clone());
        let found = write(&bugged.0, move |tx, _| {
            let found = idempotency::find(tx, &who, "key")?;
            idempotency::insert(tx, &who, "key", &kept)?;
            Ok(found)
        });
        assert_eq!(found, Ok(None));
    }
}

#[test]
fn a_skipped_version_breaks_i9() {
    let bugged = Bugged::new(Bug::VersionSkips);
    let site = site(&bugged.0, 1);
    placed(&bugged.0, &site, &site.slot_ids);
    bugged.breaks("I9");
}

#[test]
fn a_lost_event_breaks_i22() {
    let bugged = Bugged::new(Bug::EventLost);
    let site = site(&bugged.0, 1);
    placed(&bugged.0, &site, &site.slot_ids);
    bugged.breaks("I22");
}

#[test]
fn an_unscoped_list_shows_what_is_foreign() {
    let bugged = Bugged::new(Bug::ListUnscoped);
    let (ours, _) = (tenant(&bugged.0), tenant(&bugged.0));
    let person = user(&bugged.0);
    member(&bugged.0, &person, &ours, None, MemberRole::Viewer);
    let scope = scope(&person);
    assert_eq!(read(&bugged.0, move |tx| tenants::list(tx, &scope, Page::first(5))).len(), 2);
}

#[test]
fn a_bug_that_is_off_does_nothing() {
    let db = Db::open_inline(Box::new(NoFaults)).unwrap();
    crate::invariants::busy(&db);
    assert_eq!(read(&db, |tx| invariants::check_all(tx, &rules())), []);
    let site = site(&db, 1);
    placed(&db, &site, &site.slot_ids);
    let (late, at) = (request(&db, &site, CapacityShape::GpuSlice, 1), site.clone());
    let lost = write(&db, move |tx, stamp| place(tx, stamp, &late, &at.node_id, &at.slot_ids));
    assert_eq!(lost, Err(StoreError::StaleVersion));
}
