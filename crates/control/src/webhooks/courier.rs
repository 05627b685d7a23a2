//! The leader's courier. It looks for what is due, keeps a bounded number of lanes open, and writes down what each lane
//! brought back. A lane is one webhook's new events in their order, or what is tried again for it; each webhook has at most
//! one of either kind.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use bytes::Bytes;
use futures::{FutureExt as _, StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use lifecycle::webhook::{self as rules, Verdict};
use model::{Timestamp, WebhookId, webhook::WebhookUrl};
use store::{
    Db, StoreError, Tx, events,
    events::EventRow,
    webhooks::{
        self, WebhookRow,
        deliveries::{self, AttemptRow, DeliveryRow, Then},
    },
};

use super::{
    post::{Message, Poster, Reply},
    seconds, signature,
};
use crate::{
    Ports, background::Background, leader::Leader, metrics::Metrics, plane::PlaneConfig, providers::Led, views,
};

/// Lanes that are open at once, for all webhooks together.
const LANES_MAX: usize = 64;
/// What one lane carries before it is written down.
const PER_LANE: i64 = 16;
/// A lane that took this long brings back what it has.
const LANE_MAX: Duration = Duration::from_secs(5);
/// Webhooks that are brought up to date in one look, and events that each gets at a time.
const BEHIND_MAX: i64 = 1000;
const EVENTS_AT_ONCE: i64 = 500;
/// A webhook with this many open deliveries takes no more on until some have ended. Nothing is lost: events stay.
const OPEN_MAX: i64 = 10_000;
/// Old deliveries that are forgotten in one commit, and how often that is looked at.
const PRUNED_AT_ONCE: i64 = 500;
const PRUNE_EVERY_S: i64 = 60;
/// How often it is counted what waits.
const MEASURE_EVERY_S: i64 = 5;

/// What one look and what came of it did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CourierStep {
    /// Attempts that were taken.
    pub delivered: usize,
    /// Attempts that failed.
    pub failed: usize,
    /// Webhooks that were disabled.
    pub disabled: usize,
}

/// Which lane of which webhook.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Lane {
    webhook: WebhookId,
    tried_before: bool,
}

/// One attempt that was made.
#[derive(Debug)]
struct Made {
    delivery: DeliveryRow,
    attempt: AttemptRow,
    verdict: Verdict,
    retry_after_s: Option<i64>,
}

/// Everything a lane carries.
struct Load {
    url: WebhookUrl,
    secrets: Vec<String>,
    parcels: Vec<(DeliveryRow, Bytes)>,
}

type Carried = BoxFuture<'static, (Lane, Vec<Made>)>;

/// A webhook that rests after failures.
#[derive(Debug, Clone, Copy, Default)]
struct Rest {
    failures: u32,
    until: Option<Timestamp>,
}

/// The leader's courier. Dropping it at any moment and making another is harmless.
pub struct Courier {
    db: Db,
    ports: Ports,
    config: PlaneConfig,
    led: Led,
    poster: Poster,
    metrics: Metrics,
    open: FuturesUnordered<Carried>,
    busy: BTreeSet<Lane>,
    rests: BTreeMap<WebhookId, Rest>,
    // Counts up: who was served longest ago comes first.
    turns: BTreeMap<Lane, u64>,
    turn: u64,
    pruned: Option<Timestamp>,
    measured: Option<Timestamp>,
}

impl std::fmt::Debug for Courier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Courier").field("busy", &self.busy).finish_non_exhaustive()
    }
}

impl Courier {
    /// A courier. `led` is the plane's.
    pub fn new((db, ports): (Db, Ports), config: PlaneConfig, led: Led, poster: Poster, metrics: Metrics) -> Self {
        Self {
            db,
            ports,
            config,
            led,
            poster,
            metrics,
            open: FuturesUnordered::new(),
            busy: BTreeSet::new(),
            rests: BTreeMap::new(),
            turns: BTreeMap::new(),
            turn: 0,
            pruned: None,
            measured: None,
        }
    }

    fn leader(&self) -> Option<Leader> {
        let guard = self.led.guard()?;
        let (db, ports, config) = (self.db.clone(), self.ports.clone(), self.config.clone());
        Some(Leader { now: ports.now(), db, ports, guard, config })
    }

