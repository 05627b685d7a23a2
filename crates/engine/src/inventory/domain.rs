//! All nodes of one region and GPU model, by kind, and for every shape and size the kinds in the order of their merit.
//!
//! What requests ask most often is counted here as nodes come and go, so that answering costs the same whatever the number
//! of nodes. A kind that lost its last node is kept for a while: it will most likely come back.

use super::{
    kind::{Change, Kind, Outcome, Tenancy, Wanted},
    node::Key,
};
use crate::{
    board::Board,
    place::{REASONS, Reason},
    policy::Weights,
};
use model::{Timestamp, placement::CoTenancy, sku::CapacityShape};
use std::collections::{BTreeMap, BTreeSet};

/// Kinds without a node that are kept.
const EMPTY_KINDS_KEPT: usize = 1024;

/// A node in the order in which equals are taken: the least used first, then by id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Member {
    pub(crate) wear: u32,
    pub(crate) key: Key,
    pub(crate) at: u32,
}

impl Member {
    /// One that comes after all others.
    pub(crate) const LAST: Self = Self { wear: u32::MAX, key: Key { high: u64::MAX, low: u64::MAX }, at: u32::MAX };
}

/// The nodes of one kind.
#[derive(Debug, Clone)]
pub(crate) struct Class {
    pub(crate) kind: Kind,
    /// The number of its pool in the domain.
    pool: usize,
    /// How many nodes are of it.
    pub(crate) nodes: u32,
    /// Those nodes in their order, where it fits anything: nobody looks for the others.
    pub(crate) members: BTreeSet<Member>,
    /// Those that only one tenant is on, by that tenant.
    sole: BTreeMap<Key, BTreeSet<Member>>,
    /// What it answers, in the order of the domain's orders.
    pub(crate) outcomes: Vec<Outcome>,
    /// The same in short, close together.
    marks: Vec<Mark>,
    /// Whether it fits any of them.
    fits: bool,
    pub(crate) wholly_free: bool,
    /// What came of it before by such changes, in the order of the changes. One cannot rely on a kind that was forgotten.
    steps: Vec<(Change, Step)>,
}

/// A kind as it was when a change led to it.
#[derive(Debug, Clone, Copy)]
struct Step {
    to: usize,
    life: u32,
}

/// An answer, as far as ranking and counting go.
#[derive(Debug, Clone, Copy)]
enum Mark {
    Fits { cost: i64, sets: u32 },
    Passed(Reason),
}

impl From<&Outcome> for Mark {
    fn from(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Offer(offer) => Self::Fits { cost: offer.score.cost, sets: offer.sets },
            Outcome::Passed { reason, .. } => Self::Passed(*reason),
        }
    }
}

/// The kinds that can serve one shape and size, best first, and the answers of all nodes counted by pool.
#[derive(Debug, Clone)]
pub(crate) struct Order {
    pub(crate) wanted: Wanted,
    /// Kinds that nobody is on.
    pub(crate) vacant: Ranking,
    /// Kinds whose tenants tolerate others.
    pub(crate) open: Ranking,
    /// In the order of the domain's pools.
    by_pool: Vec<Answers>,
}

/// Kinds by what their best set costs, and those that cost the same by the member that comes first.
pub(crate) type Ranking = BTreeSet<(i64, Member, usize)>;

/// How many nodes give which answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answers {
    pub(crate) by_reason: [u32; REASONS],
    /// Nodes that fit and nobody is on.
    vacant: Fit,
    /// Nodes that fit and whose tenants tolerate others.
    open: Fit,
    /// Nodes that fit and whose tenants do not.
    closed: Fit,
}

/// The nodes that only one tenant is on.
#[derive(Debug, Clone, Default)]
struct Own {
    nodes: u32,
    /// For every order of the domain.
    orders: Vec<OwnOrder>,
}

/// Those of them that can serve one shape and size.
#[derive(Debug, Clone, Default)]
pub(crate) struct OwnOrder {
    /// Kinds whose tenant tolerates others.
    pub(crate) open: Ranking,
    /// Kinds whose tenant does not.
    pub(crate) closed: Ranking,
    /// How many nodes that is, in the order of the domain's pools: open and closed ones.
    by_pool: Vec<(Fit, Fit)>,
}

/// Nodes that fit, and their sets that would do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Fit {
    pub(crate) nodes: u32,
    pub(crate) sets: u32,
}

/// What the search looks at first, close together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Head {
    /// The member that comes first.
    pub(crate) first: Option<Member>,
    /// The number of the pool in the domain.
    pub(crate) pool: usize,
    pub(crate) wholly_free: bool,
    /// How many kinds had this number before.
    life: u32,
}

