//! What lives between requests: the leader's lease, the driver, the numbering of events and audit rows, the heartbeats on
//! their way to the store. All of it moves by [`ControlPlane::step`]; nothing is spawned, slept or timed in here, so that the
//! simulator can own time. Everything held is volatile: dropping a plane at any moment and making another is a crash and
//! a restart, and must be harmless.
//!
//! ```text
//! step: flush heartbeats ── leading? ──┬─ no:  watch the lease
//!                                      └─ yes: renew ── drive what is due ── number events, chain audit ── tidy up
//! ```

use std::{sync::Arc, time::Duration};

use model::Timestamp;
use store::{
    Db, StoreError, certificates, idempotency,
    living::{self, Living as Table},
    sessions, wipe_overrides,
};

use crate::{
    Ports,
    applier::{Applier, Turn},
    driver::{Driver, OverdueLog},
    leader::Leader,
    leadership::Leadership,
    node_plane::NodePlane,
    numbering,
    providers::Led,
};

pub use crate::poke::Poke;

/// Somewhat above what the parts of such an order may take together, so that their own verdicts come first.
pub(crate) const MACHINE_DEADLINE_S: i64 = 36 * 3600;

/// How a plane works.
#[derive(Debug, Clone)]
pub struct PlaneConfig {
    /// The name of this replica in the lease. Another process must not use it.
    pub replica: String,
    /// How long a silent leader is waited for.
    pub lease_ttl_s: i64,
    /// How many things of each noun one step looks at.
    pub looks_per_noun: i64,
    /// How many of them are looked at at the same time. One means on the stepping thread, in order.
    pub looks_at_once: usize,
    /// How many wishes one commit of placement answers.
    pub placements_per_commit: usize,
    /// How places are ranked.
    pub policy: engine::Policy,
    /// Whether this is a laboratory: only then is anything placed on nodes that have no GPUs.
    pub lab: bool,
    /// How many events, or audit rows, one commit numbers.
    pub numbered_per_commit: i64,
    /// How long before the end of a lease its owner is warned, in seconds; a tenth of the lease when that is shorter.
    pub lease_warning_s: i64,
    /// How long an agent has to carry an order out.
    pub order_deadline_s: i64,
    /// How long the provider of a machine has to hand it over or to take it back, with everything that belongs to it.
    pub machine_deadline_s: i64,
    /// Heartbeats are written down this often.
    pub heartbeats_every_s: i64,
    /// An idle plane looks at the store this often for what other replicas recorded.
    pub idle_look_ms: u32,
    /// Answers are kept this long for retries.
    pub idempotency_keep_s: i64,
    /// Certificates of nodes are kept on record this long after they expired.
    pub certificates_keep_s: i64,
    /// What needs no hurry (old answers, waits over budget) is looked at this often.
    pub tidy_every_s: i64,
}

impl PlaneConfig {
    /// The settings of a server: the usual ones, with several looks at once so that their commits share a flush.
    pub fn serving(replica: impl Into<String>) -> Self {
        Self { looks_at_once: 16, ..Self::new(replica) }
    }

    /// The usual settings, one look after the other.
    pub fn new(replica: impl Into<String>) -> Self {
        Self {
            replica: replica.into(),
            lease_ttl_s: 10,
            looks_per_noun: 64,
            looks_at_once: 1,
            placements_per_commit: 64,
            policy: engine::Policy::default(),
            lab: false,
            numbered_per_commit: 500,
            lease_warning_s: 900,
            order_deadline_s: 300,
            machine_deadline_s: MACHINE_DEADLINE_S,
            heartbeats_every_s: 5,
            idle_look_ms: 250,
            idempotency_keep_s: api::limits::IDEMPOTENCY_HOURS * 3600,
            certificates_keep_s: 24 * 3600,
            tidy_every_s: 10,
        }
    }
}

/// What one step did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StepReport {
    /// Something was done, so more may be waiting: step again without a pause.
    pub worked: bool,
    /// When the next look is due, where the store knows of one. Followers do not look.
    pub next_look: Option<Timestamp>,
    /// This replica leads.
    pub leading: bool,
    /// How many things were looked at.
    pub looked: usize,
    /// How many of them were set aside with a fault.
    pub faults: usize,
    /// What placement did.
    pub placement: Turn,
    /// Waits over their budget, as of the last time they were counted by this replica.
    pub waits_over_budget: i64,
    /// The step ended early because of this.
    pub stopped: Option<StoreError>,
}