    /// Looks once, and sees everything that is under way to its end.
    pub async fn step(&mut self) -> Result<CourierStep, StoreError> {
        let mut step = CourierStep::default();
        self.look()?;
        while let Some((lane, made)) = self.open.next().await {
            self.write_down(lane, made, &mut step)?;
        }
        Ok(step)
    }

    /// Looks once, and carries on for a while with what is under way.
    pub async fn go_on(&mut self, for_a_while: Duration) -> Result<(), StoreError> {
        self.look()?;
        let pause = tokio::time::sleep(for_a_while);
        tokio::pin!(pause);
        loop {
            tokio::select! {
                () = &mut pause => return Ok(()),
                Some((lane, made)) = self.open.next(), if !self.open.is_empty() => {
                    self.write_down(lane, made, &mut CourierStep::default())?;
                    // There is room again, and for this webhook perhaps more to send.
                    self.look()?;
                }
            }
        }
    }

    /// Takes events on and opens lanes for what is due. Who does not lead lets everything go.
    fn look(&mut self) -> Result<(), StoreError> {
        let Some(leader) = self.leader() else {
            self.open.clear();
            self.busy.clear();
            self.rests.clear();
            self.turns.clear();
            return Ok(());
        };
        take_on(&leader)?;
        self.prune(&leader)?;
        self.measure(&leader)?;
        let now = leader.now;
        let mut due = leader.read(move |tx| deliveries::waiting(tx, now))?;
        due.retain(|(webhook, tried_before)| {
            let rests = self.rests.get(webhook).and_then(|rest| rest.until).is_some_and(|until| until > now);
            *tried_before || !rests
        });
        let mut lanes: Vec<Lane> =
            due.into_iter().map(|(webhook, tried_before)| Lane { webhook, tried_before }).collect();
        lanes.retain(|lane| !self.busy.contains(lane));
        lanes.sort_by_key(|lane| self.turns.get(lane).copied().unwrap_or(0));
        for lane in lanes.into_iter().take(LANES_MAX.saturating_sub(self.open.len())) {
            let asked = lane.clone();
            let Some(load) = leader.read(move |tx| load(tx, &asked, now))? else { continue };
            self.turn += 1;
            self.turns.insert(lane.clone(), self.turn);
            self.busy.insert(lane.clone());
            self.open.push(carry(lane, load, self.poster.clone(), self.ports.clone()).boxed());
        }
        Ok(())
    }

    fn prune(&mut self, leader: &Leader) -> Result<(), StoreError> {
        let now = leader.now;
        if lately(self.pruned, now, PRUNE_EVERY_S) {
            return Ok(());
        }
        let pruned = leader.commit(move |tx, _| deliveries::prune(tx, rules::kept_since(now), PRUNED_AT_ONCE))?;
        // A full bite means that more is left.
        self.pruned = (i64::try_from(pruned).unwrap_or(0) < PRUNED_AT_ONCE).then_some(now);
        Ok(())
    }

    fn measure(&mut self, leader: &Leader) -> Result<(), StoreError> {
        if lately(self.measured, leader.now, MEASURE_EVERY_S) {
            return Ok(());
        }
        self.measured = Some(leader.now);
        let (oldest, open, disabled) = leader.read(|tx| {
            let open = deliveries::open(tx)?.iter().map(|(_, count)| count).sum::<i64>();
            Ok((deliveries::oldest_new(tx)?, open, webhooks::disabled(tx)?))
        })?;
        let lag_us = oldest.map_or(0, |at| leader.now.micros_since(at).max(0));
        self.metrics.webhooks(lag_us / model::time::MICROS_PER_SECOND, open, disabled);
        Ok(())
    }

