//! What is counted about the platform, declared in one table. Names, types, units and labels come from here, and so does
//! `docs/reference/metrics.md`; a metric that is not in the table does not exist.
//!
//! Names follow OpenMetrics: base units, the unit as suffix, `_total` on counters. Labels are bounded words; no id of a
//! user, tenant or token ever becomes a label.

use std::{fmt::Write as _, sync::Arc, time::Duration};

use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::{Registry, Unit},
};
use store::{Counts, Db, StoreError, Tx, audit, events, living, living::Living};

use crate::plane::StepReport;

/// What kind of thing is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// How a quantity is spread.
    Histogram,
}

impl Kind {
    const fn word(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// One metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Declared {
    /// Its name as it is registered; the exposition adds the unit and `_total`.
    pub name: &'static str,
    /// What kind it is.
    pub kind: Kind,
    /// Its unit, where it has one.
    pub unit: Option<&'static str>,
    /// One sentence.
    pub help: &'static str,
    /// Its labels and what values they take.
    pub labels: &'static [(&'static str, &'static str)],
}

impl Declared {
    /// The name as it is exposed.
    pub fn exposed(&self) -> String {
        let unit = self.unit.map(|unit| format!("_{unit}")).unwrap_or_default();
        let total = if self.kind == Kind::Counter { "_total" } else { "" };
        format!("{}{unit}{total}", self.name)
    }
}

macro_rules! table {
    ($($field:ident: $name:literal, $kind:ident, $unit:expr, $help:literal, [$($label:literal = $values:literal),* $(,)?];)+) => {
        /// Every metric, in the order in which it is exposed.
        pub const TABLE: &[Declared] = &[
            $(Declared { name: $name, kind: Kind::$kind, unit: $unit, help: $help, labels: &[$(($label, $values)),*] }),+
        ];
        #[allow(non_snake_case, non_upper_case_globals)]
        mod at {
            use super::Declared;
            $(pub(super) const $field: &Declared = &Declared {
                name: $name, kind: super::Kind::$kind, unit: $unit, help: $help, labels: &[$(($label, $values)),*],
            };)+
        }
    };
}

table! {
    requests: "gpuaas_http_requests", Counter, None, "Requests answered",
        ["operation" = "an operation of the API, `page` for documents, `none` for unknown paths", "status_class" = "`2xx`, `3xx`, `4xx`, `5xx`"];
    duration: "gpuaas_http_request_duration", Histogram, Some("seconds"), "Time from the head of a request to its answer; streams until they open",
        ["operation" = "as above"];
    refused: "gpuaas_http_problems", Counter, None, "Refusals by problem code", ["code" = "a problem code"];
    connections: "gpuaas_http_connections", Gauge, None, "Open connections", [];
    streams: "gpuaas_event_streams", Gauge, None, "Open event streams", [];
    guest_streams: "gpuaas_guest_streams", Gauge, None, "Open streams to guests, SSH and consoles", [];
    agent_connections: "gpuaas_agent_connections", Gauge, None, "Open connections of node agents", [];
    agent_calls: "gpuaas_agent_calls", Counter, None, "Calls of node agents that were answered",
        ["call" = "`enroll`, `renew`, `messages`, `stream`, `none` for unknown paths", "status_class" = "`2xx`, `4xx`, `5xx`"];
    closures: "gpuaas_store_changes", Counter, None, "Write transactions that were committed", [];
    commits: "gpuaas_store_commits", Counter, None, "Commits that carried them; fewer than changes when they share", [];
    retries: "gpuaas_store_retries", Counter, None, "Write transactions that ran again after a lost race", [];
    waiting: "gpuaas_store_waiting", Gauge, None, "Write transactions waiting for their turn", [];
    event_head: "gpuaas_event_head", Gauge, None, "The newest numbered event", [];
    audit_head: "gpuaas_audit_head", Gauge, None, "The newest chained audit entry", [];
    leader: "gpuaas_leader", Gauge, None, "1 on the replica that leads, 0 elsewhere", [];
    epoch: "gpuaas_leader_epoch", Gauge, None, "How many times the lead has changed hands", [];
    looks: "gpuaas_driver_looks", Counter, None, "Objects that the driver looked at", [];
    faults: "gpuaas_driver_faults", Counter, None, "Looks that failed; the object is tried again", [];
    over_budget: "gpuaas_waits_over_budget", Gauge, None, "Objects that wait longer than they may", [];
    webhook_attempts: "gpuaas_webhook_attempts", Counter, None, "Attempts to deliver an event to a webhook", ["outcome" = "`delivered`, `failed`"];
    webhook_lag: "gpuaas_webhook_lag", Gauge, Some("seconds"), "Age of the oldest event that waits for its first attempt; on the replica that leads", [];
    webhook_open: "gpuaas_webhook_open_deliveries", Gauge, None, "Deliveries to webhooks that have not ended; on the replica that leads", [];
    webhooks_disabled: "gpuaas_webhooks_disabled", Gauge, None, "Webhooks that the platform disabled; on the replica that leads", [];
    objects: "gpuaas_objects", Gauge, None, "Objects by the state of their workflow",
        ["noun" = "`tenant`, `project`, `node`, `slot`, `allocation`, `task`", "state" = "a state of that noun"];
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    operation: &'static str,
    status_class: &'static str,
}
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OperationLabels {
    operation: &'static str,
}
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    call: &'static str,
    status_class: &'static str,
}
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CodeLabels {
    code: &'static str,
}
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabels {
    outcome: &'static str,
}
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ObjectLabels {
    noun: &'static str,
    state: String,
}

