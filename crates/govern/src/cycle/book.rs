//! The book of what waits: for each queue, who is next, who cannot be admitted until something changes, and who is held.
//!
//! Workloads that ask for the same with the same priority are a class. When one of a class turned out not to fit, none of the
//! class does, so the whole class is parked at once and woken at once, whatever its size. Where only those may pass that are
//! gone in time, the others of the class are parked at once. Nothing here looks at quotas; the
//! cycle says what came of a workload, and whoever changes quotas or ends workloads says which queues to wake.
//!
//! ```text
//!             submit            pop                 requeue: at once
//!   (caller) ──────▶ active ─────────▶ in flight ───────────────────▶ active
//!                      ▲                   │ requeue: once something changes
//!                      └──── wake ──── parked
//! ```

use crate::{
    flavors::Progress,
    order::{Key, Order, Waiting},
    places,
    tree::{NodeIx, Tree},
    workload::Past,
};
use std::collections::{BTreeMap, BTreeSet};

/// A workload that waits, as its place in a [`Book`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PendingIx(pub u32);

/// What a workload asks for, as its place in a list of all different such things.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShapeIx(pub u32);

/// What keeps a workload from being looked at, other than quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bar {
    /// A check outside said no, or not yet.
    FailedChecks,
    /// The queue does not take workloads from where this one comes.
    NotAllowedHere,
    /// What it asks for is against a rule of where it comes from.
    Invalid,
}

/// A workload that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    /// In this queue.
    pub queue: NodeIx,
    /// Where it stands in it.
    pub waiting: Waiting,
    /// What it asks for.
    pub shape: ShapeIx,
    /// What keeps it from being looked at.
    pub bar: Option<Bar>,
    /// Nobody may be told to go for it, for now.
    pub may_not_preempt: bool,
    /// The longest that it will run, in seconds; nothing where nobody knows.
    pub max_run_s: Option<u32>,
    /// For how many seconds it is left alone once it has its quota; as the rules say where nothing is said.
    pub run_s_min: Option<u32>,
    /// It is not looked at before this time, in seconds.
    pub due_at: Option<i64>,
    /// What it went through.
    pub past: Past,
}

impl Pending {
    /// One that waits for the first time, with nothing in its way.
    #[must_use]
    pub fn new(queue: NodeIx, waiting: Waiting, shape: ShapeIx) -> Self {
        let (max_run_s, run_s_min, due_at, past) = (None, None, None, Past::default());
        Self { queue, waiting, shape, bar: None, may_not_preempt: false, max_run_s, run_s_min, due_at, past }
    }
}

/// Whether the first of a queue holds up the others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Strategy {
    /// No: who cannot be admitted steps aside.
    #[default]
    BestEffort,
    /// Yes.
    Strict,
}

/// What came of a workload that a cycle looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requeue {
    /// No flavor fits, nor would with others gone.
    NoFit,
    /// Others would have to go, and nobody may be told to.
    NoCandidates,
    /// Others were told to go.
    PendingPreemption,
    /// It would have fitted, but another one was faster.
    Skipped,
    /// Others would have to go, but it must not tell them, for now.
    Gated,
    /// The queue does not take it.
    NotAllowedHere,
    /// It could not be looked at.
    Barred,
    /// It would take what is kept for another one.
    Reserved {
        /// Who runs no longer than this, in seconds, would not, and is still looked at; nothing where everybody would.
        unless_run_s: Option<u32>,
    },
    /// It would tell too many others to go, for now.
    OverBudget,
}

/// Where a workload is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Where {
    /// It is looked at when its turn comes.
    Active,
    /// A cycle looks at it now.
    InFlight,
    /// It waits for a change.
    Parked,
    /// Somebody holds it.
    Held,
}

type Class = (ShapeIx, i64);

#[derive(Debug, Clone)]
struct Slot {
    pending: Pending,
    key: Key,
    // A workload of a class that is parked is active here: the class says who of it is parked.
    at: Where,
    // Where the last search for flavors stopped, in which cycle and at which state of the queue.
    progress: Option<(Progress, u64, u64)>,
    // The cycle since which it waits for others to go that were told to.
    awaits: Option<u64>,
}