    /// Writes down what a lane brought back, if this replica still leads.
    fn write_down(&mut self, lane: Lane, made: Vec<Made>, step: &mut CourierStep) -> Result<(), StoreError> {
        self.busy.remove(&lane);
        let Some(leader) = self.leader() else { return Ok(()) };
        let delivered = made.iter().filter(|made| made.verdict == Verdict::Delivered).count();
        let failure = made.last().filter(|made| made.verdict != Verdict::Delivered);
        if delivered > 0 {
            self.rests.remove(&lane.webhook);
        }
        if let Some(failure) = failure {
            let rest = self.rests.entry(lane.webhook.clone()).or_default();
            rest.failures = rest.failures.saturating_add(1);
            rest.until = Some(leader.now.plus_seconds(rules::rest_s(rest.failures, failure.retry_after_s)));
        }
        let failed = made.len() - delivered;
        self.metrics.webhook_attempts(delivered, failed);
        let (id, jitter) = (lane.webhook.clone(), self.jitter());
        let disabled = leader.commit(move |tx, stamp| {
            // Removed meanwhile: nobody wants to know.
            let Some(webhook) = webhooks::get(tx, &id)? else { return Ok(None) };
            let mut failing_since = webhook.failing_since;
            let mut why = None;
            for made in &made {
                let Some(delivery) = deliveries::get(tx, &made.delivery.id)? else { continue };
                let now = stamp.now;
                let then = match made.verdict {
                    Verdict::Delivered => Then::Delivered,
                    Verdict::Gone => Then::Exhausted,
                    Verdict::Failed => rules::next_attempt(delivery.tries + 1, now, jitter, made.retry_after_s)
                        .map_or(Then::Exhausted, Then::Again),
                };
                failing_since = match then {
                    Then::Delivered => None,
                    Then::Again(_) | Then::Exhausted => failing_since.or(Some(now)),
                };
                let given_up = failing_since.is_some_and(|since| rules::is_given_up(since, now));
                if made.verdict == Verdict::Gone {
                    why = Some("the receiver answered 410, which means that it wants nothing more".to_owned());
                } else if then == Then::Exhausted && given_up {
                    why = Some(format!("nothing was taken for {} days", rules::ONLY_FAILURES_DAYS));
                }
                deliveries::attempted(tx, stamp, &delivery, &made.attempt, then)?;
            }
            if failing_since != webhook.failing_since {
                webhooks::failing(tx, &webhook.id, failing_since)?;
            }
            let why = why.filter(|_| webhook.terms.enabled);
            if let Some(why) = &why {
                webhooks::disable(tx, stamp, &webhook, why)?;
            }
            Ok(why)
        })?;
        if let Some(why) = disabled {
            tracing::warn!(alert = "webhook_disabled", webhook = %lane.webhook, why, "a webhook was disabled");
            step.disabled += 1;
        }
        step.delivered += delivered;
        step.failed += failed;
        Ok(())
    }

    /// A share of a wait, so that many do not come back at the same moment.
    fn jitter(&self) -> i64 {
        let [byte, ..] = self.ports.id_bits();
        i64::from(byte) * rules::JITTER_PER_MILLE_MAX / i64::from(u8::MAX)
    }
}

/// Whether something was done a short while ago. A clock that jumped back does not make it so.
fn lately(at: Option<Timestamp>, now: Timestamp, within_s: i64) -> bool {
    at.is_some_and(|at| now >= at && now < at.plus_seconds(within_s))
}

/// Gives every webhook that is behind its deliveries, and says how far it has come, in one commit.
fn take_on(leader: &Leader) -> Result<(), StoreError> {
    let waits = leader.read(|tx| {
        let head = events::head(tx)?;
        Ok(!webhooks::behind(tx, head, 1)?.is_empty() || deliveries::unnumbered(tx)?)
    })?;
    if !waits {
        return Ok(());
    }
    leader.commit(move |tx, stamp| {
        deliveries::number(tx)?;
        let head = events::head(tx)?;
        let full: BTreeSet<WebhookId> = deliveries::open(tx)?
            .into_iter()
            .filter(|(_, count)| *count >= OPEN_MAX)
            .map(|(webhook, _)| webhook)
            .collect();
        // Most have come equally far, so that their events are read once.
        let mut groups: BTreeMap<i64, Vec<WebhookRow>> = BTreeMap::new();
        for webhook in webhooks::behind(tx, head, BEHIND_MAX)?.into_iter().filter(|row| !full.contains(&row.id)) {
            groups.entry(webhook.taken_seq).or_default().push(webhook);
        }
        for (from, group) in groups {
            let page = events::list(tx, &store::Scope::All, from, EVENTS_AT_ONCE)?;
            for event in &page.events {
                for webhook in group.iter().filter(|webhook| wants(webhook, event)) {
                    if event.seq <= webhook.replay_seq {
                        deliveries::again(tx, stamp, &webhook.id, &event.id)?;
                    }
                    deliveries::insert(tx, stamp, &webhook.id, (&event.id, Some(event.seq)))?;
                }
            }
            webhooks::taken(tx, group.iter().map(|row| &row.id), (from, page.through))?;
        }
        Ok(())
    })
}

