//! The quota tree: queues are its leaves, cohorts everything above. Each node has, for each kind of thing that can be asked
//! for, a quota of its own, what it keeps from its parent (what it does not lend) and what it may borrow from it.
//!
//! ```text
//!   cohort "all"  subtree 30                      subtree = own + what the children lend
//!   ├── cohort "research"  own 10, subtree 20     kept    = subtree beyond the lending limit
//!   │   ├── queue "vision"  nominal 6, keeps 2    a use fills what is kept first; only what goes beyond
//!   │   └── queue "speech"  nominal 6                counts at the parent
//!   └── queue "serving"  nominal 10
//! ```
//!
//! The shape and the quotas ([`Tree`]) change rarely and are built once; what is used ([`Usage`]) changes with every admission
//! and is a plain array beside it, so a search can take workloads away, look, and put them back.

use crate::{amount::Amount, weight::Weight};
use thiserror::Error;

/// A node of the tree, as its place in the list it was built from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeIx(pub u32);

/// A resource in a flavor, as its place in a list that the caller keeps. Everything that is counted is counted per such pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlavorResource(pub u32);

/// What a node has of one [`FlavorResource`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quota {
    /// Its own.
    pub nominal: Amount,
    /// What it may borrow from its parent beyond its subtree; without one, whatever the parent has.
    pub borrowing_limit: Option<Amount>,
    /// What of its subtree it lends at most; without one, all of it.
    pub lending_limit: Option<Amount>,
}

/// One node, as it is described.
#[derive(Debug, Clone, Default)]
pub struct NodeSpec {
    /// Its parent's place in the list, or none for a root.
    pub parent: Option<u32>,
    /// A queue; else a cohort.
    pub is_queue: bool,
    /// What it counts against its siblings.
    pub weight: Weight,
    /// By [`FlavorResource`]; what is missing is zero.
    pub quotas: Vec<(FlavorResource, Quota)>,
}

/// Why a list of nodes is no tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum TreeFault {
    /// A parent that is not in the list, or is a queue.
    #[error("node {node} names a parent that is no cohort of the tree")]
    NoSuchParent {
        /// Which node.
        node: u32,
    },
    /// Its ancestors come back to it.
    #[error("node {node} is its own ancestor")]
    Circle {
        /// One node of the circle.
        node: u32,
    },
    /// A change to a node that is not there.
    #[error("there is no node {node} in the tree")]
    NoSuchNode {
        /// Which one was named.
        node: u32,
    },
    /// A quota of something that is not counted.
    #[error("node {node} has a quota of something that the tree does not count")]
    NoSuchResource {
        /// Which node.
        node: u32,
    },
}

#[derive(Debug, Clone)]
struct Node {
    parent: Option<NodeIx>,
    children: Vec<NodeIx>,
    is_queue: bool,
    weight: Weight,
    // The longest way down to a leaf.
    height: u32,
    root: NodeIx,
}

/// The shape and the quotas.
#[derive(Debug, Clone)]
pub struct Tree {
    nodes: Vec<Node>,
    // Node by node, `width` of each.
    width: usize,
    quotas: Vec<Quota>,
    subtree: Vec<Amount>,
    kept: Vec<Amount>,
    potential: Vec<Amount>,
}

/// What is used, for each node and [`FlavorResource`] of a [`Tree`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    width: usize,
    used: Vec<Amount>,
}

const fn ix(node: NodeIx) -> usize {
    node.0 as usize
}

impl Tree {
    /// Builds the tree over so many [`FlavorResource`]s.
    ///
    /// # Errors
    /// When the list is no forest of cohorts with queues as leaves.
    pub fn build(specs: &[NodeSpec], width: u32) -> Result<Self, TreeFault> {
        let order = top_down(specs)?;
        let width = width as usize;
        let mut quotas = vec![Quota::default(); specs.len() * width];
        let mut nodes: Vec<Node> = Vec::with_capacity(specs.len());
        for (spec, node) in specs.iter().zip(0_u32..) {
            for (what, quota) in &spec.quotas {
                let at = what.0 as usize;
                if at >= width {
                    return Err(TreeFault::NoSuchResource { node });
                }
                quotas[ix(NodeIx(node)) * width + at] = *quota;
            }
            let (is_queue, weight) = (spec.is_queue, spec.weight);
            let parent = spec.parent.map(NodeIx);
            nodes.push(Node { parent, children: vec![], is_queue, weight, height: 0, root: NodeIx(node) });
        }
        for node in &order {
            if let Some(parent) = nodes[ix(*node)].parent {
                nodes[ix(*node)].root = nodes[ix(parent)].root;
                nodes[ix(parent)].children.push(*node);
            }
        }
        for node in order.iter().rev() {
            if let Some(parent) = nodes[ix(*node)].parent {
                nodes[ix(parent)].height = nodes[ix(parent)].height.max(nodes[ix(*node)].height + 1);
            }
        }
        let empty = vec![Amount::ZERO; specs.len() * width];
        let mut tree = Self { nodes, width, quotas, subtree: empty.clone(), kept: empty.clone(), potential: empty };
        tree.sum_up(&order);
        Ok(tree)
    }

