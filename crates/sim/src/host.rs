//! A simulated GPU host behind the same trait as a real one.
//!
//! What is physically there ([`Machine`]: guests, and what tenants left on disks, GPUs and fabric functions) outlives every
//! crash of the agent. The host breaks as often as its [`HostWeather`] says, and it watches the agent: no change comes
//! twice, none comes after the order's answer was written down, no fence goes down, and no guest is ever started on what
//! another tenant left behind or beside another guest. What it sees wrong is kept as a [`Violation`] until somebody asks.

use crate::{dice::Dice, fleet::HostPlan, host_looks};
use agent::{Effect, Guest, Host, HostFault, SlotUse, Step, Watch};
use model::{
    AllocationId, NodeId, SlotId, TaskId, Timestamp,
    image::ImageSpec,
    notice::{NoticeSeen, StopNotice},
    proof::WipeStep,
    runtime::{GuestSeen, PlanReport, ReconcileReport},
    task::{Fence, GuestOrder, NoticeOrder, PlanOrder, ReconcileOrder, TaskFailure, TaskResult, TaskSlot},
};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use store::invariants::Violation;
use topology::Tree;

/// A guest on a simulated host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SimGuest {
    /// Whose it is.
    pub allocation_id: AllocationId,
    /// The slots it sits on.
    pub slots: Vec<SlotUse>,
    /// Whether it was built to the end.
    pub ready: bool,
    /// What is seen of it; nothing of a guest from before that was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<GuestSeen>,
}

/// What the last tenant left on the devices of a slot: the id of its allocation stands for its secrets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traces {
    /// On the disk.
    pub disk: Option<AllocationId>,
    /// In GPU memory.
    pub gpu: Option<AllocationId>,
    /// In the fabric function.
    pub fabric: Option<AllocationId>,
}

impl Traces {
    fn all_of(allocation_id: &AllocationId) -> Self {
        let left = Some(allocation_id.clone());
        Self { disk: left.clone(), gpu: left.clone(), fabric: left }
    }
    /// What somebody else than this allocation left here.
    fn foreign(&self, allocation_id: &AllocationId) -> Option<&AllocationId> {
        [&self.disk, &self.gpu, &self.fabric].into_iter().flatten().find(|left| *left != allocation_id)
    }
}

/// What is physically there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The guests.
    pub guests: Vec<SimGuest>,
    /// What is on the slots.
    pub slots: BTreeMap<SlotId, Traces>,
    /// How many changes were made.
    pub changes: u64,
}

/// How often a host breaks, in per mille of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HostWeather {
    /// Starting a guest fails, and half of the time leaves something behind.
    pub provision_fails: u64,
    /// Stopping a guest fails.
    pub stop_fails: u64,
    /// Stopping a guest seems to work, and the guest stays.
    pub stop_sticks: u64,
    /// A wipe step fails.
    pub wipe_fails: u64,
    /// A wipe step does nothing and says nothing.
    pub wipe_blank: u64,
    /// The guests cannot be listed.
    pub blind: u64,
    /// A change takes long.
    pub slow: u64,
    /// How many steps it takes at most.
    pub slow_steps_max: u64,
}

// Ids are ordered by time, so the first answer is the oldest.
const ANSWERS_KEPT_MAX: usize = 4096;

// What the host remembers in order to catch the agent.
#[derive(Debug, Default)]
struct Eyes {
    begun: BTreeSet<(TaskId, Step, u32)>,
    made: BTreeSet<(TaskId, Step, u32)>,
    fences: BTreeMap<SlotId, Fence>,
    answers: BTreeMap<TaskId, TaskResult>,
    seen: Vec<Violation>,
    news: Vec<(TaskId, Step, u32)>,
}

#[derive(Debug)]
struct State {
    node_id: NodeId,
    machine: Machine,
    weather: HostWeather,
    dice: Dice,
    busy_steps: u64,
    eyes: Eyes,
    shows: Shows,
    // How long guests take to save what they need; for ever when absent. And what each was told, and when.
    checkpoint_ms: Option<i64>,
    told: BTreeMap<AllocationId, (StopNotice, Timestamp)>,
}