impl Slot {
    fn run_s(&self) -> u32 {
        self.pending.max_run_s.unwrap_or(u32::MAX)
    }

    fn member(&self, place: PendingIx) -> Member {
        (self.key, place, self.run_s())
    }
}

// Where a workload stands in its class, and how long it runs; what nobody knows is for ever.
type Member = (Key, PendingIx, u32);

// Who of a class is looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Open {
    #[default]
    All,
    // Who runs no longer than this, in seconds; the others are parked.
    Shorter(u32),
    // Nobody: the class is parked.
    None,
}

impl Open {
    const fn lets(self, run_s: u32) -> bool {
        match self {
            Self::All => true,
            Self::Shorter(most) => run_s <= most,
            Self::None => false,
        }
    }

    fn narrowed(self, to: Self) -> Self {
        match (self, to) {
            (Self::None, _) | (_, Self::None) => Self::None,
            (Self::All, other) | (other, Self::All) => other,
            (Self::Shorter(one), Self::Shorter(other)) => Self::Shorter(one.min(other)),
        }
    }
}

#[derive(Debug, Clone, Default)]
struct Members {
    all: BTreeSet<Member>,
    open: Open,
    // No more of them are looked at in this cycle.
    paused: bool,
}

impl Members {
    // Who is looked at, in order.
    fn looked_at(&self) -> impl Iterator<Item = (Key, PendingIx)> + '_ {
        let all = (self.open != Open::None && !self.paused).then_some(&self.all);
        let lets = |(_, _, run_s): &&Member| self.open.lets(*run_s);
        all.into_iter().flatten().filter(lets).map(|(key, place, _)| (*key, *place))
    }

    // The first that is looked at.
    fn front(&self) -> Option<(Key, PendingIx)> {
        self.looked_at().next()
    }
}

#[derive(Debug, Clone, Default)]
struct Line {
    strategy: Strategy,
    order: Order,
    stopped: bool,
    classes: BTreeMap<Class, Members>,
    // The first of each class that is looked at.
    fronts: BTreeSet<(Key, Class)>,
    // Parked one by one.
    alone: BTreeSet<Member>,
    // Waits for others to go that were told to. Where the first does not hold up the others it stays first all the same.
    preemptor: Option<PendingIx>,
    // Where the first holds up the others: the one that waits for a change. Nobody is next while it is the first.
    stuck: Option<PendingIx>,
    popped: u64,
    woken: u64,
    generation: u64,
}

/// What waits, in all queues.
#[derive(Debug, Clone, Default)]
pub struct Book {
    slots: Vec<Option<Slot>>,
    free: Vec<u32>,
    lines: Vec<Line>,
    cycle: u64,
    // Whether workloads of one class are parked together.
    by_class: bool,
}

impl Line {
    fn put(&mut self, class: Class, member: Member) {
        self.change(class, |members| members.all.insert(member));
    }

    fn take(&mut self, class: Class, member: Member) -> bool {
        self.classes.contains_key(&class) && self.change(class, |members| members.all.remove(&member))
    }

    // Changes a class, and who is the first of it.
    fn change<T>(&mut self, class: Class, change: impl FnOnce(&mut Members) -> T) -> T {
        let members = self.classes.entry(class).or_default();
        let before = members.front();
        let answer = change(members);
        let now = members.front();
        // A class that is parked is remembered without members: the next of it will not fit either.
        if members.all.is_empty() && members.open == Open::All && !members.paused {
            self.classes.remove(&class);
        }
        if before != now {
            if let Some((key, _)) = before {
                self.fronts.remove(&(key, class));
            }
            self.fronts.extend(now.map(|(key, _)| (key, class)));
        }
        answer
    }

