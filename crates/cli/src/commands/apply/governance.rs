//! Governance in a file that `apply` reads. Its objects are the same as those of the API, except that tenants and projects
//! are called by name: `acme`, `acme/vision`. They are applied together in one transaction, after everything else of the
//! file, because they refer to pools, tenants and projects.

use api::{
    Nothing,
    governance::{FindingView, GovernanceAppliedView, GovernanceApply, GovernanceApplyBody, GovernanceChangeView},
    tenancy::TenantList,
};
use model::{
    governance::{
        ClusterQueue, Cohort, Flavor, Fungibility, Governance, HardwareProfile, Kind, LocalQueue, Ordering, Preemption,
        PriorityClass, ResourceGroup, Stop, Topology, Window, check::FindingCode, difference,
    },
    number::{HalfLifeS, MinRunS, NoticeS, WeightMilli},
    text::Slug,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

use super::report::{Action, Change, Item, ItemError, Outcome};
use crate::{
    failure::Failure,
    output, resolve,
    session::{Extra, Session},
};

/// The objects of governance that a file describes.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GovernanceFile {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub topologies: Vec<Topology>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flavors: Vec<Flavor>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub priority_classes: Vec<PriorityClass>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cohorts: Vec<Cohort>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cluster_queues: Vec<QueueEntry>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub local_queues: Vec<LocalQueueEntry>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hardware_profiles: Vec<HardwareProfile>,
}

/// A cluster queue in a file. What is left out is as in the API.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueueEntry {
    pub slug: Slug,
    #[serde(default, deserialize_with = "api::endpoint::not_null", skip_serializing_if = "Option::is_none")]
    pub cohort: Option<Slug>,
    #[serde(default, deserialize_with = "api::endpoint::not_null", skip_serializing_if = "Option::is_none")]
    pub ordering: Option<Ordering>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resource_groups: Vec<ResourceGroup>,
    #[serde(default, deserialize_with = "api::endpoint::not_null", skip_serializing_if = "Option::is_none")]
    pub weight_milli: Option<WeightMilli>,
    #[serde(default, deserialize_with = "api::endpoint::not_null", skip_serializing_if = "Option::is_none")]
    pub preemption: Option<Preemption>,
    #[serde(default, deserialize_with = "api::endpoint::not_null", skip_serializing_if = "Option::is_none")]
    pub fungibility: Option<Fungibility>,
    #[serde(default, deserialize_with = "api::endpoint::not_null", skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    #[serde(default, deserialize_with = "api::endpoint::not_null", skip_serializing_if = "Option::is_none")]
    pub open_to: Option<OpenToEntry>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schedule: Vec<Window>,
    #[serde(default, deserialize_with = "api::endpoint::not_null", skip_serializing_if = "Option::is_none")]
    pub notice_s: Option<NoticeS>,
    #[serde(default, deserialize_with = "api::endpoint::not_null", skip_serializing_if = "Option::is_none")]
    pub grace_s: Option<NoticeS>,
    #[serde(default, deserialize_with = "api::endpoint::not_null", skip_serializing_if = "Option::is_none")]
    pub min_run_s: Option<MinRunS>,
    #[serde(default, deserialize_with = "api::endpoint::not_null", skip_serializing_if = "Option::is_none")]
    pub usage_half_life_s: Option<HalfLifeS>,
}

/// Whose projects may come in, by name or id.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenToEntry {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tenants: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub projects: Vec<String>,
}

/// A local queue in a file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocalQueueEntry {
    /// `tenant/project`, or an id.
    pub project: String,
    pub slug: Slug,
    pub cluster_queue: Slug,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub default: bool,
    #[serde(default, deserialize_with = "api::endpoint::not_null", skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    #[serde(default, deserialize_with = "api::endpoint::not_null", skip_serializing_if = "Option::is_none")]
    pub weight_milli: Option<WeightMilli>,
}

impl GovernanceFile {
    /// Whether it describes nothing.
    pub fn is_empty(&self) -> bool {
        let hardware = self.topologies.is_empty() && self.flavors.is_empty() && self.hardware_profiles.is_empty();
        let queues = self.cohorts.is_empty() && self.cluster_queues.is_empty() && self.local_queues.is_empty();
        hardware && queues && self.priority_classes.is_empty()
    }

