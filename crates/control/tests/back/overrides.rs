//! A wipe that was not proved: what people read about it, and what two of them may do together.

use api::proof::{ProofDocument, ProofView};
use control::{
    bootstrap,
    front_door::{FrontDoor, FrontDoorConfig, Request, Response},
    proof_check,
};
use model::{
    PrincipalId, SlotId,
    identity::{PlatformRole, PrincipalKind},
    proof::{Proof, ProofCheck, WipeStep},
    supply::SlotState,
    task::TaskResult,
};
use serde_json::{Value, json};
use store::{principals, testing::both_engines};

use crate::world::World;

const REASON: &str = "The disk was taken out of the host and shredded.";

/// The front door, and people with a role.
struct Desk {
    door: FrontDoor,
    ada: Person,
    bob: Person,
    auditor: Person,
    owner: Person,
}

#[derive(Clone)]
struct Person {
    id: PrincipalId,
    secret: String,
}

fn person(world: &World, email: &'static str, role: Option<PlatformRole>) -> Person {
    let ports = world.ports.clone();
    let made = world.write(move |tx, stamp| {
        let id = PrincipalId::from_parts(stamp.now, stamp.bits());
        let new = principals::PrincipalNew {
            id: &id,
            kind: PrincipalKind::User,
            name: email,
            tenant_id: None,
            platform_role: role,
        };
        principals::insert(tx, stamp, new)?;
        let (_, secret) = bootstrap::token_for(tx, stamp, &ports, &id, 864_000.try_into().unwrap())?;
        Ok(Person { id, secret: secret.reveal().to_owned() })
    });
    made.unwrap()
}

impl Desk {
    fn new(world: &World) -> Self {
        let owner = person(world, "owner@acme.example", None);
        let (who, tenant) = (owner.id.clone(), world.tenant.clone());
        world
            .write(move |tx, stamp| {
                let id = model::MemberId::from_parts(stamp.now, stamp.bits());
                let role = model::identity::MemberRole::TenantAdmin;
                let new = store::members::MemberNew {
                    id: &id,
                    tenant_id: &tenant,
                    project_id: None,
                    principal_id: &who,
                    role,
                };
                store::members::insert(tx, stamp, new)
            })
            .unwrap();
        Self {
            door: FrontDoor::new(world.ports.clone(), FrontDoorConfig::default()).unwrap(),
            ada: person(world, "ada@platform.example", Some(PlatformRole::PlatformOperator)),
            bob: person(world, "bob@platform.example", Some(PlatformRole::PlatformOperator)),
            auditor: person(world, "auditor@platform.example", Some(PlatformRole::OperatorReadOnly)),
            owner,
        }
    }

    fn send(&self, world: &World, who: &Person, request: Request) -> Response {
        let key: String = world.ports.id_bits().iter().map(|byte| format!("{byte:02x}")).collect();
        let request = if request.method == "GET" { request } else { request.key(&key) };
        self.door.perform(&world.db, request.bearer(&who.secret))
    }

    fn get(&self, world: &World, who: &Person, path: &str) -> (u16, Value) {
        let response = self.send(world, who, Request::new("GET", path));
        (response.status, serde_json::from_slice(&response.body).unwrap())
    }

    fn ask(&self, world: &World, who: &Person, slot: &SlotId) -> (u16, Value) {
        let body = json!({"reason": REASON, "evidence_ref": "protocol 4711"}).to_string();
        let path = format!("/api/v1/admin/resource-slots/{slot}/override");
        let response = self.send(world, who, Request::new("POST", &path).json(body));
        (response.status, serde_json::from_slice(&response.body).unwrap())
    }

    fn decide(&self, world: &World, who: &Person, asked: &Value, verb: &str) -> (u16, Value) {
        let path = format!("/api/v1/admin/wipe-overrides/{}/{verb}", asked["id"].as_str().unwrap());
        let response = self.send(world, who, Request::new("POST", &path));
        (response.status, serde_json::from_slice(&response.body).unwrap())
    }
}