const DURATIONS_S: [f64; 14] = [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

struct Inner {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    duration: Family<OperationLabels, Histogram, fn() -> Histogram>,
    refused: Family<CodeLabels, Counter>,
    connections: Gauge,
    streams: Gauge,
    guest_streams: Gauge,
    agent_connections: Gauge,
    agent_calls: Family<CallLabels, Counter>,
    closures: Counter,
    commits: Counter,
    retries: Counter,
    waiting: Gauge,
    event_head: Gauge,
    audit_head: Gauge,
    leader: Gauge,
    epoch: Gauge,
    looks: Counter,
    faults: Counter,
    over_budget: Gauge,
    webhook_attempts: Family<OutcomeLabels, Counter>,
    webhook_lag: Gauge,
    webhook_open: Gauge,
    webhooks_disabled: Gauge,
    objects: Family<ObjectLabels, Gauge>,
}

/// All metrics of this process. Cheap to clone.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Metrics")
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Registers every metric of the table.
    pub fn new() -> Self {
        let mut inner = Inner {
            registry: Registry::default(),
            requests: Family::default(),
            duration: Family::new_with_constructor(|| Histogram::new(DURATIONS_S)),
            refused: Family::default(),
            connections: Gauge::default(),
            streams: Gauge::default(),
            guest_streams: Gauge::default(),
            agent_connections: Gauge::default(),
            agent_calls: Family::default(),
            closures: Counter::default(),
            commits: Counter::default(),
            retries: Counter::default(),
            waiting: Gauge::default(),
            event_head: Gauge::default(),
            audit_head: Gauge::default(),
            leader: Gauge::default(),
            epoch: Gauge::default(),
            looks: Counter::default(),
            faults: Counter::default(),
            over_budget: Gauge::default(),
            webhook_attempts: Family::default(),
            webhook_lag: Gauge::default(),
            webhook_open: Gauge::default(),
            webhooks_disabled: Gauge::default(),
            objects: Family::default(),
        };
        macro_rules! register {
            ($($field:ident),+ $(,)?) => { $(
                match at::$field.unit {
                    Some(unit) => inner.registry.register_with_unit(
                        at::$field.name, at::$field.help, Unit::Other(unit.to_owned()), inner.$field.clone(),
                    ),
                    None => inner.registry.register(at::$field.name, at::$field.help, inner.$field.clone()),
                }
            )+ };
        }
        register!(
            requests,
            duration,
            refused,
            connections,
            streams,
            guest_streams,
            agent_connections,
            agent_calls,
            closures,
            commits,
            retries,
            waiting,
            event_head,
            audit_head,
            leader,
            epoch,
            looks,
            faults,
            over_budget,
            webhook_attempts,
            webhook_lag,
            webhook_open,
            webhooks_disabled,
            objects,
        );
        Self(Arc::new(inner))
    }

    /// Counts an answered request.
    pub fn answered(&self, operation: &'static str, status: u16, took: Duration) {
        let status_class = class(status);
        self.0.requests.get_or_create(&RequestLabels { operation, status_class }).inc();
        self.0.duration.get_or_create(&OperationLabels { operation }).observe(took.as_secs_f64());
    }

    /// Counts a refusal.
    pub fn refused(&self, code: api::Code) {
        self.0.refused.get_or_create(&CodeLabels { code: code.as_str() }).inc();
    }

    /// Counts an answered call of an agent.
    pub fn agent_call(&self, call: &'static str, status: u16) {
        self.0.agent_calls.get_or_create(&CallLabels { call, status_class: class(status) }).inc();
    }

    /// How many connections of agents are open.
    pub fn agent_connections(&self, open: usize) {
        self.0.agent_connections.set(i64::try_from(open).unwrap_or(i64::MAX));
    }

    /// How many connections are open.
    pub fn connections(&self, open: usize) {
        self.0.connections.set(i64::try_from(open).unwrap_or(i64::MAX));
    }

    /// Counts a stream for as long as the answer lives.
    pub fn stream_opened(&self) -> StreamOpen {
        StreamOpen::count(&self.0.streams)
    }

    /// Counts a stream to a guest for as long as the answer lives.
    pub fn guest_stream_opened(&self) -> StreamOpen {
        StreamOpen::count(&self.0.guest_streams)
    }

    /// Counts attempts to deliver events to webhooks.
    pub fn webhook_attempts(&self, delivered: usize, failed: usize) {
        for (outcome, count) in [("delivered", delivered), ("failed", failed)] {
            let counter = self.0.webhook_attempts.get_or_create(&OutcomeLabels { outcome });
            counter.inc_by(u64::try_from(count).unwrap_or(u64::MAX));
        }
    }

    /// How webhooks stand: how far behind, how much is under way, and how many were disabled.
    pub fn webhooks(&self, lag_s: i64, open: i64, disabled: i64) {
        self.0.webhook_lag.set(lag_s);
        self.0.webhook_open.set(open);
        self.0.webhooks_disabled.set(disabled);
    }

    /// Takes over what a step of the control plane says.
    pub fn stepped(&self, report: &StepReport) {
        self.0.looks.inc_by(u64::try_from(report.looked).unwrap_or(0));
        self.0.faults.inc_by(u64::try_from(report.faults).unwrap_or(0));
        self.0.leader.set(i64::from(report.leading));
        if report.leading {
            self.0.over_budget.set(report.waits_over_budget);
        }
    }

    /// Reads what the store knows. Counts are taken over so that they never go down.
    pub async fn collect(&self, db: &Db) -> Result<(), StoreError> {
        let Counts { closures, commits, retries, waiting, .. } = db.counts();
        for (counter, value) in [(&self.0.closures, closures), (&self.0.commits, commits), (&self.0.retries, retries)] {
            counter.inc_by(value.saturating_sub(counter.get()));
        }
        self.0.waiting.set(i64::try_from(waiting).unwrap_or(i64::MAX));
        let seen = db.read_async(collected).await?;
        self.0.event_head.set(seen.event_head);
        self.0.audit_head.set(seen.audit_head);
        self.0.epoch.set(seen.epoch);
        self.0.objects.clear();
        for (noun, state, count) in seen.objects {
            self.0.objects.get_or_create(&ObjectLabels { noun, state }).set(count);
        }
        Ok(())
    }

    /// The text that scrapers read.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a String does not fail.
        let _ = encode(&mut text, &self.0.registry);
        text
    }
}

