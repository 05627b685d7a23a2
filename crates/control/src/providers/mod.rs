//! Whole machines: the leader's own hands at the providers of machines. Orders to hand a machine over or to take it back are
//! rows like orders to agents, and are answered on the same way; only that no agent is asked, since the host is, or was, a
//! tenant's.
//!
//! ```text
//! order (node_tasks) ── step ──▶ look at the machine ──▶ phase::decide ──▶ one call ──▶ look again … ──▶ answered
//!                        ▲                                    (pure)                        │
//!                        └────────────── again after a pause, or after a crash ◀───────────┘
//! ```
//!
//! Everything can be repeated: the order's id is the mark on the machine, so a call whose answer was lost is recognised by
//! looking. What a provider says is believed about machines and nothing else; that a slot is clean is proved by the agent
//! that was enrolled afterwards.

mod phase;
mod sync;
mod tokens;
mod user_data;
mod work;

use std::{
    collections::BTreeMap,
    fmt,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::{FutureExt as _, StreamExt as _};
use machines::{BadOrder, Budgets, Erase, MachineProvider};
use model::Timestamp;
use store::{
    Db, LeaderGuard, StoreError,
    machines::WorkRow,
    tasks::{self, TaskRow},
};

pub use phase::HostBudgets;
pub use user_data::{AgentSettings, SETTINGS_FILE, TOKEN_FILE};

pub(crate) use tokens::token_fault;

use crate::{Ports, background::Background, leader::Leader, plane::PlaneConfig, poke::Poke};

/// What is installed on a machine, as its provider calls it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Install {
    /// The operating system, such as `ubuntu` or `custom`.
    pub system: String,
    /// The release or image, such as `noble`.
    pub image: String,
}

/// A provider of machines, and how the platform uses it.
#[derive(Clone)]
pub struct Provider {
    /// Its name: nodes say `name/machine`.
    pub slug: String,
    /// What it is, such as `maas`.
    pub kind: String,
    /// Where it is, for people.
    pub address: String,
    /// What can be asked of it.
    pub machines: Arc<dyn MachineProvider>,
    /// What the platform's own hosts are installed with.
    pub host: Install,
    /// How those hosts reach the control plane.
    pub agents: AgentSettings,
    /// What tenants get.
    pub tenant: Install,
    /// How disks are erased whenever a machine changes hands.
    pub erase: Erase,
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider").field("slug", &self.slug).field("address", &self.address).finish_non_exhaustive()
    }
}

/// How patient the platform is with providers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// How long their work may take.
    pub budgets: Budgets,
    /// How long the platform's own hosts may take to come back.
    pub host: HostBudgets,
    /// How often a machine is looked at while something goes on with it.
    pub look_s: i64,
    /// The longest pause after calls that failed; pauses double up to it.
    pub pause_s_max: i64,
    /// How often all machines are compared with the platform.
    pub sync_s: i64,
    /// Orders that are worked on at the same time.
    pub at_once: usize,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            budgets: Budgets::default(),
            host: HostBudgets::default(),
            look_s: 10,
            pause_s_max: 120,
            sync_s: 300,
            at_once: 8,
        }
    }
}

/// Where a plane says that it leads, for those who act beside it. Whether it still does is checked by every commit.
#[derive(Debug, Clone, Default)]
pub struct Led(Arc<Mutex<Option<LeaderGuard>>>);

impl Led {
    pub(crate) fn tell(&self, guard: Option<LeaderGuard>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = guard;
    }
    pub(crate) fn guard(&self) -> Option<LeaderGuard> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What one step did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MachineStep {
    /// Orders that were looked at.
    pub orders: usize,
    /// Orders that ended.
    pub ended: usize,
    /// Providers whose machines were compared with the platform.
    pub synced: usize,
}

/// The leader's hands at its providers. Holds nothing that matters: dropping it at any moment and making another is harmless.
#[derive(Debug)]
pub struct MachineHands {
    db: Db,
    ports: Ports,
    config: PlaneConfig,
    led: Led,
    poke: Poke,
    providers: BTreeMap<String, Provider>,
    patience: Patience,
}

impl MachineHands {
    /// Hands for these providers. `led` and `poke` are the plane's.
    pub fn new(
        (db, ports): (Db, Ports),
        config: PlaneConfig,
        (led, poke): (Led, Poke),
        providers: Vec<Provider>,
        patience: Patience,
    ) -> Self {
        let providers = providers.into_iter().map(|provider| (provider.slug.clone(), provider)).collect();
        Self { db, ports, config, led, poke, providers, patience }
    }

