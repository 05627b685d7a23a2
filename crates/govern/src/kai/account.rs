//! The accounts of queues: what each is sure of, what its fair share is, what it uses; who is served next, and who may take
//! from whom.

use super::model::{Amounts, ClusterSpec, GPU, QueueSpec, RESOURCES, Rules, Safe};
use crate::amount::Amount;
use crate::division::fraction::Fraction;
use crate::division::{Claim, Rule, divide};
use std::cmp::Ordering;

/// What a queue without a share of something, but using it, is punished with.
const NO_SHARE_FACTOR: i128 = 1000;

// How many of the smallest unit make a whole one.
const WHOLE: [i64; RESOURCES] = [1, 1, GPU];

/// One queue's account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    spec: QueueSpec,
    children: Vec<usize>,
    fair: Amounts,
    used: Amounts,
    // Of that, what nobody may take.
    used_fixed: Amounts,
    request: Amounts,
}

/// Which bound of a queue is in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// What it may have at most.
    Limit,
    /// What it is sure of; work that nobody may stop must stay within it.
    Quota,
}

/// What is in the way of a queue that asks for more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// The queue, or one above it, whose bound it is.
    pub queue: usize,
    /// Which resource, as its place among processors, memory, GPUs.
    pub resource: usize,
    /// Which bound.
    pub bound: Bound,
    /// How much that is.
    pub bound_at: i64,
    /// What counts against it already.
    pub used: i64,
    /// What was asked for.
    pub asked: i64,
}

/// All accounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accounts {
    queues: Vec<Account>,
    // Those without a parent.
    top: Vec<usize>,
    total: Amounts,
    rules: Rules,
}

/// What one side of a comparison would add to its queue, and what it would lose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Outlook {
    /// What the next job asks for.
    pub gain: Amounts,
    /// What its victims hold.
    pub loss: Amounts,
}

/// Both together.
#[must_use]
pub fn plus(left: Amounts, right: Amounts) -> Amounts {
    let mut sum = left;
    sum.iter_mut().zip(right).for_each(|(sum, more)| *sum = sum.saturating_add(more));
    sum
}

/// What is left.
#[must_use]
pub fn minus(left: Amounts, right: Amounts) -> Amounts {
    let mut rest = left;
    rest.iter_mut().zip(right).for_each(|(rest, less)| *rest = rest.saturating_sub(less));
    rest
}

fn within(amounts: Amounts, bounds: [Amount; RESOURCES]) -> bool {
    amounts.iter().zip(bounds).all(|(amount, bound)| Amount::new(*amount) <= bound)
}

impl Account {
    fn quotas(&self) -> [Amount; RESOURCES] {
        self.spec.shares.map(|share| share.quota)
    }

    fn limits(&self) -> [Amount; RESOURCES] {
        self.spec.shares.map(|share| share.limit)
    }

    // What it may hold without owing it to others: the larger of quota and fair share, up to the limit.
    fn allocatable(&self) -> [Amount; RESOURCES] {
        let mut result = self.limits();
        for (at, bound) in result.iter_mut().enumerate() {
            let quota = self.spec.shares[at].quota;
            if !quota.is_unlimited() {
                *bound = quota.max(Amount::new(self.fair[at])).min(*bound);
            }
        }
        result
    }

    fn is_over_used(&self) -> bool {
        self.fair.iter().zip(self.used).all(|(fair, used)| *fair < used)
    }

    fn keeps_quota_with(&self, gain: Amounts) -> bool {
        within(plus(self.used, gain), self.quotas())
    }

    fn dominant_share(bounds: [Amount; RESOURCES], used: Amounts, total: Amounts) -> Fraction {
        let mut largest = Fraction { over: 0, under: 1 };
        for (at, bound) in bounds.iter().enumerate() {
            let whole = if bound.is_unlimited() { total[at] } else { bound.units() };
            let used = i128::from(used[at]);
            let share = if whole == 0 {
                Fraction { over: used * NO_SHARE_FACTOR, under: i128::from(WHOLE[at]) }
            } else {
                Fraction { over: used, under: i128::from(whole) }
            };
            if share > largest {
                largest = share;
            }
        }
        largest
    }
}

