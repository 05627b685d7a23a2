//! What clients were told, so that it can be held against the store: an acknowledged wish is there after any crash, an
//! unknown one happened once or not at all, and a retry under the same key says which.

use model::{AllocationId, ProjectId, TokenId, WorkloadId};
use std::collections::{BTreeMap, BTreeSet};
use store::{
    allocations::AllocationRow, invariants::Violation, projects::ProjectRow, tokens::TokenRow, workloads::WorkloadRow,
};

/// What a client wished for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A launch, under a name that nobody else uses.
    Launch(String),
    /// Several of one kind, to start together, under a name that nobody else uses.
    Submit(String),
    /// Taking that back.
    Cancel(WorkloadId),
    /// Giving an allocation back.
    Release(AllocationId),
    /// A project, under a name that nobody else uses.
    ProjectCreate(String),
    /// A token, under a name that nobody else uses.
    TokenCreate(String),
    /// Anything else.
    Other,
}

/// The promises that were made.
#[derive(Debug, Clone, Default)]
pub struct Promises {
    allocations: BTreeMap<AllocationId, String>,
    released: BTreeSet<AllocationId>,
    workloads: BTreeMap<WorkloadId, String>,
    cancelled: BTreeSet<WorkloadId>,
    projects: BTreeMap<ProjectId, String>,
    projects_deleted: BTreeSet<ProjectId>,
    tokens: BTreeMap<TokenId, String>,
    tokens_revoked: BTreeSet<TokenId>,
    // Names of wishes that were refused for good.
    refused: BTreeSet<String>,
}

/// The rows that promises are held against.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    /// Allocations.
    pub allocations: Vec<AllocationRow>,
    /// What waits in queues, or did.
    pub workloads: Vec<WorkloadRow>,
    /// Projects.
    pub projects: Vec<ProjectRow>,
    /// Tokens.
    pub tokens: Vec<TokenRow>,
}

impl Promises {
    /// A wish was acknowledged; `answer` is what was said.
    pub fn granted(&mut self, kind: &Kind, answer: &serde_json::Value) {
        let id = |field: &serde_json::Value| field.as_str().unwrap_or_default().to_owned();
        match kind {
            Kind::Launch(name) => {
                id(&answer["subject_id"]).parse().map(|id| self.allocations.insert(id, name.clone())).ok();
            }
            Kind::Submit(name) => {
                id(&answer["subject_id"]).parse().map(|id| self.workloads.insert(id, name.clone())).ok();
            }
            Kind::Cancel(workload_id) => {
                self.cancelled.insert(workload_id.clone());
            }
            Kind::Release(allocation_id) => {
                self.released.insert(allocation_id.clone());
            }
            Kind::ProjectCreate(name) => {
                id(&answer["id"]).parse().map(|id| self.projects.insert(id, name.clone())).ok();
            }
            Kind::TokenCreate(name) => {
                id(&answer["token"]["id"]).parse().map(|id| self.tokens.insert(id, name.clone())).ok();
            }
            Kind::Other => (),
        }
    }

    /// A wish was refused for good.
    pub fn refused(&mut self, kind: &Kind) {
        if let Kind::Launch(name) | Kind::Submit(name) | Kind::ProjectCreate(name) | Kind::TokenCreate(name) = kind {
            self.refused.insert(name.clone());
        }
    }

    /// The deletion of a project was acknowledged.
    pub fn project_deleted(&mut self, id: &ProjectId) {
        self.projects_deleted.insert(id.clone());
    }

    /// The revocation of a token was acknowledged.
    pub fn token_revoked(&mut self, id: &TokenId) {
        self.tokens_revoked.insert(id.clone());
    }

    /// Every promise that the store does not keep.
    pub fn broken(&self, rows: &Rows) -> Vec<Violation> {
        let mut found = vec![];
        self.check_allocations(rows, &mut found);
        self.check_workloads(&rows.workloads, &mut found);
        self.check_projects(&rows.projects, &mut found);
        self.check_tokens(&rows.tokens, &mut found);
        found
    }