/// Releases a slice of one with what `answer` makes of its proof, over and over until the platform rests.
fn wiped_in_vain(world: &mut World, tamper: impl Fn(Proof) -> Vec<Proof>) -> (model::AllocationId, SlotId) {
    let id = world.run(1);
    world.release(&id).unwrap();
    world.settle();
    let slot = world.only_order().1.slots()[0].slot_id.clone();
    for _ in 0..20 {
        for node in &world.nodes {
            for order in world.poll(node) {
                let proofs = tamper(node.prove(&order.slots()[0]));
                let proofs = proofs.into_iter().map(|proof| node.sign(proof)).collect();
                world.answer(node, TaskResult { proofs, ..node.succeed(&order) }).unwrap();
            }
        }
        world.advance_s(10);
        world.nodes_heard();
        world.settle();
    }
    let row = world.slot(&slot);
    assert_eq!(row.life.wait.unwrap().code, "cleanup_needs_operator");
    (id, slot)
}

type Tamper = fn(Proof) -> Vec<Proof>;

fn failed_erase(mut proof: Proof) -> Vec<Proof> {
    let erased = proof.steps.iter_mut().find(|given| given.step == WipeStep::DiskErased).unwrap();
    (erased.ok, erased.evidence) = (false, "overwrite: Input/output error at 4096".to_owned());
    vec![proof]
}

#[test]
fn a_failed_step_a_refused_proof_and_a_missing_one_each_have_their_own_words() {
    both_engines(|db| {
        let mut world = World::new(db, 1);
        let desk = Desk::new(&world);
        let cases: [(Tamper, &str, &str, &str); 3] = [
            (
                failed_erase,
                "step_failed",
                "failed on the host: disk_erased failed: overwrite: Input/output",
                "step of the wipe failed",
            ),
            (
                |proof| vec![Proof { nonce: "0".repeat(40), ..proof }],
                "wrong_nonce",
                "was refused: it does not answer",
                "answer the challenge",
            ),
            (|_| vec![], "proof_missing", "gave no wipe proof", "no proof has come"),
        ];
        for (tamper, state, detail, because) in cases {
            let (_, slot) = wiped_in_vain(&mut world, tamper);
            let (status, shown) = desk.get(&world, &desk.ada, &format!("/api/v1/admin/resource-slots/{slot}"));
            assert_eq!((status, shown["health_state"].as_str()), (200, Some(state)));
            let told = |pointer: &str| shown.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
            assert!(told("/health_detail").contains(detail), "{shown:#}");
            assert!(told("/progress/wait/because").contains(because), "{shown:#}");
            let ways = shown["ways_out"].to_string();
            for way in ["gpuaas slot repair", "gpuaas slot override", "gpuaas slot disable"] {
                assert!(ways.contains(way), "{ways}");
            }
        }
        world.check_history();
    });
}

