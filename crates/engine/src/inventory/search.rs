//! The search: the first node of the best kind that this request may use, and the best of the next scores beside it.

use super::{
    Inventory,
    domain::{Class, Domain, Member, Ranking},
    kind::{Offer, Outcome, Tenancy, Wanted},
    node::{Key, Node, key_of},
};
use crate::{
    board::{BoardSet, count},
    place::{Candidate, Considered, Placement, Reason, Request, SetKind, Verdict},
};
use model::{
    NodeId, SlotId,
    placement::{CoTenancy, Spread},
    sku::CapacityShape,
};
use std::{collections::BTreeSet, ops::Bound};

/// How many places are kept: the winner and three beside it.
const KEPT: usize = 4;

/// A place, and nothing about how it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    /// The node.
    pub node_id: NodeId,
    /// Its slots, by id.
    pub slot_ids: Vec<SlotId>,
}

/// A request, looked up.
pub(super) struct Ask<'a> {
    pub(super) request: &'a Request,
    pub(super) domain: &'a Domain,
    domain_number: usize,
    pub(super) wanted: Wanted,
    pub(super) pool: Option<Key>,
    // Its number in the domain; one that no kind has where the pool has no node.
    pool_number: Option<usize>,
    pub(super) tenant: Key,
    /// The nodes that hold its group, if that matters to it.
    pub(super) group: Option<&'a BTreeSet<usize>>,
    keep_whole_nodes: u32,
}

/// How much of a kind a request may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Share {
    All,
    /// Only the nodes that its own tenant alone is on.
    Own,
    None(Reason),
}

// Where it could go: what it costs and which node.
type Found = (i64, Member);

impl Ask<'_> {
    /// How much of a kind that has room the request may use.
    pub(super) fn share(&self, class: &Class) -> Share {
        if class.wholly_free && self.keeps_whole() {
            return Share::None(Reason::KeptWhole);
        }
        match (class.kind.tenancy, self.request.co_tenancy) {
            (Tenancy::Vacant, _) | (Tenancy::Open, CoTenancy::Any) => Share::All,
            (Tenancy::Open, CoTenancy::SameTenant) | (Tenancy::Closed, _) => Share::Own,
        }
    }

    /// Whether the request is for this kind at all.
    pub(super) fn in_pool(&self, class: &Class) -> bool {
        self.pool.is_none_or(|pool| pool == class.kind.pool)
    }

    /// Whether the policy keeps the nodes whole that are left.
    pub(super) fn keeps_whole(&self) -> bool {
        self.wanted.shape == CapacityShape::GpuSlice && self.domain.whole_nodes <= self.keep_whole_nodes
    }

    // The best node of each of the best scores.
    fn leaders(&self, order: usize, avoid: Option<&BTreeSet<usize>>, most: usize) -> Vec<Found> {
        let mut found: Vec<Found> = Vec::with_capacity(3 * most);
        let own = self.domain.own(self.tenant, order);
        let Some(order) = self.domain.order_at(order) else { return found };
        self.walk(&order.vacant, Share::All, avoid, most, &mut found);
        if self.request.co_tenancy == CoTenancy::Any {
            self.walk(&order.open, Share::All, avoid, most, &mut found);
        } else if let Some(own) = own {
            self.walk(&own.open, Share::Own, avoid, most, &mut found);
        }
        if let Some(own) = own {
            self.walk(&own.closed, Share::Own, avoid, most, &mut found);
        }
        ranked(found, most)
    }

    // The best node of each of the best scores of some kinds. Where no node is to be avoided, the first kind of a score has
    // it; otherwise all of that score are looked at.
    fn walk(
        &self,
        ranking: &Ranking,
        share: Share,
        avoid: Option<&BTreeSet<usize>>,
        most: usize,
        found: &mut Vec<Found>,
    ) {
        let enough = found.len() + most;
        let mut from = Bound::Unbounded;
        while found.len() < enough {
            let mut rest = ranking.range((from, Bound::Unbounded)).filter(|(_, _, class)| self.allows(*class));
            let Some((cost, first, class)) = rest.next() else { return };
            let leading = match avoid {
                None => Some(*first),
                Some(avoid) => {
                    let of_score = rest.take_while(|(other, ..)| other == cost).map(|(.., class)| class);
                    std::iter::once(class).chain(of_score).filter_map(|class| self.first(*class, share, avoid)).min()
                }
            };
            found.extend(leading.map(|member| (*cost, member)));
            from = Bound::Excluded((*cost, Member::LAST, usize::MAX));
        }
    }

    // Whether the request may use a kind, whoever is on it.
    fn allows(&self, class: usize) -> bool {
        let head = self.domain.head(class);
        self.pool_number.is_none_or(|pool| pool == head.pool) && !(head.wholly_free && self.keeps_whole())
    }

    // The member of a kind that comes first of those that need not be avoided.
    fn first(&self, class: usize, share: Share, avoid: &BTreeSet<usize>) -> Option<Member> {
        let class = self.domain.class(class);
        let members = if share == Share::All { &class.members } else { class.members_of(self.tenant)? };
        members.iter().find(|member| !avoid.contains(&(member.at as usize))).copied()
    }
}

// The best of each score, the best score first.
fn ranked(mut found: Vec<Found>, most: usize) -> Vec<Found> {
    found.sort_unstable();
    found.dedup_by_key(|(cost, _)| *cost);
    found.truncate(most);
    found
}

impl Inventory {
    /// Finds the best place for a request, or says why there is none. Nothing is claimed.
    pub fn place(&self, request: &Request) -> Verdict {
        match self.best_place(request) {
            Some(placement) => Verdict::Placed(placement),
            None => Verdict::Refused(self.refuse(request)),
        }
    }

