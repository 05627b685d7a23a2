//! What is written down of a decision, and how it reads.
#![allow(clippy::unwrap_used)]

mod support;

use engine::{
    Admission, AdmitInput, DecisionRecord, Fleet, Inventory, Policy, Request, Verdict, admit,
    explain::{self, Step},
    place,
    record::BYTES_MAX,
};
use model::{
    Timestamp,
    placement::Spread,
    supply::{NodeDesired, SlotState},
    tenancy,
};
use proptest::prelude::*;
use support::{
    bare_metal,
    chance::{any_fleet, any_request},
    node, refusal, slice, with_taken,
};

fn admission() -> Admission {
    admit(&AdmitInput {
        tenant: tenancy::State::Active,
        tenant_desired: tenancy::Desired::Active,
        project: tenancy::State::Active,
        project_desired: tenancy::Desired::Active,
        region_enabled: true,
        sku_enabled: true,
        sku_gpu_counts: vec![1, 2, 4, 8],
        gpu_count: 4,
        project_gpus_held: 4,
        project_gpu_cap: 8,
    })
}

fn record<'a>(request: &Request, verdict: &'a Verdict) -> DecisionRecord<'a> {
    DecisionRecord::new(request, verdict, "p0123456789abcdef", i64::MAX, Some(&admission()))
}

// The largest numbers that can be, everywhere.
fn inflated(text: &str) -> DecisionRecord<'static> {
    let mut value: serde_json::Value = serde_json::from_str(text).unwrap();
    fn grow(value: &mut serde_json::Value) {
        match value {
            serde_json::Value::Object(fields) => fields.iter_mut().for_each(|(name, field)| match name.as_str() {
                "cost" | "spoils" => *field = i64::MIN.into(),
                _ => grow(field),
            }),
            serde_json::Value::Array(items) => items.iter_mut().for_each(grow),
            serde_json::Value::Number(_) => *value = u32::MAX.into(),
            _ => (),
        }
    }
    grow(&mut value);
    DecisionRecord::from_json(&value.to_string()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_record_is_short_and_reads_back(fleet in any_fleet(30), request in any_request()) {
        let verdict = place(&fleet, &request);
        let made = record(&request, &verdict);
        let text = made.to_json();
        prop_assert!(text.len() <= BYTES_MAX, "{} bytes: {}", text.len(), text);
        let read = DecisionRecord::from_json(&text).unwrap();
        if read.left_out == 0 {
            prop_assert_eq!(&read, &made);
            prop_assert_eq!(read.sentence(), explain::sentence(&request, &verdict));
        }
        prop_assert_eq!(read.to_json(), text);
        let large = inflated(&serde_json::to_string(&made).unwrap()).to_json();
        prop_assert!(large.len() <= BYTES_MAX, "{} bytes: {}", large.len(), large);
        prop_assert!(DecisionRecord::from_json(&large).is_ok());
    }

    #[test]
    fn the_owner_and_the_sentence_are_told_no_hardware(fleet in any_fleet(8), request in any_request()) {
        let verdict = place(&fleet, &request);
        let owner = serde_json::to_string(&record(&request, &verdict).owner()).unwrap();
        for text in [owner, explain::sentence(&request, &verdict)] {
            for word in ["nod_", "slt_", "tnt_", "prj_", "alc_", "pol_", "modules"] {
                prop_assert!(!text.contains(word), "{} in {}", word, text);
            }
        }
    }
}

#[test]
fn the_worst_record_keeps_the_winner_and_says_what_was_left_out() {
    // A board of 64 with every reason at its largest number.
    let verdict = place(&Fleet { nodes: vec![node(1)] }, &slice(1));
    let mut made = record(&slice(1), &verdict);
    *made.nodes_by_reason.to_mut() = engine::Reason::ALL.iter().map(|reason| (*reason, u32::MAX)).collect();
    made.candidates[0].to_mut().modules = (0..64).map(|n| topology::ModuleId(u32::MAX - n)).collect();
    made.candidates = vec![made.candidates[0].clone(); 4];
    let text = made.to_json();
    assert!(text.len() <= BYTES_MAX, "{}", text.len());
    let read = DecisionRecord::from_json(&text).unwrap();
    assert_eq!(read.candidates.len(), 1);
    assert_eq!(read.candidates[0].node_id, made.candidates[0].node_id);
    assert!(read.left_out >= 3);
}