    /// Adds what another document describes.
    pub fn extend(&mut self, other: Self) {
        self.topologies.extend(other.topologies);
        self.flavors.extend(other.flavors);
        self.priority_classes.extend(other.priority_classes);
        self.cohorts.extend(other.cohorts);
        self.cluster_queues.extend(other.cluster_queues);
        self.local_queues.extend(other.local_queues);
        self.hardware_profiles.extend(other.hardware_profiles);
    }
}

/// What the same file makes that governance may refer to.
#[derive(Debug, Default)]
pub struct Coming {
    /// Short names of pools.
    pub pools: BTreeSet<Slug>,
    /// Short names of tenants.
    pub tenants: BTreeSet<String>,
    /// Projects as `tenant/project`.
    pub projects: BTreeSet<String>,
}

/// The governance of a file: what is told about it, and how far it can be looked at yet.
#[derive(Debug, Default)]
pub struct Governing {
    file: GovernanceFile,
    /// What is told about each object.
    pub items: Vec<Item>,
    notes: Vec<String>,
    version: Option<i64>,
}

/// The document for the API, and what could not be said in it because it is not there yet.
struct Resolved {
    document: Governance,
    names: BTreeMap<String, String>,
    not_yet: Vec<(Kind, String)>,
}

impl Governing {
    /// Asks the server what would happen. What would be refused is refused here, before anything is touched.
    pub async fn plan(session: &Session, file: GovernanceFile, coming: &Coming) -> Result<Self, Failure> {
        if file.is_empty() {
            return Ok(Self::default());
        }
        let resolved = resolved(session, &file, coming).await?;
        let applied = send(session, resolved.document.clone(), true, None).await?;
        let refusing: Vec<&FindingView> =
            applied.findings.iter().filter(|finding| finding.refuses && !is_coming(finding, coming, &file)).collect();
        if !refusing.is_empty() {
            let lines: String = refusing.iter().map(|it| format!("\n  {}", told(it, &resolved.names))).collect();
            return Err(Failure::Conflict(format!("this cannot be applied; nothing was changed{lines}")));
        }
        let notes = applied.findings.iter().filter(|finding| !finding.refuses);
        let notes = notes.map(|finding| told(finding, &resolved.names)).collect();
        let mut items = applied
            .changes
            .iter()
            .map(|change| item(change, &resolved.names))
            .collect::<Result<Vec<Item>, Failure>>()?;
        items.extend(resolved.not_yet.into_iter().map(|(kind, name)| Item {
            kind: kind.as_str(),
            name,
            action: Action::Create,
            outcome: Outcome::Planned,
            id: None,
            changes: Vec::new(),
            error: None,
        }));
        Ok(Self { file, items, notes, version: Some(applied.version) })
    }

    /// What is worth knowing.
    pub fn tell(&self, session: &Session) {
        self.notes.iter().for_each(|note| session.note(&format!("note: {note}")));
    }

    /// Whether there is something to do.
    pub fn differs(&self) -> bool {
        self.items.iter().any(|item| item.action != Action::Unchanged)
    }

    /// Does it: all of it or nothing.
    pub async fn carry_out(&mut self, session: &Session) -> Result<(), Failure> {
        if !self.differs() {
            return Ok(());
        }
        let done = match resolved(session, &self.file, &Coming::default()).await {
            Ok(resolved) => send(session, resolved.document, false, self.version).await,
            Err(failure) => Err(failure),
        };
        for item in self.items.iter_mut().filter(|item| item.action != Action::Unchanged) {
            match (&done, item.action) {
                (Ok(_), Action::Create) => item.outcome = Outcome::Created,
                (Ok(_), _) => item.outcome = Outcome::Changed,
                (Err(failure), _) => {
                    item.outcome = Outcome::Failed;
                    item.error = Some(ItemError::of(failure));
                }
            }
        }
        done.map(drop)
    }

