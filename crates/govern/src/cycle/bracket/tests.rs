//! The tournament against the same tournament played from the start each time.

use super::{Bracket, Contender, Sent, before, measure};
use crate::{
    amount::Amount,
    order::Waiting,
    share::{Resource, Shares},
    tree::{FlavorResource, NodeIx, NodeSpec, Quota, Tree, Usage},
    weight::Weight,
};
use proptest::prelude::*;

type Asks = Vec<Vec<(Waiting, Vec<(FlavorResource, Amount)>)>>;

fn next(asks: &Asks, queue: NodeIx) -> Option<Contender<'_>> {
    let (waiting, usage) = asks.get(queue.0 as usize)?.first()?;
    Some(Contender { queue, waiting: *waiting, first: waiting.identity % 7 == 6, usage })
}

// The winner below a node and how it is measured there, by looking at everything.
fn plainly(tree: &Tree, shares: &Shares, usage: &mut Usage, asks: &Asks, node: NodeIx) -> Option<Sent> {
    let contender = if tree.is_queue(node) {
        next(asks, node)
    } else {
        let sent = |child: &NodeIx| plainly(tree, shares, usage, asks, *child);
        let all: Vec<Sent> = tree.children(node).iter().filter_map(sent).collect();
        all.into_iter().min_by(before).and_then(|sent| next(asks, sent.queue))
    };
    contender.map(|contender| measure(tree, shares, usage, node, &contender))
}

fn shape() -> impl Strategy<Value = (Tree, Asks)> {
    let node = (0_u32..4, 0_i64..20, 0_u64..4, prop::option::of(0_i64..10));
    let ask = prop::collection::vec((0_i64..3, prop::option::of(0_i64..3), 0_i64..12), 0..3);
    (prop::collection::vec((node, ask), 4..12)).prop_map(|rows| {
        let (mut specs, mut asks) = (vec![NodeSpec::default(); 4], vec![vec![]; 4]);
        (specs[1].parent, specs[2].parent) = (Some(0), Some(1));
        for (identity, ((parent, nominal, weight, lending), ask)) in rows.into_iter().enumerate() {
            let lending_limit = lending.map(Amount::new);
            let quota = Quota { nominal: Amount::new(nominal), borrowing_limit: None, lending_limit };
            specs.push(NodeSpec {
                parent: Some(parent),
                is_queue: true,
                weight: Weight::from_nano(weight),
                quotas: vec![(FlavorResource(0), quota)],
            });
            let one = |(at, (priority, queued_at, units)): (usize, (i64, Option<i64>, i64))| {
                let identity = u64::try_from(identity * 10 + at).unwrap();
                let waiting = Waiting { local_usage: 0, priority, queued_at, identity };
                (waiting, vec![(FlavorResource(0), Amount::new(units))])
            };
            asks.push(ask.into_iter().enumerate().map(one).collect());
        }
        (Tree::build(&specs, 1).unwrap(), asks)
    })
}

proptest! {
    #[test]
    fn playing_only_what_changed_comes_to_the_same((tree, mut asks) in shape()) {
        let shares = Shares::build(&tree, &[Resource(0)]);
        let mut usage = tree.unused();
        let mut bracket = Bracket::new(&tree);
        for queue in tree.nodes().filter(|node| tree.is_queue(*node)) {
            bracket.play(&tree, &shares, &mut usage, queue, &|queue| next(&asks, queue));
        }
        for root in tree.nodes().filter(|node| tree.parent(*node).is_none()) {
            loop {
                let start = usage.clone();
                let want = plainly(&tree, &shares, &mut usage, &asks, root).map(|sent| sent.queue);
                prop_assert_eq!(bracket.winner(&tree, root), want);
                prop_assert_eq!(&usage, &start);
                let Some(queue) = want else { break };
                let (_, asked) = asks[queue.0 as usize].remove(0);
                asked.iter().for_each(|(what, much)| usage.add(&tree, queue, *what, *much));
                bracket.play(&tree, &shares, &mut usage, queue, &|queue| next(&asks, queue));
            }
        }
        prop_assert!(asks.iter().all(Vec::is_empty));
    }
}

#[test]
fn within_its_own_comes_before_any_share_and_share_before_priority() {
    let quota = |units| vec![(FlavorResource(0), Quota { nominal: Amount::new(units), ..Quota::default() })];
    let queue = |units| NodeSpec { parent: Some(0), is_queue: true, quotas: quota(units), ..NodeSpec::default() };
    let tree = Tree::build(&[NodeSpec::default(), queue(10), queue(2), queue(1)], 1).unwrap();
    let shares = Shares::build(&tree, &[Resource(0)]);
    let ask = |priority, units, identity| {
        let waiting = Waiting { local_usage: 0, priority, queued_at: None, identity };
        vec![(waiting, vec![(FlavorResource(0), Amount::new(units))])]
    };
    // The first stays within its own; of the others the second borrows less, although the third is more urgent.
    let mut asks: Asks = vec![vec![], ask(0, 10, 1), ask(1, 3, 2), ask(9, 4, 3)];
    let mut usage = tree.unused();
    let mut bracket = Bracket::new(&tree);
    for queue in 1..4 {
        bracket.play(&tree, &shares, &mut usage, NodeIx(queue), &|queue| next(&asks, queue));
    }
    let mut order = vec![];
    while let Some(queue) = bracket.winner(&tree, NodeIx(0)) {
        order.push(queue.0);
        asks[queue.0 as usize].clear();
        bracket.play(&tree, &shares, &mut usage, queue, &|queue| next(&asks, queue));
    }
    assert_eq!(order, [1, 2, 3]);
}