#[test]
fn a_refusal_reads_as_the_numbers_that_decided_it() {
    let mut nodes: Vec<_> = (1..=8).map(|n| with_taken(n, &[1, 2, 4, 5, 7])).collect();
    for n in 9..=11 {
        let mut drained = with_taken(n, &[1]);
        drained.desired = NodeDesired::Drained;
        nodes.push(drained);
    }
    let mut blocked = with_taken(12, &[1, 2, 3, 4]);
    for at in [4, 5, 6, 7] {
        blocked.slots[at].state = SlotState::CleanupBlocked;
        blocked.slots[at].since = Some("2026-01-31T14:02:33.000Z".parse::<Timestamp>().unwrap());
    }
    nodes.push(blocked);
    let refused = place(&Fleet { nodes }, &slice(4));
    assert_eq!(
        explain::sentence(&slice(4), &refused),
        "24 H200 free in this region, but a 4-GPU NVLink set needs one node with partition {1-4} or {5-8} free: largest free \
         set on one node is 2; 3 nodes are draining, 1 is cleanup-blocked (wipe proof missing since 2026-01-31 14:02 UTC), 8 \
         have too few free. Any of these would end it: 2 GPUs given back on one of 8 nodes; the missing wipe proof of one node; \
         one of 3 nodes no longer drained."
    );
    let steps: Vec<Step> = explain::unblocks(&refusal(refused)).iter().map(|unblock| unblock.step).collect();
    assert_eq!(steps, [Step::Release, Step::WipeProof, Step::Undrain]);
}

#[test]
fn each_kind_of_shortage_reads_as_a_sentence() {
    let told =
        |nodes: Vec<engine::NodeView>, request: &Request| explain::sentence(request, &place(&Fleet { nodes }, request));
    assert_eq!(told(vec![], &slice(2)), "No H200 free in this region; a slice of 2 was asked for.");
    let all_but_one = with_taken(1, &[1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(
        told(vec![all_but_one.clone()], &slice(2)),
        "Only 1 H200 free in this region; a slice of 2 was asked for; 1 node has too few free. \
         Any of these would end it: 1 GPU given back on one node."
    );
    assert_eq!(
        told(vec![with_taken(1, &[1]), with_taken(2, &[1])], &bare_metal()),
        "14 H200 free in this region, but a whole node of 8 needs every GPU of one node free: no node has that; 2 nodes are \
         held by slices. Any of these would end it: 1 GPU given back on one of 2 nodes."
    );
    assert_eq!(
        told(vec![node(1)], &slice(8)),
        "A slice of 8 as a whole board on one node; 1 of 1 nodes could take it."
    );
    let mut group = support::with_occupant(1, &[1], 1, model::placement::CoTenancy::Any);
    group.occupants[0].group = Some("web".to_owned());
    let apart = Request { group: Some("web".to_owned()), spread: Spread::Require, ..slice(1) };
    assert_eq!(
        told(vec![group], &apart),
        "7 H200 free in this region, but a slice of 1 may not go where there is room for it; 1 node holds the same group \
         already. Any of these would end it: sharing a node with the same group (1 node)."
    );
}

#[test]
fn every_reason_has_words_for_one_and_for_many() {
    for reason in engine::Reason::ALL {
        assert_ne!(explain::phrase(*reason, 1), explain::phrase(*reason, 2), "{reason}");
    }
}

#[test]
fn an_operator_reads_the_place_and_the_owner_its_score() {
    let inventory = Inventory::new(&Fleet { nodes: vec![node(1), with_taken(2, &[1])] }, Policy::default());
    let verdict = inventory.place(&slice(1));
    let made = DecisionRecord::new(&slice(1), &verdict, inventory.policy_id(), 42, None);
    assert_eq!((made.snapshot, made.candidates.len(), made.policy.as_ref()), (42, 2, inventory.policy_id()));
    assert_eq!(made.candidates[0].node_id, support::node_id(2));
    let owner = made.owner();
    assert_eq!(owner.scores.len(), 2);
    assert_eq!(owner.because, "A slice of 1 on one node; 2 of 2 nodes could take it.");
}
