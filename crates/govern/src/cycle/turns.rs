//! Whose turn it is to have others told to go. Looking for them is what a cycle does longest, so it looks only so often; the
//! queues that it could not look for are the only ones that it looks for in the next cycle, until all had their turn. Whoever
//! needs nobody to go is admitted in every cycle.

use super::run::Run;
use crate::{amount::Amount, tree::NodeIx};

impl Run<'_> {
    fn has_turn(&self, queue: NodeIx) -> bool {
        self.scheduler.turns.is_empty() || self.scheduler.turns.contains(&queue)
    }

    /// Whether others may be looked for who could go for this queue.
    pub(super) fn may_search(&self, queue: NodeIx) -> bool {
        !self.exhausted && self.has_turn(queue)
    }

    /// The cycle looks for nobody more, and somebody in this queue needs that.
    pub(super) fn is_cut(&mut self, queue: NodeIx) {
        if self.has_turn(queue) {
            self.cut.insert(queue);
        }
    }

    /// Whether nothing is left for a queue, and nothing was promised to it: then nobody in it starts unless others go.
    pub(super) fn is_full(&self, queue: NodeIx) -> bool {
        let estate = &self.scheduler.estate;
        let offer = estate.offers.get(queue.0 as usize).filter(|_| !self.promised.contains(&queue));
        let Some(offer) = offer else { return false };
        let mut cells = offer.groups.iter().flat_map(|group| &group.cells).peekable();
        cells.peek().is_some() && cells.all(|what| estate.tree.available(&self.usage, queue, *what) <= Amount::ZERO)
    }
}
