//! Fills a store with a [`Plan`]: catalogue, hosts, tenants, projects, queues, members, and a token for each person.
//!
//! Everything that the API can do is asked of the front door, by the operator, so that events and audit rows are the ones a
//! person would have caused; only the first operator, the hosts and an image without bytes are put in directly. Doing it again adds nothing: what is
//! there is found by name.

use crate::fleet::{MemberPlan, OBSERVER, OPERATOR, Plan, PoolPlan, TenantPlan};
use control::{
    Ports,
    bootstrap::{self, FirstOperator},
    front_door::{FrontDoor, Request, Response},
};
use model::{
    PoolId, PrincipalId, ProjectId, RegionId, SkuId, TenantId,
    identity::{MemberRole, PlatformRole, Role, TokenScope},
    number::TokenLifetimeS,
    sku::CapacityShape,
    supply::GpuModel,
    text::Email,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{collections::BTreeMap, str::FromStr};
use store::{Db, Stamp, StoreError, nodes, principals};

/// Why a store could not be filled.
#[derive(Debug, thiserror::Error)]
pub enum SeedFault {
    /// The front door refused.
    #[error("{what} was answered with status {status}: {body}")]
    Refused {
        /// What was asked.
        what: String,
        /// The answer.
        status: u16,
        /// What it said.
        body: String,
    },
    /// An answer that cannot be read.
    #[error("{what} was answered with something else: {why}")]
    Unreadable {
        /// What was asked.
        what: String,
        /// What is wrong with the answer.
        why: String,
    },
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The front door does not open.
    #[error(transparent)]
    FrontDoor(#[from] control::front_door::BadFrontDoor),
    /// A file.
    #[error("{path}: {error}")]
    File {
        /// Which.
        path: String,
        /// What is wrong with it.
        error: std::io::Error,
    },
}

/// A person with a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    /// Who.
    pub email: String,
    /// As what.
    pub role: Role,
    /// The tenant it works in; absent for operators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The project it works in; absent for the whole tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Its id.
    pub principal_id: PrincipalId,
    /// The secret of its token.
    pub secret: String,
}

/// A tenant that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeededTenant {
    /// Its short name.
    pub slug: String,
    /// Its id.
    pub id: TenantId,
    /// Its projects, by short name.
    pub projects: BTreeMap<String, ProjectId>,
}

/// What is in the store afterwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seeded {
    /// Everybody, with tokens; the operator first.
    pub people: Vec<Person>,
    /// Tenants.
    pub tenants: Vec<SeededTenant>,
    /// Regions, by short name.
    pub regions: BTreeMap<String, RegionId>,
    /// SKUs, by short name.
    pub skus: BTreeMap<String, SkuId>,
}

/// The priority class of those who do not want to wait.
pub const URGENT: &str = "urgent";
const COHORT: &str = "everybody";

/// A token for as long as one may live.
const LIFETIME_S: i64 = TokenLifetimeS::MAX;

/// Fills a store. `known` are tokens from an earlier time; one that still works is not made again.
pub fn seed(db: &Db, door: &FrontDoor, ports: &Ports, plan: &Plan, known: &[Person]) -> Result<Seeded, SeedFault> {
    let operator = operator(db, door, ports, known)?;
    let desk = Desk { db, door, ports, token: operator.secret.clone(), known };
    let regions = desk.regions(plan)?;
    for pool in plan.pools {
        let pool_id = desk.pool(pool, &regions)?;
        desk.hosts(plan, pool, &pool_id)?;
    }
    let skus = desk.skus(plan)?;
    desk.image(&operator.principal_id)?;
    let observer = desk.observer()?;
    let mut people = vec![operator, observer];
    let mut tenants = vec![];
    for tenant in plan.tenants {
        let seeded = desk.tenant(tenant)?;
        for member in tenant.members {
            people.push(desk.member(tenant, member, &seeded)?);
        }
        tenants.push(seeded);
    }
    desk.queues(plan, &tenants)?;
    Ok(Seeded { people, tenants, regions, skus })
}

/// Orders every host of a plan to say what it has, as an operator would. Hosts that are being asked already are left alone.
pub fn order_discoveries(
    db: &Db,
    door: &FrontDoor,
    ports: &Ports,
    plan: &Plan,
    people: &[Person],
) -> Result<(), SeedFault> {
    let operator = operator(db, door, ports, people)?;
    let desk = Desk { db, door, ports, token: operator.secret, known: people };
    for host in plan.hosts() {
        let path = format!("/api/v1/admin/nodes/{}/slice-topology/discovery", host.node_id());
        match desk.make(&path, &Value::Null) {
            Ok(_) | Err(SeedFault::Refused { status: 409, .. }) => (),
            Err(fault) => return Err(fault),
        }
    }
    Ok(())
}

