//! What the tree promises, on a small one by hand and on generated ones.

use super::{FlavorResource, NodeIx, NodeSpec, Quota, Tree, TreeFault};
use crate::{amount::Amount, weight::Weight};
use proptest::prelude::*;

const GPU: FlavorResource = FlavorResource(0);

fn node(parent: Option<u32>, is_queue: bool, nominal: i64, limits: (Option<i64>, Option<i64>)) -> NodeSpec {
    let (borrowing_limit, lending_limit) = (limits.0.map(Amount::new), limits.1.map(Amount::new));
    let quota = Quota { nominal: Amount::new(nominal), borrowing_limit, lending_limit };
    NodeSpec { parent, is_queue, weight: Weight::ONE, quotas: vec![(GPU, quota)] }
}

#[test]
fn what_is_kept_is_filled_before_anything_is_borrowed() {
    let specs = [
        node(None, false, 4, (None, None)),
        node(Some(0), true, 6, (Some(2), Some(4))),
        node(Some(0), true, 6, (None, None)),
    ];
    let tree = Tree::build(&specs, 1).unwrap();
    let (all, keeps, lends) = (NodeIx(0), NodeIx(1), NodeIx(2));
    assert_eq!(tree.subtree(all, GPU), Amount::new(14));
    assert_eq!([keeps, lends].map(|queue| tree.potential(queue, GPU).units()), [8, 14]);
    let mut usage = tree.unused();
    usage.add(&tree, keeps, GPU, Amount::new(3));
    assert_eq!(usage.of(all, GPU), Amount::new(1), "two of the three were kept");
    usage.add(&tree, lends, GPU, Amount::new(13));
    assert_eq!([keeps, lends].map(|queue| tree.available(&usage, queue, GPU).units()), [0, 0]);
    usage.remove(&tree, keeps, GPU, Amount::new(2));
    assert_eq!(usage.of(all, GPU), Amount::new(13));
    assert_eq!([keeps, lends].map(|queue| tree.available(&usage, queue, GPU).units()), [2, 1]);
    assert!(tree.borrows_with(&usage, keeps, GPU, Amount::new(6)));
    assert!(!tree.borrows_with(&usage, keeps, GPU, Amount::new(5)));
    assert_eq!([all, keeps].map(|node| tree.height(node)), [1, 0]);
}

#[test]
fn circles_and_strangers_are_refused() {
    let circle = [node(Some(1), false, 0, (None, None)), node(Some(0), false, 0, (None, None))];
    assert!(matches!(Tree::build(&circle, 1), Err(TreeFault::Circle { .. })));
    let stranger = [node(Some(7), true, 0, (None, None))];
    assert_eq!(Tree::build(&stranger, 1).unwrap_err(), TreeFault::NoSuchParent { node: 0 });
    let under_queue = [node(None, true, 0, (None, None)), node(Some(0), true, 0, (None, None))];
    assert_eq!(Tree::build(&under_queue, 1).unwrap_err(), TreeFault::NoSuchParent { node: 1 });
    assert_eq!(
        Tree::build(&[node(None, true, 0, (None, None))], 0).unwrap_err(),
        TreeFault::NoSuchResource { node: 0 }
    );
}

fn limit() -> impl Strategy<Value = Option<i64>> {
    proptest::option::of(0..20_i64)
}

// Cohort 0, cohorts 1 and 2 below it, four queues anywhere.
fn forest() -> impl Strategy<Value = Vec<NodeSpec>> {
    let cohorts = proptest::collection::vec((0..20_i64, limit(), limit()), 2);
    let queues = proptest::collection::vec((0..3_u32, 0..20_i64, limit(), limit()), 4);
    (0..20_i64, cohorts, queues).prop_map(|(top, cohorts, queues)| {
        let mut specs = vec![node(None, false, top, (None, None))];
        specs.extend(cohorts.into_iter().map(|(own, borrow, lend)| node(Some(0), false, own, (borrow, lend))));
        specs.extend(queues.into_iter().map(|(above, own, borrow, lend)| node(Some(above), true, own, (borrow, lend))));
        specs
    })
}

proptest! {
    #[test]
    fn what_is_taken_within_what_is_available_keeps_every_limit(
        specs in forest(),
        takes in proptest::collection::vec((3..7_u32, 1..9_i64), 1..40),
    ) {
        let tree = Tree::build(&specs, 1).unwrap();
        let (mut usage, mut taken) = (tree.unused(), vec![]);
        for (queue, amount) in takes {
            let (queue, amount) = (NodeIx(queue), Amount::new(amount));
            if tree.available(&usage, queue, GPU) >= amount {
                usage.add(&tree, queue, GPU, amount);
                taken.push((queue, amount));
            }
            for node in tree.nodes() {
                let used = usage.of(node, GPU);
                prop_assert!(used <= tree.potential(node, GPU), "{node:?} uses {used}");
                if let Some(limit) = tree.quota(node, GPU).borrowing_limit.filter(|_| tree.parent(node).is_some()) {
                    prop_assert!(used <= tree.subtree(node, GPU).plus(limit));
                }
            }
        }
        for (queue, amount) in taken.into_iter().rev() {
            usage.remove(&tree, queue, GPU, amount);
        }
        prop_assert_eq!(usage, tree.unused());
    }
}

#[test]
fn a_tree_with_other_quotas_is_the_tree_that_was_built_with_them() {
    let mut specs = [
        node(None, false, 4, (None, None)),
        node(Some(0), false, 0, (Some(3), Some(5))),
        node(Some(1), true, 6, (Some(2), Some(4))),
        node(Some(0), true, 6, (None, None)),
    ];
    let before = Tree::build(&specs, 1).unwrap();
    let quota = Quota { nominal: Amount::new(20), borrowing_limit: None, lending_limit: Some(Amount::new(1)) };
    let changed = before.with_quotas(&[(NodeIx(2), GPU, quota)]).unwrap();
    specs[2].quotas = vec![(GPU, quota)];
    let built = Tree::build(&specs, 1).unwrap();
    for node in built.nodes() {
        let numbers = |tree: &Tree| [tree.subtree(node, GPU), tree.kept(node, GPU), tree.potential(node, GPU)];
        assert_eq!(numbers(&changed), numbers(&built));
    }
    assert_ne!(changed.subtree(NodeIx(0), GPU), before.subtree(NodeIx(0), GPU));
    let fault = |node, what| before.with_quotas(&[(NodeIx(node), FlavorResource(what), quota)]).unwrap_err();
    assert_eq!(fault(4, 0), TreeFault::NoSuchNode { node: 4 });
    assert_eq!(fault(2, 1), TreeFault::NoSuchResource { node: 2 });
}
