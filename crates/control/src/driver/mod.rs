//! The one driver that runs all lifecycles. For each thing whose look is due: load what its decider sees, ask it, and carry
//! the answer out, one decision a look. Which noun it is does not matter here; each has one file beside this one.
//!
//! ```text
//! due ──▶ load ──▶ decide ──┬─ Wait      ──▶ stored with its reason; next look later
//!                           ├─ LookAgain ──▶ no wait, since all is well; next look later
//!                           ├─ Do        ──▶ the effect, outside of any transaction of this loop; look again
//!                           ├─ Enter     ──▶ compare-and-swap, event, operations, pokes in one transaction; look again
//!                           └─ Forget    ──▶ rests until poked
//! ```
//!
//! A thing that cannot be looked at (its row is corrupt, its decider panics, the store refuses its change) is set aside with a
//! pause that doubles, and stops nobody else. A lost race is no fault: it is looked at again, and only the third in a row is
//! written down. What concerns the store or the lease ends the step instead: it is nobody's fault in particular.
//!
//! Several things of one noun are looked at at once, up to a bound, so that their commits share a flush of the disk and a
//! slow effect holds up only its own place in the bound. How looks ended is sorted out on one thread. Where the bound is one,
//! nothing is spawned and the order is fixed: the simulator's histories depend on that.

mod allocation;
mod at_once;
pub(crate) mod machine;
mod node;
mod orders;
mod overdue;
mod project;
mod slot;
mod task;
mod tenant;
mod workload;

use std::{
    any::Any,
    collections::HashMap,
    fmt::{Debug, Display},
    panic::{AssertUnwindSafe, catch_unwind},
    str::FromStr,
};

use lifecycle::{Next, Wait};
use model::{Timestamp, time::MICROS_PER_SECOND};
use store::{
    Stamp, StoreError, Tx,
    allocations::AllocationRow,
    living::{self, Due, Living as Table, Seen},
};

use crate::{
    applier::{Applier, Turn},
    leader::Leader,
    plane::PlaneConfig,
};
pub(crate) use node::conversion_reason;
pub(crate) use orders::{bundle, challenge, share};
pub(crate) use overdue::{OverdueLog, overdue_count};
pub(crate) use task::poke_waiting;

/// A noun that lives: how to see one, what it decides, and how its answers are carried out.
pub(crate) trait Living {
    /// Where its rows are.
    const TABLE: Table;
    /// One of them, with everything its decider sees.
    type Looked: Send + 'static;
    /// Its states.
    type State: Copy + Display + Send + 'static;
    /// What it may ask of the outside.
    type Effect: Copy + Debug;

    /// Reads the whole truth about one; `None` when there is no such row.
    fn load(tx: &mut Tx<'_>, id: &str, now: Timestamp) -> Result<Option<Self::Looked>, StoreError>;
    /// The row as it was read.
    fn seen(looked: &Self::Looked) -> Seen<'_>;
    /// Asks the decider.
    fn decide(looked: &Self::Looked, now: Timestamp, config: &PlaneConfig) -> Next<Self::State, Self::Effect>;
    /// Carries an effect out. Safe to repeat.
    fn perform(hands: &Hands<'_>, looked: &Self::Looked, effect: Self::Effect) -> Result<(), StoreError>;
    /// Moves it to a state, with everything that goes with the move, in the transaction given.
    fn enter(
        tx: &mut Tx<'_>,
        stamp: &mut Stamp<'_>,
        looked: &Self::Looked,
        state: Self::State,
    ) -> Result<(), StoreError>;
}

/// What effects are carried out with.
pub(crate) struct Hands<'a> {
    pub(crate) leader: &'a Leader,
}

impl Hands<'_> {
    /// Finds a place for a wish. That is done for many at a time, before single looks; a wish that is met here is one more
    /// than a turn takes. It stays due, and the next turn has it.
    #[expect(clippy::unnecessary_wraps, reason = "an effect like any other, for whoever decides to ask for it")]
    pub(crate) fn place(&self, wish: &AllocationRow) -> Result<(), StoreError> {
        tracing::debug!(allocation = %wish.id, "waits for the next turn of placement");
        Ok(())
    }
}

