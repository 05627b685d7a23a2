//! What apps of one queue take from each other.
//!
//! What a queue holds is given out anew, from the highest priority down, to each app up to what it uses and waits for, and to
//! each user up to its limit. Who then has more than that gives to who has less. Masters count as fixed. With the user limit
//! first, nobody falls below it for the sake of another user; with priority first, only priority counts.

use super::bundle::{Bundle, Measure};
use super::victims::{Choice, Cluster};
use crate::division::fraction::Fraction;
use std::cmp::Ordering;

/// What decides between apps of one queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum First {
    /// The limits of users.
    UserLimit,
    /// The priority of apps.
    Priority,
}

/// In which order apps are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Serve {
    /// By priority, then by age.
    Oldest,
    /// Users who use least first, and their apps that use least.
    Fairly,
}

/// How much may change within a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Within {
    /// What decides.
    pub first: First,
    /// In which order.
    pub serve: Serve,
    /// A queue that uses less than this part of its guarantee is left alone, in millionths.
    pub threshold_micro: u32,
    /// At most this part of its guarantee changes hands in a round, in millionths.
    pub at_most_micro: u32,
    /// Only containers of use in every resource are taken.
    pub conservative: bool,
    /// The smallest container.
    pub least: Bundle,
}

/// An app's user and what it waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// Its user, as a small number.
    pub user: usize,
    /// What it waits for, by partition.
    pub pending: Vec<Bundle>,
}

/// The limits of the users of a queue in a partition.
pub trait UserLimits {
    /// The limit of any user of this queue in this partition.
    fn limit(&self, queue: usize, partition: usize) -> Bundle;
}

/// What a capacity gives to each of so many users: an even part, or with a percentage that part.
#[must_use]
pub fn even_limit(capacity: Bundle, users: usize, percent: Option<u32>) -> Bundle {
    let count = percent.filter(|percent| *percent > 0).map_or(users, |percent| (100 / percent.min(100)) as usize);
    let part = Fraction { over: 1, under: i128::try_from(count.max(1)).unwrap_or(1) };
    Bundle(capacity.0.map(|amount| part.of_up(amount)))
}

/// What the users of a queue use, for [`computed_limit`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Users {
    /// What is guaranteed to the queue.
    pub guaranteed: Bundle,
    /// What all of them use.
    pub used: Bundle,
    /// What those use that want more.
    pub used_by_active: Bundle,
    /// The weights of all of them, in millionths.
    pub weights_micro: u64,
    /// The weights of those that want more, in millionths.
    pub weights_active_micro: u64,
    /// What each is sure of, in percent.
    pub percent: u32,
    /// How far one may go beyond the guarantee of the queue, in millionths; none means without limit.
    pub factor_micro: Option<u32>,
    /// The smallest container.
    pub least: Bundle,
}

/// The limit of a user as the scheduler computes it from what is used, for users that want more or for all.
#[must_use]
pub fn computed_limit(measure: Measure, users: &Users, active: bool) -> Bundle {
    let capacity = measure.max(users.guaranteed, users.least);
    let current = if measure.more(capacity, users.used) { capacity } else { users.used.plus(users.least) };
    let (shared, weights) = if active {
        (users.used_by_active.plus(users.least), users.weights_active_micro)
    } else {
        (current, users.weights_micro)
    };
    let even = Fraction { over: 1_000_000, under: i128::from(weights.max(1)) };
    let sure = Fraction { over: i128::from(users.percent), under: 100 };
    let up = |bundle: Bundle, part: Fraction| Bundle(bundle.0.map(|amount| part.of_up(amount)));
    let limit = measure.max(up(shared, even), up(current, sure));
    let limit = users
        .factor_micro
        .map_or(limit, |factor| measure.min(limit, users.guaranteed.times(Fraction::millionths(factor))));
    let mut rounded = limit;
    for (amount, least) in rounded.0.iter_mut().zip(users.least.0) {
        if least > 0 {
            *amount = Fraction { over: 1, under: i128::from(least) }.of_up(*amount).saturating_mul(least);
        }
    }
    rounded
}