#[test]
fn a_proof_is_read_exported_and_checked_again_without_the_platform() {
    both_engines(|db| {
        let mut world = World::new(db, 1);
        let desk = Desk::new(&world);
        let id = world.run(1);
        let slot = world.slots().into_iter().find(|slot| slot.state == SlotState::InUse).unwrap();
        let path = format!("/api/v1/admin/resource-slots/{}/proof", slot.id);
        assert_eq!(desk.get(&world, &desk.ada, &path).0, 404, "nothing has come yet");
        let of_owner = format!("/api/v1/allocations/{id}/proofs");
        assert_eq!(desk.get(&world, &desk.owner, &of_owner).1["slots"][0]["outcome"], "pending");
        world.release(&id).unwrap();
        world.settle();
        assert_eq!(world.nodes_work(), 1);
        world.settle();
        for who in [&desk.ada, &desk.auditor] {
            let (status, shown) = desk.get(&world, who, &path);
            assert_eq!((status, shown["holds"].as_bool(), shown.get("refused")), (200, Some(true), None), "{shown:#}");
            let checks = shown["checks"].as_array().unwrap();
            assert_eq!(checks.len(), ProofCheck::ALL.len());
            let view: ProofView = serde_json::from_value(shown).unwrap();
            assert_eq!(view.proof.steps.len(), WipeStep::ALL.len());
            assert_eq!(Some(view.node_key_fingerprint.clone()), proof_check::fingerprint(&view.node_public_key));
            let text = serde_json::to_vec(&view.document(world.clock_now())).unwrap();
            let document = ProofDocument::read(&text).unwrap();
            let verdict = proof_check::verify(&document, Some(&document.node_public_key));
            assert!(verdict.iter().all(|check| check.ok), "{verdict:?}");
        }
        let shown = desk.get(&world, &desk.owner, &of_owner).1;
        assert_eq!(shown["slots"][0]["outcome"], "proved");
        assert_eq!(shown["slots"][0]["method"], "nvme_format", "whatever else was passed over");
        assert!(shown["slots"][0]["signature"].as_str().is_some_and(|text| text.len() == 128));
        let text = shown.to_string();
        for secret in ["0000:", "eui.", "bus reset", slot.id.as_str(), "slt_", "nod_"] {
            assert!(!text.contains(secret), "a tenant is told {secret}: {text}");
        }
        assert_eq!(desk.get(&world, &desk.owner, &path).0, 404, "slots are the operators' business");

        // The host gets another key and the slot another use; the old proof stays what it was.
        let node = world.nodes[0].id.clone();
        world
            .write(move |tx, stamp| {
                let row = store::nodes::get(tx, &node)?.unwrap();
                store::nodes::set_identity(tx, stamp, &row, "00", None)
            })
            .unwrap();
        world.settle();
        assert_eq!(desk.get(&world, &desk.ada, &format!("{path}?use_generation=1")).1["holds"], true);
        assert_eq!(desk.get(&world, &desk.ada, &format!("{path}?use_generation=2")).0, 404);
        assert_eq!(desk.get(&world, &desk.ada, &format!("{path}?use_generation=0")).0, 400);
        world.check_history();
    });
}

#[test]
fn every_proof_that_came_in_is_listed_refused_ones_too() {
    both_engines(|db| {
        let mut world = World::new(db, 1);
        let desk = Desk::new(&world);
        let (id, slot) = wiped_in_vain(&mut world, failed_erase);
        let path = format!("/api/v1/admin/resource-slots/{slot}/proofs");
        let listed = desk.get(&world, &desk.auditor, &path).1;
        let items = listed["items"].as_array().unwrap();
        assert_eq!(items.len(), 4, "one for each order: {listed:#}");
        for item in items {
            assert_eq!((&item["holds"], &item["refused"]), (&json!(false), &json!("step_failed")));
            assert!(item["detail"].as_str().unwrap().contains("disk_erased failed: overwrite"), "{item}");
        }
        let first = desk.get(&world, &desk.auditor, &format!("{path}?page_size=3")).1;
        let rest = format!("{path}?page_size=3&page_token={}", first["next_page_token"].as_str().unwrap());
        assert_eq!(desk.get(&world, &desk.auditor, &rest).1["items"].as_array().unwrap().len(), 1);
        let shown = desk.get(&world, &desk.owner, &format!("/api/v1/allocations/{id}/proofs")).1;
        assert_eq!(shown["slots"][0]["outcome"], "unproved");
        assert!(!shown.to_string().contains("Input/output"), "{shown}");
    });
}