/// The nodes of one region and model.
#[derive(Debug, Clone, Default)]
pub(crate) struct Domain {
    classes: Vec<Class>,
    /// One for every kind.
    heads: Vec<Head>,
    /// Kinds by their digest: comparing numbers is quicker than comparing kinds. Those that share one are told apart.
    by_digest: BTreeMap<u64, Vec<usize>>,
    known: usize,
    pub(crate) pools: Vec<Key>,
    unused: Vec<usize>,
    orders: Vec<Order>,
    /// By tenant.
    own: BTreeMap<Key, Own>,
    live: usize,
    /// How many nodes there are.
    pub(crate) nodes: u32,
    /// How many can be had whole.
    pub(crate) whole_nodes: u32,
    /// Since when slots have waited for a proof, by pool.
    pub(crate) blocked: BTreeMap<(Key, Timestamp), u32>,
}

impl Class {
    /// The members that a request by this tenant may use when the others are closed to it.
    pub(crate) fn members_of(&self, tenant: Key) -> Option<&BTreeSet<Member>> {
        self.sole.get(&tenant)
    }
}

impl Fit {
    /// Counts nodes with so many sets each in, or out.
    fn change(&mut self, nodes: u32, sets: u32, adds: bool) {
        let by = |number: u32, by: u32| if adds { number.saturating_add(by) } else { number.saturating_sub(by) };
        *self = Self { nodes: by(self.nodes, nodes), sets: by(self.sets, sets.saturating_mul(nodes)) };
    }

    /// Both together.
    pub(crate) fn and(self, other: Self) -> Self {
        Self { nodes: self.nodes.saturating_add(other.nodes), sets: self.sets.saturating_add(other.sets) }
    }
}

impl Answers {
    fn count(&mut self, mark: Mark, tenancy: Tenancy, nodes: u32, adds: bool) {
        match mark {
            Mark::Passed(reason) => {
                let number = &mut self.by_reason[reason as usize];
                *number = if adds { number.saturating_add(nodes) } else { number.saturating_sub(nodes) };
            }
            Mark::Fits { sets, .. } => {
                let fit = match tenancy {
                    Tenancy::Vacant => &mut self.vacant,
                    Tenancy::Open => &mut self.open,
                    Tenancy::Closed => &mut self.closed,
                };
                fit.change(nodes, sets, adds);
            }
        }
    }

    /// What fits for a tenant with these nodes of its own, and what would if sharing did not matter.
    pub(crate) fn fitting(&self, own: (Fit, Fit), co_tenancy: CoTenancy) -> (Fit, Fit) {
        let open = if co_tenancy == CoTenancy::Any { self.open } else { own.0 };
        (self.vacant.and(open).and(own.1), self.vacant.and(self.open).and(self.closed))
    }
}

impl OwnOrder {
    fn change(&mut self, class: (usize, usize, Tenancy), mark: Mark, nodes: u32, adds: bool, moved: Moved) {
        let (class, pool, tenancy) = class;
        let Mark::Fits { cost, sets } = mark else { return };
        *grown(&mut self.by_pool, pool) = {
            let (mut open, mut closed) = self.by_pool.get(pool).copied().unwrap_or_default();
            let fit = if tenancy == Tenancy::Closed { &mut closed } else { &mut open };
            fit.change(nodes, sets, adds);
            (open, closed)
        };
        let ranking = if tenancy == Tenancy::Closed { &mut self.closed } else { &mut self.open };
        moved.apply(ranking, cost, class);
    }

    /// The open and the closed nodes in a pool.
    pub(crate) fn in_pool(&self, pool: usize) -> (Fit, Fit) {
        self.by_pool.get(pool).copied().unwrap_or_default()
    }
}

impl Order {
    fn new(wanted: Wanted) -> Self {
        Self { wanted, vacant: Ranking::new(), open: Ranking::new(), by_pool: vec![] }
    }

    /// The answers of the nodes of every pool.
    pub(crate) fn answers(&self) -> impl Iterator<Item = &Answers> {
        self.by_pool.iter()
    }

    fn count(&mut self, pool: usize, tenancy: Tenancy, mark: Mark, nodes: u32, adds: bool) {
        grown(&mut self.by_pool, pool).count(mark, tenancy, nodes, adds);
    }

    // Ranks a kind by another first member than before.
    fn rank(&mut self, class: usize, tenancy: Tenancy, mark: Mark, moved: Moved) {
        let Mark::Fits { cost, .. } = mark else { return };
        match tenancy {
            Tenancy::Vacant => moved.apply(&mut self.vacant, cost, class),
            Tenancy::Open => moved.apply(&mut self.open, cost, class),
            // Nobody finds these except those who are on them.
            Tenancy::Closed => (),
        }
    }
}

