//! Whether pods may run on the nodes of a flavor at all: taints of the flavor against tolerations, labels of the flavor
//! against node selectors and affinities.
//!
//! A flavor describes its nodes only by the labels it carries. So what a pod asks for is looked at only where the flavor says
//! something about it: a wish about a label that the flavor does not carry is left to whoever places the pods later.
//! Names and values of labels are small numbers here; a value that reads as a whole number keeps it, for comparisons.

use super::Flavor;

/// A value of a label or taint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Value {
    /// The same for equal values.
    pub id: u32,
    /// The value, if it is a whole number.
    pub number: Option<i64>,
}

/// A label of a flavor, or one that a pod wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Label {
    /// Its name.
    pub key: u32,
    /// Its value.
    pub value: Value,
}

/// What a taint does to pods that do not tolerate it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// No new pods.
    NoSchedule,
    /// No pods at all.
    NoExecute,
    /// Other nodes are preferred; this keeps nobody away.
    PreferNoSchedule,
}

/// A taint of a flavor's nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taint {
    /// Its name.
    pub key: u32,
    /// Its value.
    pub value: Value,
    /// What it does.
    pub effect: Effect,
}

/// How a toleration compares values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tolerates {
    /// Any value.
    Any,
    /// The same value.
    Equal(Value),
    /// A taint with a smaller number.
    Below(Value),
    /// A taint with a larger number.
    Above(Value),
}

/// A toleration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Toleration {
    /// The taint's name; none for all.
    pub key: Option<u32>,
    /// Which values.
    pub values: Tolerates,
    /// Which effect; none for all.
    pub effect: Option<Effect>,
}

/// How an expression looks at a label.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Test {
    /// One of these.
    In(Vec<Value>),
    /// None of these.
    NotIn(Vec<Value>),
    /// The label is there.
    Exists,
    /// It is not.
    Absent,
    /// A larger number.
    Above(i64),
    /// A smaller number.
    Below(i64),
}

/// One condition of an affinity.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Expression {
    /// The label's name.
    pub key: u32,
    /// What about it.
    pub test: Test,
}

/// What the pods of one set ask of nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Needs {
    /// All of these labels.
    pub selector: Vec<Label>,
    /// One of these lists, whole; an empty list of lists asks for nothing.
    pub affinity: Vec<Vec<Expression>>,
    /// What they put up with.
    pub tolerations: Vec<Toleration>,
}

/// Why pods may not run on a flavor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mismatch {
    /// A taint that they do not tolerate.
    Taint(Taint),
    /// Its labels are not what they ask for.
    Affinity,
}

impl Toleration {
    fn covers(&self, taint: &Taint) -> bool {
        let numbers = |value: Value| value.number.zip(taint.value.number);
        self.effect.is_none_or(|effect| effect == taint.effect)
            && self.key.is_none_or(|key| key == taint.key)
            && match self.values {
                Tolerates::Any => true,
                Tolerates::Equal(value) => value.id == taint.value.id,
                Tolerates::Below(value) => numbers(value).is_some_and(|(own, theirs)| theirs < own),
                Tolerates::Above(value) => numbers(value).is_some_and(|(own, theirs)| theirs > own),
            }
    }
}

impl Expression {
    // Only ever asked about a label that the flavor carries.
    fn holds(&self, value: Value) -> bool {
        match &self.test {
            Test::In(values) => values.iter().any(|one| one.id == value.id),
            Test::NotIn(values) => values.iter().all(|one| one.id != value.id),
            Test::Exists => true,
            Test::Absent => false,
            Test::Above(bound) => value.number.is_some_and(|number| number > *bound),
            Test::Below(bound) => value.number.is_some_and(|number| number < *bound),
        }
    }
}

impl Flavor {
    fn label(&self, key: u32) -> Option<Value> {
        self.labels.iter().find(|label| label.key == key).map(|label| label.value)
    }

    // A list of which nothing is left once foreign labels are left out matches any node, and so the whole affinity does.
    fn suits(&self, affinity: &[Vec<Expression>]) -> bool {
        let mut suits = affinity.is_empty();
        for list in affinity {
            let mut known = list.iter().filter_map(|one| self.label(one.key).map(|value| one.holds(value))).peekable();
            if known.peek().is_none() {
                return true;
            }
            suits |= known.all(|holds| holds);
        }
        suits
    }

    /// Why pods with these needs may not run on it; none if they may.
    #[must_use]
    pub fn mismatch(&self, needs: &Needs) -> Option<Mismatch> {
        let bars = |taint: &&Taint| {
            let mut tolerations = needs.tolerations.iter().chain(&self.tolerations);
            taint.effect != Effect::PreferNoSchedule && !tolerations.any(|toleration| toleration.covers(taint))
        };
        if let Some(taint) = self.taints.iter().find(bars) {
            return Some(Mismatch::Taint(*taint));
        }
        let mut wanted = needs.selector.iter().filter_map(|want| Some((want, self.label(want.key)?)));
        let selected = wanted.all(|(want, value)| want.value.id == value.id);
        (!selected || !self.suits(&needs.affinity)).then_some(Mismatch::Affinity)
    }
}

