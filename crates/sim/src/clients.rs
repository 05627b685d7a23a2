//! Simulated clients: people of two tenants, and operators, who launch, release, look, retry, and try what is not theirs.
//!
//! A client that got no answer asks again under the same key until it has one. Some ask again after they had one, some
//! under the same key with another body; some ask for what belongs to the other tenant, and compare the answer with the one
//! for something that does not exist.

use crate::{
    dice::Dice,
    ground::Ground,
    promises::{Kind, Promises, TOKEN_PREFIX},
    seed::{Person, URGENT},
    swarm::Swarm,
};
use control::front_door::{Request, Response};
use model::{AllocationId, OperationId, ProjectId, TenantId, Timestamp, TokenId, WorkloadId, identity::Role};
use serde_json::{Value, json};
use store::invariants::Violation;

/// A call that a client is about to make.
#[derive(Debug, Clone)]
pub struct Call {
    /// Who makes it.
    pub who: usize,
    /// What is sent.
    pub request: Request,
    /// What for.
    pub purpose: Purpose,
}

/// What a call is for.
#[derive(Debug, Clone)]
pub enum Purpose {
    /// To have a wish granted, or to hear again how it went.
    Wish(usize),
    /// To have another wish granted under the key of one that was.
    OtherBody,
    /// To see something.
    Look,
    /// To delete a project, after looking at it.
    DeleteProject(ProjectId),
    /// To revoke a token.
    RevokeToken(TokenId),
    /// To see whether the answer for what is another's differs from the answer for what is not there, asked for here.
    Probe(Box<Request>),
}

// A wish and what became of it.
#[derive(Debug, Clone)]
struct Wish {
    who: usize,
    kind: Kind,
    request: Request,
    answer: Option<(u16, Vec<u8>)>,
}

// What the people of one tenant know.
#[derive(Debug, Clone)]
struct Side {
    tenant_id: TenantId,
    projects: Vec<ProjectId>,
    made_projects: Vec<ProjectId>,
    allocations: Vec<AllocationId>,
    held: Vec<AllocationId>,
    workloads: Vec<WorkloadId>,
    submitted: Vec<WorkloadId>,
    operations: Vec<OperationId>,
    tokens: Vec<TokenId>,
}

/// Everybody who asks for something.
#[derive(Debug)]
pub struct Clients {
    ground: &'static Ground,
    dice: Dice,
    sides: Vec<Side>,
    wishes: Vec<Wish>,
    count: u64,
    // The side that launched something last, until its next turn.
    fresh: Option<usize>,
    /// What they were told.
    pub promises: Promises,
}

impl Clients {
    /// The people of the ground.
    pub fn new(seed: u64, ground: &'static Ground) -> Self {
        let side = |tenant: &crate::seed::SeededTenant| Side {
            tenant_id: tenant.id.clone(),
            projects: tenant.projects.values().cloned().collect(),
            made_projects: vec![],
            allocations: vec![],
            held: vec![],
            workloads: vec![],
            submitted: vec![],
            operations: vec![],
            tokens: vec![],
        };
        let sides = ground.seeded.tenants.iter().map(side).collect();
        let dice = Dice::new(seed, "clients");
        Self { ground, dice, sides, wishes: vec![], count: 0, fresh: None, promises: Promises::default() }
    }

