//! Carrying one order on by as many steps as can be done now. Each step looks at what the provider said last, asks
//! [`phase::decide`], and does what it says; what came of it is written down before the next. A call that fails is tried again
//! after a pause that doubles, for as long as the order may take in all.

use std::collections::BTreeSet;

use machines::{
    BreakOrder, DeployOrder, Elapsed, Fault, Machine, MachineStatus, OrderMark, ProviderId, ReleaseOrder, UserData,
};
use model::{
    TaskId, Timestamp,
    runtime::WorkProgress,
    supply::{NodeState, SlotState},
    task::{MachineOrder, TaskFailure, TaskInput, TaskKind, TaskResult, TaskState},
};
use store::{
    Stamp, StoreError, Tx, drifts,
    living::{self, Living as Table},
    machines::{self as rows, WorkRow},
    nodes::{self, NodeRow},
    slots,
    tasks::{self, TaskRow},
};

use super::{
    Install, MachineHands, Provider,
    phase::{self, Do, Facts, Looked, Phase},
    seconds_between, tokens, user_data,
};
use crate::{
    driver::{poke_waiting, write_json},
    host_orders,
    leader::Leader,
    promotion,
    use_cases::timeline::Said,
};

/// Steps that one look makes at most; each calls the provider or goes on to another phase.
const STEPS_MAX: usize = 12;
/// Faults in a row that say that the machine itself will not do; then the order has failed.
const REFUSALS_MAX: i64 = 5;
/// Orders whose marks are recognised on a machine, the newest first.
const MARKS_MAX: i64 = 200;
/// The system of images that a provider has under their names in the platform's catalogue.
const CATALOGUE: &str = "custom";
/// Sentences of drift that an answer carries.
const DRIFTS_MAX: usize = 5;

/// An order at work: what is known of it now.
struct AtWork<'a> {
    leader: &'a Leader,
    task: TaskRow,
    order: MachineOrder,
    mark: OrderMark,
    id: ProviderId,
    work: WorkRow,
    known: Known,
}

/// What the store knows, read before each decision.
#[derive(Clone)]
struct Known {
    node: NodeRow,
    ours: BTreeSet<String>,
    enrolled: bool,
    looked: Looked,
}

impl MachineHands {
    /// Carries an order on. True when it ended.
    pub(super) async fn carry(
        &self,
        leader: &Leader,
        task: TaskRow,
        work: Option<WorkRow>,
    ) -> Result<bool, StoreError> {
        let (TaskInput::MachineDeploy(order) | TaskInput::MachineReclaim(order)) = task.input.clone() else {
            return Err(StoreError::Other(format!("{} is no order to a provider", task.id)));
        };
        let task = take_up(leader, task)?;
        let work = work.unwrap_or_else(|| begin(&task, leader.now));
        let known = know(leader, &task, &work)?;
        let (mark, id) = match (task.id.as_str().parse(), order.machine_id.parse()) {
            (Ok(mark), Ok(id)) => (mark, id),
            _ => {
                let detail = "the order's machine was expected to have a usable id, but it has none".to_owned();
                return end(leader, &task, Some((TaskFailure::MachineFailed, detail))).map(|()| true);
            }
        };
        let mut at_work = AtWork { leader, task, order, mark, id, work, known };
        at_work.told()?;
        let Some(provider) = self.providers.get(&at_work.order.provider) else {
            let why = format!("no replica that leads was started with the provider {}", at_work.order.provider);
            return self.stumble(&mut at_work, &Fault::Unreachable { why });
        };
        let mut seen = match provider.machines.machine(&at_work.id).await {
            Ok(machine) => machine,
            Err(fault) => return self.stumble(&mut at_work, &fault),
        };
        for _ in 0..STEPS_MAX {
            at_work.note_seen(&seen);
            at_work.known = know(leader, &at_work.task, &at_work.work)?;
            let what = phase::decide(&seen, &at_work.facts(self, provider));
            tracing::debug!(order = %at_work.task.id, machine = %at_work.id, status = %seen.status, ?what, "deciding");
            match self.act(provider, &mut at_work, what).await? {
                Went::Seen(machine) => seen = *machine,
                Went::Again => {}
                Went::Later => return Ok(false),
                Went::Ended => return Ok(true),
            }
        }
        at_work.later(self.patience.look_s)?;
        Ok(false)
    }

