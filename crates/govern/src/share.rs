//! Dominant shares: how far a queue or cohort lives beyond its own quota, measured against what its parent could lend it.
//!
//! For each resource, what a node uses beyond its subtree is summed over the flavors and divided by what the parent could
//! ever give; the largest of these fractions is the node's share, and its weight divides it. Shares are kept as the fraction
//! they are and compared by multiplying crosswise in 192 bits, so a comparison is always exact. Only the number that is
//! shown to people, [`Share::per_mille_ceil`], is rounded, and always up.
//!
//! Flavors of one resource can be of different speed. Where shares are built by work ([`Shares::build_by_work`]), a device
//! counts for what it does: a team on fast devices has the larger share of two that hold equally many.

use crate::{
    amount::Amount,
    tree::{FlavorResource, NodeIx, Tree, Usage},
    weight::Weight,
};
use std::{cmp::Ordering, ops::Range};

/// A resource without its flavor, as its place in a list that the caller keeps in the order of names: of two resources with
/// the same share the first one is dominant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Resource(pub u32);

/// How far a node lives beyond its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    weight: Weight,
    // The fraction, before the weight: what is borrowed of the dominant resource, and what could be lent.
    borrowed: Amount,
    lendable: Amount,
    dominant: Option<Resource>,
    borrows: bool,
}

/// What is needed to measure shares in one tree; built once for each tree.
#[derive(Debug, Clone)]
pub struct Shares {
    // Flavor-resources ordered by resource; each resource is a range of this.
    order: Vec<FlavorResource>,
    ranges: Vec<Range<usize>>,
    // By flavor-resource: what one of it counts, with what all flavors of its resource have in common taken out.
    work: Vec<i64>,
    // Node by node, one of each resource: what its parent could ever give.
    lendable: Vec<Amount>,
}

/// How fast a device of usual speed is, in thousandths.
pub const SPEED_USUAL: u32 = 1000;

impl Share {
    /// Nothing borrowed.
    #[must_use]
    pub const fn none(weight: Weight) -> Self {
        Self { weight, borrowed: Amount::ZERO, lendable: Amount::ZERO, dominant: None, borrows: false }
    }

    /// Whether anything at all is used beyond its own.
    #[must_use]
    pub const fn borrows(&self) -> bool {
        self.borrows
    }

    /// The resource with the largest fraction; none where nothing is borrowed of what can be lent.
    #[must_use]
    pub const fn dominant(&self) -> Option<Resource> {
        self.dominant
    }

    /// Borrows and counts for nothing: beyond every other share.
    #[must_use]
    pub const fn is_beyond_all(&self) -> bool {
        self.borrows && self.weight.is_zero()
    }

    /// Whether the fraction is zero. A node that borrows only what its parent lends nothing of has such a share.
    #[must_use]
    pub const fn is_zero(&self) -> bool {
        self.dominant.is_none()
    }

    /// The weighted share in thousandths, rounded up; the largest number for a share beyond all.
    #[must_use]
    pub fn per_mille_ceil(&self) -> i64 {
        if self.is_beyond_all() {
            return i64::MAX;
        }
        if self.is_zero() {
            return 0;
        }
        let above = magnitude(self.borrowed) * 1000 * u128::from(Weight::ONE.nano());
        let below = magnitude(self.lendable) * u128::from(self.weight.nano());
        i64::try_from(above.div_ceil(below)).unwrap_or(i64::MAX)
    }

    // The fractions alone, without the weights.
    fn compare_bare(&self, other: &Self) -> Ordering {
        match (self.dominant, other.dominant) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(_), Some(_)) => {
                let left = magnitude(self.borrowed) * magnitude(other.lendable);
                left.cmp(&(magnitude(other.borrowed) * magnitude(self.lendable)))
            }
        }
    }

    /// Who is further beyond its own: the lower share is served first, the higher one gives first.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Ordering {
        match (self.is_beyond_all(), other.is_beyond_all()) {
            (true, true) => self.compare_bare(other),
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) if self.is_zero() || other.is_zero() => self.compare_bare(other),
            // Siblings mostly differ in what they borrow alone.
            (false, false) if self.lendable == other.lendable && self.weight == other.weight => {
                self.borrowed.cmp(&other.borrowed)
            }
            (false, false) => {
                let left = wide(magnitude(self.borrowed) * magnitude(other.lendable), other.weight.nano());
                left.cmp(&wide(magnitude(other.borrowed) * magnitude(self.lendable), self.weight.nano()))
            }
        }
    }
}

impl Shares {
    /// For a tree, where `resource_of` says for each [`FlavorResource`] which resource it is. All flavors count alike.
    #[must_use]
    pub fn build(tree: &Tree, resource_of: &[Resource]) -> Self {
        Self::build_by_work(tree, resource_of, &[])
    }