    fn best_place(&self, request: &Request) -> Option<Placement> {
        let (ask, order) = self.ask(request)?;
        let found = self.search(&ask, order, KEPT);
        let ((_, winner), others) = found.split_first()?;
        let (node, offer) = self.offer_of(*winner, order)?;
        let set = choose(node, offer);
        let tally = self.tally(&ask, order);
        let others = others.iter().filter_map(|(_, member)| {
            let (node, offer) = self.offer_of(*member, order)?;
            self.candidate(node, offer, &choose(node, offer))
        });
        Some(Placement {
            chosen: self.candidate(node, offer, &set)?,
            slot_ids: node.slots_in(set.mask),
            partition: set.partition,
            kind: SetKind::of(set.size, self.boards[node.board as usize].len()),
            runners_up: others.collect(),
            considered: Considered { nodes: count(self.len()), nodes_fitting: tally.nodes_fitting, sets: tally.sets },
            nodes_by_reason: tally.reasons(),
        })
    }

    /// The search alone: the same place, without a word about it.
    pub fn find(&self, request: &Request) -> Option<Spot> {
        let (ask, order) = self.ask(request)?;
        let (_, winner) = *self.search(&ask, order, 1).first()?;
        let (node, offer) = self.offer_of(winner, order)?;
        let set = choose(node, offer);
        Some(Spot { node_id: node.id()?, slot_ids: node.slots_in(set.mask) })
    }

    /// Looks a request up. Nothing if there is no node of its kind, or no board that knows its size.
    pub(super) fn ask<'a>(&'a self, request: &'a Request) -> Option<(Ask<'a>, usize)> {
        let ask = self.ask_any(request)?;
        let (order, _) = ask.domain.order(ask.wanted)?;
        Some((ask, order))
    }

    /// The same for any size. Nothing if there is no node of its kind.
    pub(super) fn ask_any<'a>(&'a self, request: &'a Request) -> Option<Ask<'a>> {
        let domain_number = self.domain_of(request)?;
        let domain = &self.domains[domain_number];
        let pool = request.pool_id.as_ref().map(|pool| key_of(pool.as_str()));
        let held = match (&request.group, request.spread) {
            (Some(group), spread) if spread != Spread::None => {
                self.groups.get(&request.project_id).and_then(|groups| groups.get(group))
            }
            _ => None,
        };
        Some(Ask {
            request,
            domain,
            domain_number,
            wanted: Wanted { shape: request.shape, size: request.gpu_count },
            pool,
            pool_number: pool.map(|pool| domain.pools.iter().position(|known| *known == pool).unwrap_or(usize::MAX)),
            tenant: key_of(request.tenant_id.as_str()),
            group: held,
            keep_whole_nodes: self.policy.keep_whole_nodes,
        })
    }

    // The best places, the best first, each with another score.
    fn search(&self, ask: &Ask<'_>, order: usize, most: usize) -> Vec<Found> {
        let Some(group) = ask.group else { return ask.leaders(order, None, most) };
        let (first, instead) = match ask.request.spread {
            Spread::None => (ask.leaders(order, None, most), false),
            Spread::Require => (ask.leaders(order, Some(group), most), false),
            Spread::Prefer => (ask.leaders(order, Some(group), most), true),
            Spread::Near => (self.leaders_among(ask, order, group, most), true),
            Spread::SameNode => (self.leaders_among(ask, order, group, most), false),
        };
        if first.is_empty() && instead { ask.leaders(order, None, most) } else { first }
    }

    // The same, looking only at the nodes of a group.
    fn leaders_among(&self, ask: &Ask<'_>, order: usize, group: &BTreeSet<usize>, most: usize) -> Vec<Found> {
        ranked(group.iter().filter_map(|at| self.usable(ask, order, *at)).collect(), most)
    }

    /// What one node costs this request, if it may use it and it fits there. The group does not matter here.
    pub(super) fn usable(&self, ask: &Ask<'_>, order: usize, at: usize) -> Option<Found> {
        let node = self.nodes[at].as_ref().filter(|node| node.domain as usize == ask.domain_number)?;
        let class = ask.domain.class(node.class as usize);
        let Outcome::Offer(offer) = class.outcomes.get(order)? else { return None };
        let may = ask.in_pool(class)
            && match ask.share(class) {
                Share::All => true,
                Share::Own => node.sole_tenant() == Some(ask.tenant),
                Share::None(_) => false,
            };
        may.then_some((offer.score.cost, Member { wear: node.wear, key: node.key, at: count(at) }))
    }

    fn offer_of(&self, member: Member, order: usize) -> Option<(&Node, &Offer)> {
        let node = self.nodes[member.at as usize].as_ref()?;
        match self.domains[node.domain as usize].class(node.class as usize).outcomes.get(order)? {
            Outcome::Offer(offer) => Some((node, offer)),
            Outcome::Passed { .. } => None,
        }
    }

    fn candidate(&self, node: &Node, offer: &Offer, set: &BoardSet) -> Option<Candidate> {
        let modules = self.boards[node.board as usize].modules_in(set.mask);
        Some(Candidate { node_id: node.id()?, modules, score: offer.score, wear: node.wear })
    }
}

// Of equally good sets the least used one, and of those the one with the lowest GPUs.
fn choose(node: &Node, offer: &Offer) -> BoardSet {
    match offer.best.as_slice() {
        [only] => *only,
        best => best.iter().min_by_key(|set| node.wear_of(set.mask)).copied().unwrap_or_default(),
    }
}