// The thing at this place; the list grows as far as that.
fn grown<T: Default>(list: &mut Vec<T>, at: usize) -> &mut T {
    if list.len() <= at {
        list.resize_with(at + 1, T::default);
    }
    &mut list[at]
}

/// Another member of a kind comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Moved {
    from: Option<Member>,
    to: Option<Member>,
}

impl Moved {
    fn apply(self, ranking: &mut Ranking, cost: i64, class: usize) {
        if self.from == self.to {
            return;
        }
        if let Some(from) = self.from {
            ranking.remove(&(cost, from, class));
        }
        if let Some(to) = self.to {
            ranking.insert((cost, to, class));
        }
    }
}

impl Domain {
    /// A kind by its number.
    pub(crate) fn class(&self, at: usize) -> &Class {
        &self.classes[at]
    }

    /// What the search looks at first.
    pub(crate) fn head(&self, at: usize) -> Head {
        self.heads[at]
    }

    /// The kinds that have nodes.
    pub(crate) fn live(&self) -> impl Iterator<Item = &Class> {
        self.classes.iter().filter(|class| class.nodes > 0)
    }

    /// The order for a shape and size. There is none if no board knows that size.
    pub(crate) fn order(&self, wanted: Wanted) -> Option<(usize, &Order)> {
        self.orders.iter().enumerate().find(|(_, order)| order.wanted == wanted)
    }

    /// An order by its number.
    pub(crate) fn order_at(&self, at: usize) -> Option<&Order> {
        self.orders.get(at)
    }

    /// The number of a kind.
    pub(crate) fn number(&mut self, kind: Kind, boards: &[Board], weights: &Weights) -> usize {
        let digest = kind.digest();
        let same = self.by_digest.get(&digest).and_then(|all| all.iter().find(|at| self.classes[**at].kind == kind));
        match same {
            Some(at) => *at,
            None => self.found(kind, digest, boards, weights),
        }
    }

    /// The kind that a change makes of this one, if that has been seen before.
    pub(crate) fn after(&self, at: usize, change: &Change) -> Option<usize> {
        let steps = &self.classes[at].steps;
        let (_, step) = steps[steps.binary_search_by_key(change, |(change, _)| *change).ok()?];
        (self.heads[step.to].life == step.life).then_some(step.to)
    }

    /// Keeps in mind what a change made of a kind, which must have nodes or have been left by its last just now.
    pub(crate) fn remember(&mut self, at: usize, life: u32, change: Change, to: usize) {
        if self.heads[at].life != life {
            return;
        }
        let step = Step { to, life: self.heads[to].life };
        let steps = &mut self.classes[at].steps;
        match steps.binary_search_by_key(&change, |(change, _)| *change) {
            Ok(known) => steps[known].1 = step,
            Err(place) => steps.insert(place, (change, step)),
        }
    }

    /// Which of the kinds that have had this number it is.
    pub(crate) fn life(&self, at: usize) -> u32 {
        self.heads[at].life
    }

    /// Takes a node in.
    pub(crate) fn join(&mut self, at: usize, member: Member, sole: Option<Key>) {
        self.nodes += 1;
        let class = &mut self.classes[at];
        self.whole_nodes += u32::from(class.wholly_free);
        for (order, mark) in self.orders.iter_mut().zip(&class.marks) {
            order.count(class.pool, class.kind.tenancy, *mark, 1, true);
        }
        self.live += usize::from(class.nodes == 0);
        class.nodes += 1;
        if class.fits {
            class.members.insert(member);
            self.rank_anew(at);
            if let Some(tenant) = sole {
                self.change_own(at, tenant, member, true);
            }
        }
    }

    /// Lets a node go.
    pub(crate) fn leave(&mut self, at: usize, member: Member, sole: Option<Key>) {
        self.nodes -= 1;
        let class = &mut self.classes[at];
        self.whole_nodes -= u32::from(class.wholly_free);
        class.nodes -= 1;
        for (order, mark) in self.orders.iter_mut().zip(&class.marks) {
            order.count(class.pool, class.kind.tenancy, *mark, 1, false);
        }
        if class.fits {
            class.members.remove(&member);
            self.rank_anew(at);
            if let Some(tenant) = sole {
                self.change_own(at, tenant, member, false);
            }
        }
        if self.classes[at].nodes == 0 {
            self.live -= 1;
            self.forget_if_many(at);
        }
    }