/// Whether an event is for a webhook: its owner may read it, and it was asked for. A tenant's webhook gets what somebody
/// who sees the whole tenant gets in the stream of events.
fn wants(webhook: &WebhookRow, event: &EventRow) -> bool {
    let terms = &webhook.terms;
    let may_read = webhook.tenant_id.is_none() || webhook.tenant_id == event.tenant_id;
    let of_project = terms.project_id.is_none() || terms.project_id == event.project_id;
    let of_type =
        terms.event_types.is_empty() || terms.event_types.iter().any(|filter| filter.takes(event.noun, event.change));
    may_read && of_project && of_type
}

/// What a lane has to carry now.
fn load(tx: &mut Tx<'_>, lane: &Lane, now: Timestamp) -> Result<Option<Load>, StoreError> {
    let Some(webhook) = webhooks::get(tx, &lane.webhook)?.filter(|row| row.terms.enabled) else { return Ok(None) };
    let source = crate::use_cases::events::source(tx)?;
    let mut parcels = Vec::new();
    for delivery in deliveries::due(tx, &webhook.id, lane.tried_before, (now, PER_LANE))? {
        let Some(event) = events::get(tx, &delivery.event_id)? else { continue };
        let body = serde_json::to_vec(&views::event(&source, event))
            .map_err(|error| StoreError::Corrupt { column: "events".into(), why: error.to_string() })?;
        parcels.push((delivery, Bytes::from(body)));
    }
    let secrets = webhooks::secrets(tx, &webhook.id, now)?;
    Ok((!parcels.is_empty()).then_some(Load { url: webhook.terms.url, secrets, parcels }))
}

/// One attempt after the other, until one fails. What was tried before is spread out by its schedule, so there a failure of
/// one says little about the next.
async fn carry(lane: Lane, load: Load, poster: Poster, ports: Ports) -> (Lane, Vec<Made>) {
    let mut made = Vec::new();
    let began = tokio::time::Instant::now();
    for (delivery, body) in load.parcels {
        let one = attempt(&load.url, &load.secrets, delivery, body, (&poster, &ports)).await;
        let ends = one.verdict == Verdict::Gone || (one.verdict == Verdict::Failed && !lane.tried_before);
        made.push(one);
        if ends || began.elapsed() >= LANE_MAX {
            break;
        }
    }
    (lane, made)
}

async fn attempt(
    url: &WebhookUrl,
    secrets: &[String],
    delivery: DeliveryRow,
    body: Bytes,
    (poster, ports): (&Poster, &Ports),
) -> Made {
    let (at, began_us) = (ports.now(), ports.monotonic_us());
    let id = delivery.event_id.to_string();
    let sent = match signature::of(secrets, &id, seconds(at), &body) {
        Some(signature) => poster.send(url, Message { id, at_s: seconds(at), signature, body }).await,
        None => Err("there is no secret to sign with".to_owned()),
    };
    let duration_us = ports.monotonic_us().saturating_sub(began_us).max(0);
    let number = delivery.attempts + 1;
    match sent {
        Ok(Reply { status, retry_after_s, body }) => {
            let verdict = rules::verdict(status);
            let error = (verdict != Verdict::Delivered).then(|| match status {
                300..=399 => format!("answered {status}; redirects are not followed"),
                status => format!("answered {status}"),
            });
            let attempt = AttemptRow { number, at, duration_us, status: Some(i64::from(status)), error, body };
            Made { delivery, attempt, verdict, retry_after_s }
        }
        Err(why) => {
            let error = Some(why.chars().filter(|c| !c.is_control()).take(500).collect());
            let attempt = AttemptRow { number, at, duration_us, status: None, error, body: String::new() };
            Made { delivery, attempt, verdict: Verdict::Failed, retry_after_s: None }
        }
    }
}

/// Starts the courier on a thread of its own, with a look every `every`.
pub fn spawn(mut courier: Courier, every: Duration) -> std::io::Result<Background> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Background::start("webhooks", move || match runtime.block_on(courier.go_on(every)) {
        Ok(()) => Duration::ZERO,
        Err(error) => {
            tracing::warn!(%error, "a look at webhooks ended early");
            every
        }
    })
}