// One app while its queue is divided.
#[derive(Debug, Clone, Copy)]
struct Share {
    app: usize,
    user: usize,
    used: Bundle,
    master: Bundle,
    pending: Bundle,
    selected: Bundle,
    ideal: Bundle,
    // What it should get from others, and what others may get from it.
    wants: Bundle,
    spare: Bundle,
    gives: Bundle,
}

#[derive(Debug, Clone, Copy, Default)]
struct User {
    used: Bundle,
    master: Bundle,
    selected: Bundle,
    ideal: Bundle,
    // Without its masters.
    limit: Bundle,
    spent: bool,
}

impl User {
    fn at_work(&self) -> Bundle {
        self.used.minus(self.master)
    }
}

struct Division<'a> {
    cluster: &'a Cluster,
    // By app, in the order in which they go.
    containers: &'a [Vec<usize>],
    within: Within,
    partition: usize,
    // Highest priority first.
    shares: Vec<Share>,
    users: Vec<User>,
}

impl Cluster {
    /// Chooses what apps of one queue take from each other, after what queues take from each other. `obtain` is what is taken
    /// from each queue by others, by partition.
    pub fn choose_within(
        &self,
        within: Within,
        wishes: &[Wish],
        limits: &impl UserLimits,
        obtain: &[Vec<Bundle>],
        choice: &mut Choice,
    ) {
        let allowed = choice.allowed;
        let containers = self.containers_by_app();
        let mut divided: Vec<(usize, Division<'_>)> = vec![];
        for (partition, queues) in self.partitions.iter().enumerate() {
            for queue in self.leaves_in_need(partition) {
                let share = self.measure.ratio(queues[queue].used, queues[queue].guaranteed);
                if share < Fraction::millionths(within.threshold_micro) {
                    continue;
                }
                let mut division = self.division(within, wishes, limits, &containers, (queue, partition));
                if division.shares.len() > 1 {
                    division.divide(
                        queues[queue].used,
                        queues[queue].guaranteed,
                        obtain[partition][queue],
                        allowed,
                        choice,
                    );
                    divided.push((queue, division));
                }
            }
        }
        for (queue, mut division) in divided {
            division.deduct(queue, choice);
            division.choose(choice);
        }
    }

    // Leaves that want more than they should have, most under-served first.
    fn leaves_in_need(&self, partition: usize) -> Vec<usize> {
        let queues = &self.partitions[partition];
        let mut is_leaf = vec![true; queues.len()];
        queues.iter().filter_map(|queue| queue.parent).for_each(|parent| is_leaf[parent] = false);
        let wants = |at: &usize| {
            let queue = &queues[*at];
            is_leaf[*at] && (queue.pending.any_above_zero() || self.measure.more(queue.used, queue.guaranteed))
        };
        let mut leaves: Vec<usize> = (0..queues.len()).filter(wants).collect();
        let need = |at: &usize| self.measure.ratio(queues[*at].used, queues[*at].guaranteed);
        leaves.sort_by(|left, right| need(left).partial_cmp(&need(right)).unwrap_or(Ordering::Equal));
        leaves
    }

    fn division<'a>(
        &'a self,
        within: Within,
        wishes: &[Wish],
        limits: &impl UserLimits,
        containers: &'a [Vec<usize>],
        (queue, partition): (usize, usize),
    ) -> Division<'a> {
        let nothing = Bundle::ZERO;
        let mut shares: Vec<Share> = vec![];
        let users = wishes.iter().map(|wish| wish.user + 1).max().unwrap_or(0);
        let mut users = vec![User::default(); users];
        for (app, wish) in wishes.iter().enumerate().filter(|(app, _)| self.apps[*app].queue == queue) {
            let (mut used, mut master) = (nothing, nothing);
            let of_app = containers[app].iter().map(|at| &self.containers[*at]);
            for container in of_app.filter(|one| one.partition == partition && !one.reserved) {
                used = used.plus(container.size);
                if container.master {
                    master = master.plus(container.size);
                }
            }
            let pending = wish.pending.get(partition).copied().unwrap_or(nothing);
            users[wish.user].used = users[wish.user].used.plus(used);
            users[wish.user].master = users[wish.user].master.plus(master);
            let (selected, ideal, wants, spare, gives) = (nothing, nothing, nothing, nothing, nothing);
            shares.push(Share { app, user: wish.user, used, master, pending, selected, ideal, wants, spare, gives });
        }
        let limit = limits.limit(queue, partition);
        users.iter_mut().for_each(|user| user.limit = limit.minus(user.master));
        let mut division = Division { cluster: self, containers, within, partition, shares, users };
        division.sort();
        division
    }
}

