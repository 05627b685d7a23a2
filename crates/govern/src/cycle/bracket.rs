//! The fair order: a tournament that is played again before each workload that a cycle looks at.
//!
//! In each cohort the workloads that its children send compete, and the winner goes on to the cohort above. Each is measured
//! by the child it comes through: a child that stays within its own, for what the workload asks, wins first; then the one
//! with the lower weighted share, the workload included; then priority and age. What a child sends and how it is measured
//! only depends on what is used below it, so after one workload was looked at only the way from its queue to the root is
//! played again, and in each cohort on that way only as many matches as a tournament of its children has rounds.

use crate::{
    amount::Amount,
    order::Waiting,
    share::{Share, Shares, borrows_on},
    tree::{FlavorResource, NodeIx, Tree, Usage},
};
use std::cmp::Ordering;

/// Who takes part: the next workload of a queue, and what it would use.
#[derive(Debug, Clone)]
pub struct Contender<'e> {
    /// Its queue.
    pub queue: NodeIx,
    /// Its priority and age.
    pub waiting: Waiting,
    /// It comes before all that do not.
    pub first: bool,
    /// What it would use.
    pub usage: &'e [(FlavorResource, Amount)],
}

// Who comes through a node, and how it is measured there.
#[derive(Debug, Clone, Copy)]
struct Sent {
    queue: NodeIx,
    waiting: Waiting,
    first: bool,
    borrows: bool,
    share: Share,
}

/// The tournament of one forest of cohorts.
#[derive(Debug, Clone)]
pub struct Bracket {
    // By node: whom it sends to its parent.
    sent: Vec<Option<Sent>>,
    // By cohort: the matches among its children as a binary tree, the final first. Each holds the place of a child.
    matches: Vec<Vec<Option<u32>>>,
    // By node: its place among its parent's children.
    place: Vec<u32>,
}

fn before(left: &Sent, right: &Sent) -> Ordering {
    let since = |sent: &Sent| sent.waiting.queued_at.unwrap_or(i64::MIN);
    (right.first.cmp(&left.first))
        .then_with(|| left.borrows.cmp(&right.borrows))
        .then_with(|| left.share.compare(&right.share))
        .then_with(|| right.waiting.priority.cmp(&left.waiting.priority))
        .then_with(|| since(left).cmp(&since(right)))
        .then_with(|| left.waiting.identity.cmp(&right.waiting.identity))
}

impl Bracket {
    /// Nobody takes part yet.
    #[must_use]
    pub fn new(tree: &Tree) -> Self {
        let mut bracket = Self { sent: vec![], matches: vec![], place: vec![] };
        for node in tree.nodes() {
            let leaves = tree.children(node).len().next_power_of_two();
            bracket.matches.push(if tree.is_queue(node) { vec![] } else { vec![None; 2 * leaves] });
            bracket.sent.push(None);
            bracket.place.push(0);
        }
        for node in tree.nodes() {
            for (child, at) in tree.children(node).iter().zip(0..) {
                bracket.place[child.0 as usize] = at;
            }
        }
        bracket
    }

    /// The queue whose next workload wins below this root, if any takes part.
    #[must_use]
    pub fn winner(&self, tree: &Tree, root: NodeIx) -> Option<NodeIx> {
        if tree.is_queue(root) {
            return self.sent[root.0 as usize].as_ref().map(|sent| sent.queue);
        }
        self.champion(tree, root).map(|sent| sent.queue)
    }

    fn champion(&self, tree: &Tree, cohort: NodeIx) -> Option<Sent> {
        let child = self.matches[cohort.0 as usize].get(1).copied().flatten()?;
        self.sent[tree.children(cohort)[child as usize].0 as usize]
    }

    /// A queue's next workload, or the usage below it, has changed: plays again what depends on that. `next` says what the
    /// queue's next workload is, of any queue that takes part. Leaves the usage as it was.
    pub fn play<'e>(
        &mut self,
        tree: &Tree,
        shares: &Shares,
        usage: &mut Usage,
        queue: NodeIx,
        next: &dyn Fn(NodeIx) -> Option<Contender<'e>>,
    ) {
        let mut node = queue;
        loop {
            let comes = if node == queue { Some(queue) } else { self.champion(tree, node).map(|sent| sent.queue) };
            let contender = comes.and_then(next);
            self.sent[node.0 as usize] = contender.map(|contender| measure(tree, shares, usage, node, &contender));
            let Some(parent) = tree.parent(node) else { return };
            self.rematch(tree, parent, self.place[node.0 as usize]);
            node = parent;
        }
    }

    // Plays the matches of one child again, from the first round to the final.
    fn rematch(&mut self, tree: &Tree, cohort: NodeIx, child: u32) {
        let children = tree.children(cohort);
        let sent =
            |at: Option<u32>| at.and_then(|at| Some((at, self.sent[children[at as usize].0 as usize].as_ref()?)));
        let rounds = &mut self.matches[cohort.0 as usize];
        let mut at = rounds.len() / 2 + child as usize;
        rounds[at] = sent(Some(child)).map(|(at, _)| at);
        while at > 1 {
            at /= 2;
            rounds[at] = match (sent(rounds[2 * at]), sent(rounds[2 * at + 1])) {
                (Some((left, one)), Some((right, other))) => {
                    Some(if before(one, other).is_le() { left } else { right })
                }
                (one, other) => one.or(other).map(|(at, _)| at),
            };
        }
    }
}

// With the workload's own usage added, so that what a queue keeps to itself is counted where it belongs.
fn measure(tree: &Tree, shares: &Shares, usage: &mut Usage, node: NodeIx, contender: &Contender<'_>) -> Sent {
    let Contender { queue, waiting, first, usage: asked } = contender;
    asked.iter().for_each(|(what, much)| usage.add(tree, *queue, *what, *much));
    let (borrows, share) = (borrows_on(tree, usage, node, asked), shares.of(tree, usage, node));
    asked.iter().rev().for_each(|(what, much)| usage.remove(tree, *queue, *what, *much));
    Sent { queue: *queue, waiting: *waiting, first: *first, borrows, share }
}

#[cfg(test)]
mod tests;