    /// Looks once at everything that is due. Does nothing where this replica does not lead.
    pub async fn step(&self) -> Result<MachineStep, StoreError> {
        let Some(guard) = self.led.guard() else { return Ok(MachineStep::default()) };
        let leader = self.leader(guard);
        let due = self.due(&leader)?;
        let mut step = MachineStep { orders: due.len(), ..MachineStep::default() };
        let mut done = futures::stream::iter(due)
            .map(|(task, work)| {
                let leader = &leader;
                async move {
                    let id = task.id.clone();
                    let carried = AssertUnwindSafe(self.carry(leader, task, work)).catch_unwind().await;
                    (id, carried)
                }
            })
            .buffer_unordered(self.patience.at_once.max(1));
        while let Some((id, carried)) = done.next().await {
            match carried {
                Ok(Ok(ended)) => step.ended += usize::from(ended),
                Ok(Err(error)) if matters_to_all(&error) => return Err(error),
                // Somebody was quicker, or this one row is in a bad way; the next look finds out.
                Ok(Err(error)) => tracing::warn!(order = %id, %error, "an order to a provider could not be carried on"),
                Err(_) => tracing::error!(alert = "machine_panicked", order = %id, "carrying out an order panicked"),
            }
        }
        drop(done);
        if step.ended > 0 {
            self.poke.poke();
        }
        step.synced = self.sync_due(&self.leader(leader.guard)).await?;
        Ok(step)
    }

    fn leader(&self, guard: LeaderGuard) -> Leader {
        let (db, ports, config) = (self.db.clone(), self.ports.clone(), self.config.clone());
        Leader { now: ports.now(), db, ports, guard, config }
    }

    /// The newest order of each node, where it is time to look at it. Older ones are on their way out.
    fn due(&self, leader: &Leader) -> Result<Vec<(TaskRow, Option<WorkRow>)>, StoreError> {
        let now = leader.now;
        leader.read(move |tx| {
            let mut newest: BTreeMap<_, TaskRow> = BTreeMap::new();
            for task in tasks::open_for_providers(tx, ORDERS_MAX)? {
                newest.insert(task.node_id.clone(), task);
            }
            let mut due = Vec::new();
            for task in newest.into_values().filter(|task| task.deadline > now) {
                let work = store::machines::work(tx, &task.id)?;
                let pause_over = |work: &WorkRow| work.look <= now || work.look > now.plus_seconds(PAUSE_S_LONGEST);
                if work.as_ref().is_none_or(pause_over) {
                    due.push((task, work));
                }
            }
            Ok(due)
        })
    }
}

/// Orders that are open at once in the whole fleet; more wait their turn.
const ORDERS_MAX: i64 = 1000;
/// A clock that jumped back must not put a look off for ever.
const PAUSE_S_LONGEST: i64 = 3600;

pub(crate) fn matters_to_all(error: &StoreError) -> bool {
    matches!(crate::driver::weigh(error), crate::driver::Weight::EndsTheStep)
}

/// Starts the hands on a thread of their own, with a step every `every`.
pub fn spawn(hands: MachineHands, every: Duration) -> std::io::Result<Background> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Background::start("machines", move || {
        if let Err(error) = runtime.block_on(hands.step()) {
            tracing::warn!(%error, "a look at the providers' machines ended early");
        }
        every
    })
}

/// A slug for a provider: what nodes say before the slash.
pub fn checked_slug(text: &str) -> Result<String, BadOrder> {
    let letter = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if (1..=32).contains(&text.len()) && text.bytes().all(letter) {
        return Ok(text.to_owned());
    }
    Err(BadOrder { field: "provider", expected: "1 to 32 of a-z, 0-9 and -", found: machines::shown(text, 40) })
}

fn seconds_between(from: Timestamp, to: Timestamp) -> i64 {
    to.micros_since(from).max(0) / model::time::MICROS_PER_SECOND
}