    async fn act(&self, provider: &Provider, at: &mut AtWork<'_>, what: Do) -> Result<Went, StoreError> {
        let comment = format!("gpuaas order {}", at.task.id);
        let called = match what {
            Do::Enter(to) => {
                at.enter(to)?;
                return Ok(Went::Again);
            }
            Do::Succeed => return end(at.leader, &at.task, None).map(|()| Went::Ended),
            Do::Fail(failure, why) => return end(at.leader, &at.task, Some((failure, why))).map(|()| Went::Ended),
            Do::Wait(_) => return at.later(self.patience.look_s).map(|()| Went::Later),
            Do::OrderLooks => {
                order_looks(at.leader, &at.known.node)?;
                return at.later(self.patience.look_s).map(|()| Went::Later);
            }
            Do::Allocate => provider.machines.allocate(&at.id, &at.mark).await,
            Do::Release(held_by) => {
                let order = ReleaseOrder { held_by, erase: provider.erase, comment };
                provider.machines.release(&at.id, &order).await
            }
            Do::MarkBroken(why) => {
                let order = BreakOrder { held_by: Some(at.mark.clone()), comment: format!("{comment}: {why}") };
                match provider.machines.mark_broken(&at.id, &order).await {
                    Ok(_) => {
                        return end(at.leader, &at.task, Some((TaskFailure::MachineFailed, why))).map(|()| Went::Ended);
                    }
                    fault => fault,
                }
            }
            Do::Deploy => match self.deployment(provider, at)? {
                Ok(order) => provider.machines.deploy(&at.id, &order).await,
                Err(why) => {
                    return end(at.leader, &at.task, Some((TaskFailure::MachineFailed, why))).map(|()| Went::Ended);
                }
            },
        };
        match called {
            Ok(machine) => {
                (at.work.failures, at.work.fault) = (0, String::new());
                Ok(Went::Seen(Box::new(machine)))
            }
            Err(fault) => Ok(if self.stumble(at, &fault)? { Went::Ended } else { Went::Later }),
        }
    }

    /// What is to be installed. `Err` is a reason why nothing sensible can be.
    fn deployment(&self, provider: &Provider, at: &AtWork<'_>) -> Result<Result<DeployOrder, String>, StoreError> {
        let (install, data) = match (&at.task.input, &at.order.tenant) {
            (TaskInput::MachineDeploy(_), Some(tenant)) => {
                let named = |image: &String| Install { system: CATALOGUE.to_owned(), image: image.clone() };
                let install = tenant.image.as_ref().map_or_else(|| provider.tenant.clone(), named);
                (install, user_data::for_tenant(tenant))
            }
            (TaskInput::MachineReclaim(_), _) => {
                let lifetime_s = self.patience.budgets.deploy_s.saturating_add(self.patience.host.enroll_s);
                let Some(secret) = tokens::mint(at.leader, &at.task, &at.known.node, lifetime_s)? else {
                    return Ok(
                        Err("the installation was expected to begin, but it was asked for too often".to_owned()),
                    );
                };
                (provider.host.clone(), user_data::for_host(&provider.agents, secret.reveal()))
            }
            _ => return Ok(Err("the order was expected to say what the tenant gets, but does not".to_owned())),
        };
        let order = |data: UserData| DeployOrder::new(at.mark.clone(), &install.system, &install.image, data);
        Ok(data.and_then(order).map_err(|error| error.to_string()))
    }