/// The people of an earlier time, each with a token that works. Whoever is gone by now is left out.
pub fn refresh(db: &Db, door: &FrontDoor, ports: &Ports, known: &[Person]) -> Result<Vec<Person>, SeedFault> {
    let operator = operator(db, door, ports, known)?;
    let desk = Desk { db, door, ports, token: operator.secret.clone(), known };
    let mut people = vec![operator];
    for person in known.iter().filter(|person| person.email != OPERATOR) {
        let tenant = match &person.tenant {
            Some(slug) => desk.find("/api/v1/tenants", "slug", slug)?.map(|found| id_of(&found, "id")).transpose()?,
            None => None,
        };
        if let Ok(secret) = desk.token(&person.email, &person.principal_id, tenant.as_ref()) {
            people.push(Person { secret, ..person.clone() });
        }
    }
    Ok(people)
}

fn operator(db: &Db, door: &FrontDoor, ports: &Ports, known: &[Person]) -> Result<Person, SeedFault> {
    if let Some(person) = known.iter().find(|person| person.email == OPERATOR)
        && works(db, door, &person.secret)
    {
        return Ok(person.clone());
    }
    let (email, lifetime) = (read::<Email>("the operator's address", OPERATOR)?, lifetime()?);
    let ports = ports.clone();
    let made = db.write(move |tx| {
        let mut bits = || ports.id_bits();
        let mut stamp = Stamp::new(ports.now(), &mut bits);
        if let Some(first) = bootstrap::first_operator(tx, &mut stamp, &ports, &email, lifetime)? {
            return Ok(first);
        }
        let principal_id = principals::by_email(tx, OPERATOR)?.ok_or(StoreError::NotFound)?.id;
        let (token_id, secret) = bootstrap::token_for(tx, &mut stamp, &ports, &principal_id, lifetime)?;
        Ok::<_, StoreError>(FirstOperator { principal_id, token_id, secret })
    })?;
    Ok(Person {
        email: OPERATOR.to_owned(),
        role: Role::PlatformOperator,
        tenant: None,
        project: None,
        principal_id: made.principal_id,
        secret: made.secret.reveal().to_owned(),
    })
}

fn lifetime() -> Result<TokenLifetimeS, SeedFault> {
    let out =
        |error: model::number::OutOfRange| SeedFault::Unreadable { what: "a lifetime".into(), why: error.to_string() };
    TokenLifetimeS::try_from(LIFETIME_S).map_err(out)
}

fn works(db: &Db, door: &FrontDoor, secret: &str) -> bool {
    door.perform(db, Request::new("GET", "/api/v1/whoami").bearer(secret)).is_success()
}

fn read<T: FromStr<Err: std::fmt::Display>>(what: &str, text: &str) -> Result<T, SeedFault> {
    text.parse().map_err(|error: T::Err| SeedFault::Unreadable { what: what.to_owned(), why: error.to_string() })
}

// The operator at work.
struct Desk<'a> {
    db: &'a Db,
    door: &'a FrontDoor,
    ports: &'a Ports,
    token: String,
    known: &'a [Person],
}