    /// The same tree with some quotas exchanged; nodes keep their numbers.
    ///
    /// # Errors
    /// When there is no such node, or what the quota is of is not counted.
    pub fn with_quotas(&self, changes: &[(NodeIx, FlavorResource, Quota)]) -> Result<Self, TreeFault> {
        let mut tree = self.clone();
        for (node, what, quota) in changes {
            if ix(*node) >= self.nodes.len() {
                return Err(TreeFault::NoSuchNode { node: node.0 });
            }
            if what.0 as usize >= self.width {
                return Err(TreeFault::NoSuchResource { node: node.0 });
            }
            let at = tree.at(*node, *what);
            tree.quotas[at] = *quota;
        }
        let mut order: Vec<NodeIx> = self.nodes().filter(|node| self.parent(*node).is_none()).collect();
        let mut next = 0;
        while let Some(node) = order.get(next).copied() {
            order.extend(self.children(node));
            next += 1;
        }
        tree.sum_up(&order);
        Ok(tree)
    }

    fn sum_up(&mut self, order: &[NodeIx]) {
        let pairs = |node: NodeIx, width: u32| (0..width).map(move |what| (node, FlavorResource(what)));
        let width = self.width();
        for (node, what) in order.iter().rev().flat_map(|node| pairs(*node, width)) {
            let own = self.quota(node, what);
            let lent =
                self.children(node).iter().fold(Amount::ZERO, |sum, child| sum.plus(self.lent_at_most(*child, what)));
            let subtree = own.nominal.plus(lent);
            let at = self.at(node, what);
            self.subtree[at] = subtree;
            self.kept[at] = own.lending_limit.map_or(Amount::ZERO, |limit| subtree.minus(limit).or_zero());
        }
        for (node, what) in order.iter().flat_map(|node| pairs(*node, width)) {
            let at = self.at(node, what);
            self.potential[at] = match self.parent(node) {
                None => self.subtree[at],
                Some(parent) => {
                    let reach = self.kept[at].plus(self.potential(parent, what));
                    let limit = self.quota(node, what).borrowing_limit;
                    limit.map_or(reach, |limit| reach.min(self.subtree[at].plus(limit)))
                }
            };
        }
    }

    fn at(&self, node: NodeIx, what: FlavorResource) -> usize {
        ix(node) * self.width + what.0 as usize
    }

    fn lent_at_most(&self, node: NodeIx, what: FlavorResource) -> Amount {
        self.subtree(node, what).minus(self.kept(node, what))
    }

    /// How many things are counted.
    #[must_use]
    pub fn width(&self) -> u32 {
        u32::try_from(self.width).unwrap_or(u32::MAX)
    }

    /// All nodes.
    pub fn nodes(&self) -> impl Iterator<Item = NodeIx> + use<> {
        (0_u32..).take(self.nodes.len()).map(NodeIx)
    }

    /// The node above.
    #[must_use]
    pub fn parent(&self, node: NodeIx) -> Option<NodeIx> {
        self.nodes[ix(node)].parent
    }