const fn class(status: u16) -> &'static str {
    match status {
        ..300 => "2xx",
        300..400 => "3xx",
        400..500 => "4xx",
        500.. => "5xx",
    }
}

/// An open stream, counted for as long as this lives.
#[derive(Debug)]
pub struct StreamOpen(Gauge);

impl StreamOpen {
    fn count(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for StreamOpen {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// The media type of [`Metrics::text`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

struct Collected {
    event_head: i64,
    audit_head: i64,
    epoch: i64,
    objects: Vec<(&'static str, String, i64)>,
}

fn collected(tx: &mut Tx<'_>) -> Result<Collected, StoreError> {
    let mut objects = Vec::new();
    for living in Living::ALL {
        let noun = crate::use_cases::noun(*living).as_str();
        objects.extend(living::census(tx, *living)?.into_iter().map(|(state, count)| (noun, state, count)));
    }
    Ok(Collected {
        event_head: events::head(tx)?,
        audit_head: audit::head(tx)?.map_or(0, |link| link.seq),
        epoch: store::lease::lease_read(tx, store::LEADER)?.map_or(0, |lease| lease.epoch),
        objects,
    })
}

/// The page that lists every metric.
pub fn reference_markdown() -> String {
    let mut text = "# Metrics\n\nServed as OpenMetrics text at `/metrics`. This page is generated from the table of \
        declarations; no metric exists outside it.\n"
        .to_owned();
    for declared in TABLE {
        let _ = write!(text, "\n## `{}`\n\n{}. A {}", declared.exposed(), declared.help, declared.kind.word());
        let _ = match declared.unit {
            Some(unit) => writeln!(text, " in {unit}."),
            None => writeln!(text, "."),
        };
        if !declared.labels.is_empty() {
            text.push_str("\n| Label | Values |\n|---|---|\n");
            for (label, values) in declared.labels {
                let _ = writeln!(text, "| `{label}` | {values} |");
            }
        }
    }
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_declared_metric_is_exposed_and_no_other() {
        let metrics = Metrics::new();
        metrics.answered("whoami", 200, Duration::from_millis(3));
        metrics.refused(api::Code::NotFound);
        metrics.agent_call("messages", 200);
        metrics.webhook_attempts(1, 0);
        metrics.0.objects.get_or_create(&ObjectLabels { noun: "tenant", state: "active".into() }).set(1);
        let text = metrics.text();
        assert!(text.ends_with("# EOF\n"));
        let typed: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
        let declared: Vec<String> = TABLE
            .iter()
            .map(|one| format!("{} {}", one.exposed().trim_end_matches("_total"), one.kind.word()))
            .collect();
        assert_eq!(typed, declared);
        for one in TABLE {
            for (label, _) in one.labels {
                assert!(text.contains(&format!("{label}=\"")), "{} has no label {label}", one.name);
            }
        }
    }

    #[test]
    fn names_follow_the_conventions() {
        for one in TABLE {
            assert!(one.name.starts_with("gpuaas_"), "{}", one.name);
            assert!(!one.name.ends_with("_total") && !one.help.ends_with('.'), "{}", one.name);
        }
    }
}