    /// Notes that a call failed, and when to try again. True when the order has failed with it.
    fn stumble(&self, at: &mut AtWork<'_>, fault: &Fault) -> Result<bool, StoreError> {
        let now = at.leader.now;
        let (lasted_s, total_s) = (seconds_between(at.task.created, now), self.patience.budgets.total_s);
        let hopeless = match fault {
            Fault::NotFound { .. } => true,
            // The key can be mended, and a provider that is away comes back.
            Fault::Unauthorized => false,
            fault => !fault.may_try_again() && at.work.failures + 1 >= REFUSALS_MAX,
        };
        let why = match fault {
            _ if lasted_s >= total_s => {
                Some(format!("it was expected to take at most {total_s} s in all; last, {fault}"))
            }
            _ if hopeless => Some(fault.to_string()),
            _ => None,
        };
        if let Some(why) = why {
            end(at.leader, &at.task, Some((TaskFailure::MachineFailed, why)))?;
            return Ok(true);
        }
        tracing::warn!(order = %at.task.id, machine = %at.id, failures = at.work.failures + 1, %fault, "a provider did not do it");
        at.work.failures += 1;
        at.work.fault = fault.to_string();
        // For how long a machine waits to be acted upon counts only while its provider can be asked.
        if !is_under_way(&at.work.status) {
            at.work.status.clear();
        }
        let doublings = u32::try_from(at.work.failures - 1).unwrap_or(0).min(16);
        let pause_s = self.patience.look_s.saturating_mul(1 << doublings).min(self.patience.pause_s_max);
        at.later(pause_s)?;
        Ok(false)
    }
}

/// What came of one step.
enum Went {
    /// The machine, as it is afterwards.
    Seen(Box<Machine>),
    /// Nothing outside was done; decide again.
    Again,
    /// Look again later.
    Later,
    /// The order has ended.
    Ended,
}

/// Whether a machine in this state goes on by itself, and for how long counts whoever looks.
fn is_under_way(status: &str) -> bool {
    [MachineStatus::Deploying, MachineStatus::DiskErasing, MachineStatus::Releasing]
        .iter()
        .any(|known| known.name() == status)
}

impl AtWork<'_> {
    fn facts<'a>(&'a self, hands: &'a MachineHands, provider: &Provider) -> Facts<'a> {
        let (now, work, node) = (self.leader.now, &self.work, &self.known.node);
        let phase = work.phase.parse().unwrap_or(Phase::Free);
        Facts {
            deploy: self.task.kind == TaskKind::MachineDeploy,
            mark: &self.mark,
            ours: &self.known.ours,
            installed: node.machine_mark.as_deref(),
            phase,
            in_phase_s: seconds_between(work.phase_since, now),
            elapsed: Elapsed {
                in_status_s: seconds_between(work.status_since.max(work.phase_since), now),
                since_wanted_s: seconds_between(self.task.created, now),
            },
            enrolled: self.known.enrolled,
            online: node.state == NodeState::Online && !node.is_without_identity(),
            looked: &self.known.looked,
            erase: provider.erase,
            budgets: &hands.patience.budgets,
            host: hands.patience.host,
        }
    }

    fn note_seen(&mut self, seen: &Machine) {
        if self.work.status != seen.status.name() {
            seen.status.name().clone_into(&mut self.work.status);
            self.work.status_since = self.leader.now;
        }
    }

    /// Goes on to another phase. Once the host is enrolled, its mark is the platform's.
    fn enter(&mut self, to: Phase) -> Result<(), StoreError> {
        let now = self.leader.now;
        (self.work.phase, self.work.phase_since) = (to.as_str().to_owned(), now);
        let (task, work, mark) = (self.task.clone(), self.work.clone(), self.mark.clone());
        let enrolled = to == Phase::Look && self.known.enrolled;
        self.task = self.leader.commit(move |tx, stamp| {
            let node = nodes::get(tx, &task.node_id)?.ok_or(StoreError::NotFound)?;
            if enrolled && node.machine_mark.as_deref() != Some(mark.as_str()) {
                nodes::set_machine_mark(tx, stamp, &node, mark.as_str())?;
            }
            rows::put_work(tx, &work)?;
            say(tx, stamp, &task, to, now)
        })?;
        Ok(())
    }

    /// Tells whoever follows the order which phase it is in, if that is news.
    fn told(&mut self) -> Result<(), StoreError> {
        let (task, now) = (self.task.clone(), self.leader.now);
        let phase = self.work.phase.parse().unwrap_or(Phase::Free);
        if Said::of(&task).is_some() {
            return Ok(());
        }
        self.task = self.leader.commit(move |tx, stamp| say(tx, stamp, &task, phase, now))?;
        Ok(())
    }

    fn later(&mut self, after_s: i64) -> Result<(), StoreError> {
        self.work.look = self.leader.now.plus_seconds(after_s.max(0));
        let (work, id) = (self.work.clone(), self.task.id.clone());
        self.leader.commit(move |tx, _| {
            // One that ended meanwhile needs no more looks.
            let open = tasks::get(tx, &id)?.is_some_and(|task| !task.state.is_terminal());
            if open { rows::put_work(tx, &work) } else { Ok(()) }
        })
    }
}