/// Renews the lease when it is time to, and says when it is lost. Called between looks, and while slow ones last.
pub(crate) type KeepLease<'a> = dyn FnMut() -> Result<(), StoreError> + 'a;

/// Three lost races in a row are written down as a fault.
const RACES_MAX: u32 = 3;

/// The loop. Volatile: it only remembers how often somebody else was quicker.
#[derive(Debug, Default)]
pub(crate) struct Driver {
    races: HashMap<(Table, String), u32>,
}

/// What one sweep did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Swept {
    /// How many things were looked at.
    pub(crate) looked: usize,
    /// How many of them could not be.
    pub(crate) faults: usize,
    /// What placement did.
    pub(crate) placement: Turn,
}

impl Driver {
    /// Looks once at everything that is due, a bounded number of each noun. `Err` ends the step.
    pub(crate) fn sweep(
        &mut self,
        leader: &Leader,
        applier: &mut Applier,
        keep_lease: &mut KeepLease<'_>,
    ) -> Result<Swept, StoreError> {
        let hands = Hands { leader };
        let mut swept = Swept::default();
        self.sweep_noun::<task::Tasks>(&hands, keep_lease, &mut swept)?;
        self.sweep_noun::<node::Nodes>(&hands, keep_lease, &mut swept)?;
        self.sweep_noun::<slot::Slots>(&hands, keep_lease, &mut swept)?;
        self.place(leader, applier, keep_lease, &mut swept)?;
        self.sweep_noun::<allocation::Allocations>(&hands, keep_lease, &mut swept)?;
        self.sweep_noun::<workload::Workloads>(&hands, keep_lease, &mut swept)?;
        self.sweep_noun::<project::Projects>(&hands, keep_lease, &mut swept)?;
        self.sweep_noun::<tenant::Tenants>(&hands, keep_lease, &mut swept)?;
        Ok(swept)
    }

    /// Finds places for wishes, many at a time.
    pub(crate) fn place(
        &mut self,
        leader: &Leader,
        applier: &mut Applier,
        keep_lease: &mut KeepLease<'_>,
        swept: &mut Swept,
    ) -> Result<(), StoreError> {
        let mut turn = applier.turn(leader, keep_lease)?;
        swept.looked += turn.answered();
        for (wish, error) in std::mem::take(&mut turn.faults) {
            let due = Due { id: wish.id.to_string(), look: wish.look, faults: wish.faults };
            swept.faults += usize::from(self.fault::<allocation::Allocations>(leader, &due, &error.to_string())?);
        }
        swept.placement = turn;
        Ok(())
    }

    fn sweep_noun<L: Living>(
        &mut self,
        hands: &Hands<'_>,
        keep_lease: &mut KeepLease<'_>,
        swept: &mut Swept,
    ) -> Result<(), StoreError> {
        let leader = hands.leader;
        let (now, limit) = (leader.now, leader.config.looks_per_noun);
        let due = leader.read(move |tx| living::due(tx, L::TABLE, now, limit))?;
        let looks = at_once::Looks {
            at_once: leader.config.looks_at_once,
            patience_us: leader.config.lease_ttl_s.saturating_mul(MICROS_PER_SECOND),
            monotonic_us: &|| leader.ports.monotonic_us(),
        };
        looks.run(
            &due,
            |due| guarded_look::<L>(hands, &due.id),
            keep_lease,
            |due, result| {
                swept.looked += 1;
                swept.faults += usize::from(self.settle::<L>(leader, due, result)?);
                Ok(())
            },
        )
    }