#[cfg(test)]
mod tests {
    use super::{Effect, Expression, Flavor, Label, Mismatch, Needs, Taint, Test, Tolerates, Toleration, Value};

    const fn word(id: u32) -> Value {
        Value { id, number: None }
    }

    const fn number(id: u32, number: i64) -> Value {
        Value { id, number: Some(number) }
    }

    fn flavor(labels: &[(u32, Value)]) -> Flavor {
        let labels = labels.iter().map(|(key, value)| Label { key: *key, value: *value }).collect();
        Flavor { labels, ..Flavor::default() }
    }

    fn wants(key: u32, test: Test) -> Vec<Expression> {
        vec![Expression { key, test }]
    }

    fn suits(flavor: &Flavor, affinity: Vec<Vec<Expression>>) -> bool {
        flavor.mismatch(&Needs { affinity, ..Needs::default() }).is_none()
    }

    #[test]
    fn labels_that_the_flavor_does_not_carry_are_left_aside() {
        let flavor = flavor(&[(1, word(10))]);
        let selector = |key, value| Needs { selector: vec![Label { key, value }], ..Needs::default() };
        assert_eq!(flavor.mismatch(&selector(1, word(10))), None);
        assert_eq!(flavor.mismatch(&selector(1, word(11))), Some(Mismatch::Affinity));
        assert_eq!(flavor.mismatch(&selector(2, word(11))), None);
    }

    #[test]
    fn one_list_of_an_affinity_is_enough_and_an_empty_one_matches_all() {
        let flavor = flavor(&[(1, word(10))]);
        let (fits, not) = (wants(1, Test::In(vec![word(10)])), wants(1, Test::In(vec![word(11)])));
        assert!(suits(&flavor, vec![not.clone(), fits.clone()]));
        assert!(!suits(&flavor, vec![not.clone()]));
        assert!(suits(&flavor, vec![not.clone(), wants(2, Test::Exists)]));
        assert!(!suits(&flavor, vec![[fits, not].concat()]));
        assert!(suits(&flavor, vec![]));
    }

    #[test]
    fn every_kind_of_expression_is_understood() {
        let flavor = flavor(&[(1, number(10, 5))]);
        let holds = |test| suits(&flavor, vec![wants(1, test)]);
        assert!(holds(Test::NotIn(vec![word(11)])) && !holds(Test::NotIn(vec![word(10)])));
        assert!(holds(Test::Exists) && !holds(Test::Absent));
        assert!(holds(Test::Above(4)) && !holds(Test::Above(5)));
        assert!(holds(Test::Below(6)) && !holds(Test::Below(5)));
    }

    #[test]
    fn taints_need_a_toleration_of_the_pod_or_of_the_flavor() {
        let taint = Taint { key: 1, value: number(10, 5), effect: Effect::NoSchedule };
        let mut flavor = Flavor { taints: vec![taint], ..Flavor::default() };
        let tolerated = |flavor: &Flavor, key, values, effect| {
            let tolerations = vec![Toleration { key, values, effect }];
            flavor.mismatch(&Needs { tolerations, ..Needs::default() }).is_none()
        };
        assert_eq!(flavor.mismatch(&Needs::default()), Some(Mismatch::Taint(taint)));
        assert!(tolerated(&flavor, Some(1), Tolerates::Equal(word(10)), Some(Effect::NoSchedule)));
        assert!(!tolerated(&flavor, Some(1), Tolerates::Equal(word(11)), None));
        assert!(!tolerated(&flavor, Some(1), Tolerates::Any, Some(Effect::NoExecute)));
        assert!(!tolerated(&flavor, Some(2), Tolerates::Any, None));
        assert!(tolerated(&flavor, None, Tolerates::Any, None));
        assert!(tolerated(&flavor, Some(1), Tolerates::Above(number(0, 4)), None));
        assert!(!tolerated(&flavor, Some(1), Tolerates::Below(number(0, 5)), None));
        flavor.tolerations = vec![Toleration { key: Some(1), values: Tolerates::Any, effect: None }];
        assert_eq!(flavor.mismatch(&Needs::default()), None);
    }

    #[test]
    fn a_preference_keeps_nobody_away() {
        let taint = Taint { key: 1, value: word(10), effect: Effect::PreferNoSchedule };
        assert_eq!(Flavor { taints: vec![taint], ..Flavor::default() }.mismatch(&Needs::default()), None);
    }
}