/// What a host shows of itself, made when somebody looks: most worlds never do.
#[derive(Debug, Clone)]
pub enum Shows {
    /// What its plan says.
    Plan(Box<HostPlan>),
    /// This.
    Tree(Arc<Tree>),
}

/// A simulated host. Clones are the same host.
#[derive(Debug, Clone)]
pub struct SimHost(Arc<Mutex<State>>);

impl SimHost {
    /// A host with what is on it, and dice for its faults.
    pub fn new(node_id: NodeId, machine: Machine, weather: HostWeather, dice: Dice, shows: Shows) -> Self {
        let (eyes, told) = (Eyes::default(), BTreeMap::new());
        let state = State { node_id, machine, weather, dice, busy_steps: 0, eyes, shows, checkpoint_ms: None, told };
        Self(Arc::new(Mutex::new(state)))
    }

    /// From now on guests that are told of their end say this much later that they are ready; never when absent, as at first.
    pub fn checkpoints_after(&self, checkpoint_ms: Option<i64>) {
        self.state().checkpoint_ms = checkpoint_ms;
    }

    /// From now on it shows this of itself.
    pub fn show(&self, tree: Tree) {
        self.state().shows = Shows::Tree(Arc::new(tree));
    }

    /// What is physically there.
    pub fn machine(&self) -> Machine {
        self.state().machine.clone()
    }

    /// How many changes were ever made.
    pub fn changes(&self) -> u64 {
        self.state().machine.changes
    }

    /// The allocations that have anything left of a guest here.
    pub fn guests_of(&self) -> Vec<AllocationId> {
        self.state().machine.guests.iter().map(|guest| guest.allocation_id.clone()).collect()
    }

    /// From now on nothing breaks.
    pub fn heal(&self) {
        self.state().weather = HostWeather::default();
    }

    /// Power goes off and on: guests are gone, memory is empty, disks are as they were.
    pub fn reboot(&self) -> Vec<AllocationId> {
        let mut state = self.state();
        let lost = std::mem::take(&mut state.machine.guests);
        state.told.clear();
        for traces in state.machine.slots.values_mut() {
            (traces.gpu, traces.fabric) = (None, None);
        }
        lost.into_iter().map(|guest| guest.allocation_id).collect()
    }

    /// For how many more steps the last change keeps the agent busy; asking resets it.
    pub fn take_busy_steps(&self) -> u64 {
        std::mem::take(&mut self.state().busy_steps)
    }

    /// What was seen wrong since the last time somebody asked.
    pub fn take_violations(&self) -> Vec<Violation> {
        std::mem::take(&mut self.state().eyes.seen)
    }

    /// The changes since the last time somebody asked.
    pub fn take_news(&self) -> Vec<(TaskId, Step, u32)> {
        std::mem::take(&mut self.state().eyes.news)
    }

    /// The answer that the agent wrote down for an order, if it did.
    pub fn answer(&self, task_id: &TaskId) -> Option<TaskResult> {
        self.state().eyes.answers.get(task_id).cloned()
    }

    /// The agent is about to write down that it begins a change.
    pub(crate) fn note_begun(&self, task_id: &TaskId, step: &Step, turn: u32) {
        self.state().eyes.begun.insert((task_id.clone(), step.clone(), turn));
    }