impl Division<'_> {
    const fn measure(&self) -> Measure {
        self.cluster.measure
    }

    fn sort(&mut self) {
        let (measure, fairly) =
            (self.measure(), self.within.serve == Serve::Fairly && self.within.first == First::UserLimit);
        let (apps, users) = (&self.cluster.apps, self.users.clone());
        self.shares.sort_by(|left, right| {
            let by_age = apps[left.app].age_rank.cmp(&apps[right.app].age_rank);
            if !fairly {
                return apps[right.app].priority.cmp(&apps[left.app].priority).then(by_age);
            }
            if left.user == right.user {
                return measure.compare(left.used, right.used).then(by_age);
            }
            measure.compare(users[left.user].at_work(), users[right.user].at_work()).then(by_age)
        });
    }

    fn divide(&mut self, used: Bundle, guaranteed: Bundle, taken: Bundle, allowed: Bundle, choice: &Choice) {
        let masters = self.shares.iter().fold(Bundle::ZERO, |sum, share| sum.plus(share.master));
        let mut rest = used.minus(taken).minus(masters);
        for at in 0..self.shares.len() {
            self.give_ideal(at, &mut rest, choice);
        }
        let most = guaranteed.times(Fraction::millionths(self.within.at_most_micro));
        let most = if self.measure().more(most, taken) { most.minus(taken) } else { Bundle::ZERO };
        self.find_spare(self.measure().min(most, allowed));
        self.match_up();
    }

    fn give_ideal(&mut self, at: usize, rest: &mut Bundle, choice: &Choice) {
        let (measure, width) = (self.measure(), self.measure().width);
        let short = rest.0[..width].iter().any(|amount| *amount <= 0);
        if !measure.some(*rest) || (short && self.within.conservative) {
            return;
        }
        let app = self.shares[at].app;
        let chosen = self.containers[app].iter().filter(|at| choice.chosen[**at]);
        let asked_here = |at: &usize| {
            let container = &self.cluster.containers[*at];
            let here = container.partition == self.partition && !container.on_sufferance;
            here.then_some(container.size)
        };
        let selected = chosen.filter_map(asked_here).fold(Bundle::ZERO, Bundle::plus);
        let share = &mut self.shares[at];
        let user = &mut self.users[share.user];
        share.selected = selected;
        user.selected = user.selected.plus(selected);
        let working = share.used.minus(share.master).minus(selected);
        if measure.compare(user.ideal, user.limit).is_ge() {
            return;
        }
        let wanted = measure.min(working.plus(share.pending), user.limit.minus(user.ideal));
        share.ideal = measure.min(*rest, wanted);
        user.ideal = user.ideal.plus(share.ideal);
        if measure.more(share.ideal, working) {
            share.wants = share.ideal.minus(working);
        }
        *rest = rest.minus(share.ideal).or_zero();
    }

    // What each could give, from the lowest priority up.
    fn find_spare(&mut self, limit: Bundle) {
        let (measure, mut limit) = (self.measure(), limit);
        for share in self.shares.iter_mut().rev() {
            if !measure.some(limit) || !measure.some(share.used) {
                continue;
            }
            let mut spare = share.used.minus(share.ideal);
            spare = spare.minus(share.selected).or_zero().minus(share.master).or_zero();
            if self.within.first == First::UserLimit {
                spare = spare.minus(self.within.least).or_zero();
            }
            if self.within.least.fits_in(spare) {
                share.spare = measure.min(measure.max(spare, Bundle::ZERO), limit);
            }
            limit = limit.minus(share.spare).or_zero();
        }
    }

    // Those who want are matched with those who can give.
    fn match_up(&mut self) {
        let measure = self.measure();
        for high in 0..self.shares.len() {
            for low in (0..self.shares.len()).rev() {
                if measure.some(self.shares[high].wants) && measure.some(self.shares[low].spare) {
                    self.match_pair(high, low);
                }
            }
        }
    }

    fn match_pair(&mut self, high: usize, low: usize) {
        let measure = self.measure();
        let priority = |share: &Share| self.cluster.apps[share.app].priority;
        let (taker, giver) = (self.shares[high], self.shares[low]);
        let same_user = taker.user == giver.user;
        if same_user && priority(&giver) >= priority(&taker) {
            return;
        }
        if measure.compare(giver.spare, giver.gives).is_le() {
            return;
        }
        let user = &mut self.users[giver.user];
        let over_limit = measure.more(user.at_work(), user.limit);
        if !same_user && !over_limit && self.within.first == First::UserLimit {
            return;
        }
        let mut can_give = giver.spare.minus(giver.gives);
        if !same_user && priority(&giver) == priority(&taker) && over_limit {
            let beyond = if user.spent { Bundle::ZERO } else { user.at_work().minus(user.selected).minus(user.limit) };
            if measure.more(can_give, beyond) {
                user.spent = true;
                can_give = beyond;
            }
        }
        if measure.some(can_give) {
            let moved = measure.min(taker.wants, can_give);
            self.shares[high].wants = taker.wants.minus(moved);
            self.shares[low].gives = giver.gives.plus(moved);
        }
    }

    // What was chosen in this queue before need not be given again.
    fn deduct(&mut self, queue: usize, choice: &Choice) {
        let measure = self.measure();
        for (container, chosen) in self.cluster.containers.iter().zip(&choice.chosen) {
            let here = container.partition == self.partition && self.cluster.apps[container.app].queue == queue;
            if !chosen || !here {
                continue;
            }
            for share in &mut self.shares {
                if measure.more(share.gives, container.size) {
                    share.gives = share.gives.minus(container.size);
                }
            }
        }
    }

    fn choose(&mut self, choice: &mut Choice) {
        let (cluster, measure) = (self.cluster, self.measure());
        let mut obtain = vec![Bundle::ZERO; cluster.partitions.len()];
        obtain[self.partition] = self.shares.iter().fold(Bundle::ZERO, |sum, share| sum.plus(share.gives));
        let user_limit_first = self.within.first == First::UserLimit;
        for share in self.shares.iter().rev().filter(|share| share.gives != Bundle::ZERO) {
            let user = &mut self.users[share.user];
            for &at in &self.containers[share.app] {
                let container = &cluster.containers[at];
                if !obtain.iter().any(|bundle| bundle.any_above_zero()) {
                    return;
                }
                if choice.chosen[at] || container.master || container.reserved {
                    continue;
                }
                let kept = user.used.minus(container.size);
                if user_limit_first && measure.compare(kept, user.limit.plus(user.master)).is_le() {
                    break;
                }
                if choice.take(cluster, &mut obtain, at, self.within.conservative) && user_limit_first {
                    user.used = kept;
                }
            }
        }
    }
}
