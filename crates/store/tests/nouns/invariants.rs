//! The auditor: silent about a busy, healthy store, and loud about every row that was broken on purpose.

use model::allocation::State;
use model::event::Noun;
use model::identity::MemberRole;
use model::sku::CapacityShape;
use model::supply::GpuModel;
use model::task::TaskKind;
use model::text::Slug;
use store::audit::AuditRow;
use store::invariants::{self, Rules, Violation};
use store::operations::OperationNew;
use store::slot_profiles::{SlotNeeds, SlotProfileTerms};
use store::testing::both_engines;
use store::webhooks::WebhookTerms;
use store::{
    Db, Dialect, StoreError, Tx, audit, events, idempotency, images, operations, regions, slot_profiles, ssh_keys,
    webhooks,
};

use crate::enrollment;
use crate::governance;
use crate::identity::token;
use crate::launches::{add_key, image};
use crate::overrides;
use crate::workloads;
use crate::world::{
    Site, decide, enter, fresh, member, node, ordered, placed, read, released, releasing, request, site, slots_on,
    started, tenant, tick, user, word, write,
};

const REAL: SlotNeeds = SlotNeeds { gpu: true, fabric: true };

/// The rules of a platform on which these tests' moves are the whole graph, and every proof here is well signed.
pub fn rules() -> Rules<'static> {
    Rules { edge_exists: &edge_exists, proof_signed: &|_, proof| proof.signature == "good", limit: 20 }
}

fn edge_exists(noun: Noun, from: &str, to: &str) -> Option<bool> {
    let edges: &[(&str, &str)] = match noun {
        Noun::Tenant | Noun::Project => &[("creating", "active"), ("active", "deleting"), ("deleting", "deleted")],
        Noun::Node => &[("enrolled", "online")],
        Noun::Slot => &[
            ("available", "reserved"),
            ("reserved", "in_use"),
            ("in_use", "wiping"),
            ("wiping", "available"),
            ("in_use", "cleanup_blocked"),
            ("cleanup_blocked", "available"),
        ],
        Noun::WipeOverride => &[("requested", "approved"), ("approved", "used")],
        Noun::Allocation => &[
            ("requested", "reserved"),
            ("requested", "refused"),
            ("reserved", "provisioning"),
            ("provisioning", "running"),
            ("running", "releasing"),
            ("releasing", "released"),
        ],
        Noun::Task => &[("pending", "delivered"), ("delivered", "succeeded"), ("delivered", "expired")],
        _ => return None,
    };
    Some(edges.contains(&(from, to)))
}

/// A store in which something of every kind is, in most of its states, and everything is numbered and chained.
pub fn busy(db: &Db) {
    let site = site(db, 5);
    let ended = placed(db, &site, &site.slot_ids[..2]);
    started(db, &ended);
    released(db, &ended);
    let running = placed(db, &site, &site.slot_ids[1..3]);
    started(db, &running);
    let leaving = placed(db, &site, &site.slot_ids[3..4]);
    let unproved = overrides::blocked(db, &site, &site.slot_ids[4]);
    overrides::overridden(db, &unproved);
    overrides::way_in(db, &site, &running, 2000).unwrap();
    started(db, &leaving);
    releasing(db, &leaving);
    ordered(db, &leaving, TaskKind::SliceVmRelease);
    let refused = request(db, &site, CapacityShape::GpuSlice, 8);
    write(db, move |tx, stamp| {
        enter(tx, stamp, &refused, State::Refused, None)?;
        decide(tx, &refused, "refused", stamp.now)
    })
    .unwrap();
    request(db, &site, CapacityShape::GpuSlice, 1);
    slots_on(db, &node(db, &site.pool_id), 1);
    brought(db, &site);
    let asker = user(db);
    member(db, &asker, &site.tenant_id, Some(&site.project_id), MemberRole::ProjectMember);
    token(db, &asker, Some(&site.tenant_id), Some(&site.project_id));
    let (subject, at) = (running.clone(), site.clone());
    write(db, move |tx, stamp| {
        let new = OperationNew {
            id: &fresh!(OperationId),
            kind: "allocation.release",
            noun: Noun::Allocation,
            subject_id: subject.as_str(),
            tenant_id: Some(&at.tenant_id),
            project_id: Some(&at.project_id),
            created_by: &asker,
            succeeds_in: &["released"],
            fails_in: &["failed"],
        };
        operations::insert(tx, new, stamp.now)?;
        let subjects = [("allocation.launch", subject.to_string()), ("project.update", at.project_id.to_string())];
        for (action, subject) in subjects {
            let row = AuditRow {
                id: fresh!(AuditId),
                actor: asker.to_string(),
                token_id: None,
                action: action.into(),
                subject,
                tenant_id: Some(at.tenant_id.clone()),
                request_id: "req".into(),
                body: "{}".into(),
                at: stamp.now,
            };
            audit::append(tx, &row)?;
        }
        let kept = idempotency::Kept {
            fingerprint: "f".into(),
            status: 201,
            answer: "{}".into(),
            etag: None,
            location: None,
            at: stamp.now,
        };
        idempotency::insert(tx, &asker, "key", &kept)?;
        audit::chain_batch(tx, 100)?;
        events::number_batch(tx, 1000).map(drop)
    })
    .unwrap();
}