    // Who is next, unless nobody is until something changes.
    fn first(&self) -> Option<(Class, Key, PendingIx)> {
        let (key, class) = self.fronts.first()?;
        let (_, place) = self.classes.get(class)?.front()?;
        (self.stuck != Some(place)).then_some((*class, *key, place))
    }

    fn park(&mut self, class: Class, open: Open) {
        self.change(class, |members| members.open = members.open.narrowed(open));
    }

    fn wake(&mut self, helps: &dyn Fn(ShapeIx) -> bool) {
        let Self { classes, fronts, .. } = self;
        classes.retain(|class, members| {
            if members.open != Open::All && helps(class.0) {
                if let Some((key, _)) = members.front() {
                    fronts.remove(&(key, *class));
                }
                members.open = Open::All;
                fronts.extend(members.front().map(|(key, _)| (key, *class)));
            }
            members.open != Open::All || members.paused || !members.all.is_empty()
        });
    }
}

impl Book {
    /// Nothing waits. `by_class`: workloads that ask for the same are parked together.
    #[must_use]
    pub fn new(by_class: bool) -> Self {
        Self { by_class, ..Self::default() }
    }

    fn line(&mut self, queue: NodeIx) -> &mut Line {
        let at = queue.0 as usize;
        if self.lines.len() <= at {
            self.lines.resize(at + 1, Line::default());
        }
        &mut self.lines[at]
    }

    fn slot(&self, place: PendingIx) -> Option<&Slot> {
        self.slots.get(place.0 as usize)?.as_ref()
    }

    fn slot_mut(&mut self, place: PendingIx) -> Option<&mut Slot> {
        self.slots.get_mut(place.0 as usize)?.as_mut()
    }

    /// Says how a queue's workloads line up, those too that wait in it already.
    pub fn set_queue(&mut self, queue: NodeIx, strategy: Strategy, order: Order) {
        let line = self.line(queue);
        (line.strategy, line.order) = (strategy, order);
        let here = |(place, slot): (u32, &Option<Slot>)| {
            slot.as_ref().filter(|slot| slot.pending.queue == queue).map(|_| PendingIx(place))
        };
        let all: Vec<PendingIx> = (0..).zip(&self.slots).filter_map(here).collect();
        all.into_iter().for_each(|place| self.change(place, |_| ()));
    }

    /// Stops a queue, or lets it go on: a queue that is stopped gives nothing to a cycle.
    pub fn set_stopped(&mut self, queue: NodeIx, stopped: bool) {
        self.line(queue).stopped = stopped;
    }

    /// Whether a queue is stopped.
    #[must_use]
    pub fn is_stopped(&self, queue: NodeIx) -> bool {
        self.lines.get(queue.0 as usize).is_some_and(|line| line.stopped)
    }

    /// How a queue's first treats the others.
    #[must_use]
    pub fn strategy(&self, queue: NodeIx) -> Strategy {
        self.lines.get(queue.0 as usize).map_or(Strategy::BestEffort, |line| line.strategy)
    }

    /// One more waits. It waits parked where others that ask for the same are.
    pub fn submit(&mut self, pending: Pending) -> PendingIx {
        let queue = pending.queue;
        let key = self.line(queue).order.key(&pending.waiting);
        let slot = Slot { pending, key, at: Where::Held, progress: None, awaits: None };
        let place = PendingIx(places::put(&mut self.slots, &mut self.free, slot));
        self.release(place);
        place
    }

    /// One waits no more.
    pub fn withdraw(&mut self, place: PendingIx) -> Option<Pending> {
        self.step_out(place);
        let slot = places::take(&mut self.slots, &mut self.free, place.0)?;
        let line = self.line(slot.pending.queue);
        line.preemptor = line.preemptor.filter(|preemptor| *preemptor != place);
        Some(slot.pending)
    }