    fn check_allocations(&self, rows: &Rows, found: &mut Vec<Violation>) {
        let by_id: BTreeMap<&AllocationId, &AllocationRow> =
            rows.allocations.iter().map(|row| (&row.id, row)).collect();
        for (id, name) in &self.allocations {
            let row = by_id.get(id);
            if row.is_none_or(|row| row.name.as_str() != name) {
                lost(found, id.as_str(), "the launch of", name);
            }
        }
        for id in &self.released {
            if by_id.get(id).is_none_or(|row| row.desired != model::allocation::Desired::Released) {
                lost(found, id.as_str(), "the release of", id.as_str());
            }
        }
        // Those that start together have one name, and so has one that was stopped and its successor.
        let gangs: BTreeSet<&WorkloadId> = rows.workloads.iter().filter(|it| it.members > 1).map(|it| &it.id).collect();
        let alone = |row: &&AllocationRow| {
            row.recreated_from.is_none() && row.workload_id.as_ref().is_none_or(|id| !gangs.contains(id))
        };
        let named = rows.allocations.iter().filter(alone).map(|row| (row.id.as_str(), row.name.as_str()));
        self.check_names(named, found);
    }

    fn check_workloads(&self, rows: &[WorkloadRow], found: &mut Vec<Violation>) {
        let by_id: BTreeMap<&WorkloadId, &WorkloadRow> = rows.iter().map(|row| (&row.id, row)).collect();
        for (id, name) in &self.workloads {
            if by_id.get(id).is_none_or(|row| row.name.as_str() != name) {
                lost(found, id.as_str(), "the submission of", name);
            }
        }
        for id in &self.cancelled {
            if by_id.get(id).is_none_or(|row| row.desired != model::allocation::Desired::Released) {
                lost(found, id.as_str(), "the cancellation of", id.as_str());
            }
        }
        self.check_names(rows.iter().map(|row| (row.id.as_str(), row.name.as_str())), found);
    }

    fn check_projects(&self, rows: &[ProjectRow], found: &mut Vec<Violation>) {
        let by_id: BTreeMap<&ProjectId, &ProjectRow> = rows.iter().map(|row| (&row.id, row)).collect();
        for (id, name) in &self.projects {
            if !by_id.contains_key(id) {
                lost(found, id.as_str(), "the creation of", name);
            }
        }
        for id in &self.projects_deleted {
            if by_id.get(id).is_none_or(|row| row.desired != model::tenancy::Desired::Deleted) {
                lost(found, id.as_str(), "the deletion of", id.as_str());
            }
        }
        self.check_names(rows.iter().map(|row| (row.id.as_str(), row.slug.as_str())), found);
    }

    fn check_tokens(&self, rows: &[TokenRow], found: &mut Vec<Violation>) {
        let by_id: BTreeMap<&TokenId, &TokenRow> = rows.iter().map(|row| (&row.id, row)).collect();
        for (id, name) in &self.tokens {
            if !by_id.contains_key(id) {
                lost(found, id.as_str(), "the creation of", name);
            }
        }
        for id in &self.tokens_revoked {
            if by_id.get(id).is_none_or(|row| row.revoked.is_none()) {
                lost(found, id.as_str(), "the revocation of", id.as_str());
            }
        }
        let made_here = |row: &&TokenRow| row.name.starts_with(TOKEN_PREFIX);
        self.check_names(rows.iter().filter(made_here).map(|row| (row.id.as_str(), row.name.as_str())), found);
    }

    // Each wish has a name of its own, so a name that comes twice is a wish that was granted twice.
    fn check_names<'a>(&self, rows: impl Iterator<Item = (&'a str, &'a str)>, found: &mut Vec<Violation>) {
        let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
        for (id, name) in rows {
            if let Some(other) = seen.insert(name, id) {
                let detail = format!("one wish, `{name}`, made both this and {other}");
                found.push(Violation { invariant: "I8", subject: id.to_owned(), detail });
            }
            if self.refused.contains(name) {
                let detail = format!("`{name}` was refused and is there");
                found.push(Violation { invariant: "I7", subject: id.to_owned(), detail });
            }
        }
    }
}

/// Tokens that clients make have names that begin so.
pub const TOKEN_PREFIX: &str = "token ";

fn lost(found: &mut Vec<Violation>, id: &str, what: &str, name: &str) {
    let detail = format!("{what} {name} was acknowledged and is not there");
    found.push(Violation { invariant: "I7", subject: id.to_owned(), detail });
}
