//! How work on the host is run: on the spot, as a simulation needs it, or on threads beside the loop, as a host needs it on
//! which a clone takes minutes. The loop is the same in both; it begins a piece of work and later asks what has ended.
//!
//! Which pieces may run at once is not decided here. A piece of work always ends with an answer: one whose thread dies ends
//! with a fault.

use crate::{
    host::{Effect, Guest, Host, HostFault, Step, Watch},
    journal::Outcome,
    looks,
};
use api::node_plane::TaskReport;
use model::{
    AllocationId, TaskId, Timestamp,
    notice::NoticeSeen,
    runtime::{WorkProgress, WorkStep},
    task::{GuestOrder, NoticeOrder, Task, TaskResult},
};
use std::{
    collections::VecDeque,
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread,
};

/// Orders about guests that are worked on at once, at most: as many as a host has GPUs.
pub const ORDERS_AT_ONCE_MAX: usize = 8;

/// Called from any thread when a piece of work has ended or has something to tell, so that whoever calls
/// [`Agent::step`](crate::Agent::step) does so soon.
pub type Wake = Arc<dyn Fn() + Send + Sync>;

/// Where work is run.
#[derive(Debug)]
pub struct Hands(Kind);

enum Kind {
    Inline(VecDeque<(TaskId, Done)>),
    Threads { at_once_max: usize, wake: Wake, send: Sender<(TaskId, Done)>, ended: Receiver<(TaskId, Done)> },
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inline(_) => f.write_str("Inline"),
            Self::Threads { at_once_max, .. } => write!(f, "Threads({at_once_max})"),
        }
    }
}

/// A piece of work.
#[derive(Debug)]
pub(crate) enum Job {
    /// List the guests, so that the order's next move can be decided.
    Guests,
    /// Make a change that was written down.
    Change(Box<Effect>, Box<GuestOrder>),
    /// Tell a guest that it will be stopped, or look whether it has answered.
    Notice(Box<NoticeOrder>, Timestamp),
    /// Carry out an order about the host itself.
    Look(Box<Task>, Vec<AllocationId>),
}

/// How a piece of work ended.
#[derive(Debug)]
pub(crate) enum Done {
    Listed(Result<Vec<Guest>, HostFault>),
    Changed(Step, Outcome),
    Noticed(Result<NoticeSeen, HostFault>),
    Answered(Box<TaskResult>, Option<TaskReport>),
}

impl Hands {
    /// On the spot: whatever is begun has ended when the call returns.
    pub fn inline() -> Self {
        Self(Kind::Inline(VecDeque::new()))
    }

    /// On a thread each, with at most so many orders about guests at once.
    pub fn threads(at_once_max: usize, wake: Wake) -> Self {
        let (send, ended) = channel();
        Self(Kind::Threads { at_once_max, wake, send, ended })
    }

    pub(crate) fn at_once_max(&self) -> usize {
        match &self.0 {
            Kind::Inline(_) => 1,
            Kind::Threads { at_once_max, .. } => *at_once_max,
        }
    }

    /// Something to watch an order's work through.
    pub(crate) fn told(&self) -> Arc<Told> {
        let wake = match &self.0 {
            Kind::Inline(_) => None,
            Kind::Threads { wake, .. } => Some(Arc::clone(wake)),
        };
        Arc::new(Told {
            wanted: AtomicBool::new(true),
            unheard: AtomicBool::new(false),
            latest: Mutex::new(None),
            wake,
        })
    }

    /// Begins a piece of work of an order.
    pub(crate) fn begin<H: Host + 'static>(&mut self, host: &Arc<H>, task_id: TaskId, job: Job, told: Arc<Told>) {
        match &mut self.0 {
            Kind::Inline(ended) => ended.push_back((task_id, job.run(&**host, &*told))),
            Kind::Threads { wake, send, .. } => {
                let mut owed = Owed { send: send.clone(), wake: Arc::clone(wake), ended: Some((task_id, job.lost())) };
                let host = Arc::clone(host);
                let work = move || {
                    let done = job.run(&*host, &*told);
                    if let Some((_, owed)) = &mut owed.ended {
                        *owed = done;
                    }
                };
                // A thread that cannot be made takes the debt with it, and that is the answer.
                let _ = thread::Builder::new().name("host-work".to_owned()).spawn(work);
            }
        }
    }

    /// The next piece of work that has ended since this was asked last.
    pub(crate) fn ended(&mut self) -> Option<(TaskId, Done)> {
        match &mut self.0 {
            Kind::Inline(ended) => ended.pop_front(),
            Kind::Threads { ended, .. } => ended.try_recv().ok(),
        }
    }

    /// Waits for the next piece of work to end. Nothing comes when all have, on the spot.
    pub(crate) fn wait(&mut self) -> Option<(TaskId, Done)> {
        match &mut self.0 {
            Kind::Inline(ended) => ended.pop_front(),
            Kind::Threads { ended, .. } => ended.recv().ok(),
        }
    }
}

