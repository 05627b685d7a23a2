//! Which nodes a pod may run on at all: taints and what tolerates them, labels and what selects them.
//!
//! The answer depends on the node and on the pod's needs alone, not on what is free, so it is worked out once for each kind of
//! need ([`Eligible`]) and used for every placement. A node that is left out is counted under the first reason that holds:
//! a taint, then the selector, then the affinity.

use super::{Domains, Node, ResourceIx};
use std::collections::BTreeMap;

/// What a taint does to a pod that does not tolerate it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// Keeps it away.
    NoSchedule,
    /// Would rather keep it away; placement does not look at it.
    PreferNoSchedule,
    /// Keeps it away, and drives it off.
    NoExecute,
}

/// A mark on a node that keeps pods away.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Taint {
    /// What it is about.
    pub key: String,
    /// May be empty.
    pub value: String,
    /// What it does.
    pub effect: Effect,
}

/// How a toleration looks at the value of a taint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tolerate {
    /// Any value.
    Exists,
    /// This value.
    Equal,
    /// A whole number below this one.
    Less,
    /// A whole number above this one.
    Greater,
}

/// What a pod tolerates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toleration {
    /// Taints with this key; with an empty one all, if any value will do.
    pub key: String,
    /// How values are compared.
    pub operator: Tolerate,
    /// What values are compared with.
    pub value: String,
    /// Only this effect; without one, each.
    pub effect: Option<Effect>,
}

impl Toleration {
    /// Whether it tolerates a taint.
    #[must_use]
    pub fn tolerates(&self, taint: &Taint) -> bool {
        let number = |text: &str| text.parse::<i64>().ok();
        let both = number(&taint.value).zip(number(&self.value));
        let about_it = if self.key.is_empty() { self.operator == Tolerate::Exists } else { self.key == taint.key };
        about_it
            && self.effect.is_none_or(|effect| effect == taint.effect)
            && match self.operator {
                Tolerate::Exists => true,
                Tolerate::Equal => self.value == taint.value,
                Tolerate::Less => both.is_some_and(|(has, limit)| has < limit),
                Tolerate::Greater => both.is_some_and(|(has, limit)| has > limit),
            }
    }
}

/// How a requirement looks at a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compare {
    /// There, with one of the values.
    In,
    /// Not there, or with none of the values.
    NotIn,
    /// There.
    Exists,
    /// Not there.
    DoesNotExist,
    /// There, a whole number above the value.
    Greater,
    /// There, a whole number below the value.
    Less,
}

/// What is required of one label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    /// Which label.
    pub key: String,
    /// How it is looked at.
    pub operator: Compare,
    /// What it is compared with.
    pub values: Vec<String>,
}

impl Requirement {
    /// Whether labels meet it.
    #[must_use]
    pub fn holds(&self, labels: &BTreeMap<String, String>) -> bool {
        let has = labels.get(&self.key);
        let number = |text: &String| text.parse::<i64>().ok();
        let both = has.and_then(number).zip(self.values.first().and_then(number));
        match self.operator {
            Compare::In => has.is_some_and(|has| self.values.contains(has)),
            Compare::NotIn => has.is_none_or(|has| !self.values.contains(has)),
            Compare::Exists => has.is_some(),
            Compare::DoesNotExist => has.is_none(),
            Compare::Greater => both.is_some_and(|(has, limit)| has > limit),
            Compare::Less => both.is_some_and(|(has, limit)| has < limit),
        }
    }
}

/// Requirements that hold together. Without any it matches nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Term(pub Vec<Requirement>);

impl Term {
    /// Whether labels meet all of it.
    #[must_use]
    pub fn holds(&self, labels: &BTreeMap<String, String>) -> bool {
        !self.0.is_empty() && self.0.iter().all(|requirement| requirement.holds(labels))
    }
}

/// A term that is liked, not required.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weighted {
    /// How much a node that meets it is liked.
    pub weight: i32,
    /// What it must meet.
    pub term: Term,
}

/// What a pod needs of a node, apart from room.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// Labels with exactly these values.
    pub selector: Vec<(String, String)>,
    /// One of these terms, if there is a list.
    pub affinity: Option<Vec<Term>>,
    /// Nodes are liked by the sum of the weights that hold, and liking goes before packing.
    pub preferred: Vec<Weighted>,
    /// What it tolerates.
    pub tolerations: Vec<Toleration>,
}

/// Why leaves were left out, with how many of them. A leaf counts under one reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Excluded {
    /// All leaves there are.
    pub leaves: u32,
    /// A taint that is not tolerated, the first one of the node.
    pub taints: BTreeMap<Taint, u32>,
    /// Labels that the selector does not select.
    pub selector: u32,
    /// Labels that no term of the affinity accepts.
    pub affinity: u32,
    /// Outside the domain in which it had to be.
    pub elsewhere: u32,
    /// No room for even one pod, by the resource that is shortest.
    pub resources: BTreeMap<ResourceIx, u32>,
}

impl Excluded {
    /// Whether any leaf was left out.
    #[must_use]
    pub fn is_any(&self) -> bool {
        let counts = [self.selector, self.affinity, self.elsewhere];
        counts.iter().any(|count| *count > 0) || !self.taints.is_empty() || !self.resources.is_empty()
    }
}

/// The leaves that a pod may run on, and how much each is liked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Eligible {
    pub(super) open: Vec<bool>,
    pub(super) score: Vec<i64>,
    pub(super) excluded: Excluded,
}

/// What of a node is matched.
#[derive(Debug, Clone)]
pub(super) struct Facts {
    labels: BTreeMap<String, String>,
    taints: Vec<Taint>,
}

impl Facts {
    pub(super) fn new(node: &Node) -> Self {
        let hard = node.taints.iter().filter(|taint| taint.effect != Effect::PreferNoSchedule);
        Self { labels: node.labels.clone(), taints: hard.cloned().collect() }
    }
}

impl Domains {
    /// Works out which leaves meet these needs.
    #[must_use]
    pub fn eligible(&self, needs: &Needs) -> Eligible {
        let mut excluded = Excluded { leaves: self.leaf_count(), ..Excluded::default() };
        let (mut open, mut score) = (Vec::with_capacity(self.facts.len()), Vec::with_capacity(self.facts.len()));
        for nodes in &self.facts {
            open.push(nodes.iter().all(|node| self.admits(node, needs, &mut excluded)));
            let likes = needs.preferred.iter().filter(|liked| nodes.iter().any(|node| liked.term.holds(&node.labels)));
            score.push(likes.map(|liked| i64::from(liked.weight)).sum());
        }
        Eligible { open, score, excluded }
    }

    fn admits(&self, node: &Facts, needs: &Needs, excluded: &mut Excluded) -> bool {
        let tolerated = |taint: &Taint| {
            let mut all = needs.tolerations.iter().chain(&self.tolerations);
            all.any(|toleration| toleration.tolerates(taint))
        };
        if let Some(taint) = node.taints.iter().find(|taint| !tolerated(taint)) {
            *excluded.taints.entry(taint.clone()).or_default() += 1;
            return false;
        }
        if !needs.selector.iter().all(|(key, value)| node.labels.get(key) == Some(value)) {
            excluded.selector += 1;
            return false;
        }
        let accepted = needs.affinity.as_ref().is_none_or(|terms| terms.iter().any(|term| term.holds(&node.labels)));
        if !accepted {
            excluded.affinity += 1;
        }
        accepted
    }
}
