//! Who holds what, as operators see it and as the hosts have it: no slot twice at any time, no guest without a claim.

use super::ground::{Asker, Ground, id};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

/// What the claims of all nodes say.
#[derive(Debug, Default)]
pub struct Claims {
    /// The allocations that hold any now.
    pub holders: BTreeSet<String>,
    /// Those of them that were handed a whole machine: on it runs what they like, and no guest of the platform's.
    pub on_machines: BTreeSet<String>,
    /// How many claims there ever were.
    pub count: usize,
}

impl Claims {
    /// Compares the three who know who holds what: the claims, the allocations that run, and the hosts.
    pub fn agree_with(&self, running: &BTreeSet<String>, fleet: &Path) {
        assert_eq!(&self.holders, running, "who holds claims, and who runs");
        let guests = guests(fleet);
        assert!(guests.is_disjoint(&self.on_machines), "on a machine that was handed over runs no guest");
        assert_eq!(&(&guests | &self.on_machines), running, "who has a guest or a machine, and who runs");
    }
}

/// Reads all claims that ever were and checks them.
pub async fn check(asker: &mut Asker, ground: &Ground) -> Claims {
    let mut all = Claims::default();
    for node in asker.list("/api/v1/admin/nodes", &ground.operator).await {
        let claims = asker.list(&format!("/api/v1/admin/nodes/{}/claims", id(&node)), &ground.operator).await;
        all.count += claims.len();
        let mut slots: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
        for claim in &claims {
            slots.entry(claim["slot_id"].as_str().unwrap_or_default().to_owned()).or_default().push(claim);
        }
        slots.values_mut().for_each(|claims| disjoint(claims));
        let active: Vec<&Value> = claims.iter().filter(|claim| claim["released_at"].is_null()).collect();
        let holds: BTreeSet<&str> = active.iter().map(|claim| claim["allocation_id"].as_str().unwrap()).collect();
        let whole = active.iter().any(|claim| claim["kind"] == "node_exclusive");
        assert!(!whole || holds.len() == 1, "a whole node is shared: {active:?}");
        let holds: BTreeSet<String> = holds.into_iter().map(str::to_owned).collect();
        if whole && !node["handed_over_at"].is_null() {
            all.on_machines.extend(holds.iter().cloned());
        }
        all.holders.extend(holds);
    }
    all
}

/// The claims on one slot follow each other: each ends before the next begins, and fences rise.
fn disjoint(claims: &mut [&Value]) {
    // Times have a fixed form, so that they compare as text.
    let begin = |claim: &Value| claim["claimed_at"].as_str().unwrap().to_owned();
    claims.sort_by_key(|claim| claim["fence"].as_i64());
    for pair in claims.windows(2) {
        let end = pair[0]["released_at"].as_str();
        assert!(end.is_some_and(|end| *end <= *begin(pair[1])), "held twice: {} and {}", pair[0], pair[1]);
        assert_ne!(pair[0]["fence"], pair[1]["fence"], "the same fence twice: {} and {}", pair[0], pair[1]);
    }
}

/// The guests on simulated hosts, from their files: none shares a slot. Gives the allocations they belong to.
fn guests(fleet: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(fleet).unwrap().flatten() {
        if !entry.file_name().to_string_lossy().ends_with(".machine.json") {
            continue;
        }
        let machine: Value = serde_json::from_slice(&std::fs::read(entry.path()).unwrap()).unwrap();
        let mut slots = BTreeSet::new();
        for guest in machine["guests"].as_array().unwrap() {
            let allocation = guest["allocation_id"].as_str().unwrap();
            assert!(found.insert(allocation.to_owned()), "two guests of {allocation}");
            for slot in guest["slots"].as_array().unwrap() {
                assert!(slots.insert(slot["slot_id"].as_str().unwrap().to_owned()), "two guests on {slot}: {machine}");
            }
        }
    }
    found
}