    /// The nodes above, nearest first.
    pub fn ancestors(&self, node: NodeIx) -> impl Iterator<Item = NodeIx> + '_ {
        std::iter::successors(self.parent(node), |above| self.parent(*above))
    }

    /// The topmost node above, or itself.
    #[must_use]
    pub fn root(&self, node: NodeIx) -> NodeIx {
        self.nodes[ix(node)].root
    }

    /// The nodes right below, in the order of the list.
    #[must_use]
    pub fn children(&self, node: NodeIx) -> &[NodeIx] {
        &self.nodes[ix(node)].children
    }

    /// Whether it is a queue.
    #[must_use]
    pub fn is_queue(&self, node: NodeIx) -> bool {
        self.nodes[ix(node)].is_queue
    }

    /// What it counts against its siblings.
    #[must_use]
    pub fn weight(&self, node: NodeIx) -> Weight {
        self.nodes[ix(node)].weight
    }

    /// The longest way down to a leaf.
    #[must_use]
    pub fn height(&self, node: NodeIx) -> u32 {
        self.nodes[ix(node)].height
    }

    /// Its own quota, as described.
    #[must_use]
    pub fn quota(&self, node: NodeIx, what: FlavorResource) -> Quota {
        self.quotas[self.at(node, what)]
    }

    /// Its own and what the nodes below lend.
    #[must_use]
    pub fn subtree(&self, node: NodeIx, what: FlavorResource) -> Amount {
        self.subtree[self.at(node, what)]
    }

    /// What of its subtree it keeps from its parent.
    #[must_use]
    pub fn kept(&self, node: NodeIx, what: FlavorResource) -> Amount {
        self.kept[self.at(node, what)]
    }

    /// The most that it could ever use, were nobody else there.
    #[must_use]
    pub fn potential(&self, node: NodeIx, what: FlavorResource) -> Amount {
        self.potential[self.at(node, what)]
    }

    /// What is kept and not in use.
    #[must_use]
    pub fn kept_free(&self, usage: &Usage, node: NodeIx, what: FlavorResource) -> Amount {
        self.kept(node, what).minus(usage.of(node, what)).or_zero()
    }

    /// What a node can still take, by itself and from above. Below zero where more is used than there is.
    #[must_use]
    pub fn available(&self, usage: &Usage, node: NodeIx, what: FlavorResource) -> Amount {
        let Some(parent) = self.parent(node) else {
            return self.subtree(node, what).minus(usage.of(node, what));
        };
        let above = self.available(usage, parent, what);
        let above = match self.quota(node, what).borrowing_limit {
            None => above,
            Some(limit) => {
                let taken = usage.of(node, what).minus(self.kept(node, what)).or_zero();
                above.min(self.lent_at_most(node, what).minus(taken).plus(limit))
            }
        };
        self.kept_free(usage, node, what).plus(above)
    }

    /// Whether with so much more it would use more than its own subtree has.
    #[must_use]
    pub fn borrows_with(&self, usage: &Usage, node: NodeIx, what: FlavorResource, more: Amount) -> bool {
        self.subtree(node, what) < usage.of(node, what).plus(more)
    }

    /// Nothing used.
    #[must_use]
    pub fn unused(&self) -> Usage {
        Usage { width: self.width, used: vec![Amount::ZERO; self.nodes.len() * self.width] }
    }
}

impl Usage {
    /// What a node uses.
    #[must_use]
    pub fn of(&self, node: NodeIx, what: FlavorResource) -> Amount {
        self.used[ix(node) * self.width + what.0 as usize]
    }

    /// Adds to a node, and to those above what goes beyond what it keeps.
    pub fn add(&mut self, tree: &Tree, node: NodeIx, what: FlavorResource, more: Amount) {
        let (mut node, mut more) = (node, more);
        loop {
            let free = tree.kept_free(self, node, what);
            let used = &mut self.used[ix(node) * self.width + what.0 as usize];
            *used = used.plus(more);
            match tree.parent(node) {
                Some(parent) if more > free => (node, more) = (parent, more.minus(free)),
                _ => return,
            }
        }
    }

    /// Takes from a node, and from those above what had gone beyond what it keeps.
    pub fn remove(&mut self, tree: &Tree, node: NodeIx, what: FlavorResource, less: Amount) {
        let (mut node, mut less) = (node, less);
        loop {
            let beyond = self.of(node, what).minus(tree.kept(node, what));
            let used = &mut self.used[ix(node) * self.width + what.0 as usize];
            *used = used.minus(less);
            match tree.parent(node) {
                Some(parent) if beyond > Amount::ZERO => (node, less) = (parent, less.min(beyond)),
                _ => return,
            }
        }
    }
}

// Every node after its parent.
fn top_down(specs: &[NodeSpec]) -> Result<Vec<NodeIx>, TreeFault> {
    let mut below: Vec<Vec<NodeIx>> = vec![vec![]; specs.len()];
    let mut order = vec![];
    for (spec, node) in specs.iter().zip(0_u32..) {
        match spec.parent {
            None => order.push(NodeIx(node)),
            Some(parent) => match specs.get(parent as usize) {
                Some(above) if !above.is_queue => below[parent as usize].push(NodeIx(node)),
                _ => return Err(TreeFault::NoSuchParent { node }),
            },
        }
    }
    let mut next = 0;
    while let Some(node) = order.get(next).copied() {
        order.append(&mut below[ix(node)]);
        next += 1;
    }
    // What no root leads to goes round in a circle.
    match below.iter().flatten().next() {
        Some(node) => Err(TreeFault::Circle { node: node.0 }),
        None => Ok(order),
    }
}

#[cfg(test)]
mod tests;
