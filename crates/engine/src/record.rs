//! The record of one decision as it is stored: what was asked, what was counted, and the best places with their scores, in
//! at most [`BYTES_MAX`] bytes of JSON. Words are not stored: they are made again from the numbers.
//!
//! An operator may read all of it; [`DecisionRecord::owner`] leaves out what the owner must not see, which is hardware.

use crate::{
    admit::{Admission, CheckCode, CheckOutcome},
    explain::{self, Asked, Unblock},
    place::{Candidate, Considered, Placement, Reason, Refusal, Release, Request, SetKind, SlotCounts, Verdict},
    policy::Score,
};
use model::{Timestamp, text_enum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, collections::BTreeMap};
use topology::ModuleId;

/// The most that one record takes.
pub const BYTES_MAX: usize = 1024;

text_enum! {
    /// How a decision ended.
    Ending {
        /// With a place.
        Placed = "placed",
        /// Without one.
        Refused = "refused",
    }
}

/// One decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecisionRecord<'a> {
    /// How it ended.
    pub ending: Ending,
    /// What was asked.
    pub asked: Asked,
    /// How old the picture of the fleet was, as its reader numbers pictures.
    pub snapshot: i64,
    /// The policy that ranked the places.
    pub policy: Cow<'a, str>,
    /// The checks of admission and how they ended.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub checks: BTreeMap<CheckCode, CheckOutcome>,
    /// How much was looked at.
    pub considered: Considered,
    /// The nodes that were passed over, by why.
    #[serde(default, skip_serializing_if = "no_nodes")]
    pub nodes_by_reason: Cow<'a, BTreeMap<Reason, u32>>,
    /// What kind of set was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<SetKind>,
    /// Its number in the node's table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<u32>,
    /// The chosen place and the next best, the best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<Cow<'a, Candidate>>,
    /// What a refusal counted besides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortage: Option<Shortage>,
    /// How many entries were left out to keep it short.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u32,
}

/// What a refusal counted besides nodes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shortage {
    /// The slots that were asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slots: Option<SlotCounts>,
    /// Free GPUs on nodes that take this shape.
    pub free_gpus: u32,
    /// The most that one node could give together.
    pub largest_set: u32,
    /// The sets that would do on the most common board.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sets_wanted: Vec<Vec<ModuleId>>,
    /// What would have to be given back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<Release>,
    /// The nodes that one step would open.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub one_step: BTreeMap<Reason, u32>,
    /// Since when a slot has waited for the proof of its wipe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_since: Option<Timestamp>,
}

/// A decision as its owner may see it: counts and scores, no hardware.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnerRecord {
    /// How it ended.
    pub ending: Ending,
    /// In words.
    pub because: String,
    /// The checks of admission and how they ended.
    pub checks: BTreeMap<CheckCode, CheckOutcome>,
    /// How much was looked at.
    pub considered: Considered,
    /// The nodes that were passed over, by why.
    pub nodes_by_reason: BTreeMap<Reason, u32>,
    /// What kind of set was chosen.
    pub kind: Option<SetKind>,
    /// What spoke against the chosen place and against the next best.
    pub scores: Vec<Score>,
    /// What would let the request in.
    pub unblocks: Vec<Unblock>,
}

impl<'a> DecisionRecord<'a> {
    /// The record of an answer. It borrows from the answer what it can.
    pub fn new(
        request: &Request,
        verdict: &'a Verdict,
        policy_id: &'a str,
        snapshot_version: i64,
        admission: Option<&Admission>,
    ) -> Self {
        let checks = admission.map(|admission| admission.checks.as_slice()).unwrap_or_default();
        let (ending, considered, nodes_by_reason) = match verdict {
            Verdict::Placed(found) => (Ending::Placed, found.considered, &found.nodes_by_reason),
            Verdict::Refused(refusal) => (Ending::Refused, refusal.considered, &refusal.nodes_by_reason),
        };
        let mut record = Self {
            ending,
            asked: Asked::from(request),
            snapshot: snapshot_version,
            policy: Cow::Borrowed(policy_id),
            checks: checks.iter().map(|check| (check.code, check.outcome)).collect(),
            considered,
            nodes_by_reason: Cow::Borrowed(nodes_by_reason),
            kind: None,
            partition: None,
            candidates: vec![],
            shortage: None,
            left_out: 0,
        };
        match verdict {
            Verdict::Placed(placement) => record.take_placement(placement),
            Verdict::Refused(refusal) => record.shortage = Some(Shortage::from(refusal)),
        }
        record
    }