// A webhook of the project.
fn hooked(db: &Db, site: &Site) {
    let (tenant_id, project_id) = (site.tenant_id.clone(), site.project_id.clone());
    write(db, move |tx, stamp| {
        let terms = WebhookTerms {
            url: "https://pager.example/gpuaas".parse().unwrap(),
            description: None,
            event_types: vec![],
            project_id: Some(project_id.clone()),
            enabled: true,
            disabled_why: None,
        };
        webhooks::insert(tx, stamp, (&fresh!(WebhookId), Some(&tenant_id)), &terms, ("whsec_c2VjcmV0", 0))
    })
    .unwrap();
}

/// What comes and goes around launches: a key that stays, one that goes, a profile that was changed, an image, a host that
/// is expected, a region that is gone, governance of all of it, work in a queue, and another tenant.
fn brought(db: &Db, site: &Site) {
    governance::governed(db, site);
    workloads::submitted(db, site, 2, 0);
    hooked(db, site);
    tenant(db);
    enrollment::token(db, &site.pool_id, 600);
    let of = (&site.tenant_id, &site.project_id);
    add_key(db, of, "stays", "SHA256:stays").unwrap();
    let goes = add_key(db, of, "goes", "SHA256:goes").unwrap();
    let slug: Slug = word("profile").parse().unwrap();
    write(db, move |tx, stamp| {
        let key = ssh_keys::get(tx, &goes)?.unwrap();
        ssh_keys::delete(tx, stamp, &key)?;
        let gone = fresh!(RegionId);
        regions::insert(tx, stamp, &gone, &word("gone").parse().unwrap(), &"Gone".parse().unwrap(), true)?;
        let region = regions::get(tx, &gone)?.unwrap();
        regions::delete(tx, stamp, &region)?;
        let terms = SlotProfileTerms {
            name: "Slot".parse().unwrap(),
            vcpus: 24,
            memory_mib: 65_536,
            min_disk_bytes: 0,
            hugepage_kib: None,
        };
        slot_profiles::insert(tx, stamp, &slug, (GpuModel::H200Sxm, REAL), &terms)?;
        let profile = slot_profiles::get(tx, &slug)?.unwrap();
        slot_profiles::update(tx, stamp, &profile, &SlotProfileTerms { vcpus: 32, ..terms })?;
        images::insert_key(
            tx,
            stamp,
            &"key".parse().unwrap(),
            &"cd".repeat(32).parse().unwrap(),
            &fresh!(PrincipalId),
        )?;
        images::insert(tx, stamp, &image())
    })
    .unwrap();
}

#[test]
fn a_busy_healthy_store_breaks_no_rule() {
    both_engines(|db| {
        assert_eq!(read(&db, |tx| invariants::check_all(tx, &rules())), [], "an empty store");
        busy(&db);
        assert_eq!(read(&db, |tx| invariants::check_all(tx, &rules())), []);
    });
}