// Says how the work ended when it is dropped, whichever way the thread ends.
struct Owed {
    send: Sender<(TaskId, Done)>,
    wake: Wake,
    ended: Option<(TaskId, Done)>,
}

impl Drop for Owed {
    fn drop(&mut self) {
        if let Some(ended) = self.ended.take() {
            // Nobody is left to hear it when the agent has ended.
            let _ = self.send.send(ended);
            (self.wake)();
        }
    }
}

impl Job {
    fn run(&self, host: &impl Host, watch: &dyn Watch) -> Done {
        match self {
            Self::Guests => Done::Listed(host.guests()),
            Self::Change(effect, order) => {
                let changed = change(effect, order, host, watch);
                Done::Changed(effect.step.clone(), changed.unwrap_or_else(|fault| Outcome::failed(&fault)))
            }
            Self::Notice(order, now) => Done::Noticed(host.notice(order, *now)),
            Self::Look(task, busy) => {
                let (result, report) = looks::look(task, busy, host, watch);
                Done::Answered(Box::new(result), report)
            }
        }
    }

    // How it ended when it did not come to an end.
    fn lost(&self) -> Done {
        let fault = HostFault::new("The work on the host broke off without an answer.");
        match self {
            Self::Guests => Done::Listed(Err(fault)),
            Self::Change(effect, _) => Done::Changed(effect.step.clone(), Outcome::failed(&fault)),
            Self::Notice(..) => Done::Noticed(Err(fault)),
            Self::Look(task, _) => Done::Answered(Box::new(looks::failed(task, &fault)), None),
        }
    }
}

fn change(effect: &Effect, order: &GuestOrder, host: &impl Host, watch: &dyn Watch) -> Result<Outcome, HostFault> {
    match &effect.step {
        Step::Provision => host.provision(effect, order, watch).map(Outcome::started),
        Step::StopGuest { allocation_id } => {
            // It may have ended by itself since the step was begun.
            let guest = host.guests()?.into_iter().find(|guest| guest.allocation_id == *allocation_id);
            let stopped = guest.map(|guest| host.stop_guest(effect, &guest, watch)).transpose()?;
            Ok(Outcome::done(stopped.as_deref().unwrap_or("it had ended by itself")))
        }
        Step::Wipe { slot_id, wipe } => match effect.given.iter().find(|slot| slot.slot_id == *slot_id) {
            Some(slot) => host.wipe_step(effect, slot, *wipe, watch).map(|evidence| Outcome::done(&evidence)),
            None => Err(HostFault::new("The order does not name this slot.")),
        },
    }
}

/// What is known of an order's work while it goes on, shared between the loop and the thread that does it.
pub(crate) struct Told {
    wanted: AtomicBool,
    unheard: AtomicBool,
    latest: Mutex<Option<WorkProgress>>,
    wake: Option<Wake>,
}

impl Told {
    /// How far it is.
    pub(crate) fn latest(&self) -> Option<WorkProgress> {
        self.unheard.store(false, Ordering::Release);
        self.latest.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The loop itself says what the order waits for; nobody has to be woken to hear that.
    pub(crate) fn waits(&self, at: WorkStep) {
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(WorkProgress::at(at));
    }

    /// A newer order took over.
    pub(crate) fn not_wanted(&self) {
        self.wanted.store(false, Ordering::Release);
    }
}

impl Watch for Told {
    fn tell(&self, progress: WorkProgress) {
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress);
        // However often a host tells, the loop is woken once for all that it has not heard.
        if !self.unheard.swap(true, Ordering::AcqRel)
            && let Some(wake) = &self.wake
        {
            wake();
        }
    }

    fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Acquire)
    }
}

impl fmt::Debug for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Told(wanted: {})", self.is_wanted())
    }
}