    /// The person behind a call.
    pub fn person(&self, who: usize) -> &'static Person {
        &self.ground.seeded.people[who]
    }

    /// The tenant a person works in; none for operators.
    pub fn tenant_of(&self, who: usize) -> Option<&TenantId> {
        self.side_of(who).map(|side| &self.sides[side].tenant_id)
    }

    /// Whether every wish has an answer.
    pub fn is_content(&self) -> bool {
        self.wishes.iter().all(|wish| wish.answer.is_some())
    }

    /// What somebody asks for next.
    pub fn next(&mut self, swarm: &Swarm, now: Timestamp) -> Option<Call> {
        self.count += 1;
        if let Some(call) = self.regrets(swarm.client_regret) {
            return Some(call);
        }
        if self.dice.chance(250)
            && let Some(call) = self.unanswered()
        {
            return Some(call);
        }
        if self.dice.chance(swarm.client_appetite) {
            return match self.dice.below(20) {
                0..=11 => self.launch(),
                12 => self.submit(),
                13 => self.cancel(),
                _ => self.release(),
            };
        }
        match self.dice.below(12) {
            0 => self.again(),
            1 => self.other_body(),
            2 | 3 => self.probe(now),
            4 => self.project_create(),
            5 => self.project_wish(),
            6 => self.token_create(),
            7 => self.token_revoke(),
            _ => self.look(),
        }
    }

    /// One more launch: everybody comes at once.
    pub fn rush(&mut self) -> Option<Call> {
        self.count += 1;
        self.launch()
    }

    /// A wish that has no answer yet, to be asked again under its key.
    pub fn unanswered(&mut self) -> Option<Call> {
        let open: Vec<usize> = (0..self.wishes.len()).filter(|at| self.wishes[*at].answer.is_none()).collect();
        self.dice.pick(&open).map(|at| self.ask(*at))
    }

    /// Gives one thing back, if anything is held.
    pub fn give_back(&mut self) -> Option<Call> {
        self.release().or_else(|| self.cancel())
    }

    fn ask(&self, at: usize) -> Call {
        let wish = &self.wishes[at];
        Call { who: wish.who, request: wish.request.clone(), purpose: Purpose::Wish(at) }
    }

    fn side_of(&self, who: usize) -> Option<usize> {
        let tenant = self.person(who).tenant.as_ref()?;
        self.ground.seeded.tenants.iter().position(|seeded| seeded.slug == *tenant)
    }

    // Anybody of a tenant in one of these roles.
    fn somebody(&mut self, roles: &[Role]) -> Option<(usize, usize)> {
        let people = self.ground.seeded.people.iter().enumerate();
        let fitting: Vec<usize> = people
            .filter(|(_, person)| roles.contains(&person.role) && person.tenant.is_some())
            .map(|(who, _)| who)
            .collect();
        let who = *self.dice.pick(&fitting)?;
        Some((who, self.side_of(who)?))
    }

    fn wish(&mut self, who: usize, kind: Kind, path: &str, body: Option<&Value>) -> Call {
        let request = Request::new("POST", path).key(&format!("key-{}", self.count));
        let request = match body {
            Some(body) => request.json(body.to_string()),
            None => request,
        };
        self.wishes.push(Wish { who, kind, request, answer: None });
        self.ask(self.wishes.len() - 1)
    }

    fn launch(&mut self) -> Option<Call> {
        // A viewer may not launch, and now and then tries.
        let roles: &[Role] =
            if self.dice.chance(40) { &[Role::Viewer] } else { &[Role::TenantAdmin, Role::ProjectMember] };
        let (who, side) = self.somebody(roles)?;
        let person = self.person(who);
        let own = person.project.as_ref().and_then(|slug| {
            let tenant = self.ground.seeded.tenants.get(side)?;
            tenant.projects.get(slug).cloned()
        });
        let project = match own {
            Some(own) if self.dice.chance(950) => own,
            _ => self.dice.pick(&self.sides[side].projects)?.clone(),
        };
        let name = format!("w{}", self.count);
        let mut body = self.launch_body(&name)?;
        self.queue_wishes(&mut body, &project);
        Some(self.wish(who, Kind::Launch(name), &format!("/api/v1/projects/{project}/allocations"), Some(&body)))
    }

    // A project with a queue lets its people say how urgent it is, how long it lasts, and whether to wait.
    fn queue_wishes(&mut self, body: &mut Value, project: &ProjectId) {
        if !self.ground.queued.contains(project) {
            return;
        }
        if self.dice.chance(300) {
            body["priority_class"] = json!(URGENT);
        }
        if self.dice.chance(300) {
            body["max_run_s"] = json!(60 + self.dice.below(600));
        }
        if self.dice.chance(200) {
            body["if_unavailable"] = json!("refuse");
        }
    }

    fn submit(&mut self) -> Option<Call> {
        let (who, side) = self.somebody(&[Role::TenantAdmin])?;
        let ground = self.ground;
        let project = self.sides[side].projects.iter().find(|project| ground.queued.contains(*project))?.clone();
        let name = format!("g{}", self.count);
        let mut launch = self.launch_body(&name)?;
        self.queue_wishes(&mut launch, &project);
        let body = json!({ "members": 2 + self.dice.below(2), "launch": launch });
        Some(self.wish(who, Kind::Submit(name), &format!("/api/v1/projects/{project}/workloads"), Some(&body)))
    }

    fn cancel(&mut self) -> Option<Call> {
        let (who, side) = self.somebody(&[Role::TenantAdmin])?;
        let at = self.dice.below(self.sides[side].submitted.len() as u64);
        let at = usize::try_from(at).ok().filter(|at| *at < self.sides[side].submitted.len())?;
        let id = self.sides[side].submitted.swap_remove(at);
        let path = format!("/api/v1/workloads/{id}/cancel");
        Some(self.wish(who, Kind::Cancel(id), &path, None))
    }

    fn launch_body(&mut self, name: &str) -> Option<Value> {
        let (sku, counts): (&str, &[i64]) = match self.dice.below(20) {
            0..=13 => ("h200-sxm-slice", &[1, 1, 2, 2, 4]),
            14..=17 => ("h200-sxm-baremetal", &[4]),
            18 => ("h200-sxm-slice", &[3, 8]),
            _ => ("a100-sxm-slice", &[1, 2]),
        };
        let region = if self.dice.chance(970) { "eu-north" } else { "us-east" };
        let count = *self.dice.pick(counts)?;
        let (sku, region) = (self.ground.seeded.skus.get(sku)?, self.ground.seeded.regions.get(region)?);
        Some(json!({ "name": name, "sku_id": sku, "gpu_count": count, "region_id": region }))
    }

    fn release(&mut self) -> Option<Call> {
        let (who, side) = self.somebody(&[Role::TenantAdmin])?;
        let at = self.dice.below(self.sides[side].held.len() as u64);
        let at = usize::try_from(at).ok().filter(|at| *at < self.sides[side].held.len())?;
        let id = self.sides[side].held.swap_remove(at);
        let path = format!("/api/v1/allocations/{id}/release");
        Some(self.wish(who, Kind::Release(id), &path, None))
    }

    // Right after a launch, before anybody has built anything.
    fn regrets(&mut self, chance: u64) -> Option<Call> {
        let side = self.fresh.take()?;
        let held = self.sides[side].held.len().checked_sub(1).filter(|_| self.dice.chance(chance))?;
        let id = self.sides[side].held.remove(held);
        let people = self.ground.seeded.people.iter();
        let who = people
            .enumerate()
            .position(|(who, person)| person.role == Role::TenantAdmin && self.side_of(who) == Some(side))?;
        let path = format!("/api/v1/allocations/{id}/release");
        Some(self.wish(who, Kind::Release(id), &path, None))
    }

    fn again(&mut self) -> Option<Call> {
        let granted = |wish: &Wish| wish.answer.as_ref().is_some_and(|(status, _)| (200..300).contains(status));
        let known: Vec<usize> = (0..self.wishes.len()).filter(|at| granted(&self.wishes[*at])).collect();
        self.dice.pick(&known).map(|at| self.ask(*at))
    }

    fn other_body(&mut self) -> Option<Call> {
        let known: Vec<usize> = (0..self.wishes.len())
            .filter(|at| matches!(&self.wishes[*at], Wish { kind: Kind::Launch(_), answer: Some((202, _)), .. }))
            .collect();
        let at = *self.dice.pick(&known)?;
        let body = self.launch_body(&format!("w{}x", self.count))?;
        let request = Request { body: body.to_string().into_bytes(), ..self.wishes[at].request.clone() };
        Some(Call { who: self.wishes[at].who, request, purpose: Purpose::OtherBody })
    }

    fn project_create(&mut self) -> Option<Call> {
        let (who, side) = self.somebody(&[Role::TenantAdmin])?;
        let slug = format!("p{}", self.count);
        let body = json!({ "slug": slug, "name": format!("Project {slug}"), "gpu_cap": 2 + self.dice.below(6) });
        let path = format!("/api/v1/tenants/{}/projects", self.sides[side].tenant_id);
        Some(self.wish(who, Kind::ProjectCreate(slug), &path, Some(&body)))
    }

    fn project_wish(&mut self) -> Option<Call> {
        let (who, side) = self.somebody(&[Role::TenantAdmin])?;
        let project = self.dice.pick(&self.sides[side].made_projects)?.clone();
        match self.dice.below(3) {
            0 => Some(self.wish(who, Kind::Other, &format!("/api/v1/projects/{project}/suspend"), None)),
            1 => Some(self.wish(who, Kind::Other, &format!("/api/v1/projects/{project}/resume"), None)),
            _ => {
                let request = Request::new("GET", &format!("/api/v1/projects/{project}"));
                Some(Call { who, request, purpose: Purpose::DeleteProject(project) })
            }
        }
    }

    fn token_create(&mut self) -> Option<Call> {
        let (who, _) = self.somebody(&[Role::TenantAdmin, Role::ProjectMember, Role::Viewer])?;
        let name = format!("{TOKEN_PREFIX}{}", self.count);
        let body = json!({ "name": name, "scope": "write", "lifetime_s": 3600 });
        Some(self.wish(who, Kind::TokenCreate(name), "/api/v1/tokens", Some(&body)))
    }

    fn token_revoke(&mut self) -> Option<Call> {
        let (who, side) = self.somebody(&[Role::TenantAdmin])?;
        let token = self.dice.pick(&self.sides[side].tokens)?.clone();
        let request = Request::new("DELETE", &format!("/api/v1/tokens/{token}"));
        Some(Call { who, request, purpose: Purpose::RevokeToken(token) })
    }

    fn look(&mut self) -> Option<Call> {
        let who = usize::try_from(self.dice.below(self.ground.seeded.people.len() as u64)).ok()?;
        let side = match self.side_of(who) {
            Some(side) => side,
            None => usize::from(self.dice.chance(500)),
        };
        let side = &self.sides[side];
        let (project, tenant) = (self.dice.pick(&side.projects)?, &side.tenant_id);
        let allocation = self.dice.pick(&side.allocations).map(|id| format!("/api/v1/allocations/{id}"));
        let operation = self.dice.pick(&side.operations).map(|id| format!("/api/v1/operations/{id}"));
        let workload = self.dice.pick(&side.workloads).map(|id| format!("/api/v1/workloads/{id}"));
        let path = match self.dice.below(15) {
            12 => workload?,
            13 => workload.map(|path| format!("{path}/explanation"))?,
            14 => format!("/api/v1/projects/{project}/workloads"),
            0 | 1 => format!("/api/v1/projects/{project}/allocations"),
            2 | 3 => allocation?,
            4 => operation?,
            5 => "/api/v1/operations".to_owned(),
            6 => "/api/v1/tenants".to_owned(),
            7 => format!("/api/v1/tenants/{tenant}/projects"),
            8 => format!("/api/v1/tenants/{tenant}/members"),
            9 => "/api/v1/tokens".to_owned(),
            10 => format!("/api/v1/projects/{project}"),
            _ => "/api/v1/audit".to_owned(),
        };
        Some(Call { who, request: Request::new("GET", &path), purpose: Purpose::Look })
    }

    // The same request about something of the other tenant, and about nothing.
    fn probe(&mut self, now: Timestamp) -> Option<Call> {
        let (who, own) = self.somebody(&[Role::TenantAdmin, Role::ProjectMember, Role::Viewer])?;
        let other = &self.sides[1 - own];
        let mut bits = model::IdBits::default();
        self.dice.fill(&mut bits);
        let (foreign, absent) = match self.dice.below(6) {
            4 => (self.dice.pick(&other.workloads)?.to_string(), WorkloadId::from_parts(now, bits).to_string()),
            0 => (other.tenant_id.to_string(), TenantId::from_parts(now, bits).to_string()),
            1 => (self.dice.pick(&other.projects)?.to_string(), ProjectId::from_parts(now, bits).to_string()),
            2 => (self.dice.pick(&other.operations)?.to_string(), OperationId::from_parts(now, bits).to_string()),
            3 => (self.dice.pick(&other.tokens)?.to_string(), TokenId::from_parts(now, bits).to_string()),
            _ => (self.dice.pick(&other.allocations)?.to_string(), AllocationId::from_parts(now, bits).to_string()),
        };
        let (method, path, body) = self.probe_of(&foreign)?;
        let ask = |id: &str, key: String| {
            let request = Request::new(method, &path.replace('*', id));
            match (method, &body) {
                ("POST", Some(body)) => request.key(&key).json(body.to_string()),
                ("POST", None) => request.key(&key),
                ("GET", _) => request,
                _ => request.if_match(1),
            }
        };
        let (one, two) = (format!("probe-{}-1", self.count), format!("probe-{}-2", self.count));
        Some(Call { who, request: ask(&foreign, one), purpose: Purpose::Probe(Box::new(ask(&absent, two))) })
    }

    fn probe_of(&mut self, id: &str) -> Option<(&'static str, &'static str, Option<Value>)> {
        let choice = self.dice.below(4);
        Some(match (id.get(..3)?, choice) {
            ("tnt", 0) => ("GET", "/api/v1/tenants/*", None),
            ("tnt", 1) => ("GET", "/api/v1/tenants/*/members", None),
            ("tnt", 2) => ("GET", "/api/v1/tenants/*/projects", None),
            ("tnt", _) => {
                let body = json!({ "slug": format!("x{}", self.count), "name": "Not mine", "gpu_cap": 1 });
                ("POST", "/api/v1/tenants/*/projects", Some(body))
            }
            ("prj", 0) => ("GET", "/api/v1/projects/*", None),
            ("prj", 1) => ("GET", "/api/v1/projects/*/allocations", None),
            ("prj", 2) => ("DELETE", "/api/v1/projects/*", None),
            ("prj", _) => {
                let body = self.launch_body(&format!("x{}", self.count))?;
                ("POST", "/api/v1/projects/*/allocations", Some(body))
            }
            ("wkl", 0) => ("POST", "/api/v1/workloads/*/cancel", None),
            ("wkl", 1) => ("GET", "/api/v1/workloads/*/explanation", None),
            ("wkl", _) => ("GET", "/api/v1/workloads/*", None),
            ("opn", _) => ("GET", "/api/v1/operations/*", None),
            ("tok", 0) => ("DELETE", "/api/v1/tokens/*", None),
            ("tok", _) => ("GET", "/api/v1/tokens/*", None),
            (_, 0) => ("POST", "/api/v1/allocations/*/release", None),
            _ => ("GET", "/api/v1/allocations/*", None),
        })
    }

    /// Takes in what a client heard; `None` when it heard nothing, or that nobody knows. A follow-up call may come back.
    pub fn heard(&mut self, call: &Call, answer: Option<&Response>, found: &mut Vec<Violation>) -> Option<Request> {
        match (&call.purpose, answer) {
            (Purpose::Wish(at), Some(response)) => self.wish_answered(*at, response, found),
            (Purpose::OtherBody, Some(response)) if response.status != 422 => {
                let detail = format!("another body under a used key was answered with {}", response.status);
                found.push(Violation { invariant: "I8", subject: call.request.path.clone(), detail });
            }
            (Purpose::DeleteProject(_), Some(response)) if response.is_success() && call.request.method == "GET" => {
                let view: Value = serde_json::from_slice(&response.body).unwrap_or_default();
                let version = view["version"].as_i64()?;
                return Some(Request::new("DELETE", &call.request.path).if_match(version));
            }
            (Purpose::DeleteProject(id), Some(response)) if response.status == 202 => self.promises.project_deleted(id),
            (Purpose::RevokeToken(id), Some(response)) if response.status == 204 => self.promises.token_revoked(id),
            _ => (),
        }
        None
    }

    fn wish_answered(&mut self, at: usize, response: &Response, found: &mut Vec<Violation>) {
        // In flight elsewhere, or the store is busy: still no answer.
        if response.status == 409 && response.as_problem().is_some_and(|p| p.code == api::Code::RequestInFlight) {
            return;
        }
        let wish = self.wishes[at].clone();
        if let Some((status, body)) = &wish.answer {
            if (*status, body) != (response.status, &response.body) {
                let detail = format!("was answered {status} and then {} under the same key", response.status);
                found.push(Violation { invariant: "I8", subject: wish.request.path.clone(), detail });
            }
            return;
        }
        self.wishes[at].answer = Some((response.status, response.body.clone()));
        let view: Value = serde_json::from_slice(&response.body).unwrap_or_default();
        if !response.is_success() {
            self.promises.refused(&wish.kind);
            return;
        }
        self.promises.granted(&wish.kind, &view);
        let Some(at_side) = self.side_of(wish.who) else { return };
        let side = &mut self.sides[at_side];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match wish.kind {
            Kind::Launch(_) => {
                if let Ok(id) = text(&view["subject_id"]).parse::<AllocationId>() {
                    side.allocations.push(id.clone());
                    side.held.push(id);
                    self.fresh = Some(at_side);
                }
                side.operations.extend(text(&view["id"]).parse().ok());
            }
            Kind::Submit(_) => {
                if let Ok(id) = text(&view["subject_id"]).parse::<WorkloadId>() {
                    side.workloads.push(id.clone());
                    side.submitted.push(id);
                }
                side.operations.extend(text(&view["id"]).parse().ok());
            }
            Kind::Release(_) | Kind::Cancel(_) => side.operations.extend(text(&view["id"]).parse().ok()),
            Kind::ProjectCreate(_) => {
                if let Ok(id) = text(&view["id"]).parse::<ProjectId>() {
                    side.projects.push(id.clone());
                    side.made_projects.push(id);
                }
            }
            Kind::TokenCreate(_) => side.tokens.extend(text(&view["token"]["id"]).parse().ok()),
            Kind::Other => (),
        }
    }
}

/// What is wrong with the two answers to a probe.
pub fn probe_differs(foreign: &Response, absent: &Response) -> Option<String> {
    let shown = |response: &Response| {
        let headers = response.headers.iter().filter(|(name, _)| *name != "X-Request-Id").cloned();
        (response.status, response.content_type, headers.collect::<Vec<_>>(), response.body.clone())
    };
    if shown(foreign) == shown(absent) {
        return None;
    }
    let text = |response: &Response| String::from_utf8_lossy(&response.body).chars().take(200).collect::<String>();
    let (one, two) = ((foreign.status, text(foreign)), (absent.status, text(absent)));
    Some(format!("what is another's answers {one:?}, what is not there answers {two:?}"))
}