    /// Sorts out how a look ended. True when it was written down as a fault.
    fn settle<L: Living>(
        &mut self,
        leader: &Leader,
        due: &Due,
        result: Result<(), StoreError>,
    ) -> Result<bool, StoreError> {
        let key = (L::TABLE, due.id.clone());
        let error = match result {
            Ok(()) => {
                self.races.remove(&key);
                return Ok(false);
            }
            Err(error) => error,
        };
        match weigh(&error) {
            Weight::EndsTheStep => Err(error),
            Weight::Race => {
                let races = self.races.entry(key.clone()).or_default();
                *races += 1;
                if *races < RACES_MAX {
                    return Ok(false);
                }
                self.races.remove(&key);
                self.fault::<L>(leader, due, &format!("lost {RACES_MAX} races in a row: {error}"))
            }
            Weight::Fault => {
                self.races.remove(&key);
                self.fault::<L>(leader, due, &error.to_string())
            }
        }
    }

    fn fault<L: Living>(&self, leader: &Leader, due: &Due, detail: &str) -> Result<bool, StoreError> {
        let (faults, noun) = (due.faults + 1, L::TABLE);
        tracing::error!(alert = "object_fault", ?noun, id = due.id, faults, detail, "set aside");
        let (due, detail, now) = (due.clone(), detail.to_owned(), leader.now);
        // PostgreSQL has no NUL, and a panic's text may have one.
        let detail = detail.replace('\0', "\u{fffd}");
        leader.commit(move |tx, _| living::fault(tx, L::TABLE, &due.id, due.faults, &detail, now))?;
        Ok(true)
    }
}

/// How bad an error is.
pub(crate) enum Weight {
    // The store, the lease or the process: every other look would end the same way.
    EndsTheStep,
    // Somebody was quicker; what was read is out of date.
    Race,
    // Something is wrong with this one thing.
    Fault,
}

/// Weighs an error.
pub(crate) fn weigh(error: &StoreError) -> Weight {
    match error {
        StoreError::LostLeadership
        | StoreError::OutcomeUnknown
        | StoreError::Unavailable(_)
        | StoreError::Busy
        | StoreError::Poisoned
        | StoreError::Crashed
        | StoreError::Refused(_) => Weight::EndsTheStep,
        StoreError::StaleVersion | StoreError::UniqueViolation { .. } => Weight::Race,
        _ => Weight::Fault,
    }
}

/// A look whose panic is its own fault.
fn guarded_look<L: Living>(hands: &Hands<'_>, id: &str) -> Result<(), StoreError> {
    let result = catch_unwind(AssertUnwindSafe(|| look::<L>(hands, id)));
    result.unwrap_or_else(|panic| Err(StoreError::Panicked(panic_text(panic.as_ref()))))
}

fn look<L: Living>(hands: &Hands<'_>, id: &str) -> Result<(), StoreError> {
    let (leader, now) = (hands.leader, hands.leader.now);
    let name = id.to_owned();
    let Some(looked) = leader.read(move |tx| L::load(tx, &name, now))? else { return Ok(()) };
    let next = L::decide(&looked, now, &leader.config);
    match next {
        Next::Wait(wait) => store_wait::<L>(leader, looked, wait),
        Next::LookAgain { after_s } => {
            let look = now.plus_seconds(after_s.max(1));
            leader.commit(move |tx, _| living::look_again(tx, L::TABLE, L::seen(&looked), look))
        }
        Next::Do(effect) => {
            tracing::debug!(noun = ?L::TABLE, id, ?effect, "doing");
            L::perform(hands, &looked, effect)
        }
        Next::Enter(state) => {
            tracing::debug!(noun = ?L::TABLE, id, %state, "entering");
            leader.commit(move |tx, stamp| L::enter(tx, stamp, &looked, state))
        }
        Next::Forget => leader.commit(move |tx, _| living::rest(tx, L::TABLE, L::seen(&looked))),
    }
}

fn store_wait<L: Living>(leader: &Leader, looked: L::Looked, wait: Wait) -> Result<(), StoreError> {
    let now = leader.now;
    leader.commit(move |tx, _| living::set_wait(tx, L::TABLE, L::seen(&looked), &wait, now))
}