/// What decides which of several siblings is served first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    over_used: bool,
    keeps_quota: bool,
    priority: i32,
    without_share: bool,
    share_then: Fraction,
    share_now: Fraction,
    // What it may hold without owing it to others.
    shares: [Amount; RESOURCES],
    rank: (u64, usize),
}

impl Standing {
    /// Which of two siblings is served first.
    #[must_use]
    pub fn order(&self, other: &Self) -> Ordering {
        let smaller = |left: [Amount; RESOURCES], right: [Amount; RESOURCES]| {
            left.iter().zip(right).all(|(left, right)| *left <= right) && left != right
        };
        self.over_used
            .cmp(&other.over_used)
            .then_with(|| other.keeps_quota.cmp(&self.keeps_quota))
            .then_with(|| other.priority.cmp(&self.priority))
            .then_with(|| self.without_share.cmp(&other.without_share))
            .then_with(|| compare(self.share_then, other.share_then))
            .then_with(|| compare(self.share_now, other.share_now))
            .then_with(|| smaller(other.shares, self.shares).cmp(&smaller(self.shares, other.shares)))
            .then_with(|| self.rank.cmp(&other.rank))
    }
}

fn compare(left: Fraction, right: Fraction) -> Ordering {
    left.partial_cmp(&right).unwrap_or(Ordering::Equal)
}

impl Accounts {
    /// Opens accounts for these queues; nothing is used yet.
    #[must_use]
    pub fn open(cluster: &ClusterSpec, total: Amounts) -> Self {
        let nothing = [0; RESOURCES];
        let account = |spec: &QueueSpec| Account {
            spec: spec.clone(),
            children: vec![],
            fair: nothing,
            used: nothing,
            used_fixed: nothing,
            request: nothing,
        };
        let mut queues: Vec<Account> = cluster.queues.iter().map(account).collect();
        let mut top = vec![];
        for (at, spec) in cluster.queues.iter().enumerate() {
            match spec.parent.filter(|parent| *parent < queues.len()) {
                Some(parent) => queues[parent].children.push(at),
                None => top.push(at),
            }
        }
        Self { queues, top, total, rules: cluster.rules }
    }