    /// The agent wrote an answer down.
    pub(crate) fn note_answer(&self, result: &TaskResult) {
        let mut state = self.state();
        let before = state.eyes.answers.insert(result.task_id.clone(), result.clone());
        if before.is_some_and(|before| before != *result) {
            state.wrong("I20", result.task_id.as_str(), "was answered twice, in different words".to_owned());
        }
        // Once there is an answer any further change is wrong, so what led to it need not be remembered.
        let answered = |(task_id, ..): &(TaskId, Step, u32)| *task_id == result.task_id;
        state.eyes.begun.retain(|key| !answered(key));
        state.eyes.made.retain(|key| !answered(key));
        if state.eyes.answers.len() > ANSWERS_KEPT_MAX {
            state.eyes.answers.pop_first();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn wrong(&mut self, invariant: &'static str, subject: &str, detail: String) {
        let detail = format!("on {}: {detail}", self.node_id);
        self.eyes.seen.push(Violation { invariant, subject: subject.to_owned(), detail });
    }

    // Every change comes through here, whether it will work or not.
    fn take(&mut self, effect: &Effect) {
        let key = (effect.task_id.clone(), effect.step.clone(), effect.turn);
        self.eyes.news.push(key.clone());
        if !self.eyes.begun.contains(&key) {
            self.wrong("I20", key.0.as_str(), format!("{:?} was made before it was written down", key.1));
        }
        if self.eyes.answers.contains_key(&key.0) {
            self.wrong("I20", key.0.as_str(), format!("{:?} was made after the order was answered", key.1));
        }
        if !self.eyes.made.insert(key.clone()) {
            self.wrong("I20", key.0.as_str(), format!("{:?} was made twice in turn {}", key.1, key.2));
        }
        for slot in &effect.slots {
            let fence = effect.slot_fence(slot);
            let before = self.eyes.fences.get(&slot.slot_id).copied();
            if before.is_some_and(|before| before > fence) {
                let detail = format!("{:?} came under {fence:?} after {before:?}", effect.step);
                self.wrong("I6", slot.slot_id.as_str(), detail);
            }
            self.eyes.fences.insert(slot.slot_id.clone(), fence);
        }
        self.machine.changes += 1;
        if self.dice.chance(self.weather.slow) {
            self.busy_steps = 1 + self.dice.below(self.weather.slow_steps_max);
        }
    }

    // The point of every proof: nobody starts on what another left, or beside another.
    fn check_ground(&mut self, effect: &Effect) {
        let mut found = vec![];
        for slot in &effect.slots {
            let traces = self.machine.slots.get(&slot.slot_id);
            if let Some(left) = traces.and_then(|traces| traces.foreign(&effect.allocation_id)) {
                let detail = format!("{} was started on what {left} left behind", effect.allocation_id);
                found.push(("I10", slot.slot_id.clone(), detail));
            }
            let beside = |guest: &&SimGuest| {
                guest.allocation_id != effect.allocation_id
                    && guest.slots.iter().any(|held| held.slot_id == slot.slot_id)
            };
            if let Some(other) = self.machine.guests.iter().find(beside) {
                let detail = format!("{} was started beside {}", effect.allocation_id, other.allocation_id);
                found.push(("I21", slot.slot_id.clone(), detail));
            }
        }
        for (invariant, slot_id, detail) in found {
            self.wrong(invariant, slot_id.as_str(), detail);
        }
    }

    fn build(&mut self, effect: &Effect, seen: Option<GuestSeen>) {
        for slot in &effect.slots {
            self.machine.slots.insert(slot.slot_id.clone(), Traces::all_of(&effect.allocation_id));
        }
        self.machine.guests.retain(|guest| guest.allocation_id != effect.allocation_id);
        let (allocation_id, slots) = (effect.allocation_id.clone(), effect.slots.clone());
        self.machine.guests.push(SimGuest { allocation_id, slots, ready: seen.is_some(), seen });
    }

    fn wipe(&mut self, slot: &TaskSlot, step: WipeStep) -> Result<String, HostFault> {
        let sits = |guest: &&SimGuest| guest.slots.iter().any(|held| held.slot_id == slot.slot_id);
        let sitting = self.machine.guests.iter().filter(sits).count();
        let traces = self.machine.slots.entry(slot.slot_id.clone()).or_default();
        let disk = slot.bundle.as_ref().map_or("", |bundle| &bundle.disk_identity);
        let shown = || step.simulated_evidence(disk, slot.nonce.as_deref().unwrap_or_default());
        match step {
            WipeStep::GuestGone => match sitting {
                0 => Ok(r#"{"guests":0}"#.to_owned()),
                _ => Err(HostFault::new("Somebody sits on the slot.")),
            },
            WipeStep::DiskErased => {
                traces.disk = None;
                Ok(shown())
            }
            WipeStep::DiskReadBack => match &traces.disk {
                Some(_) => Err(HostFault::new("The disk still holds data.")),
                None => Ok(shown()),
            },
            WipeStep::GpuReset => {
                traces.gpu = None;
                Ok(shown())
            }
            WipeStep::FabricReset => {
                traces.fabric = None;
                Ok(shown())
            }
        }
    }
}

// Changes are made on the spot, so there is never anything to tell, and nobody can stop wanting one in the middle.
impl Host for SimHost {
    fn provision(&self, effect: &Effect, order: &GuestOrder, _: &dyn Watch) -> Result<GuestSeen, HostFault> {
        let mut state = self.state();
        state.take(effect);
        state.check_ground(effect);
        let chance = state.weather.provision_fails;
        if state.dice.chance(chance) {
            if state.dice.chance(500) {
                state.build(effect, None);
            }
            return Err(HostFault::new("The guest did not come up."));
        }
        let seen = host_looks::seen(order);
        state.build(effect, Some(seen.clone()));
        Ok(seen)
    }

    // Somebody listens in every guest.
    fn notice(&self, order: &NoticeOrder, now: Timestamp) -> Result<NoticeSeen, HostFault> {
        let mut state = self.state();
        let runs = |guest: &SimGuest| guest.allocation_id == order.allocation_id && guest.ready;
        if !state.machine.guests.iter().any(runs) {
            return Err(HostFault::new("The guest is not here."));
        }
        let checkpoint_ms = state.checkpoint_ms;
        let told = state.told.entry(order.allocation_id.clone()).or_insert_with(|| (order.notice.clone(), now));
        if told.0 != order.notice {
            *told = (order.notice.clone(), now);
        }
        let ready = |ms: i64| now.micros_since(told.1) >= ms.saturating_mul(1000);
        Ok(NoticeSeen { delivered: true, checkpointed: checkpoint_ms.is_some_and(ready) })
    }

    fn stop_guest(&self, effect: &Effect, guest: &Guest, _: &dyn Watch) -> Result<String, HostFault> {
        let mut state = self.state();
        state.take(effect);
        state.told.remove(&guest.allocation_id);
        let HostWeather { stop_fails, stop_sticks, .. } = state.weather;
        if state.dice.chance(stop_fails) {
            return Err(HostFault::new("The guest does not stop."));
        }
        if !state.dice.chance(stop_sticks) {
            state.machine.guests.retain(|other| other.allocation_id != guest.allocation_id);
        }
        Ok(format!("{} was stopped", guest.allocation_id))
    }

    fn wipe_step(&self, effect: &Effect, slot: &TaskSlot, step: WipeStep, _: &dyn Watch) -> Result<String, HostFault> {
        let mut state = self.state();
        state.take(effect);
        let HostWeather { wipe_fails, wipe_blank, .. } = state.weather;
        if state.dice.chance(wipe_fails) {
            return Err(HostFault::new("The device did not answer."));
        }
        if state.dice.chance(wipe_blank) {
            return Ok(String::new());
        }
        state.wipe(slot, step)
    }

    fn plan(&self, order: &PlanOrder) -> Result<PlanReport, HostFault> {
        Ok(host_looks::plan(&self.state().machine, order))
    }

    fn reconcile(
        &self,
        order: &ReconcileOrder,
        busy: &[AllocationId],
        _: &dyn Watch,
    ) -> Result<ReconcileReport, HostFault> {
        Ok(host_looks::compare(&self.state().machine, order, busy))
    }

    // There are no bytes to fetch here; what an entry says is checked all the same.
    fn prefetch(&self, image: &ImageSpec, _: &dyn Watch) -> Result<(), HostFault> {
        image.validate().map_err(|bad| HostFault::of(TaskFailure::ImageRefused, bad.to_string()))
    }

    fn capture(&self) -> Result<Tree, HostFault> {
        let mut state = self.state();
        if let Shows::Plan(plan) = &state.shows {
            state.shows = Shows::Tree(Arc::new(plan.tree()));
        }
        match &state.shows {
            Shows::Tree(tree) => Ok(Tree::clone(tree)),
            Shows::Plan(_) => Err(HostFault::new("The host shows nothing.")),
        }
    }

    fn guests(&self) -> Result<Vec<Guest>, HostFault> {
        let mut state = self.state();
        let chance = state.weather.blind;
        if state.dice.chance(chance) {
            return Err(HostFault::new("The hypervisor does not answer."));
        }
        let listed = |guest: &SimGuest| Guest {
            allocation_id: guest.allocation_id.clone(),
            slots: guest.slots.clone(),
            ready: guest.ready,
            seen: guest.seen.clone(),
        };
        Ok(state.machine.guests.iter().map(listed).collect())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use model::notice::StopReason;

    const NOW: Timestamp = Timestamp::from_micros(0);

    fn slot() -> SlotUse {
        SlotUse { slot_id: SlotId::from_parts(NOW, [1; 10]), use_generation: 1 }
    }

    fn allocation(n: u8) -> AllocationId {
        AllocationId::from_parts(NOW, [n; 10])
    }

    // Nobody waits.
    struct Alone;

    impl Watch for Alone {
        fn tell(&self, _: model::runtime::WorkProgress) {}
        fn is_wanted(&self) -> bool {
            true
        }
    }

    fn given(use_generation: i64) -> TaskSlot {
        TaskSlot { slot_id: slot().slot_id, use_generation, nonce: None, bundle: None }
    }

    fn provision(host: &SimHost, effect: &Effect) -> Result<GuestSeen, HostFault> {
        let order = GuestOrder {
            allocation_id: effect.allocation_id.clone(),
            slots: effect.given.clone(),
            guest: None,
            grace_s: None,
        };
        host.provision(effect, &order, &Alone)
    }

    fn host() -> SimHost {
        let node_id = NodeId::from_parts(NOW, [1; 10]);
        SimHost::new(
            node_id,
            Machine::default(),
            HostWeather::default(),
            Dice::new(1, "host"),
            Shows::Tree(Arc::default()),
        )
    }

    // A change that was written down, as a good agent would.
    fn effect(host: &SimHost, n: u8, step: Step, use_generation: i64) -> Effect {
        let task_id = TaskId::from_parts(NOW, [n; 10]);
        host.note_begun(&task_id, &step, 1);
        Effect {
            task_id,
            allocation_id: allocation(n),
            fence: Fence { incarnation: 1, generation: use_generation, attempt: 1 },
            slots: vec![SlotUse { use_generation, ..slot() }],
            given: vec![given(use_generation)],
            grace_s: None,
            step,
            turn: 1,
        }
    }

    fn rules(host: &SimHost) -> Vec<&'static str> {
        host.take_violations().into_iter().map(|seen| seen.invariant).collect()
    }

    fn wiped(host: &SimHost, n: u8, steps: &[WipeStep]) {
        for wipe in steps {
            let change = effect(host, n, Step::Wipe { slot_id: slot().slot_id, wipe: *wipe }, 1);
            host.wipe_step(&change, &given(1), *wipe, &Alone).unwrap();
        }
    }

    // One tenant after another, with these wipe steps in between.
    fn second_tenant_after(steps: &[WipeStep], power_lost: bool) -> Vec<&'static str> {
        let host = host();
        let first = effect(&host, 1, Step::Provision, 1);
        provision(&host, &first).unwrap();
        let guest = host.guests().unwrap().remove(0);
        let stop = effect(&host, 1, Step::StopGuest { allocation_id: allocation(1) }, 1);
        host.stop_guest(&stop, &guest, &Alone).unwrap();
        if power_lost {
            host.reboot();
        }
        wiped(&host, 1, steps);
        let second = effect(&host, 2, Step::Provision, 2);
        provision(&host, &second).unwrap();
        rules(&host)
    }

    #[test]
    fn a_guest_on_what_another_left_behind_is_seen() {
        use WipeStep::{DiskErased, FabricReset, GpuReset};
        assert_eq!(second_tenant_after(&[DiskErased, GpuReset, FabricReset], false), [""; 0]);
        for forgotten in [&[GpuReset, FabricReset], &[DiskErased, FabricReset], &[DiskErased, GpuReset]] {
            assert_eq!(second_tenant_after(forgotten, false), ["I10"], "{forgotten:?}");
        }
        assert_eq!(second_tenant_after(&[], true), ["I10"], "losing power empties memory, not disks");
        assert_eq!(second_tenant_after(&[DiskErased], true), [""; 0]);
    }

    #[test]
    fn a_disk_that_still_holds_data_does_not_read_back_empty() {
        let host = host();
        let first = effect(&host, 1, Step::Provision, 1);
        provision(&host, &first).unwrap();
        let read = effect(&host, 1, Step::Wipe { slot_id: slot().slot_id, wipe: WipeStep::DiskReadBack }, 1);
        assert!(host.wipe_step(&read, &given(1), WipeStep::DiskReadBack, &Alone).is_err());
    }

    #[test]
    fn a_guest_beside_another_is_seen() {
        let host = host();
        for n in [1, 2] {
            let change = effect(&host, n, Step::Provision, i64::from(n));
            provision(&host, &change).unwrap();
        }
        assert_eq!(rules(&host), ["I10", "I21"]);
    }

    #[test]
    fn a_guest_is_told_at_once_and_is_ready_when_it_was_said_to_be() {
        let host = host();
        let at = |second| NOW.plus_seconds(second);
        let order = |stop_s| NoticeOrder {
            allocation_id: allocation(1),
            slots: vec![given(1)],
            notice: StopNotice { stop_at: at(stop_s), reason: StopReason::Preempted, by: None },
        };
        assert!(host.notice(&order(60), at(0)).is_err(), "nobody is there");
        provision(&host, &effect(&host, 1, Step::Provision, 1)).unwrap();
        let seen = |stop_s, second| {
            let seen = host.notice(&order(stop_s), at(second)).unwrap();
            assert!(seen.delivered);
            seen.checkpointed
        };
        assert!(!seen(60, 0) && !seen(60, 50), "never, unless somebody says otherwise");
        host.checkpoints_after(Some(5000));
        assert!(seen(60, 50), "it was told long ago");
        assert!(!seen(90, 51) && !seen(90, 55) && seen(90, 56), "told anew, it needs its time anew");
        host.checkpoints_after(Some(0));
        assert!(seen(120, 57), "at once");
        assert_eq!(rules(&host), [""; 0]);
    }

    #[test]
    fn a_change_that_is_repeated_late_stale_or_not_written_down_is_seen() {
        let host = host();
        let change = effect(&host, 1, Step::Provision, 1);
        provision(&host, &change).unwrap();
        provision(&host, &change).unwrap();
        assert_eq!(rules(&host), ["I20"], "twice");
        let newer = effect(&host, 1, Step::StopGuest { allocation_id: allocation(1) }, 2);
        let guest = host.guests().unwrap().remove(0);
        host.stop_guest(&newer, &guest, &Alone).unwrap();
        provision(&host, &Effect { turn: 2, ..change.clone() }).unwrap();
        assert_eq!(rules(&host), ["I20", "I6"], "not written down, and under an old fence");
        let answer = TaskResult::failed(change.task_id.clone(), change.fence, TaskFailure::ProvisionFailed, "");
        host.note_answer(&answer);
        host.note_begun(&change.task_id, &Step::Provision, 3);
        provision(&host, &Effect { turn: 3, ..change }).unwrap();
        assert_eq!(rules(&host), ["I20"], "after its answer");
        host.note_answer(&TaskResult { failure: None, ..answer });
        assert_eq!(rules(&host), ["I20"], "two answers");
    }
}