/// Notes that the order is worked on.
fn take_up(leader: &Leader, task: TaskRow) -> Result<TaskRow, StoreError> {
    if task.state == TaskState::Delivered {
        return Ok(task);
    }
    leader.commit(move |tx, stamp| {
        tasks::deliver_all(tx, stamp, std::slice::from_ref(&task))?;
        tasks::get(tx, &task.id)?.ok_or(StoreError::NotFound)
    })
}

fn begin(task: &TaskRow, now: Timestamp) -> WorkRow {
    WorkRow {
        task_id: task.id.clone(),
        phase: Phase::Free.as_str().to_owned(),
        phase_since: now,
        status: String::new(),
        status_since: now,
        failures: 0,
        fault: String::new(),
        look: now,
    }
}

/// Writes down which phase an order is in. Each is told to everybody who follows it once, and only forwards.
fn say(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    task: &TaskRow,
    phase: Phase,
    now: Timestamp,
) -> Result<TaskRow, StoreError> {
    let before = Said::of(task);
    let said = Said { progress: WorkProgress::at(phase.step()), since: now };
    let text = write_json(&said)?;
    let step = api::timeline::TimelineStep::of(phase.step()).map_or("", api::timeline::TimelineStep::as_str);
    if said.rank() > before.as_ref().and_then(Said::rank) {
        tasks::begin_step(tx, stamp, task, (step, &text))?;
    } else {
        tasks::progress(tx, &task.id, &task.node_id, &text)?;
    }
    tasks::get(tx, &task.id)?.ok_or(StoreError::NotFound)
}

fn know(leader: &Leader, task: &TaskRow, work: &WorkRow) -> Result<Known, StoreError> {
    let (id, node_id) = (task.id.clone(), task.node_id.clone());
    let since = work.phase_since;
    let looks = work.phase == Phase::Look.as_str();
    leader.read(move |tx| {
        let node = nodes::get(tx, &node_id)?.ok_or(StoreError::NotFound)?;
        // Every order that this machine was ever handed over or taken back by, this one's tenant's or an earlier one's.
        let ours = tasks::for_provider_of_node(tx, &node_id, MARKS_MAX)?.iter().map(TaskId::to_string).collect();
        let enrolled = !node.is_without_identity() && tokens::is_spent(tx, &id, &node.id)?;
        let looked = if looks { looked(tx, &node, since)? } else { Looked::NotOrdered };
        Ok(Known { node, ours, enrolled, looked })
    })
}

