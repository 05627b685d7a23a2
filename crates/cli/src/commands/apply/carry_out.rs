//! Carrying a plan out, one request after the other. What fails holds up only what needs it; when the server cannot be
//! reached or the token is refused, the rest is left alone. Everything can be run again: what was done is then unchanged.

use api::{Code, Endpoint};
use model::tenancy::State;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

use super::{
    governance::Governing,
    kinds::{Kind, Known, Request},
    plan::{Plan, Step, changes},
    report::{Action, Change, ItemError, Outcome},
};
use crate::{
    exit::Exit,
    failure::Failure,
    ordered::Ordered,
    progress::Progress,
    session::{Extra, Session, Versioned},
};

/// How often a change is tried on something that the platform moves meanwhile.
const CHANGE_TRIES: u32 = 5;

/// What carrying out came to, beside what the items tell.
#[derive(Debug, Default)]
pub struct Done {
    /// Requests that changed something.
    pub requests: usize,
    /// Why things failed.
    pub failures: Vec<Failure>,
}

/// Does everything that the plan says, as far as that is possible.
pub async fn carry_out(session: &Session, plan: &mut Plan) -> Done {
    let known = std::mem::take(&mut plan.known);
    let progress = Progress::start(session.quiet);
    let mut hands = Hands { session, known, progress, missing: BTreeSet::new(), stopped: None, done: Done::default() };
    hands.each(&mut plan.regions).await;
    hands.each(&mut plan.pools).await;
    hands.each(&mut plan.skus).await;
    hands.each(&mut plan.images).await;
    hands.each(&mut plan.tenants).await;
    hands.each(&mut plan.projects).await;
    hands.govern(&mut plan.governance).await;
    hands.done
}

struct Hands<'a> {
    session: &'a Session,
    known: Known,
    progress: Progress,
    // Kinds and names of what should exist by now and does not.
    missing: BTreeSet<(&'static str, String)>,
    // Why nothing more is tried.
    stopped: Option<&'static str>,
    done: Done,
}