    fn take_placement(&mut self, placement: &'a Placement) {
        (self.kind, self.partition) = (Some(placement.kind), placement.partition);
        self.candidates.reserve_exact(1 + placement.runners_up.len());
        self.candidates.push(Cow::Borrowed(&placement.chosen));
        self.candidates.extend(placement.runners_up.iter().map(Cow::Borrowed));
    }

    /// The record as it is stored, at most [`BYTES_MAX`] bytes. What does not fit gives way, the least telling first.
    pub fn to_json(&self) -> String {
        let mut text = written(self);
        if text.len() > BYTES_MAX {
            let mut shorter = self.clone();
            while text.len() > BYTES_MAX && shorter.give_way() {
                shorter.left_out = shorter.left_out.saturating_add(1);
                text = written(&shorter);
            }
        }
        text
    }

    // Leaves out one thing. False when nothing is left that may go.
    fn give_way(&mut self) -> bool {
        if self.candidates.len() > 1 {
            self.candidates.pop();
            return true;
        }
        if let Some(shortage) = &mut self.shortage
            && shortage.give_way()
        {
            return true;
        }
        if !self.checks.is_empty() {
            self.checks.clear();
            return true;
        }
        if let Some(winner) = self.candidates.first_mut()
            && !winner.modules.is_empty()
            && self.partition.is_some()
        {
            // The number of the set says the same.
            winner.to_mut().modules.clear();
            return true;
        }
        let least = self.nodes_by_reason.iter().min_by_key(|(_, nodes)| **nodes).map(|(reason, _)| *reason);
        if let Some(reason) = least {
            self.nodes_by_reason.to_mut().remove(&reason);
            return true;
        }
        if self.policy.is_empty() {
            return false;
        }
        self.policy = Cow::Borrowed("");
        true
    }

    /// Reads a stored record.
    pub fn from_json(text: &str) -> Result<DecisionRecord<'static>, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// The decision in words, for anybody.
    pub fn sentence(&self) -> String {
        match (&self.shortage, self.kind) {
            (Some(shortage), _) => explain::refused(self.asked, &self.refusal(shortage)),
            (None, kind) => explain::placed_sentence(
                self.asked,
                kind.unwrap_or(SetKind::Set),
                self.considered.nodes_fitting,
                self.considered.nodes,
            ),
        }
    }

    /// The decision as its owner may see it.
    pub fn owner(&self) -> OwnerRecord {
        let unblocks = self.shortage.as_ref().map(|shortage| explain::unblocks(&self.refusal(shortage)));
        OwnerRecord {
            ending: self.ending,
            because: self.sentence(),
            checks: self.checks.clone(),
            considered: self.considered,
            nodes_by_reason: self.nodes_by_reason.clone().into_owned(),
            kind: self.kind,
            scores: self.candidates.iter().map(|candidate| candidate.score).collect(),
            unblocks: unblocks.unwrap_or_default(),
        }
    }

    fn refusal(&self, shortage: &Shortage) -> Refusal {
        Refusal {
            considered: self.considered,
            nodes_by_reason: self.nodes_by_reason.clone().into_owned(),
            slots: shortage.slots.unwrap_or_default(),
            free_gpus: shortage.free_gpus,
            largest_set: shortage.largest_set,
            sets_wanted: shortage.sets_wanted.clone(),
            release: shortage.release,
            one_step: shortage.one_step.clone(),
            blocked_since: shortage.blocked_since,
        }
    }
}

impl Shortage {
    fn give_way(&mut self) -> bool {
        if self.sets_wanted.len() > 4 {
            self.sets_wanted.clear();
        } else if self.slots.is_some() {
            self.slots = None;
        } else if !self.sets_wanted.is_empty() {
            self.sets_wanted.clear();
        } else if let Some(reason) = self.one_step.keys().next_back().copied() {
            self.one_step.remove(&reason);
        } else {
            return false;
        }
        true
    }
}

impl From<&Refusal> for Shortage {
    fn from(refusal: &Refusal) -> Self {
        Self {
            slots: Some(refusal.slots),
            free_gpus: refusal.free_gpus,
            largest_set: refusal.largest_set,
            sets_wanted: refusal.sets_wanted.clone(),
            release: refusal.release,
            one_step: refusal.one_step.clone(),
            blocked_since: refusal.blocked_since,
        }
    }
}

fn written(record: &DecisionRecord<'_>) -> String {
    let mut text = Vec::with_capacity(BYTES_MAX);
    // Plain data with text keys: there is nothing in it that cannot be written.
    let _ = serde_json::to_writer(&mut text, record);
    String::from_utf8(text).unwrap_or_default()
}

fn no_nodes(nodes: &BTreeMap<Reason, u32>) -> bool {
    nodes.is_empty()
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}