#[test]
fn two_operators_together_let_a_slot_go_on_and_one_alone_does_not() {
    both_engines(|db| {
        let mut world = World::new(db, 1);
        let desk = Desk::new(&world);
        let (id, slot) = wiped_in_vain(&mut world, failed_erase);
        for (who, status) in [(&desk.auditor, 403), (&desk.owner, 404)] {
            assert_eq!(desk.ask(&world, who, &slot).0, status);
        }
        let (status, asked) = desk.ask(&world, &desk.ada, &slot);
        assert_eq!((status, asked["execution"].as_str()), (201, Some("requested")), "{asked:#}");
        assert_eq!(desk.ask(&world, &desk.bob, &slot).0, 409, "one at a time");
        let shown = desk.get(&world, &desk.bob, &format!("/api/v1/admin/resource-slots/{slot}")).1;
        assert!(shown["ways_out"].to_string().contains(asked["id"].as_str().unwrap()), "{shown:#}");
        for verb in ["approve", "reject"] {
            let (status, refused) = desk.decide(&world, &desk.ada, &asked, verb);
            assert_eq!((status, refused["code"].as_str()), (403, Some("forbidden")));
            assert!(refused["detail"].as_str().unwrap().contains("another operator"), "{refused}");
            assert_eq!(desk.decide(&world, &desk.auditor, &asked, verb).0, 403);
            assert_eq!(desk.decide(&world, &desk.owner, &asked, verb).0, 404);
        }
        assert_eq!(world.slot(&slot).state, SlotState::CleanupBlocked);
        let (status, used) = desk.decide(&world, &desk.bob, &asked, "approve");
        assert_eq!((status, used["execution"].as_str()), (200, Some("used")), "{used:#}");
        assert_eq!(
            (&used["requested_by"], &used["decided_by"]),
            (&json!("ada@platform.example"), &json!("bob@platform.example"))
        );
        let row = world.slot(&slot);
        assert_eq!((row.state, row.health_state.as_str()), (SlotState::Available, "overridden"));
        assert!(row.health_detail.contains("ada@") && row.health_detail.contains("bob@"), "{}", row.health_detail);
        for who in [&desk.ada, &desk.bob] {
            assert_eq!(desk.decide(&world, who, &asked, "approve").0, 409, "an override is used once");
        }
        let shown = desk.get(&world, &desk.owner, &format!("/api/v1/allocations/{id}/proofs")).1;
        assert_eq!(shown["slots"][0]["outcome"], "overridden", "the owner is told the truth");
        let actions = world.read(|tx| {
            let rows =
                tx.query("SELECT action FROM audit WHERE action LIKE 'wipe_override%' ORDER BY action DESC", &[])?;
            rows.iter().map(|row| Ok(row.text(0)?.to_owned())).collect::<Result<Vec<_>, store::StoreError>>()
        });
        assert_eq!(actions, ["wipe_override_request", "wipe_override_approve"]);

        // It is sold again, and the next wipe that is proved ends it.
        world.settle();
        let next = world.run(8);
        assert_eq!(world.slot(&slot).health_state, "overridden");
        world.release(&next).unwrap();
        world.settle();
        world.nodes_work();
        world.settle();
        let row = world.slot(&slot);
        assert_eq!((row.state, row.health_state.as_str()), (SlotState::Available, "clean"));
        world.check_history();
    });
}

