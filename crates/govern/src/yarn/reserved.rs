//! Makes room for reserved containers: a reservation that its node cannot take yet is served if enough containers of
//! over-served queues run on that very node. Cheapest nodes first; a node is cleared for its reservation or not touched.

use super::bundle::Bundle;
use super::ideal::Pace;
use super::victims::{Choice, Cluster};
use crate::division::fraction::Fraction;
use std::cmp::{Ordering, Reverse};

impl Cluster {
    /// Chooses what goes so that reservations of under-served queues can start.
    pub fn choose_for_reservations(&self, pace: Pace, choice: &mut Choice) {
        let mut left = self.left_to_obtain(Pace { for_reservations: true, ..pace }, choice);
        let mut places: Vec<(Fraction, usize)> = vec![];
        for (at, container) in self.containers.iter().enumerate().filter(|(_, container)| container.reserved) {
            if let Some(taken) = self.room_for(at, &mut left.clone(), &mut choice.clone()) {
                let size = taken.iter().fold(Bundle::ZERO, |sum, one| sum.plus(self.containers[*one].size));
                places.push((self.measure.ratio(size, container.size), at));
            }
        }
        places.sort_by(|one, two| one.0.partial_cmp(&two.0).unwrap_or(Ordering::Equal).then(one.1.cmp(&two.1)));
        for (_, reserved) in places {
            let before = (left.clone(), choice.clone());
            if self.room_for(reserved, &mut left, choice).is_none() {
                (left, *choice) = before;
            }
        }
    }

    // What leaves its node for a reservation, newest first; nothing if that is not enough or not needed.
    fn room_for(&self, reserved: usize, left: &mut [Vec<Bundle>], choice: &mut Choice) -> Option<Vec<usize>> {
        let reservation = &self.containers[reserved];
        let node = self.nodes.get(reservation.node).copied().flatten()?;
        let mut running: Vec<usize> = (0..self.containers.len())
            .filter(|at| !self.containers[*at].reserved && self.containers[*at].node == reservation.node)
            .collect();
        running.sort_by_key(|at| Reverse((self.apps[self.containers[*at].app].age_rank, self.containers[*at].number)));
        let mut free = running.iter().fold(node, |free, at| free.minus(self.containers[*at].size));
        if reservation.size.fits_in(free) {
            return None;
        }
        let mut taken = vec![];
        for at in running {
            let container = &self.containers[at];
            let spare = &mut left[container.partition][self.apps[container.app].queue];
            if container.master || !container.size.fits_in(*spare) || !container.size.fits_in(choice.allowed) {
                continue;
            }
            *spare = spare.minus(container.size);
            choice.allowed = choice.allowed.minus(container.size);
            if !choice.chosen[at] {
                choice.chosen[at] = true;
                taken.push(at);
            }
            free = free.plus(container.size);
            if reservation.size.fits_in(free) {
                return Some(taken);
            }
        }
        None
    }
}