    /// Leaves it, because something before it failed.
    pub fn leave(&mut self) {
        for item in self.items.iter_mut().filter(|item| item.action != Action::Unchanged) {
            item.outcome = Outcome::NotTried;
            item.error = Some(ItemError::plain("something before it could not be done".to_owned()));
        }
    }
}

async fn send(
    session: &Session,
    governance: Governance,
    dry_run: bool,
    if_match: Option<i64>,
) -> Result<GovernanceAppliedView, Failure> {
    let body = GovernanceApplyBody { governance, prune: false, dry_run };
    session.send::<GovernanceApply>(Nothing {}, body, Extra { key: None, if_match }).await
}

/// What the server misses and the rest of the file makes first.
fn is_coming(finding: &FindingView, coming: &Coming, file: &GovernanceFile) -> bool {
    let pool = || file.flavors.iter().find(|it| it.slug == finding.slug).and_then(|it| it.pool.as_ref());
    finding.kind == Kind::Flavor
        && finding.field == "/pool"
        && finding.code == FindingCode::UnknownReference
        && pool().is_some_and(|pool| coming.pools.contains(pool))
}

fn name(kind: Kind, project: Option<&str>, slug: &Slug, names: &BTreeMap<String, String>) -> String {
    match project.filter(|_| kind == Kind::LocalQueue) {
        Some(id) => format!("{}/{slug}", names.get(id).map_or(id, String::as_str)),
        None => slug.to_string(),
    }
}

fn told(finding: &FindingView, names: &BTreeMap<String, String>) -> String {
    let project = finding.project_id.as_ref().map(|id| id.as_str());
    let name = name(finding.kind, project, &finding.slug, names);
    format!("{} {name} {}: {}: {}", finding.kind, finding.field, finding.code, finding.detail)
}

fn item(change: &GovernanceChangeView, names: &BTreeMap<String, String>) -> Result<Item, Failure> {
    let unreadable = |error: serde_json::Error| Failure::Server(format!("the server's plan cannot be read: {error}"));
    let mut changes = Vec::new();
    for field in change.fields.iter().filter(|field| !matches!(field.field.as_str(), "slug" | "project_id")) {
        let read = |text: &String| serde_json::from_str(text).map_err(unreadable);
        changes.push(Change {
            field: field.field.clone(),
            from: field.before.as_ref().map(read).transpose()?,
            to: field.after.as_ref().map_or(Ok(crate::ordered::Ordered::Null), read)?,
        });
    }
    let (action, outcome) = match change.action {
        difference::Action::Create => (Action::Create, Outcome::Planned),
        difference::Action::Update | difference::Action::Delete => (Action::Change, Outcome::Planned),
        difference::Action::Keep => (Action::Unchanged, Outcome::Unchanged),
    };
    let project = change.project_id.as_ref().map(|id| id.as_str());
    let name = name(change.kind, project, &change.slug, names);
    Ok(Item { kind: change.kind.as_str(), name, action, outcome, id: None, changes, error: None })
}

/// What a file describes as the API takes it. Everything that it refers to has to be there already.
pub async fn document(session: &Session, file: &GovernanceFile) -> Result<Governance, Failure> {
    Ok(resolved(session, file, &Coming::default()).await?.document)
}