    /// What a tenant has alone of one order.
    pub(crate) fn own(&self, tenant: Key, order: usize) -> Option<&OwnOrder> {
        self.own.get(&tenant).and_then(|own| own.orders.get(order))
    }

    // Moves a kind in every order when another of its members comes first.
    fn rank_anew(&mut self, at: usize) {
        let (class, head) = (&self.classes[at], &mut self.heads[at]);
        let moved = Moved { from: head.first, to: class.members.first().copied() };
        if moved.from != moved.to {
            for (order, mark) in self.orders.iter_mut().zip(&class.marks) {
                order.rank(at, class.kind.tenancy, *mark, moved);
            }
            head.first = moved.to;
        }
    }

    // Takes a node in among those of its kind that one tenant has alone, or lets it go from there.
    fn change_own(&mut self, at: usize, tenant: Key, member: Member, adds: bool) {
        let class = &mut self.classes[at];
        let members = class.sole.entry(tenant).or_default();
        let from = members.first().copied();
        if adds {
            members.insert(member);
        } else {
            members.remove(&member);
        }
        let moved = Moved { from, to: members.first().copied() };
        if members.is_empty() {
            class.sole.remove(&tenant);
        }
        let own = self.own.entry(tenant).or_default();
        own.nodes = if adds { own.nodes + 1 } else { own.nodes - 1 };
        for (order, mark) in class.marks.iter().enumerate() {
            grown(&mut own.orders, order).change((at, class.pool, class.kind.tenancy), *mark, 1, adds, moved);
        }
        if own.nodes == 0 {
            self.own.remove(&tenant);
        }
    }

    fn forget_if_many(&mut self, at: usize) {
        if self.known - self.live > EMPTY_KINDS_KEPT {
            let digest = self.classes[at].kind.digest();
            if let Some(same) = self.by_digest.get_mut(&digest) {
                same.retain(|other| *other != at);
                if same.is_empty() {
                    self.by_digest.remove(&digest);
                }
            }
            self.known -= 1;
            self.heads[at].life = self.heads[at].life.wrapping_add(1);
            self.unused.push(at);
        }
    }

    // A kind that was not seen before.
    fn found(&mut self, kind: Kind, digest: u64, boards: &[Board], weights: &Weights) -> usize {
        let board = &boards[kind.board];
        let mut wanted: Vec<Wanted> =
            board.sizes.iter().map(|size| Wanted { shape: CapacityShape::GpuSlice, size: *size }).collect();
        wanted.extend(board.whole.map(|whole| Wanted { shape: CapacityShape::Baremetal, size: whole.size }));
        for wanted in wanted {
            if self.order(wanted).is_none() {
                self.open_order(wanted, boards, weights);
            }
        }
        let outcomes: Vec<Outcome> = self.orders.iter().map(|order| kind.judge(board, order.wanted, weights)).collect();
        let marks: Vec<Mark> = outcomes.iter().map(Mark::from).collect();
        let fits = marks.iter().any(|mark| matches!(mark, Mark::Fits { .. }));
        let wholly_free = kind.takes_new_work(CapacityShape::Baremetal) && kind.is_wholly_free(board);
        let pool = self.pools.iter().position(|pool| *pool == kind.pool).unwrap_or_else(|| {
            self.pools.push(kind.pool);
            self.pools.len() - 1
        });
        let (members, sole, steps) = (BTreeSet::new(), BTreeMap::new(), vec![]);
        let class = Class { kind, pool, nodes: 0, members, sole, outcomes, marks, fits, wholly_free, steps };
        let head = Head { first: None, pool, wholly_free, life: 0 };
        let at = match self.unused.pop() {
            Some(at) => {
                let life = self.heads[at].life;
                (self.classes[at], self.heads[at]) = (class, Head { life, ..head });
                at
            }
            None => {
                self.classes.push(class);
                self.heads.push(head);
                self.classes.len() - 1
            }
        };
        self.known += 1;
        self.by_digest.entry(digest).or_default().push(at);
        at
    }

    // The kinds that are known do not fit it: their boards' sizes have orders already.
    fn open_order(&mut self, wanted: Wanted, boards: &[Board], weights: &Weights) {
        let mut order = Order::new(wanted);
        for class in &mut self.classes {
            let outcome = class.kind.judge(&boards[class.kind.board], wanted, weights);
            let mark = Mark::from(&outcome);
            class.outcomes.push(outcome);
            class.marks.push(mark);
            order.count(class.pool, class.kind.tenancy, mark, class.nodes, true);
        }
        self.orders.push(order);
    }
}