/// One replica's moving parts.
#[derive(Debug)]
pub struct ControlPlane {
    db: Db,
    ports: Ports,
    config: PlaneConfig,
    poke: Poke,
    node_plane: Arc<NodePlane>,
    leadership: Leadership,
    driver: Driver,
    applier: Applier,
    overdue: OverdueLog,
    waits_over_budget: i64,
    tidied: Option<Timestamp>,
    led: Led,
}

impl ControlPlane {
    /// A plane that has not looked at anything yet.
    pub fn new(db: Db, ports: Ports, config: PlaneConfig) -> Self {
        let poke = Poke::default();
        Self {
            leadership: Leadership::new(&config.replica, config.lease_ttl_s),
            node_plane: Arc::new(NodePlane::new(ports.clone(), poke.clone())),
            db,
            ports,
            config,
            poke,
            driver: Driver::default(),
            applier: Applier::default(),
            overdue: OverdueLog::default(),
            waits_over_budget: 0,
            tidied: None,
            led: Led::default(),
        }
    }

    /// Where this plane says that it leads, for whoever acts beside it.
    pub fn led(&self) -> Led {
        self.led.clone()
    }

    /// Where agents' messages go.
    pub fn node_plane(&self) -> Arc<NodePlane> {
        Arc::clone(&self.node_plane)
    }

    /// The nudge that makes a sleeping runner look.
    pub fn poke(&self) -> Poke {
        self.poke.clone()
    }

    /// The epoch under which this replica leads, while it believes it does.
    pub fn epoch(&self) -> Option<i64> {
        self.leadership.guard().map(|guard| guard.epoch)
    }

    /// Whether the store no longer knows what it holds, so that the process must end.
    pub fn store_poisoned(&self) -> bool {
        self.db.poisoned()
    }

    /// One step at the time of the plane's own clock.
    pub fn step_now(&mut self) -> StepReport {
        self.step(self.ports.now())
    }

    /// One step: a bounded amount of everything that is due.
    pub fn step(&mut self, now: Timestamp) -> StepReport {
        let mut report = StepReport { waits_over_budget: self.waits_over_budget, ..StepReport::default() };
        if let Err(error) = self.work(now, &mut report) {
            if error == StoreError::LostLeadership {
                self.leadership.lost();
            } else {
                tracing::warn!(%error, "a step ended early");
            }
            report.stopped = Some(error);
            report.worked = false;
        }
        report.leading = self.leadership.guard().is_some();
        self.led.tell(self.leadership.guard().cloned());
        report
    }

    /// One batch of placement and nothing else of a step, for measurements: at most so many wishes that are due, as the
    /// first of a turn or a later one. Takes the lease where that is allowed.
    pub fn place_batch(&mut self, limit: usize, first: bool) -> Result<Turn, StoreError> {
        let now = self.ports.now();
        self.leadership.step(&self.db, now, self.ports.monotonic_us())?;
        let Some(guard) = self.leadership.guard().cloned() else { return Err(StoreError::LostLeadership) };
        let (db, ports, config) = (self.db.clone(), self.ports.clone(), self.config.clone());
        self.applier.one_batch(&Leader { db, ports, guard, now, config }, limit, first)
    }

    /// Numbers events and chains audit rows and does nothing else of a step, for measurements. Says how many of each.
    pub fn number(&mut self) -> Result<(u64, usize), StoreError> {
        let Some(guard) = self.leadership.guard().cloned() else { return Err(StoreError::LostLeadership) };
        let (db, ports, config) = (self.db.clone(), self.ports.clone(), self.config.clone());
        let numbered = numbering::step(&Leader { db, now: ports.now(), ports, guard, config })?;
        Ok((numbered.events, numbered.audit))
    }