    /// Changes a workload, its priority or what it asks for, and gives it its new place. Its queue stays.
    pub fn change(&mut self, place: PendingIx, change: impl FnOnce(&mut Pending)) {
        let held = self.place_of(place) == Some(Where::Held);
        self.step_out(place);
        let Some(slot) = self.slot_mut(place) else { return };
        let queue = slot.pending.queue;
        change(&mut slot.pending);
        slot.pending.queue = queue;
        slot.progress = None;
        let waiting = slot.pending.waiting;
        let key = self.line(queue).order.key(&waiting);
        if let Some(slot) = self.slot_mut(place) {
            slot.key = key;
        }
        if !held {
            self.release(place);
        }
    }

    /// Holds a workload: it is not looked at until it is released.
    pub fn hold(&mut self, place: PendingIx) {
        self.step_out(place);
    }

    /// Lets a held workload wait for its turn again.
    pub fn release(&mut self, place: PendingIx) {
        let Some(slot) = self.slot(place).filter(|slot| slot.at == Where::Held) else { return };
        let (queue, member, class) = (slot.pending.queue, slot.member(place), class_of(&slot.pending));
        self.line(queue).put(class, member);
        self.set_place(place, Where::Active);
    }

    // Out of its line; held from then on.
    fn step_out(&mut self, place: PendingIx) {
        let Some(slot) = self.slot_mut(place) else { return };
        slot.awaits = None;
        let (queue, member, class) = (slot.pending.queue, slot.member(place), class_of(&slot.pending));
        let line = self.line(queue);
        line.stuck = line.stuck.filter(|stuck| *stuck != place);
        if !line.take(class, member) {
            line.alone.remove(&member);
        }
        self.set_place(place, Where::Held);
    }

    fn set_place(&mut self, place: PendingIx, at: Where) {
        if let Some(slot) = self.slot_mut(place) {
            slot.at = at;
        }
    }

    /// Starts a cycle: what is woken from now on was woken after the cycle looked.
    pub fn begin_cycle(&mut self) {
        self.cycle += 1;
    }

    /// Takes out the next workload of a queue.
    pub fn pop(&mut self, queue: NodeIx) -> Option<PendingIx> {
        let cycle = self.cycle;
        if self.lines.get(queue.0 as usize)?.stopped {
            return None;
        }
        let line = self.line(queue);
        line.popped = cycle;
        let first = line.first().map(|(_, _, place)| place);
        let sticky = line.preemptor.filter(|_| line.strategy == Strategy::BestEffort);
        let sticky = sticky.filter(|place| self.place_of(*place) == Some(Where::Active));
        let place = sticky.or(first)?;
        let (class, member) = self.slot(place).map(|slot| (class_of(&slot.pending), slot.member(place)))?;
        self.line(queue).take(class, member);
        self.set_place(place, Where::InFlight);
        Some(place)
    }

    /// Puts back a workload that was taken out and not looked at.
    pub fn put_back(&mut self, place: PendingIx) {
        if self.place_of(place) == Some(Where::InFlight) {
            self.set_place(place, Where::Held);
            self.release(place);
        }
    }

    /// Whether a workload of which this came waits for a change, rather than for its next turn.
    #[must_use]
    pub fn parks(&self, queue: NodeIx, why: Requeue) -> bool {
        match self.strategy(queue) {
            Strategy::Strict => why == Requeue::NotAllowedHere,
            Strategy::BestEffort => !matches!(why, Requeue::PendingPreemption | Requeue::Skipped),
        }
    }