/// What a corruption needs before it, so that the schema lets it through; all of it is rolled back.
fn lift_rules(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    match tx.dialect() {
        Dialect::Sqlite => {
            tx.query("PRAGMA defer_foreign_keys = ON", &[])?;
            tx.query("PRAGMA ignore_check_constraints = ON", &[])?;
        }
        Dialect::Postgres => {
            tx.execute(
                "DO $$ DECLARE r RECORD; BEGIN FOR r IN SELECT conrelid::regclass AS place, conname FROM pg_constraint \
                 WHERE contype IN ('f', 'c') AND connamespace = 'public'::regnamespace LOOP \
                 EXECUTE 'ALTER TABLE ' || r.place || ' DROP CONSTRAINT ' || quote_ident(r.conname); END LOOP; END $$",
                &[],
            )?;
        }
    }
    for index in [
        "DROP INDEX claims_one_active_per_slot",
        "DROP INDEX claims_one_exclusive_per_node",
        "DROP INDEX claims_fence",
        "DROP INDEX events_one_per_version",
    ] {
        tx.execute(index, &[])?;
    }
    Ok(())
}

#[derive(Debug)]
enum Seen {
    Found(Vec<Violation>),
    Store(#[allow(dead_code, reason = "shown when a test fails")] StoreError),
}
impl From<StoreError> for Seen {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

struct Corruption {
    what: &'static str,
    breaks: &'static str,
    /// Part of what the auditor says, so that it is this check that found it and not its neighbour.
    says: &'static str,
    by: &'static [&'static str],
}

const CLAIM_COLUMNS_COPIED: &str = "INSERT INTO allocation_resource_claims (id, allocation_id, node_id, slot_id, kind, \
    active_mode, fence, claimed_us, snapshot) SELECT 'clm_second', allocation_id, node_id, slot_id, kind, active_mode, \
    fence + 1, claimed_us + 1, snapshot FROM allocation_resource_claims WHERE active_mode = 'sliced' ORDER BY id LIMIT 1";

const CORRUPTIONS: &[Corruption] = &[
    Corruption {
        what: "two active claims on one slot",
        says: "active claims on one slot",
        breaks: "I1",
        by: &[CLAIM_COLUMNS_COPIED],
    },
    Corruption {
        what: "a claim on the whole node beside slices",
        says: "has the whole node beside claim",
        breaks: "I2",
        by: &[
            "INSERT INTO allocation_resource_claims (id, allocation_id, node_id, kind, active_mode, fence, claimed_us, \
               snapshot) SELECT 'clm_whole', allocation_id, node_id, 'node_exclusive', 'exclusive', 1, claimed_us, '{}' \
               FROM allocation_resource_claims WHERE active_mode = 'sliced' ORDER BY id LIMIT 1",
        ],
    },
    Corruption {
        what: "an occupancy that disagrees with the claims",
        says: "is sliced, the node exclusive",
        breaks: "I2",
        by: &["UPDATE node_occupancy SET mode = 'exclusive' WHERE mode = 'sliced'"],
    },
    Corruption {
        what: "a node that stays occupied for nobody",
        says: "without an active claim",
        breaks: "I2",
        by: &["UPDATE node_occupancy SET mode = 'sliced' WHERE mode = 'free'"],
    },
    Corruption {
        what: "a claim that ends before it begins",
        says: "ends before it begins",
        breaks: "I3",
        by: &["UPDATE allocation_resource_claims SET released_us = claimed_us - 1 WHERE released_us IS NOT NULL"],
    },
    Corruption {
        what: "a claim that is active and ended",
        says: "neither active nor ended, or both",
        breaks: "I3",
        by: &["UPDATE allocation_resource_claims SET released_us = claimed_us WHERE active_mode IS NOT NULL"],
    },
    Corruption {
        what: "claims on one slot that overlap",
        says: "begins before the last claim on slot",
        breaks: "I3",
        by: &["UPDATE allocation_resource_claims SET claimed_us = claimed_us - 86400000000 WHERE fence = 2"],
    },
    Corruption {
        what: "a claim on a whole node that overlaps a slice in the past",
        says: "on the whole node",
        breaks: "I3",
        by: &[
            "INSERT INTO allocation_resource_claims (id, allocation_id, node_id, kind, fence, claimed_us, released_us, \
               snapshot) SELECT 'clm_past', allocation_id, node_id, 'node_exclusive', 1, claimed_us, released_us, '{}' \
               FROM allocation_resource_claims WHERE active_mode IS NULL ORDER BY id LIMIT 1",
        ],
    },
    Corruption {
        what: "one claim too few",
        says: "1 active claims on 1 nodes instead of 2",
        breaks: "I4",
        by: &["DELETE FROM allocation_resource_claims WHERE id = (SELECT MIN(id) FROM allocation_resource_claims \
               WHERE active_mode IS NOT NULL)"],
    },
    Corruption {
        what: "claims of one allocation on two nodes",
        says: "on 2 nodes",
        breaks: "I4",
        by: &[
            "UPDATE allocation_resource_claims SET node_id = (SELECT MAX(id) FROM nodes) WHERE id = (SELECT MIN(id) \
               FROM allocation_resource_claims WHERE active_mode IS NOT NULL)",
        ],
    },
    Corruption {
        what: "a claim that outlives its allocation",
        says: "which is released",
        breaks: "I5",
        by: &["UPDATE allocations SET state = 'released' WHERE state = 'running'"],
    },
    Corruption {
        what: "a claim of nobody",
        says: "which does not exist",
        breaks: "I5",
        by: &["UPDATE allocation_resource_claims SET allocation_id = 'alc_none' WHERE active_mode IS NOT NULL"],
    },
    Corruption {
        what: "a fence that was used twice",
        says: "after fence 1",
        breaks: "I6",
        by: &["UPDATE allocation_resource_claims SET fence = 1 WHERE fence = 2"],
    },
    Corruption {
        what: "a use that began without a claim",
        says: "last fence",
        breaks: "I6",
        by: &["UPDATE node_resource_slots SET use_generation = use_generation + 1"],
    },
    Corruption {
        what: "a use of a node that began without a claim",
        says: "use generation 1, last fence 0",
        breaks: "I6",
        by: &["UPDATE nodes SET use_generation = 1"],
    },
    Corruption {
        what: "two answers under one key",
        says: "2 answers under key key",
        breaks: "I8",
        by: &[
            "CREATE TABLE kept AS SELECT * FROM idempotency",
            "DROP TABLE idempotency",
            "ALTER TABLE kept RENAME TO idempotency",
            "INSERT INTO idempotency SELECT * FROM idempotency",
        ],
    },
    Corruption {
        what: "a skipped version",
        says: "is at version",
        breaks: "I9",
        by: &["UPDATE allocations SET version = version + 1 WHERE state = 'running'"],
    },
    Corruption {
        what: "a move that is on no graph",
        says: "from released to running",
        breaks: "I9",
        by: &["UPDATE events SET state_from = 'released', state_to = 'running' WHERE noun = 'allocation' \
               AND state_to = 'running'"],
    },
    Corruption {
        what: "an available slot whose last use was never proved",
        says: "without a proof of it",
        breaks: "I10",
        by: &["DELETE FROM wipe_proofs"],
    },
    Corruption {
        what: "an available slot whose proof answers another challenge",
        says: "without a proof of it",
        breaks: "I10",
        by: &["UPDATE wipe_proofs SET nonce = 'another'"],
    },
    Corruption {
        what: "a proof with a step missing",
        says: "no proof: step_missing",
        breaks: "I10",
        by: &["UPDATE wipe_proofs SET body = REPLACE(body, 'disk_erased', 'guest_gone')"],
    },
    Corruption {
        what: "a proof that nobody signed",
        says: "no proof: bad_signature",
        breaks: "I10",
        by: &["UPDATE wipe_proofs SET body = REPLACE(body, '\"good\"', '\"forged\"')"],
    },
    Corruption {
        what: "a proof that cannot be read",
        says: "cannot be read",
        breaks: "I10",
        by: &["UPDATE wipe_proofs SET body = '{}'"],
    },
    Corruption {
        what: "an available slot whose override was taken back",
        says: "without a proof of it",
        breaks: "I10",
        by: &["UPDATE wipe_overrides SET state = 'rejected'"],
    },
    Corruption {
        what: "an override by one person alone",
        says: "decided by the same person",
        breaks: "I10",
        by: &["UPDATE wipe_overrides SET decided_by = requested_by"],
    },
    Corruption {
        what: "an override that opened nothing",
        says: "opened nothing",
        breaks: "I10",
        by: &["UPDATE wipe_overrides SET state = 'approved'"],
    },
    Corruption {
        what: "an override that was decided too late",
        says: "after it had expired",
        breaks: "I10",
        by: &["UPDATE wipe_overrides SET decided_us = expires_us"],
    },
    Corruption {
        what: "a way in to what has ended",
        says: "leads to allocation",
        breaks: "I21",
        by: &["UPDATE ingresses SET allocation_id = (SELECT MIN(id) FROM allocations WHERE state = 'released')"],
    },
    Corruption {
        what: "a way in of another project",
        says: "its allocation",
        breaks: "I26",
        by: &["UPDATE ingresses SET project_id = 'prj_other'"],
    },
    Corruption {
        what: "a place that nobody decided about",
        says: "is running and no decision says why",
        breaks: "I19",
        by: &["DELETE FROM decisions WHERE outcome = 'placed'"],
    },
    Corruption {
        what: "a refusal without a reason",
        says: "is refused and no decision says why",
        breaks: "I19",
        by: &["UPDATE decisions SET outcome = 'placed'"],
    },
    Corruption {
        what: "an order that succeeded without an answer",
        says: "without an answer",
        breaks: "I20",
        by: &["UPDATE node_tasks SET output = NULL WHERE state = 'succeeded'"],
    },
    Corruption {
        what: "an order that ended twice",
        says: "ended 2 times",
        breaks: "I20",
        by: &["INSERT INTO events (id, noun, change, subject_id, object_version, state_from, state_to, at_us) \
               SELECT 'evt_twice', noun, change, subject_id, object_version + 1, 'delivered', 'expired', at_us \
               FROM events WHERE state_to = 'succeeded' ORDER BY id LIMIT 1"],
    },
    Corruption {
        what: "one allocation that was provisioned twice",
        says: "2 orders to provision it succeeded",
        breaks: "I20",
        by: &["UPDATE node_tasks SET kind = 'slice.vm_provision', attempt = 2 WHERE kind = 'slice.vm_release' \
               AND state = 'succeeded'"],
    },
    Corruption {
        what: "an order to build what has ended",
        says: "is pending for allocation",
        breaks: "I21",
        by: &["UPDATE node_tasks SET state = 'pending', output = NULL WHERE kind = 'slice.vm_provision'"],
    },
    Corruption {
        what: "a slot in use by nobody",
        says: "is in_use without an active claim",
        breaks: "I21",
        by: &["UPDATE node_resource_slots SET state = 'in_use' WHERE state = 'available'"],
    },
    Corruption {
        what: "a claimed slot that is for sale",
        says: "is available under active claim",
        breaks: "I21",
        by: &["UPDATE node_resource_slots SET state = 'available', use_generation = 0 WHERE state = 'in_use'"],
    },
    Corruption {
        what: "an operation that outlives its subject",
        says: "is running for allocation",
        breaks: "I21",
        by: &["UPDATE allocations SET state = 'failed' WHERE state = 'running'"],
    },
    Corruption {
        what: "a key that outlives its project",
        says: "is left in project",
        breaks: "I21",
        by: &["UPDATE projects SET state = 'deleted'"],
    },
    Corruption {
        what: "a lost event",
        says: "is at version",
        breaks: "I22",
        by: &["DELETE FROM events WHERE noun = 'allocation' AND state_to = 'running'"],
    },
    Corruption {
        what: "an object that nobody told about",
        says: "with 0 events",
        breaks: "I22",
        by: &["DELETE FROM events WHERE noun = 'tenant'"],
    },
    Corruption {
        what: "a key that was changed without a word",
        says: "is at version 2 with 1 events",
        breaks: "I9",
        by: &["UPDATE ssh_keys SET version = version + 1"],
    },
    Corruption {
        what: "a profile that was changed without a word",
        says: "is at version 2 with 1 events",
        breaks: "I22",
        by: &["DELETE FROM events WHERE noun = 'slot_profile' AND change = 'updated'"],
    },
    Corruption {
        what: "a key that is gone without a word",
        says: "the ssh_key is gone",
        breaks: "I22",
        by: &["DELETE FROM ssh_keys"],
    },
    Corruption {
        what: "a gap in the sequence",
        says: "numbers between",
        breaks: "I22",
        by: &["UPDATE events SET seq = seq + 1000000 WHERE seq = (SELECT MAX(seq) FROM events)"],
    },
    Corruption {
        what: "two versions that were numbered in the wrong order",
        says: "the version before it",
        breaks: "I22",
        by: &["UPDATE events SET seq = 100000 - seq"],
    },
    Corruption {
        what: "an object that is gone without a word",
        says: "the region is gone",
        breaks: "I22",
        by: &["DELETE FROM events WHERE noun = 'region' AND change = 'deleted'"],
    },
    Corruption {
        what: "an allocation in a foreign project",
        says: "its project in",
        breaks: "I26",
        by: &["UPDATE allocations SET tenant_id = (SELECT MAX(id) FROM tenants)"],
    },
    Corruption {
        what: "an event that is told to another tenant",
        says: "about allocation",
        breaks: "I26",
        by: &["UPDATE events SET tenant_id = 'tnt_other' WHERE noun = 'allocation' AND state_to = 'running'"],
    },
    Corruption {
        what: "an audit row that is kept for another tenant",
        says: "allocation",
        breaks: "I26",
        by: &["UPDATE audit SET tenant_id = 'tnt_other'"],
    },
    Corruption {
        what: "an event about a project that is told to another tenant",
        breaks: "I26",
        says: "about project",
        by: &["UPDATE events SET tenant_id = NULL WHERE noun = 'project'"],
    },
    Corruption {
        what: "an audit row about a project that is kept for another tenant",
        breaks: "I26",
        says: "project",
        by: &["UPDATE audit SET tenant_id = NULL WHERE action = 'project.update'"],
    },
    Corruption {
        what: "an event about a key that is told to another tenant",
        breaks: "I26",
        says: "about public key",
        by: &["UPDATE events SET tenant_id = NULL WHERE noun = 'ssh_key'"],
    },
    Corruption {
        what: "a key of another tenant's project",
        breaks: "I26",
        says: "its project in",
        by: &["UPDATE ssh_keys SET tenant_id = (SELECT MAX(id) FROM tenants)"],
    },
    Corruption {
        what: "an allocation that takes the place of another project's",
        breaks: "I26",
        says: "takes the place of allocation",
        by: &["UPDATE allocations SET recreated_from = (SELECT MIN(id) FROM allocations), project_id = 'prj_other' \
             WHERE id = (SELECT MAX(id) FROM allocations)"],
    },
    Corruption {
        what: "a member of another project's workload",
        breaks: "I26",
        says: "is a member of workload",
        by: &["UPDATE workloads SET project_id = 'prj_other'"],
    },
    Corruption {
        what: "an event about a workload that is told to another tenant",
        breaks: "I26",
        says: "about workload",
        by: &["UPDATE events SET tenant_id = NULL WHERE noun = 'workload'"],
    },
    Corruption {
        what: "a workload that waits while a member holds claims",
        breaks: "I31",
        says: "is queued, its member",
        by: &["UPDATE allocations SET workload_id = (SELECT MIN(id) FROM workloads) WHERE state = 'running'"],
    },
    Corruption {
        what: "a workload that was admitted while a member has no place",
        breaks: "I31",
        says: "is running, its member",
        by: &["UPDATE workloads SET state = 'running'"],
    },
    Corruption {
        what: "a workload that ended before its members",
        breaks: "I31",
        says: "is finished, its member",
        by: &["UPDATE workloads SET state = 'finished'"],
    },
    Corruption {
        what: "a workload that lost a member",
        breaks: "I31",
        says: "members instead of 2",
        by: &[
            "UPDATE allocations SET workload_id = NULL WHERE id = (SELECT MIN(id) FROM allocations WHERE workload_id IS NOT NULL)",
        ],
    },
    Corruption {
        what: "a member of another tenant's project",
        breaks: "I26",
        says: "its project in",
        by: &["UPDATE members SET tenant_id = (SELECT MAX(id) FROM tenants)"],
    },
    Corruption {
        what: "a token that is narrowed to another tenant's project",
        breaks: "I26",
        says: "of another tenant",
        by: &["UPDATE tokens SET tenant_id = (SELECT MAX(id) FROM tenants)"],
    },
    Corruption {
        what: "an operation of another tenant",
        says: "its allocation in",
        breaks: "I26",
        by: &["UPDATE operations SET tenant_id = NULL"],
    },
    Corruption {
        what: "an order to a node without a claim",
        says: "never had a claim",
        breaks: "I28",
        by: &["UPDATE node_tasks SET node_id = (SELECT MAX(id) FROM nodes)"],
    },
    Corruption {
        what: "a proof by another node",
        says: "is by node",
        breaks: "I28",
        by: &["UPDATE wipe_proofs SET node_id = (SELECT MAX(id) FROM nodes)"],
    },
    Corruption {
        what: "a claim on another node than its slot",
        says: "its slot on",
        breaks: "I28",
        by: &["UPDATE allocation_resource_claims SET node_id = (SELECT MAX(id) FROM nodes)"],
    },
    Corruption {
        what: "an edited audit row",
        says: "do not give its hash",
        breaks: "I30",
        by: &["UPDATE audit SET body = '{\"x\":1}'"],
    },
];

#[test]
fn every_corruption_is_found_by_the_rule_it_breaks() {
    both_engines(|db| {
        busy(&db);
        for corruption in CORRUPTIONS {
            let by = corruption.by;
            let seen: Result<(), Seen> = db.write(move |tx| {
                lift_rules(tx)?;
                for statement in by {
                    tx.execute(statement, &[])?;
                }
                Err(Seen::Found(invariants::check_all(tx, &rules())?))
            });
            let Err(Seen::Found(found)) = seen else { panic!("{:?}: {}: {seen:?}", db.dialect(), corruption.what) };
            assert!(
                found.iter().any(|violation| {
                    violation.invariant == corruption.breaks && violation.detail.contains(corruption.says)
                }),
                "{}: expected {}, found {found:?}",
                corruption.what,
                corruption.breaks
            );
            assert!(found.iter().all(|violation| !violation.subject.is_empty() && !violation.detail.is_empty()));
        }
        assert_eq!(read(&db, |tx| invariants::check_all(tx, &rules())), [], "everything was rolled back");
    });
}

#[test]
fn the_versions_of_every_noun_are_looked_at() {
    both_engines(|db| {
        busy(&db);
        for noun in Noun::ALL {
            let seen: Result<(), Seen> = db.write(move |tx| {
                tx.execute("DELETE FROM events WHERE noun = $1", &[noun.as_str().into()])?;
                Err(Seen::Found(invariants::check_history(tx, &rules())?))
            });
            let Err(Seen::Found(found)) = seen else { panic!("{:?}: {noun}: {seen:?}", db.dialect()) };
            assert!(found.iter().any(|violation| violation.detail.contains("with 0 events")), "{noun}: {found:?}");
        }
    });
}

#[test]
fn what_is_found_is_bounded() {
    both_engines(|db| {
        for _ in 0..30 {
            tenant(&db);
        }
        let seen: Result<(), Seen> = db.write(|tx| {
            tx.execute("DELETE FROM events", &[])?;
            Err(Seen::Found(invariants::check_history(tx, &rules())?))
        });
        let Err(Seen::Found(found)) = seen else { panic!("{seen:?}") };
        assert_eq!(found.iter().filter(|violation| violation.invariant == "I22").count(), 20);
        let _ = tick();
    });
}