    /// The same where flavors differ in speed: `speeds` says for each [`FlavorResource`] how much work one unit of it does,
    /// in thousandths of the usual. One that is missing has the usual speed; the least speed is one thousandth, so that
    /// whatever is borrowed counts for something.
    #[must_use]
    pub fn build_by_work(tree: &Tree, resource_of: &[Resource], speeds: &[u32]) -> Self {
        let mut order: Vec<FlavorResource> = (0..tree.width()).map(FlavorResource).collect();
        let resource = |what: &FlavorResource| resource_of.get(what.0 as usize).copied().unwrap_or(Resource(0));
        order.sort_by_key(|what| (resource(what), *what));
        let count = order.last().map_or(0, |what| resource(what).0 + 1);
        let mut ranges = Vec::with_capacity(count as usize);
        for of in (0..count).map(Resource) {
            ranges.push(
                order.partition_point(|what| resource(what) < of)..order.partition_point(|what| resource(what) <= of),
            );
        }
        let speed = |what: &FlavorResource| speeds.get(what.0 as usize).copied().unwrap_or(SPEED_USUAL).max(1);
        let mut work = vec![1; order.len()];
        for range in &ranges {
            // A fraction stays what it is when both of its sides are divided; so amounts stay small, and flavors of equal
            // speed count one.
            let common = order[range.clone()].iter().map(speed).fold(0, common_divisor).max(1);
            for what in &order[range.clone()] {
                work[what.0 as usize] = i64::from(speed(what) / common);
            }
        }
        Self { order, ranges, work, lendable: vec![] }.on(tree)
    }

    /// The same measure on another tree of the same nodes, whose quotas differ.
    #[must_use]
    pub fn on(&self, tree: &Tree) -> Self {
        let mut lendable = Vec::with_capacity(tree.nodes().count() * self.ranges.len());
        for node in tree.nodes() {
            for range in &self.ranges {
                let sum = |parent| {
                    let potentials = self.order[range.clone()].iter();
                    let potentials = potentials.map(|what| self.work_of(*what, tree.potential(parent, *what)));
                    potentials.fold(Amount::ZERO, Amount::plus)
                };
                lendable.push(tree.parent(node).map_or(Amount::ZERO, sum));
            }
        }
        Self { order: self.order.clone(), ranges: self.ranges.clone(), work: self.work.clone(), lendable }
    }

    fn work_of(&self, what: FlavorResource, much: Amount) -> Amount {
        much.times(self.work[what.0 as usize])
    }

    /// The share of a node as it is.
    #[must_use]
    pub fn of(&self, tree: &Tree, usage: &Usage, node: NodeIx) -> Share {
        self.with(tree, usage, node, &[])
    }

    /// The share a node would have with so much more.
    #[must_use]
    pub fn with(&self, tree: &Tree, usage: &Usage, node: NodeIx, more: &[(FlavorResource, Amount)]) -> Share {
        let mut share = Share::none(tree.weight(node));
        if tree.parent(node).is_none() {
            return share;
        }
        for ((range, lendable), resource) in self.ranges.iter().zip(self.lendable_of(node)).zip((0..).map(Resource)) {
            let mut borrowed = Amount::ZERO;
            for what in &self.order[range.clone()] {
                let extra =
                    more.iter().filter(|(of, _)| of == what).fold(Amount::ZERO, |sum, (_, much)| sum.plus(*much));
                let beyond = usage.of(node, *what).plus(extra).minus(tree.subtree(node, *what));
                borrowed = borrowed.plus(self.work_of(*what, beyond.or_zero()));
            }
            if borrowed <= Amount::ZERO {
                continue;
            }
            share.borrows = true;
            let this = Share { borrowed, lendable: *lendable, dominant: Some(resource), ..share };
            if *lendable > Amount::ZERO && this.compare_bare(&share).is_gt() {
                share = this;
            }
        }
        share
    }

    fn lendable_of(&self, node: NodeIx) -> &[Amount] {
        let count = self.ranges.len();
        &self.lendable[node.0 as usize * count..][..count]
    }
}

/// Whether a node uses more than its own of something that is asked for.
#[must_use]
pub fn borrows_on(tree: &Tree, usage: &Usage, node: NodeIx, request: &[(FlavorResource, Amount)]) -> bool {
    let beyond = |what| tree.borrows_with(usage, node, what, Amount::ZERO);
    tree.parent(node).is_some() && request.iter().any(|(what, much)| *much > Amount::ZERO && beyond(*what))
}

fn common_divisor(one: u32, other: u32) -> u32 {
    if other == 0 { one } else { common_divisor(other, one % other) }
}

fn magnitude(amount: Amount) -> u128 {
    u128::from(amount.or_zero().units().unsigned_abs())
}

// The product in 192 bits, the upper part first.
fn wide(factor: u128, by: u64) -> (u128, u128) {
    const LOW: u128 = u64::MAX as u128;
    let by = u128::from(by);
    let low = (factor & LOW) * by;
    ((factor >> 64) * by + (low >> 64), low & LOW)
}

#[cfg(test)]
mod tests;