    /// Puts back a workload that a cycle looked at, and says where it waits now. `progress`: where the search for flavors
    /// stopped, if it did not look at all of them; then the next cycle goes on from there.
    pub fn requeue(&mut self, place: PendingIx, why: Requeue, progress: Option<Progress>) -> Option<Where> {
        let (cycle, by_class) = (self.cycle, self.by_class);
        let slot = self.slot(place).filter(|slot| slot.at == Where::InFlight)?;
        let (queue, member, class) = (slot.pending.queue, slot.member(place), class_of(&slot.pending));
        let at_once = !self.parks(queue, why);
        let line = self.line(queue);
        if why == Requeue::PendingPreemption {
            line.preemptor = Some(place);
        } else {
            line.preemptor = line.preemptor.filter(|preemptor| *preemptor != place);
        }
        let waits = !matches!(why, Requeue::PendingPreemption | Requeue::Skipped);
        let at_once = at_once || line.woken >= line.popped || progress.is_some();
        if line.strategy == Strategy::Strict {
            line.stuck = (waits && line.woken < line.popped && progress.is_none()).then_some(place);
        }
        let generation = line.generation;
        // Who of its class is still looked at; where that is not known, this one waits alone.
        let open = match why {
            _ if at_once || !by_class || line.strategy != Strategy::BestEffort => None,
            Requeue::NoFit | Requeue::NoCandidates => Some(Open::None),
            Requeue::Reserved { unless_run_s } => Some(unless_run_s.map_or(Open::None, Open::Shorter)),
            _ => None,
        };
        if at_once || open.is_some() {
            line.put(class, member);
        } else {
            line.alone.insert(member);
        }
        if let Some(open) = open {
            line.park(class, open);
        }
        let slot = self.slot_mut(place)?;
        slot.at = if at_once || open.is_some() { Where::Active } else { Where::Parked };
        slot.progress = progress.map(|progress| (progress, cycle, generation));
        slot.awaits = (why == Requeue::PendingPreemption).then_some(cycle);
        self.place_of(place)
    }

    /// Has no more of a workload's class looked at until it is resumed: what came of this one would come of all of them.
    pub fn pause(&mut self, place: PendingIx) {
        self.set_paused(place, true);
    }

    /// Has a class looked at again.
    pub fn resume(&mut self, place: PendingIx) {
        self.set_paused(place, false);
    }

    fn set_paused(&mut self, place: PendingIx, paused: bool) {
        let Some(slot) = self.slot(place) else { return };
        let (queue, class) = (slot.pending.queue, class_of(&slot.pending));
        self.line(queue).change(class, |members| members.paused = paused);
    }

    /// Lets all that is parked in a queue be looked at again, because something changed that may let it in.
    pub fn wake(&mut self, queue: NodeIx) {
        self.wake_those(queue, &|_| true);
    }

    /// The same for those only that ask for something to which the change may help.
    pub fn wake_those(&mut self, queue: NodeIx, helps: &dyn Fn(ShapeIx) -> bool) {
        let cycle = self.cycle;
        let line = self.line(queue);
        line.woken = cycle;
        line.wake(helps);
        let stuck = line.stuck.take();
        let shape = stuck.and_then(|place| self.slot(place)).map(|slot| slot.pending.shape);
        let line = self.line(queue);
        line.stuck = stuck.filter(|_| shape.is_some_and(|shape| !helps(shape)));
        for member in std::mem::take(&mut line.alone) {
            let (_, place, _) = member;
            let Some(class) = self.slot(place).map(|slot| class_of(&slot.pending)) else { continue };
            if helps(class.0) {
                self.line(queue).put(class, member);
                self.set_place(place, Where::Active);
            } else {
                self.line(queue).alone.insert(member);
            }
        }
    }

    /// The same for one workload, and those that are parked because of it.
    pub fn wake_one(&mut self, place: PendingIx) {
        let Some(slot) = self.slot_mut(place) else { return };
        slot.awaits = None;
        let (queue, member, class) = (slot.pending.queue, slot.member(place), class_of(&slot.pending));
        let parked = self.place_of(place) == Some(Where::Parked);
        let line = self.line(queue);
        line.stuck = line.stuck.filter(|stuck| *stuck != place);
        if !parked {
            return;
        }
        if line.alone.remove(&member) {
            line.put(class, member);
        }
        line.wake(&|shape| shape == class.0);
        self.set_place(place, Where::Active);
    }

    /// The same for all queues that share a root with this node.
    pub fn wake_around(&mut self, tree: &Tree, node: NodeIx) {
        let mut below = vec![tree.root(node)];
        while let Some(node) = below.pop() {
            below.extend(tree.children(node));
            if tree.is_queue(node) {
                self.wake(node);
            }
        }
    }