impl Desk<'_> {
    fn call(&self, request: Request) -> Result<Value, SeedFault> {
        let what = format!("{} {}", request.method, request.path);
        let Response { status, body, .. } = self.door.perform(self.db, request.bearer(&self.token));
        if !(200..300).contains(&status) {
            let body = String::from_utf8_lossy(&body).into_owned();
            return Err(SeedFault::Refused { what, status, body });
        }
        serde_json::from_slice(&body).map_err(|error| SeedFault::Unreadable { what, why: error.to_string() })
    }

    // The first of a list for which a field has a value. Lists are shorter than a page.
    fn find(&self, path: &str, field: &str, value: &str) -> Result<Option<Value>, SeedFault> {
        let page = self.call(Request::new("GET", &format!("{path}?page_size=200")))?;
        let items = page["items"].as_array().cloned().unwrap_or_default();
        Ok(items.into_iter().find(|item| item[field] == *value))
    }

    fn make(&self, path: &str, body: &Value) -> Result<Value, SeedFault> {
        // A fresh key each time: what is there already was looked for by name.
        let key: String = self.ports.id_bits().iter().map(|byte| format!("{byte:02x}")).collect();
        let request = Request::new("POST", path).key(&format!("seed-{key}"));
        self.call(if body.is_null() { request } else { request.json(body.to_string()) })
    }

    fn find_or_make(&self, path: &str, body: &Value) -> Result<Value, SeedFault> {
        match self.find(path, "slug", body["slug"].as_str().unwrap_or_default())? {
            Some(found) => Ok(found),
            None => self.make(path, body),
        }
    }

    fn regions(&self, plan: &Plan) -> Result<BTreeMap<String, RegionId>, SeedFault> {
        let mut made = BTreeMap::new();
        for region in plan.regions {
            let body = json!({ "slug": region.slug, "name": region.name, "enabled": region.enabled });
            made.insert(region.slug.to_owned(), id_of(&self.find_or_make("/api/v1/regions", &body)?, "id")?);
        }
        Ok(made)
    }

    fn pool(&self, pool: &PoolPlan, regions: &BTreeMap<String, RegionId>) -> Result<PoolId, SeedFault> {
        let body = json!({
            "slug": pool.slug, "name": pool.name, "region_id": regions.get(pool.region),
            "gpu_model": pool.gpu_model, "slices_enabled": pool.slices_enabled, "private_range": pool.private_range,
        });
        id_of(&self.find_or_make("/api/v1/pools", &body)?, "id")
    }

    fn hosts(&self, plan: &Plan, pool: &PoolPlan, pool_id: &PoolId) -> Result<(), SeedFault> {
        for host in plan.hosts().into_iter().filter(|host| host.pool.slug == pool.slug) {
            let (ports, new) = (self.ports.clone(), host.registration(pool_id));
            self.db.write(move |tx| {
                if nodes::by_name(tx, &new.name)?.is_some() {
                    return Ok(());
                }
                let mut bits = || ports.id_bits();
                bootstrap::register_node(tx, &mut Stamp::new(ports.now(), &mut bits), &new)
            })?;
        }
        Ok(())
    }

    // Simulated hosts build guests from nothing, so there are no bytes that could be brought through the API.
    fn image(&self, operator: &PrincipalId) -> Result<(), SeedFault> {
        let (ports, by) = (self.ports.clone(), operator.clone());
        self.db.write(move |tx| {
            let mut bits = || ports.id_bits();
            bootstrap::simulated_image(tx, &mut Stamp::new(ports.now(), &mut bits), &ports, &by)
        })?;
        Ok(())
    }

    fn skus(&self, plan: &Plan) -> Result<BTreeMap<String, SkuId>, SeedFault> {
        let mut made = BTreeMap::new();
        for sku in plan.skus {
            let shape: CapacityShape = sku.shape;
            let mut body = json!({
                "slug": sku.slug, "name": sku.name, "shape": shape, "gpu_model": sku.gpu_model,
                "gpu_counts": sku.gpu_counts, "price_micros_per_gpu_hour": sku.price_micros_per_gpu_hour,
            });
            if shape == CapacityShape::GpuSlice {
                // Slots and what is cut out of them go by one name.
                let profile = json!({
                    "slug": sku.slug, "name": sku.name, "gpu_model": sku.gpu_model,
                    "vcpus": sku.vcpus_per_gpu, "memory_mib": sku.memory_mib_per_gpu,
                });
                self.find_or_make("/api/v1/slot-profiles", &profile)?;
                body["profile"] = json!(sku.slug);
            } else {
                body["vcpus_per_gpu"] = json!(sku.vcpus_per_gpu);
                body["memory_mib_per_gpu"] = json!(sku.memory_mib_per_gpu);
            }
            made.insert(sku.slug.to_owned(), id_of(&self.find_or_make("/api/v1/skus", &body)?, "id")?);
        }
        Ok(made)
    }

    fn observer(&self) -> Result<Person, SeedFault> {
        let path = "/api/v1/admin/operators";
        let found = match self.find(path, "name", OBSERVER)? {
            Some(found) => found,
            None => self.make(path, &json!({ "email": OBSERVER, "role": PlatformRole::OperatorReadOnly }))?,
        };
        let principal_id = id_of(&found, "id")?;
        let secret = self.token(OBSERVER, &principal_id, None)?;
        let (email, role) = (OBSERVER.to_owned(), Role::OperatorReadOnly);
        Ok(Person { email, role, tenant: None, project: None, principal_id, secret })
    }

    fn tenant(&self, plan: &TenantPlan) -> Result<SeededTenant, SeedFault> {
        let body = json!({ "slug": plan.slug, "name": plan.name });
        let id: TenantId = id_of(&self.find_or_make("/api/v1/tenants", &body)?, "id")?;
        let mut projects = BTreeMap::new();
        for project in plan.projects {
            let body = json!({ "slug": project.slug, "name": project.name, "gpu_cap": project.gpu_cap });
            let made = self.find_or_make(&format!("/api/v1/tenants/{id}/projects"), &body)?;
            projects.insert(project.slug.to_owned(), id_of(&made, "id")?);
        }
        Ok(SeededTenant { slug: plan.slug.to_owned(), id, projects })
    }

    fn queues(&self, plan: &Plan, tenants: &[SeededTenant]) -> Result<(), SeedFault> {
        let queues = &plan.queues;
        let model = |model: &GpuModel| json!({ "slug": model, "gpu_model": model });
        let quota = |model: &GpuModel| json!({ "flavor": model, "quotas": [{ "nominal": queues.nominal }] });
        let groups = json!([{ "flavors": queues.gpu_models.iter().map(quota).collect::<Vec<_>>() }]);
        let (mut cluster_queues, mut local_queues) = (vec![], vec![]);
        for (tenant, project) in queues.projects {
            let slug = format!("{tenant}-{project}");
            cluster_queues.push(json!({
                "slug": slug, "cohort": COHORT, "resource_groups": groups,
                "notice_s": queues.notice_s, "grace_s": queues.grace_s, "min_run_s": queues.min_run_s,
                "preemption": { "within_queue": "lower_priority", "reclaim_within_cohort": "any" },
            }));
            let id = tenants.iter().find(|seeded| seeded.slug == *tenant).and_then(|it| it.projects.get(*project));
            local_queues.push(json!({ "project_id": id, "slug": project, "cluster_queue": slug, "default": true }));
        }
        let objects = json!({
            "flavors": queues.gpu_models.iter().map(model).collect::<Vec<_>>(),
            "priority_classes": [
                { "slug": URGENT, "value": 100 },
                { "slug": "normal", "value": 0, "default": true },
                { "slug": "spare", "value": -100, "preempts": false },
            ],
            "cohorts": [{ "slug": COHORT }],
            "cluster_queues": cluster_queues,
            "local_queues": local_queues,
        });
        self.make("/api/v1/admin/governance/apply", &json!({ "governance": objects })).map(|_| ())
    }

    fn member(&self, tenant: &TenantPlan, plan: &MemberPlan, seeded: &SeededTenant) -> Result<Person, SeedFault> {
        let path = format!("/api/v1/tenants/{}/members", seeded.id);
        let found = match self.find(&path, "principal_name", plan.email)? {
            Some(found) => found,
            None => {
                let mut body = json!({ "subject": { "email": plan.email }, "role": plan.role });
                if let Some(project) = plan.project {
                    body["project_id"] = json!(seeded.projects.get(project));
                }
                self.make(&path, &body)?
            }
        };
        let principal_id = id_of(&found, "principal_id")?;
        let secret = self.token(plan.email, &principal_id, Some(&seeded.id))?;
        Ok(Person {
            email: plan.email.to_owned(),
            role: match plan.role {
                MemberRole::TenantAdmin => Role::TenantAdmin,
                MemberRole::ProjectMember => Role::ProjectMember,
                MemberRole::Viewer => Role::Viewer,
            },
            tenant: Some(tenant.slug.to_owned()),
            project: plan.project.map(str::to_owned),
            principal_id,
            secret,
        })
    }

    fn token(&self, email: &str, owner: &PrincipalId, tenant: Option<&TenantId>) -> Result<String, SeedFault> {
        let known = self.known.iter().find(|person| person.email == email && person.principal_id == *owner);
        if let Some(person) = known.filter(|person| works(self.db, self.door, &person.secret)) {
            return Ok(person.secret.clone());
        }
        let mut body = json!({
            "name": format!("Token of {email}"), "scope": TokenScope::Write, "lifetime_s": LIFETIME_S,
            "principal_id": owner,
        });
        if let Some(tenant) = tenant {
            body["tenant_id"] = json!(tenant);
        }
        let made = self.make("/api/v1/tokens", &body)?;
        made["secret"].as_str().map(str::to_owned).ok_or_else(|| SeedFault::Unreadable {
            what: "POST /api/v1/tokens".to_owned(),
            why: "no secret".to_owned(),
        })
    }
}

fn id_of<T: FromStr<Err: std::fmt::Display>>(answer: &Value, field: &str) -> Result<T, SeedFault> {
    read("an answer", answer[field].as_str().unwrap_or_default())
}