/// An id as it is stored; a text that is none is a corrupt row.
pub(crate) fn id_of<I: FromStr<Err: Display>>(text: &str) -> Result<I, StoreError> {
    let why = |error: I::Err| StoreError::Corrupt { column: "id".into(), why: error.to_string() };
    text.parse().map_err(why)
}

/// JSON that this crate wrote into a column; a row that was never written to holds `{}`.
pub(crate) fn read_json<T: Default + serde::de::DeserializeOwned>(column: &str, text: &str) -> Result<T, StoreError> {
    if text == "{}" {
        return Ok(T::default());
    }
    let why = |error: serde_json::Error| StoreError::Corrupt { column: column.to_owned(), why: error.to_string() };
    serde_json::from_str(text).map_err(why)
}

/// JSON for a column.
pub(crate) fn write_json(value: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Other(error.to_string()))
}

/// What a panic said.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a message".to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use lifecycle::NoEffect;
    use model::{TenantId, tenancy::State};
    use store::{
        Db, LEADER, LeaderGuard, NoFaults, lease,
        tenants::{self, TenantRow},
    };

    use super::*;
    use crate::Ports;

    /// A noun whose decider panics at one of its things.
    struct Panicky;

    impl Living for Panicky {
        const TABLE: Table = Table::Tenants;
        type Looked = TenantRow;
        type State = State;
        type Effect = NoEffect;

        fn load(tx: &mut Tx<'_>, id: &str, _: Timestamp) -> Result<Option<TenantRow>, StoreError> {
            tenants::get(tx, &id_of(id)?)
        }
        fn seen(tenant: &TenantRow) -> Seen<'_> {
            tenant.seen()
        }
        fn decide(tenant: &TenantRow, _: Timestamp, _: &PlaneConfig) -> Next<State, NoEffect> {
            assert_ne!(tenant.slug.as_str(), "poison", "cannot decide\0 about this");
            Next::Forget
        }
        fn perform(_: &Hands<'_>, _: &TenantRow, effect: NoEffect) -> Result<(), StoreError> {
            match effect {}
        }
        fn enter(_: &mut Tx<'_>, _: &mut Stamp<'_>, _: &TenantRow, _: State) -> Result<(), StoreError> {
            Err(StoreError::NotFound)
        }
    }

    /// A leader of an empty store.
    pub(super) fn leader(db: &Db) -> Leader {
        let ports = Ports::system();
        let now = ports.now();
        let taken = db.write(move |tx| lease::lease_acquire(tx, LEADER, "me", None, now, 1));
        let guard: LeaderGuard = taken.unwrap().unwrap();
        Leader { db: db.clone(), now, guard, config: PlaneConfig::new("me"), ports }
    }

    #[test]
    fn a_decider_that_panics_is_a_fault_of_its_object_alone() {
        let db = Db::open_inline(Box::new(NoFaults)).unwrap();
        let leader = leader(&db);
        let ids = ["poison", "healthy"].map(|slug| {
            let id = TenantId::from_parts(leader.now, leader.ports.id_bits());
            let new = id.clone();
            let insert = move |tx: &mut Tx<'_>, stamp: &mut Stamp<'_>| {
                tenants::insert(tx, stamp, &new, &slug.parse().unwrap(), &"Name".parse().unwrap())
            };
            leader.commit(insert).unwrap();
            id
        });
        let (mut driver, mut swept) = (Driver::default(), Swept::default());
        let hands = Hands { leader: &leader };
        driver.sweep_noun::<Panicky>(&hands, &mut || Ok(()), &mut swept).unwrap();
        assert_eq!(swept, Swept { looked: 2, faults: 1, ..Swept::default() });
        let [poison, healthy] = ids.map(|id| leader.read(move |tx| tenants::get(tx, &id)).unwrap().unwrap());
        assert_eq!(poison.life.faults, 1);
        assert!(poison.life.last_fault.unwrap().contains("cannot decide"));
        assert!(poison.life.look > Some(leader.now), "set aside for a while");
        assert_eq!((healthy.life.faults, healthy.life.look), (0, None));
    }
}