    /// Says that what a queue offers has changed: searches for flavors start from the first again.
    pub fn offer_changed(&mut self, queue: NodeIx) {
        self.line(queue).generation += 1;
        self.wake(queue);
    }

    /// Where the last search stopped, as long as that is still of use: it was made in the last cycle, and the queue offers
    /// the same.
    #[must_use]
    pub fn progress(&self, place: PendingIx) -> Option<&Progress> {
        let slot = self.slot(place)?;
        let (progress, cycle, generation) = slot.progress.as_ref()?;
        let line = self.lines.get(slot.pending.queue.0 as usize)?;
        (line.generation == *generation && self.cycle <= *cycle + 1).then_some(progress)
    }

    /// Where a workload stands in its queue.
    #[must_use]
    pub fn key(&self, place: PendingIx) -> Option<Key> {
        self.slot(place).map(|slot| slot.key)
    }

    /// A workload that waits.
    #[must_use]
    pub fn get(&self, place: PendingIx) -> Option<&Pending> {
        self.slot(place).map(|slot| &slot.pending)
    }

    /// All that wait, by place.
    pub fn iter(&self) -> impl Iterator<Item = (PendingIx, &Pending)> {
        (0..).map(PendingIx).zip(&self.slots).filter_map(|(place, slot)| Some((place, &slot.as_ref()?.pending)))
    }

    /// Whether a workload waits for others to go that were told to go for it.
    #[must_use]
    pub fn is_preemptor(&self, place: PendingIx) -> bool {
        let line = self.slot(place).and_then(|slot| self.lines.get(slot.pending.queue.0 as usize));
        line.is_some_and(|line| line.preemptor == Some(place))
    }

    /// Where a workload is.
    #[must_use]
    pub fn place_of(&self, place: PendingIx) -> Option<Where> {
        let slot = self.slot(place)?;
        let line = self.lines.get(slot.pending.queue.0 as usize)?;
        let open = line.classes.get(&class_of(&slot.pending)).map_or(Open::All, |members| members.open);
        Some(if slot.at == Where::Active && !open.lets(slot.run_s()) { Where::Parked } else { slot.at })
    }

    /// All that wait in a queue and are not held, with where they are, in the order in which they would be looked at.
    #[must_use]
    pub fn line_up(&self, queue: NodeIx) -> Vec<(PendingIx, Where)> {
        let Some(line) = self.lines.get(queue.0 as usize) else { return vec![] };
        let mut all: Vec<Member> = line.alone.iter().copied().collect();
        line.classes.values().for_each(|members| all.extend(&members.all));
        all.sort_unstable();
        all.into_iter().filter_map(|(_, place, _)| Some((place, self.place_of(place)?))).collect()
    }

    /// Queues in which somebody is next.
    pub fn ready(&self) -> impl Iterator<Item = NodeIx> + '_ {
        let ready = |line: &Line| !line.stopped && line.first().is_some();
        (0_u32..).zip(&self.lines).filter(move |(_, line)| ready(line)).map(|(node, _)| NodeIx(node))
    }

    /// Whether a cycle would look at somebody else than those who wait for others to go that were told to: about them it
    /// would decide the same again until something is woken.
    #[must_use]
    pub fn has_news(&self) -> bool {
        self.lines.iter().any(|line| !line.stopped && self.is_news(line))
    }

    fn is_news(&self, line: &Line) -> bool {
        let awaits = |place| self.slot(place).and_then(|slot| slot.awaits).is_some_and(|since| line.woken < since);
        match line.strategy {
            Strategy::Strict => line.first().is_some_and(|(_, _, place)| !awaits(place)),
            Strategy::BestEffort => {
                let classes = line.fronts.iter().filter_map(|(_, class)| line.classes.get(class));
                classes.flat_map(Members::looked_at).any(|(_, place)| !awaits(place))
            }
        }
    }
}

const fn class_of(pending: &Pending) -> Class {
    (pending.shape, pending.waiting.priority)
}

#[cfg(test)]
mod tests;