/// The document with ids instead of names. What the file itself will make is left out until it is there.
async fn resolved(session: &Session, file: &GovernanceFile, coming: &Coming) -> Result<Resolved, Failure> {
    let mut names = BTreeMap::new();
    let mut not_yet = Vec::new();
    let mut document = Governance {
        topologies: file.topologies.clone(),
        flavors: file.flavors.clone(),
        priority_classes: file.priority_classes.clone(),
        cohorts: file.cohorts.clone(),
        hardware_profiles: file.hardware_profiles.clone(),
        ..Governance::default()
    };
    for (at, entry) in file.cluster_queues.iter().enumerate() {
        let mut value = json(entry)?;
        if let Some(open_to) = &entry.open_to {
            let mut tenants = Vec::new();
            for tenant in open_to.tenants.iter().filter(|name| !coming.tenants.contains(*name)) {
                tenants.push(resolve::tenant(session, tenant).await.map_err(at_place("cluster_queues", at))?);
            }
            let mut projects = Vec::new();
            for project in open_to.projects.iter().filter(|name| !coming.projects.contains(*name)) {
                projects.push(resolve::project(session, project).await.map_err(at_place("cluster_queues", at))?);
            }
            value["open_to"] = serde_json::json!({ "tenants": tenants, "projects": projects });
        }
        document.cluster_queues.push(read::<ClusterQueue>(value)?);
    }
    for (at, entry) in file.local_queues.iter().enumerate() {
        if coming.projects.contains(&entry.project) {
            not_yet.push((Kind::LocalQueue, format!("{}/{}", entry.project, entry.slug)));
            continue;
        }
        let id = resolve::project(session, &entry.project).await.map_err(at_place("local_queues", at))?;
        names.insert(id.to_string(), entry.project.clone());
        let mut value = json(entry)?;
        if let Some(fields) = value.as_object_mut() {
            fields.remove("project");
        }
        value["project_id"] = id.as_str().into();
        document.local_queues.push(read::<LocalQueue>(value)?);
    }
    Ok(Resolved { document, names, not_yet })
}

fn at_place(list: &'static str, at: usize) -> impl Fn(Failure) -> Failure {
    move |failure| match failure {
        Failure::NotFound(why) => Failure::NotFound(format!("{list}[{at}]: {why}")),
        Failure::Usage(why) => Failure::Usage(format!("{list}[{at}]: {why}")),
        other => other,
    }
}

fn json(entry: &impl Serialize) -> Result<serde_json::Value, Failure> {
    serde_json::to_value(entry).map_err(|error| Failure::Local(format!("the file cannot be sent: {error}")))
}

fn read<T: serde::de::DeserializeOwned>(value: serde_json::Value) -> Result<T, Failure> {
    serde_json::from_value(value).map_err(|error| Failure::Local(format!("the file cannot be sent: {error}")))
}

/// The objects of the platform as a file that `apply` reads, with names for tenants and projects.
pub async fn as_file(session: &Session, governance: Governance) -> Result<GovernanceFile, Failure> {
    let tenants: BTreeMap<String, String> = session
        .list::<TenantList, _>(Nothing {})
        .await?
        .into_iter()
        .map(|tenant| (tenant.id.to_string(), tenant.slug.to_string()))
        .collect();
    let mut projects = BTreeMap::new();
    for project in resolve::projects(session, None).await? {
        if let Some(tenant) = tenants.get(project.tenant_id.as_str()) {
            projects.insert(project.id.to_string(), format!("{tenant}/{}", project.slug));
        }
    }
    named(governance, &tenants, &projects)
}

// What has no name any more keeps its id, which a file may say too.
fn named(
    governance: Governance,
    tenants: &BTreeMap<String, String>,
    projects: &BTreeMap<String, String>,
) -> Result<GovernanceFile, Failure> {
    let name = |names: &BTreeMap<String, String>, id: &str| names.get(id).map_or(id, String::as_str).to_owned();
    let mut file = GovernanceFile {
        topologies: governance.topologies,
        flavors: governance.flavors,
        priority_classes: governance.priority_classes,
        cohorts: governance.cohorts,
        hardware_profiles: governance.hardware_profiles,
        ..GovernanceFile::default()
    };
    for queue in &governance.cluster_queues {
        let mut value = json(queue)?;
        if let Some(open_to) = &queue.open_to {
            value["open_to"] = json(&OpenToEntry {
                tenants: open_to.tenants.iter().map(|id| name(tenants, id.as_str())).collect(),
                projects: open_to.projects.iter().map(|id| name(projects, id.as_str())).collect(),
            })?;
        }
        file.cluster_queues.push(read(value)?);
    }
    for queue in governance.local_queues {
        file.local_queues.push(LocalQueueEntry {
            project: name(projects, queue.project_id.as_str()),
            slug: queue.slug,
            cluster_queue: queue.cluster_queue,
            default: queue.default,
            stop: Some(queue.stop),
            weight_milli: Some(queue.weight_milli),
        });
    }
    Ok(file)
}

/// A file's governance as YAML text.
pub fn as_yaml(file: &GovernanceFile) -> Result<String, Failure> {
    output::yaml_text(file)
}