#[test]
fn an_override_that_is_late_refused_or_about_an_earlier_use_opens_nothing() {
    both_engines(|db| {
        let mut world = World::new(db, 1);
        let desk = Desk::new(&world);
        let (_, slot) = wiped_in_vain(&mut world, failed_erase);
        let asked = desk.ask(&world, &desk.ada, &slot).1;
        assert_eq!(desk.decide(&world, &desk.bob, &asked, "reject").1["execution"], "rejected");
        assert_eq!(desk.decide(&world, &desk.bob, &asked, "approve").0, 409);

        let asked = desk.ask(&world, &desk.ada, &slot).1;
        world.advance_s(24 * 3600);
        world.nodes_heard();
        let (status, late) = desk.decide(&world, &desk.bob, &asked, "approve");
        assert_eq!(status, 409);
        assert!(late["detail"].as_str().unwrap().contains("expired"), "{late}");
        let path = format!("/api/v1/admin/wipe-overrides/{}", asked["id"].as_str().unwrap());
        assert_eq!(desk.get(&world, &desk.bob, &path).1["execution"], "expired");
        world.settle();
        let stored = world.read(|tx| {
            let rows = tx.query("SELECT state FROM wipe_overrides ORDER BY id", &[])?;
            rows.iter().map(|row| Ok(row.text(0)?.to_owned())).collect::<Result<Vec<_>, store::StoreError>>()
        });
        assert_eq!(stored, ["rejected", "expired"], "housekeeping writes it down");

        // While the host is at the disk nobody opens it; when it is proved clean after all, the wish is about nothing.
        let asked = desk.ask(&world, &desk.ada, &slot).1;
        let repair = format!("/api/v1/admin/resource-slots/{slot}/repair");
        assert_eq!(desk.send(&world, &desk.bob, Request::new("POST", &repair)).status, 200);
        world.settle();
        let (status, refused) = desk.decide(&world, &desk.bob, &asked, "approve");
        assert_eq!(status, 409);
        assert!(refused["detail"].as_str().unwrap().contains("still open"), "{refused}");
        assert_eq!(world.nodes_work(), 1);
        world.settle();
        assert_eq!(world.slot(&slot).state, SlotState::Available);
        assert_eq!(desk.decide(&world, &desk.bob, &asked, "approve").0, 409);
        let next = world.run(8);
        assert!(world.slot(&slot).use_generation > 1);
        let (status, refused) = desk.decide(&world, &desk.bob, &asked, "approve");
        assert_eq!(status, 409);
        assert!(refused["detail"].as_str().unwrap().contains("earlier use"), "{refused}");
        assert_eq!(desk.ask(&world, &desk.ada, &slot).0, 409, "only what is blocked");
        world.release(&next).unwrap();
        world.settle();
        world.check_history();
    });
}

#[test]
fn whoever_asked_must_still_be_an_operator_when_another_agrees() {
    both_engines(|db| {
        let mut world = World::new(db, 1);
        let desk = Desk::new(&world);
        let (_, slot) = wiped_in_vain(&mut world, |_| vec![]);
        let asked = desk.ask(&world, &desk.ada, &slot).1;
        let path = format!("/api/v1/admin/operators/{}", desk.ada.id);
        let gone = desk.send(&world, &desk.bob, Request::new("DELETE", &path));
        assert!(gone.is_success(), "{}", String::from_utf8_lossy(&gone.body));
        let (status, refused) = desk.decide(&world, &desk.bob, &asked, "approve");
        assert_eq!(status, 409);
        assert!(refused["detail"].as_str().unwrap().contains("no operator any more"), "{refused}");
        assert_eq!(world.slot(&slot).state, SlotState::CleanupBlocked);
        world.settle();
        world.check_history();
    });
}

#[test]
fn an_overridden_slot_that_is_taken_out_or_approved_again_stays_honest() {
    let mut world = World::new(store::Db::open_inline(Box::new(store::NoFaults)).unwrap(), 1);
    let desk = Desk::new(&world);
    let (_, slot) = wiped_in_vain(&mut world, failed_erase);
    let asked = desk.ask(&world, &desk.ada, &slot).1;
    assert_eq!(desk.decide(&world, &desk.bob, &asked, "approve").0, 200);
    let path = format!("/api/v1/admin/resource-slots/{slot}");
    let shown = desk.get(&world, &desk.ada, &path).1;
    assert!(shown["projected"].as_str().unwrap().contains("not proved clean"), "{shown:#}");
    let reason = json!({"reason": "fan"}).to_string();
    let out = desk.send(&world, &desk.ada, Request::new("POST", &format!("{path}/disable")).json(reason));
    assert_eq!(out.status, 200);
    assert_eq!(world.slot(&slot).state, SlotState::Disabled);
    let row = world.slot(&slot);
    let again = world.write(move |tx, stamp| {
        let health = store::slots::Health { state: "clean", detail: "" };
        store::slots::enter(tx, stamp, &row, SlotState::Available, health, None)
    });
    assert_eq!(again, Err(store::StoreError::StaleVersion), "an override opens a slot once");
    world.settle();
    world.check_history();
}