/// What came of looking at the host since it came back.
fn looked(tx: &mut Tx<'_>, node: &NodeRow, since: Timestamp) -> Result<Looked, StoreError> {
    for kind in [TaskKind::SliceTopologyDiscover, TaskKind::NodeReadiness] {
        let newest = tasks::latest_of_node(tx, &node.id, kind)?.filter(|task| task.created >= since);
        match newest {
            None => return Ok(Looked::NotOrdered),
            Some(task) if !task.state.is_terminal() => return Ok(Looked::Waiting),
            Some(task) if task.state == TaskState::Succeeded => {}
            Some(task) => {
                let said = task.result.map(|result| result.detail).filter(|detail| !detail.is_empty());
                let why = said.unwrap_or_else(|| "no answer came in time".to_owned());
                return Ok(Looked::Failed(format!("{kind} ended {}: {why}", task.state)));
            }
        }
    }
    let mut found = Vec::new();
    for slot in slots::of_node(tx, &node.id)?.iter().filter(|slot| slot.drifted && slot.state != SlotState::Disabled) {
        let details: Vec<String> = drifts::of_slot(tx, &slot.id)?.into_iter().map(|drift| drift.detail).collect();
        found.push(format!("slot {} has drifted: {}", slot.id, details.join(" ")));
    }
    if node.promoted.is_some() {
        let gaps = promotion::readiness(node)?.map(|readiness| promotion::gaps(&readiness).collect::<Vec<_>>());
        found.extend(gaps.unwrap_or_default());
    }
    let more = found.len().saturating_sub(DRIFTS_MAX);
    found.truncate(DRIFTS_MAX);
    if more > 0 {
        found.push(format!("{more} more"));
    }
    Ok(if found.is_empty() { Looked::AsApproved } else { Looked::Drifted(found) })
}

fn order_looks(leader: &Leader, node: &NodeRow) -> Result<(), StoreError> {
    let node = node.clone();
    leader.commit(move |tx, stamp| {
        host_orders::give(tx, stamp, &node, TaskInput::SliceTopologyDiscover {})?;
        host_orders::give(tx, stamp, &node, TaskInput::NodeReadiness {}).map(drop)
    })
}

/// Answers an order, with everything that goes with it: tokens that were not used are worth nothing, and a machine that was
/// taken back is the platform's again.
fn end(leader: &Leader, task: &TaskRow, failed: Option<(TaskFailure, String)>) -> Result<(), StoreError> {
    let result = match failed {
        None => TaskResult::done(&task.order()),
        Some((failure, why)) => {
            tracing::warn!(order = %task.id, kind = %task.kind, why, "an order to a provider failed");
            TaskResult::failed(task.id.clone(), task.fence, failure, sentence(&why))
        }
    };
    let id = task.id.clone();
    leader.commit(move |tx, stamp| {
        let task = tasks::get(tx, &id)?.ok_or(StoreError::NotFound)?;
        tokens::revoke_left(tx, stamp, &task.id)?;
        tasks::finish(tx, stamp, &task, &result)?;
        if task.kind == TaskKind::MachineReclaim && result.failure.is_none() {
            take_back(tx, stamp, &task)?;
        }
        poke_waiting(tx, &task, stamp.now)
    })
}

fn take_back(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, task: &TaskRow) -> Result<(), StoreError> {
    let node = nodes::get(tx, &task.node_id)?.ok_or(StoreError::NotFound)?;
    if node.is_without_identity() {
        return Err(StoreError::Other(format!("nobody speaks for {} yet", node.name)));
    }
    if node.handed_over.is_some() {
        nodes::take_back(tx, stamp, &node)?;
    }
    for slot in slots::of_node(tx, &node.id)?.iter().filter(|slot| slot.state == SlotState::CleanupBlocked) {
        living::poke(tx, Table::Slots, slot.id.as_str(), stamp.now)?;
    }
    Ok(())
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str().trim_end_matches('.'))
}