impl Hands<'_> {
    /// Governance refers to all the rest, and goes together or not at all.
    async fn govern(&mut self, governance: &mut Governing) {
        if !governance.differs() {
            return;
        }
        if !self.done.failures.is_empty() {
            governance.leave();
            return;
        }
        self.progress.step("applying governance");
        match governance.carry_out(self.session).await {
            Ok(()) => self.done.requests += 1,
            Err(failure) => self.done.failures.push(failure),
        }
    }

    async fn each<K: Kind>(&mut self, steps: &mut [Step<K>]) {
        for step in steps.iter_mut().filter(|step| step.item.action != Action::Unchanged) {
            if let Some(why) = self.obstacle(&step.wish) {
                self.note_missing(step);
                step.item.outcome = Outcome::NotTried;
                step.item.error = Some(ItemError::plain(why));
                continue;
            }
            let doing = if step.item.action == Action::Create { "creating" } else { "changing" };
            self.progress.step(&format!("{doing} {} {}", K::NOUN, step.item.name));
            if let Err(failure) = self.one(step).await {
                self.failed(step, failure);
            }
        }
    }

    fn obstacle<K: Kind>(&self, wish: &K) -> Option<String> {
        if let Some(why) = self.stopped {
            return Some(why.to_owned());
        }
        let need = wish.need()?;
        self.missing
            .contains(&(need.noun, need.name.clone()))
            .then(|| format!("it needs {} {}, which could not be created", need.noun, need.name))
    }

    fn note_missing<K: Kind>(&mut self, step: &Step<K>) {
        if step.item.action == Action::Create && step.item.id.is_none() {
            self.missing.insert((K::NOUN, step.item.name.clone()));
        }
    }

    fn failed<K: Kind>(&mut self, step: &mut Step<K>, failure: Failure) {
        self.note_missing(step);
        self.stopped = match failure.exit() {
            Exit::Server => Some("the server did not answer as it should before"),
            Exit::Denied => Some("the token was refused before"),
            _ => None,
        };
        step.item.outcome = Outcome::Failed;
        step.item.error = Some(ItemError::of(&failure));
        self.done.failures.push(failure);
    }

    async fn one<K: Kind>(&mut self, step: &mut Step<K>) -> Result<(), Failure> {
        let Some(seen) = step.seen.clone() else {
            let made = self.create(&step.wish).await?;
            step.item.id = Some(K::id(&made).to_owned());
            K::learn(&made, &mut self.known);
            // Not every field can be given at creation.
            let left = changes(step.wish.declared()?, Some(&K::shown(&made, &self.known)?));
            if !left.is_empty() {
                self.change::<K>(made, &left).await?;
            }
            step.item.outcome = Outcome::Created;
            return Ok(());
        };
        self.change::<K>(seen, &step.item.changes).await?;
        step.item.outcome = Outcome::Changed;
        Ok(())
    }

    /// Creates a thing under a key made from what is asked for, so that a run that was cut short can be repeated. The server
    /// remembers its answers for a day. What it answers may therefore be old: a refusal whose reason has gone, or a thing
    /// that was deleted since. Only then the same is asked under a key that was never used.
    async fn create<K: Kind>(&mut self, wish: &K) -> Result<K::View, Failure> {
        let request = wish.create(&self.known).ok_or_else(|| {
            let need = wish.need().map(|need| format!("{} {}", need.noun, need.name)).unwrap_or_default();
            Failure::Conflict(format!("{} {} needs {need}, which is not there", K::NOUN, wish.name()))
        })?;
        let key = key::<K::Create>(&request)?;
        let first = self.create_once::<K>(request.clone(), Some(key)).await;
        match first {
            Err(failure) if matches!(failure.exit(), Exit::Conflict | Exit::NotFound) => {
                self.create_once::<K>(request, None).await
            }
            other => other,
        }
    }

    async fn create_once<K: Kind>(
        &mut self,
        (path, body): Request<K::Create>,
        key: Option<String>,
    ) -> Result<K::View, Failure> {
        let made = self.session.send::<K::Create>(path, body, Extra { key, if_match: None }).await?;
        let view = self.session.show::<K::Show>(K::at(&made)?).await?;
        if K::end(&view).is_some_and(|(_, state)| state == State::Deleted) {
            return Err(Failure::Conflict(format!("{} {} was deleted again meanwhile", K::NOUN, K::id(&view))));
        }
        self.done.requests += 1;
        Ok(view)
    }

    /// Changes a thing for the version that was seen. The platform itself moves things too: that is no reason to fail, as
    /// long as what we are about to change is still as the plan showed it.
    async fn change<K: Kind>(&mut self, mut seen: K::View, changes: &[Change]) -> Result<(), Failure> {
        let mut tries_left = CHANGE_TRIES;
        loop {
            let extra = Extra { key: None, if_match: Some(seen.version()) };
            tries_left -= 1;
            match self.session.send::<K::Update>(K::at(&seen)?, update_body::<K::Update>(changes)?, extra).await {
                Ok(_) => {
                    self.done.requests += 1;
                    return Ok(());
                }
                Err(Failure::Refused { problem, .. }) if problem.code == Code::StaleVersion && tries_left > 0 => {}
                Err(failure) => return Err(failure),
            }
            seen = self.session.show::<K::Show>(K::at(&seen)?).await?;
            let shown = K::shown(&seen, &self.known)?;
            let as_planned = |change: &Change| {
                shown.iter().any(|(name, value)| *name == change.field && Some(value) == change.from.as_ref())
            };
            if !changes.iter().all(as_planned) {
                let id = K::id(&seen);
                return Err(Failure::Conflict(format!(
                    "{} {id} was changed by somebody else meanwhile; look at it and apply again",
                    K::NOUN
                )));
            }
        }
    }
}

fn update_body<E: Endpoint>(changes: &[Change]) -> Result<E::Body, Failure> {
    let fields = changes.iter().map(|change| (change.field.clone(), change.to.clone())).collect();
    let read = serde_json::to_value(Ordered::Object(fields)).and_then(serde_json::from_value);
    read.map_err(|error| Failure::Local(format!("the change cannot be written: {error}")))
}

/// The same for the same request, and another for any other.
fn key<E: Endpoint>((path, body): &Request<E>) -> Result<String, Failure> {
    let cannot = |error: serde_json::Error| Failure::Local(format!("the request cannot be written: {error}"));
    let path = serde_json::to_string(path).map_err(cannot)?;
    let body = serde_json::to_string(body).map_err(cannot)?;
    let parts = [E::OPERATION.id, &path, &body];
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(format!("{}:", part.len()));
        hash.update(part);
    }
    let digest = hash.finalize();
    let hex: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("apply-{hex}"))
}