    /// Where the leader's picture of the fleet is not what the store has, if this replica leads. For audits: a fresh picture
    /// is taken to compare with.
    pub fn picture_fault(&mut self) -> Result<Option<String>, StoreError> {
        let Some(guard) = self.leadership.guard().cloned() else { return Ok(None) };
        let (db, ports, config) = (self.db.clone(), self.ports.clone(), self.config.clone());
        let leader = Leader { db, now: ports.now(), ports, guard, config };
        self.applier.picture_fault(&leader)
    }

    /// Gives the lease back, so that another replica need not wait. For an orderly end.
    pub fn resign(&mut self) {
        let now = self.ports.now();
        self.led.tell(None);
        let flushed = self.node_plane.flush(&self.db, now);
        if let Err(error) = flushed.and_then(|()| self.leadership.release(&self.db, now)) {
            tracing::warn!(%error, "the lease was not given back; it runs out by itself");
        }
    }

    /// How long a runner may sleep after a step, unless it is poked.
    pub fn pause_after(&self, report: &StepReport) -> Duration {
        if report.worked {
            return Duration::ZERO;
        }
        let idle = Duration::from_millis(u64::from(self.config.idle_look_ms));
        if report.stopped.is_some() || !report.leading {
            return idle;
        }
        let until = |look: Timestamp| u64::try_from(look.micros_since(self.ports.now())).unwrap_or(0);
        report.next_look.map_or(idle, |look| Duration::from_micros(until(look)).min(idle))
    }

    fn work(&mut self, now: Timestamp, report: &mut StepReport) -> Result<(), StoreError> {
        if self.node_plane.flush_due(now, self.config.heartbeats_every_s) {
            self.node_plane.flush(&self.db, now)?;
        }
        if !self.leadership.step(&self.db, now, self.ports.monotonic_us())? {
            return Ok(());
        }
        let Some(guard) = self.leadership.guard().cloned() else { return Ok(()) };
        let (db, ports, config) = (self.db.clone(), self.ports.clone(), self.config.clone());
        let leader = Leader { db, ports, guard, now, config };
        let (leadership, ports) = (&mut self.leadership, &self.ports);
        let mut keep_lease = || match leadership.step(&leader.db, ports.now(), ports.monotonic_us())? {
            true => Ok(()),
            false => Err(StoreError::LostLeadership),
        };
        let swept = self.driver.sweep(&leader, &mut self.applier, &mut keep_lease)?;
        keep_lease()?;
        (report.looked, report.faults, report.placement) = (swept.looked, swept.faults, swept.placement.clone());
        let numbered = numbering::step(&leader)?;
        let purged = self.tidy(&leader)?;
        report.waits_over_budget = self.waits_over_budget;
        report.worked = swept.looked > 0 || numbered.events > 0 || numbered.audit > 0 || purged > 0;
        if swept.looked > 0 {
            self.node_plane.orders_given();
        }
        report.next_look = leader.read(|tx| {
            let looks: Result<Vec<_>, _> = Table::ALL.iter().map(|noun| living::next_look(tx, *noun)).collect();
            Ok(looks?.into_iter().flatten().min())
        })?;
        Ok(())
    }

    /// What needs no hurry. Says how many old answers were forgotten.
    fn tidy(&mut self, leader: &Leader) -> Result<u64, StoreError> {
        let now = leader.now;
        let due = self.tidied.is_none_or(|at| now < at || now >= at.plus_seconds(self.config.tidy_every_s));
        if !due {
            return Ok(0);
        }
        self.waits_over_budget = self.overdue.check(leader)?;
        let before = now.plus_seconds(-self.config.idempotency_keep_s);
        let limit = self.config.numbered_per_commit;
        let expired = now.plus_seconds(-self.config.certificates_keep_s);
        let purged = leader.commit(move |tx, stamp| {
            certificates::purge(tx, expired, limit)?;
            sessions::purge(tx, stamp.now, limit)?;
            let undecided = wipe_overrides::due(tx, stamp.now, limit)?;
            undecided.iter().try_for_each(|row| wipe_overrides::expire(tx, stamp, row).map(drop))?;
            Ok(idempotency::purge(tx, before, limit)? + u64::try_from(undecided.len()).unwrap_or(0))
        })?;
        // A full bite means that more is left.
        self.tidied = (i64::try_from(purged).unwrap_or(0) < limit).then_some(now);
        Ok(purged)
    }
}