    /// How many queues there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.queues.len()
    }

    // The queue and those above it, nearest first; none for a queue that does not exist. Ends where they go round in a circle.
    fn path(&self, queue: usize) -> impl Iterator<Item = usize> + '_ {
        let above = move |at: &usize| self.queues[*at].spec.parent.filter(|parent| *parent < self.queues.len());
        std::iter::successors(Some(queue).filter(|queue| *queue < self.queues.len()), above).take(self.queues.len())
    }

    /// Those right below a queue, or those at the top.
    #[must_use]
    pub fn children(&self, queue: Option<usize>) -> &[usize] {
        queue.map_or(&self.top, |queue| &self.queues[queue].children)
    }

    /// Books what a queue uses, here and above.
    pub fn book(&mut self, queue: usize, amounts: Amounts, fixed: bool, sign: i64) {
        let signed = amounts.map(|amount| amount.saturating_mul(sign));
        let path: Vec<usize> = self.path(queue).collect();
        for at in path {
            let account = &mut self.queues[at];
            account.used = plus(account.used, signed);
            if fixed {
                account.used_fixed = plus(account.used_fixed, signed);
            }
        }
    }

    /// Books what a queue asks for, here and above.
    pub fn ask(&mut self, queue: usize, amounts: Amounts) {
        let path: Vec<usize> = self.path(queue).collect();
        for at in path {
            self.queues[at].request = plus(self.queues[at].request, amounts);
        }
    }

    /// Divides all there is among the queues, level by level.
    pub fn divide_all(&mut self) {
        self.divide_level(self.total, &self.top.clone(), self.queues.len());
    }

    fn divide_level(&mut self, total: Amounts, level: &[usize], depth: usize) {
        for (at, total) in total.iter().enumerate() {
            let claims: Vec<Claim> = level
                .iter()
                .map(|queue| {
                    let account = &self.queues[*queue];
                    let share = account.spec.shares[at];
                    Claim {
                        quota: share.quota,
                        weight: share.weight,
                        request: Amount::new(account.request[at]),
                        limit: share.limit,
                        priority: account.spec.priority,
                        rank: account.spec.rank,
                        usage_ppb: share.usage_ppb,
                    }
                })
                .collect();
            let rule = Rule { whole: WHOLE[at], usage_factor_milli: self.rules.usage_factor_milli };
            let divided = divide(Amount::new(*total), rule, &claims);
            for (queue, share) in level.iter().zip(divided.shares) {
                self.queues[*queue].fair[at] = share.units();
            }
        }
        for queue in level {
            let children = self.queues[*queue].children.clone();
            if depth > 0 && !children.is_empty() {
                self.divide_level(self.queues[*queue].fair, &children, depth - 1);
            }
        }
    }

    /// What a queue uses.
    #[must_use]
    pub fn used(&self, queue: usize) -> Amounts {
        self.queues[queue].used
    }

    /// A queue's fair share.
    #[must_use]
    pub fn fair(&self, queue: usize) -> Amounts {
        self.queues[queue].fair
    }

    /// How a queue stands among its siblings, if this happened to it.
    #[must_use]
    pub fn standing(&self, queue: usize, outlook: Outlook) -> Standing {
        let account = &self.queues[queue];
        let shares = account.allocatable();
        let gained = plus(account.used, outlook.gain);
        let without_share = shares.iter().zip(gained).any(|(share, used)| *share == Amount::ZERO && used > 0);
        Standing {
            over_used: account.is_over_used(),
            keeps_quota: account.keeps_quota_with(outlook.gain),
            priority: account.spec.priority,
            without_share,
            share_then: Account::dominant_share(shares, minus(gained, outlook.loss), self.total),
            share_now: Account::dominant_share(shares, account.used, self.total),
            shares,
            rank: (account.spec.rank, queue),
        }
    }

    // The first bound that more would pass, nearest queue first.
    fn first_passed(&self, queue: usize, gain: Amounts, bound: Bound) -> Option<Block> {
        self.path(queue).find_map(|at| {
            let account = &self.queues[at];
            let (used, bounds) = match bound {
                Bound::Limit => (account.used, account.limits()),
                Bound::Quota => (account.used_fixed, account.quotas()),
            };
            let passed = |place: &usize| Amount::new(used[*place].saturating_add(gain[*place])) > bounds[*place];
            (0..RESOURCES).find(passed).map(|resource| Block {
                queue: at,
                resource,
                bound,
                bound_at: bounds[resource].units(),
                used: used[resource],
                asked: gain[resource],
            })
        })
    }

    /// What is in the way of more: a limit of the queue or of one above; and for work that nobody may stop, a quota.
    #[must_use]
    pub fn block(&self, queue: usize, gain: Amounts, fixed: bool) -> Option<Block> {
        let limit = self.first_passed(queue, gain, Bound::Limit);
        limit.or_else(|| self.first_passed(queue, gain, Bound::Quota).filter(|_| fixed))
    }

    /// Whether nothing is in the way of more.
    #[must_use]
    pub fn has_room(&self, queue: usize, gain: Amounts, fixed: bool) -> bool {
        self.block(queue, gain, fixed).is_none()
    }

    /// Whether what nobody may take stays within the quotas of the queue and those above.
    #[must_use]
    pub fn has_quota(&self, queue: usize, gain: Amounts) -> bool {
        self.first_passed(queue, gain, Bound::Quota).is_none()
    }

    /// Whether a queue may try to take from others at all.
    #[must_use]
    pub fn may_reclaim(&self, queue: usize, gain: Amounts, fixed: bool) -> bool {
        let account = &self.queues[queue];
        let in_share = within(plus(account.used, gain), account.fair.map(Amount::new));
        in_share && (!fixed || within(plus(account.used_fixed, gain), account.quotas()))
    }

    // Where the paths to two queues part: the two on that level.
    fn parting(&self, left: usize, right: usize) -> (usize, usize) {
        let down = |queue: usize| {
            let mut path: Vec<usize> = self.path(queue).collect();
            path.reverse();
            path
        };
        let (left, right) = (down(left), down(right));
        let common = left.len().min(right.len());
        let at = (0..common).find(|at| left[*at] != right[*at]).unwrap_or(common - 1);
        (left[at], right[at])
    }

    /// For how long the work of a queue is safe from higher priority in it.
    #[must_use]
    pub fn safe_from_preemption_s(&self, queue: usize) -> u64 {
        self.first_said(queue, |safe| safe.from_preemption_s)
    }

    /// For how long the work of a queue is safe from a claimant in another: what is said where the paths to the two part, on
    /// the victim's side, or above.
    #[must_use]
    pub fn safe_from_reclaim_s(&self, victim: usize, claimant: usize) -> u64 {
        if victim >= self.queues.len() || claimant >= self.queues.len() {
            return 0;
        }
        let (side, _) = self.parting(victim, claimant);
        self.first_said(side, |safe| safe.from_reclaim_s)
    }

    fn first_said(&self, queue: usize, says: impl Fn(Safe) -> Option<u64>) -> u64 {
        self.path(queue).find_map(|at| says(self.queues[at].spec.safe)).unwrap_or(0)
    }

    /// Whether so much may be taken from others for a job of this queue. `taken` lists, by queue, what each unit holds that
    /// goes as a whole.
    #[must_use]
    pub fn reclaim_is_fair(&self, queue: usize, gain: Amounts, fixed: bool, taken: &[(usize, Vec<Amounts>)]) -> bool {
        // What is left to each queue that loses something, and of which resources.
        let mut left: Vec<Option<(Amounts, [bool; RESOURCES])>> = vec![None; self.queues.len()];
        for (victim, units) in taken {
            let (claimant, loser) = self.parting(queue, *victim);
            let mut touched = [false; RESOURCES];
            units
                .iter()
                .for_each(|unit| touched.iter_mut().zip(unit).for_each(|(touched, amount)| *touched |= *amount > 0));
            for unit in units {
                let rest = left[loser].map_or(self.queues[loser].used, |(rest, _)| rest);
                let above_share = !within(rest, self.queues[loser].allocatable());
                let above_quota = !within(rest, self.queues[loser].quotas());
                let for_quota = above_quota && self.queues[claimant].keeps_quota_with(gain);
                if !above_share && !for_quota {
                    return false;
                }
                let path: Vec<usize> = self.path(*victim).collect();
                for at in path {
                    let (rest, known) = left[at].unwrap_or((self.queues[at].used, [false; RESOURCES]));
                    let mut known = known;
                    known.iter_mut().zip(touched).for_each(|(known, touched)| *known |= touched);
                    left[at] = Some((minus(rest, *unit), known));
                }
            }
        }
        self.path(queue).all(|at| self.stays_behind(at, gain, fixed, &left))
    }

    // Whether a queue of the claimant's side ends less saturated than each sibling that lost something.
    fn stays_behind(
        &self,
        at: usize,
        gain: Amounts,
        fixed: bool,
        left: &[Option<(Amounts, [bool; RESOURCES])>],
    ) -> bool {
        let account = &self.queues[at];
        let mine = plus(left[at].map_or(account.used, |(rest, _)| rest), gain);
        let fair = |sibling: usize| {
            let Some((theirs, touched)) = left[sibling] else { return true };
            (0..RESOURCES).filter(|place| touched[*place] || gain[*place] > 0).all(|place| {
                let ratio = |used: i64, fair: i64| match (used, fair) {
                    (used, 0) if used <= 0 => Fraction { over: 0, under: 1 },
                    (used, fair) => Fraction { over: i128::from(used), under: i128::from(fair) },
                };
                let own = ratio(mine[place], account.fair[place]);
                let other_fair = self.queues[sibling].fair[place];
                // The multiplier only ever makes it stricter.
                let times = i128::from(self.rules.saturation_milli.max(1000));
                let scaled = Fraction { over: own.over.saturating_mul(times), under: own.under * 1000 };
                let behind = scaled < ratio(theirs[place], other_fair);
                own <= Fraction::ONE || other_fair == 0 || behind
            })
        };
        let siblings = self.children(account.spec.parent);
        let all_fair = siblings.iter().filter(|sibling| **sibling != at).all(|sibling| fair(*sibling));
        all_fair && (!fixed || within(plus(account.used_fixed, gain), account.quotas()))
    }
}
