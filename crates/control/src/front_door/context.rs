//! What a use case sees: the open transaction, the caller, and rows that it may touch.
//!
//! Authorization is by construction. A use case reaches a row only through one of the methods here (`tenant`, `project`,
//! `node`, …), and each of them asks the policies for the right that the *operation* declares. What the caller may not see
//! is [`not found`](Refusal::not_found), byte for byte the same as what does not exist; what they see but may not do this
//! to is `forbidden`. A use case that touched nothing through these methods is a fault of ours, and the front door answers
//! it as one.

use api::{
    Code, Endpoint, Operation, Problem, Right,
    page::{Page, PageToken, Paged},
};
use model::{
    AllocationId, EnrollmentTokenId, IngressId, MemberId, NodeId, OperationId, PoolId, PrincipalId, ProjectId,
    RegionId, SkuId, SlotId, SshKeyId, StreamId, TenantId, Timestamp, TokenId, WebhookId, WipeOverrideId, WorkloadId,
    event::Noun,
    governance::{Identity, Kind},
    identity::PrincipalKind,
    text::Slug,
};
use store::{
    Scope, Stamp, StoreError, Tx, allocations::AllocationRow, enrollment::EnrollmentTokenRow, governance::GovernedRow,
    ingresses::IngressRow, members::MemberRow, nodes::NodeRow, pools::PoolRow, principals::PrincipalRow,
    projects::ProjectRow, regions::RegionRow, skus::SkuRow, slot_profiles::SlotProfileRow, slots::SlotRow,
    ssh_keys::SshKeyRow, streams::StreamRow, tenants::TenantRow, tokens::TokenRow, webhooks::WebhookRow,
    wipe_overrides::WipeOverrideRow, workloads::WorkloadRow,
};

use super::{
    FrontDoorConfig, Refusal,
    page::{Binding, Cursor},
    request::{RecordingFile, StreamStart},
};
use crate::{
    Ports,
    authz::{Caller, Policies, Resource, token::Secret},
    availability::AvailabilityMemo,
    image_files::Received,
    queues::BookMemo,
    streams::Opening,
};

/// What a request carries, in the types of its operation.
#[derive(Debug, Clone)]
pub struct Input<E: Endpoint> {
    /// Path parameters.
    pub path: E::Path,
    /// Query parameters.
    pub query: E::Query,
    /// The body.
    pub body: E::Body,
    /// The version in `If-Match`.
    pub if_match: Option<i64>,
    /// The position in `Last-Event-ID`.
    pub last_event_id: Option<i64>,
    /// What was counted of bytes that came with the request.
    pub received: Option<Received>,
}

/// What was acted on, for the audit trail.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct About {
    /// The id of the thing.
    pub subject: String,
    /// The tenant it belongs to.
    pub tenant_id: Option<TenantId>,
}

/// What a use case answers.
#[derive(Debug)]
pub struct Answer<T> {
    pub(crate) body: Option<T>,
    pub(crate) version: Option<i64>,
    pub(crate) location: Option<String>,
    pub(crate) about: Option<About>,
    pub(crate) next: Option<PageToken>,
    pub(crate) secret: Option<Secret>,
    pub(crate) stream: Option<StreamStart>,
    pub(crate) opening: Option<Opening>,
    pub(crate) file: Option<RecordingFile>,
    pub(crate) noted: Option<String>,
    pub(crate) cookie: Option<String>,
}

// Not derived: that would ask for a default of what is answered.
impl<T> Default for Answer<T> {
    fn default() -> Self {
        Self {
            body: None,
            version: None,
            location: None,
            about: None,
            next: None,
            secret: None,
            stream: None,
            opening: None,
            file: None,
            noted: None,
            cookie: None,
        }
    }
}

impl<T> Answer<T> {
    /// An answer with this body.
    pub fn new(body: T) -> Self {
        Self { body: Some(body), ..Self::default() }
    }
    /// An answer whose body is a stream of events, written by whoever holds the connection.
    pub fn stream(start: StreamStart) -> Self {
        Self { stream: Some(start), ..Self::default() }
    }
    /// An answer after which the connection is a stream to a guest.
    pub fn opening(opening: Opening) -> Self {
        Self { opening: Some(opening), ..Self::default() }
    }
    /// An answer whose body is a file.
    pub fn file(file: RecordingFile) -> Self {
        Self { file: Some(file), ..Self::default() }
    }
    /// With what the audit trail says instead of the request's body.
    pub fn noted(mut self, note: &serde_json::Value) -> Self {
        self.noted = Some(note.to_string());
        self
    }
    /// With a cookie for the browser.
    pub fn cookie(mut self, cookie: String) -> Self {
        self.cookie = Some(cookie);
        self
    }
    /// With the version that becomes the ETag.
    pub fn version(mut self, version: i64) -> Self {
        self.version = Some(version);
        self
    }
    /// With the place of what was made.
    pub fn at(mut self, location: String) -> Self {
        self.location = Some(location);
        self
    }
    /// With what was acted on. Every change must say so.
    pub fn about(mut self, subject: impl ToString, tenant_id: Option<&TenantId>) -> Self {
        self.about = Some(About { subject: subject.to_string(), tenant_id: tenant_id.cloned() });
        self
    }
}

impl<V> Answer<Page<V>> {
    /// One page of a list.
    pub fn page(page: Page<V>) -> Self {
        let next = page.next_page_token.clone();
        Self { next, ..Self::new(page) }
    }
}

/// One request inside its transaction.
pub struct Ctx<'a, 't> {
    /// The open transaction.
    pub tx: &'a mut Tx<'t>,
    /// The moment and fresh ids.
    pub stamp: Stamp<'a>,
    /// Who calls.
    pub caller: &'a Caller,
    /// What is being done.
    pub operation: &'a Operation,
    /// How this replica is set up.
    pub config: &'a FrontDoorConfig,
    /// The id that the request goes by.
    pub request_id: &'a str,
    /// The address that it came from.
    pub from: &'a str,
    pub(crate) ports: &'a Ports,
    pub(crate) policies: &'a Policies,
    pub(crate) availability: &'a AvailabilityMemo,
    pub(crate) books: &'a BookMemo,
    pub(crate) binding: Binding,
    pub(crate) authorized: bool,
}

impl Ctx<'_, '_> {
    /// The moment of the request.
    pub fn now(&self) -> Timestamp {
        self.stamp.now
    }

    /// A fresh secret for a token.
    pub fn mint(&self) -> Secret {
        Secret::mint(self.ports)
    }

    /// A fresh secret for a host that is to be enrolled.
    pub fn mint_enrollment(&self) -> Secret {
        Secret::mint_enrollment(self.ports)
    }

    /// A fresh key for the messages of a webhook.
    pub fn mint_webhook(&self) -> Secret {
        Secret::mint_webhook(self.ports)
    }

    /// How far the caller's lists reach.
    pub fn scope(&self) -> Scope {
        self.caller.scope()
    }

    /// Whether the caller has a right, without consequences.
    pub fn may(&self, right: Right, resource: Resource<'_>) -> bool {
        self.policies.allow(self.caller, right, resource)
    }

    /// Refuses unless the caller has the right.
    pub fn require(&mut self, right: Right, resource: Resource<'_>) -> Result<(), Refusal> {
        if self.may(right, resource) {
            self.authorized = true;
            Ok(())
        } else {
            let detail = format!("Your role does not allow {} here.", self.operation.id);
            Err(Refusal::new(Code::Forbidden, detail))
        }
    }

    /// For what concerns only the caller.
    pub fn myself(&mut self) -> Result<(), Refusal> {
        let me = self.caller.principal_id.clone();
        self.require(self.operation.right, Resource::Principal(&me))
    }

    /// For what concerns the platform or its catalogue as a whole.
    pub fn platform(&mut self) -> Result<(), Refusal> {
        self.require(self.operation.right, Resource::Platform)
    }

    /// The operation's right on a tenant that the caller was found to see.
    fn act_on_tenant(&mut self, id: &TenantId) -> Result<(), Refusal> {
        match self.operation.right {
            right @ (Right::PlatformManage | Right::PlatformRead) => self.require(right, Resource::Platform),
            right => self.require(right, Resource::Tenant(id)),
        }
    }

    /// A tenant, for this operation. While it is being changed nobody else changes it.
    pub fn tenant(&mut self, id: &TenantId) -> Result<TenantRow, Refusal> {
        let found = store::tenants::get_visible(self.tx, &self.scope(), id)?;
        let seen = found.filter(|row| self.may(Right::TenantRead, Resource::Tenant(&row.id)));
        let Some(row) = seen else {
            return Err(self.unseen(|tx| Ok(store::tenants::get(tx, id)?.is_some())));
        };
        self.act_on_tenant(&row.id)?;
        if !self.operation.is_mutating() {
            return Ok(row);
        }
        store::tenants::hold(self.tx, id)?.ok_or_else(Refusal::not_found)
    }

    /// A project, for this operation. While it is being changed nobody else changes it.
    pub fn project(&mut self, id: &ProjectId) -> Result<ProjectRow, Refusal> {
        let found = store::projects::get_visible(self.tx, &self.scope(), id)?;
        let seen = found.filter(|row| self.may(Right::ProjectRead, Resource::Project(&row.tenant_id, &row.id)));
        let Some(row) = seen else {
            return Err(self.unseen(|tx| Ok(store::projects::get(tx, id)?.is_some())));
        };
        self.require(self.operation.right, Resource::Project(&row.tenant_id, &row.id))?;
        if !self.operation.is_mutating() {
            return Ok(row);
        }
        store::projects::hold(self.tx, id)?.ok_or_else(Refusal::not_found)
    }

    /// An allocation, for this operation.
    pub fn allocation(&mut self, id: &AllocationId) -> Result<AllocationRow, Refusal> {
        let found = store::allocations::get_visible(self.tx, &self.scope(), id)?;
        let seen = found.filter(|row| self.may(Right::ProjectRead, Resource::Project(&row.tenant_id, &row.project_id)));
        let Some(row) = seen else {
            return Err(self.unseen(|tx| Ok(store::allocations::get(tx, id)?.is_some())));
        };
        self.require(self.operation.right, Resource::Project(&row.tenant_id, &row.project_id))?;
        Ok(row)
    }

    /// A workload, for this operation.
    pub fn workload(&mut self, id: &WorkloadId) -> Result<WorkloadRow, Refusal> {
        let found = store::workloads::get_visible(self.tx, &self.scope(), id)?;
        let seen = found.filter(|row| self.may(Right::ProjectRead, Resource::Project(&row.tenant_id, &row.project_id)));
        let Some(row) = seen else {
            return Err(self.unseen(|tx| Ok(store::workloads::get(tx, id)?.is_some())));
        };
        self.require(self.operation.right, Resource::Project(&row.tenant_id, &row.project_id))?;
        Ok(row)
    }

    /// A stream, for this operation.
    pub fn guest_stream(&mut self, id: &StreamId) -> Result<StreamRow, Refusal> {
        let found = store::streams::get_visible(self.tx, &self.scope(), id)?;
        let seen = found.filter(|row| self.may(Right::ProjectRead, Resource::Project(&row.tenant_id, &row.project_id)));
        let Some(row) = seen else {
            return Err(self.unseen(|tx| Ok(store::streams::get(tx, id)?.is_some())));
        };
        self.require(self.operation.right, Resource::Project(&row.tenant_id, &row.project_id))?;
        Ok(row)
    }

    /// An allocation of whomever, for an operation of the platform. To others than operators there is none.
    pub fn any_allocation(&mut self, id: &AllocationId) -> Result<AllocationRow, Refusal> {
        if !self.may(Right::PlatformRead, Resource::Platform) {
            return Err(Refusal::not_found());
        }
        let row = store::allocations::get(self.tx, id)?.ok_or_else(Refusal::not_found)?;
        self.platform()?;
        Ok(row)
    }

    /// A workload of whomever, for an operation of the platform. To others than operators there is none.
    pub fn any_workload(&mut self, id: &WorkloadId) -> Result<WorkloadRow, Refusal> {
        if !self.may(Right::PlatformRead, Resource::Platform) {
            return Err(Refusal::not_found());
        }
        let row = store::workloads::get(self.tx, id)?.ok_or_else(Refusal::not_found)?;
        self.platform()?;
        Ok(row)
    }

    /// A public key, for this operation.
    pub fn ssh_key(&mut self, id: &SshKeyId) -> Result<SshKeyRow, Refusal> {
        let found = store::ssh_keys::get_visible(self.tx, &self.scope(), id)?;
        let seen = found.filter(|row| self.may(Right::ProjectRead, Resource::Project(&row.tenant_id, &row.project_id)));
        let Some(row) = seen else {
            return Err(self.unseen(|tx| Ok(store::ssh_keys::get(tx, id)?.is_some())));
        };
        self.require(self.operation.right, Resource::Project(&row.tenant_id, &row.project_id))?;
        Ok(row)
    }

    /// A way in, for this operation.
    pub fn ingress(&mut self, id: &IngressId) -> Result<IngressRow, Refusal> {
        let found = store::ingresses::get_visible(self.tx, &self.scope(), id)?;
        let seen = found.filter(|row| self.may(Right::ProjectRead, Resource::Project(&row.tenant_id, &row.project_id)));
        let Some(row) = seen else {
            return Err(self.unseen(|tx| Ok(store::ingresses::get(tx, id)?.is_some())));
        };
        self.require(self.operation.right, Resource::Project(&row.tenant_id, &row.project_id))?;
        Ok(row)
    }

    /// A membership in force, for this operation.
    pub fn member(&mut self, id: &MemberId) -> Result<MemberRow, Refusal> {
        let found = store::members::get_visible(self.tx, &self.scope(), id)?.filter(|row| row.removed.is_none());
        let seen = found.filter(|row| self.may(Right::TenantRead, Resource::Tenant(&row.tenant_id)));
        let Some(row) = seen else {
            return Err(self.unseen(|tx| Ok(store::members::get(tx, id)?.is_some())));
        };
        self.act_on_tenant(&row.tenant_id)?;
        if self.operation.is_mutating() {
            // The last administrator is counted under this lock, and the membership read again behind it.
            store::tenants::hold(self.tx, &row.tenant_id)?;
            let row = store::members::get(self.tx, id)?.filter(|row| row.removed.is_none());
            return row.ok_or_else(Refusal::not_found);
        }
        Ok(row)
    }

    /// A service account in force, with its tenant, for this operation.
    pub fn service_account(&mut self, id: &PrincipalId) -> Result<(PrincipalRow, TenantId), Refusal> {
        let found = store::principals::get_visible(self.tx, &self.scope(), id)?
            .filter(|row| row.removed.is_none() && row.kind == PrincipalKind::ServiceAccount)
            .and_then(|row| row.tenant_id.clone().map(|tenant| (row, tenant)));
        let seen = found.filter(|(_, tenant)| self.may(Right::TenantRead, Resource::Tenant(tenant)));
        let Some((row, tenant)) = seen else {
            return Err(self.unseen(|tx| Ok(store::principals::get(tx, id)?.is_some())));
        };
        self.act_on_tenant(&tenant)?;
        if self.operation.is_mutating() {
            store::tenants::hold(self.tx, &tenant)?;
            let row = store::principals::get(self.tx, id)?.filter(|row| row.removed.is_none());
            return row.map(|row| (row, tenant)).ok_or_else(Refusal::not_found);
        }
        Ok((row, tenant))
    }

    /// An operator, for this operation. Only operators know of operators.
    pub fn operator(&mut self, id: &PrincipalId) -> Result<PrincipalRow, Refusal> {
        if !self.may(Right::PlatformRead, Resource::Platform) {
            return Err(Refusal::not_found());
        }
        let found = store::principals::get(self.tx, id)?;
        let row = found.filter(|row| row.removed.is_none() && row.platform_role.is_some());
        let row = row.ok_or_else(Refusal::not_found)?;
        self.platform()?;
        Ok(row)
    }

    /// A token, for this operation: one's own, one of a tenant that the caller administers, or any for an operator.
    pub fn token(&mut self, id: &TokenId) -> Result<TokenRow, Refusal> {
        let Some(row) = store::tokens::get_visible(self.tx, &self.scope(), id)? else {
            return Err(self.unseen(|tx| Ok(store::tokens::get(tx, id)?.is_some())));
        };
        if row.principal_id == self.caller.principal_id {
            self.myself()?;
            return Ok(row);
        }
        if row.tenant_id.as_ref().is_some_and(|tenant| self.may(Right::TenantManage, Resource::Tenant(tenant))) {
            self.authorized = true;
            return Ok(row);
        }
        if !self.may(Right::PlatformRead, Resource::Platform) {
            return Err(self.unseen(|_| Ok(true)));
        }
        let right = if self.operation.is_mutating() { Right::PlatformManage } else { Right::PlatformRead };
        self.require(right, Resource::Platform)?;
        Ok(row)
    }

    /// An operation that the caller may follow.
    pub fn started(&mut self, id: &OperationId) -> Result<store::operations::OperationRow, Refusal> {
        let Some(row) = store::operations::get_visible(self.tx, &self.scope(), id)? else {
            return Err(self.unseen(|tx| Ok(store::operations::get(tx, id)?.is_some())));
        };
        self.myself()?;
        Ok(row)
    }

    /// A region, for this operation. Everybody sees regions.
    pub fn region(&mut self, id: &RegionId) -> Result<RegionRow, Refusal> {
        let row = store::regions::get(self.tx, id)?.ok_or_else(Refusal::not_found)?;
        self.platform()?;
        Ok(row)
    }

    /// A pool, for this operation. Everybody sees pools.
    pub fn pool(&mut self, id: &PoolId) -> Result<PoolRow, Refusal> {
        let row = store::pools::get(self.tx, id)?.ok_or_else(Refusal::not_found)?;
        self.platform()?;
        Ok(row)
    }

    /// A SKU, for this operation. Everybody sees SKUs.
    pub fn sku(&mut self, id: &SkuId) -> Result<SkuRow, Refusal> {
        let row = store::skus::get(self.tx, id)?.ok_or_else(Refusal::not_found)?;
        self.platform()?;
        Ok(row)
    }

    /// A slot profile, for this operation. Everybody sees profiles.
    pub fn slot_profile(&mut self, slug: &Slug) -> Result<SlotProfileRow, Refusal> {
        let row = store::slot_profiles::get(self.tx, slug)?.ok_or_else(Refusal::not_found)?;
        self.platform()?;
        Ok(row)
    }

    /// The right to change objects of governance of a kind. To others than operators there are no cohorts, cluster queues
    /// and topologies.
    pub fn govern(&mut self, kind: Kind) -> Result<(), Refusal> {
        let for_everybody = matches!(kind, Kind::Flavor | Kind::PriorityClass | Kind::HardwareProfile);
        if !for_everybody && !self.may(Right::PlatformRead, Resource::Platform) {
            return Err(Refusal::not_found());
        }
        self.platform()
    }

    /// An object of governance that belongs to the platform, for this operation.
    pub fn governed(&mut self, identity: &Identity) -> Result<GovernedRow, Refusal> {
        self.govern(identity.kind)?;
        store::governance::get(self.tx, identity)?.ok_or_else(Refusal::not_found)
    }

    /// A node, for this operation. Only operators know of nodes.
    pub fn node(&mut self, id: &NodeId) -> Result<NodeRow, Refusal> {
        if !self.may(Right::PlatformRead, Resource::Platform) {
            return Err(Refusal::not_found());
        }
        let row = store::nodes::get(self.tx, id)?.ok_or_else(Refusal::not_found)?;
        self.platform()?;
        Ok(row)
    }

    /// A slot, for this operation. Only operators know of slots.
    pub fn slot(&mut self, id: &SlotId) -> Result<SlotRow, Refusal> {
        if !self.may(Right::PlatformRead, Resource::Platform) {
            return Err(Refusal::not_found());
        }
        let row = store::slots::get(self.tx, id)?.ok_or_else(Refusal::not_found)?;
        self.platform()?;
        Ok(row)
    }

    /// An override, for this operation. Only operators know of them.
    pub fn wipe_override(&mut self, id: &WipeOverrideId) -> Result<WipeOverrideRow, Refusal> {
        if !self.may(Right::PlatformRead, Resource::Platform) {
            return Err(Refusal::not_found());
        }
        let row = store::wipe_overrides::get(self.tx, id)?.ok_or_else(Refusal::not_found)?;
        self.platform()?;
        Ok(row)
    }

    /// A one-time token that brings a host in, for this operation. Only operators know of them.
    pub fn enrollment_token(&mut self, id: &EnrollmentTokenId) -> Result<EnrollmentTokenRow, Refusal> {
        if !self.may(Right::PlatformRead, Resource::Platform) {
            return Err(Refusal::not_found());
        }
        let row = store::enrollment::get(self.tx, id)?.ok_or_else(Refusal::not_found)?;
        self.platform()?;
        Ok(row)
    }

    /// A webhook, for this operation. A tenant's is the business of who runs the tenant, the platform's that of operators.
    pub fn webhook(&mut self, id: &WebhookId) -> Result<WebhookRow, Refusal> {
        let found = store::webhooks::get_visible(self.tx, &self.scope(), id)?;
        let seen = found.filter(|row| match &row.tenant_id {
            Some(tenant) => self.may(Right::AuditRead, Resource::Tenant(tenant)),
            None => self.may(Right::PlatformRead, Resource::Platform),
        });
        let Some(row) = seen else {
            return Err(self.unseen(|tx| Ok(store::webhooks::get(tx, id)?.is_some())));
        };
        match &row.tenant_id {
            Some(tenant) => self.require(self.operation.right, Resource::Tenant(tenant))?,
            None if self.operation.is_mutating() => self.require(Right::PlatformManage, Resource::Platform)?,
            None => self.require(Right::PlatformRead, Resource::Platform)?,
        }
        Ok(row)
    }

    /// Compares the version that the caller saw with the one that is there.
    pub fn check_version(&self, if_match: Option<i64>, version: i64) -> Result<(), Refusal> {
        match if_match {
            Some(given) if given != version => {
                let detail = format!("The version is {version}; If-Match says {given}.");
                let problem = Problem::new(Code::StaleVersion, detail);
                Err(problem.with_field("If-Match", format!("\"{version}\", after looking at what changed")).into())
            }
            _ => Ok(()),
        }
    }

    /// Where a page of this list starts.
    pub(crate) fn cursor(&self, query: &impl Paged) -> Result<Cursor, Refusal> {
        Ok(Cursor::read(query, self.binding)?)
    }

    /// Writes down long work that this request starts, and answers its id.
    pub fn start(&mut self, work: Work<'_>) -> Result<OperationId, StoreError> {
        let id = OperationId::from_parts(self.stamp.now, self.stamp.bits());
        let new = store::operations::OperationNew {
            id: &id,
            kind: self.operation.id,
            noun: work.noun,
            subject_id: work.subject_id,
            tenant_id: work.tenant_id,
            project_id: work.project_id,
            created_by: &self.caller.principal_id,
            succeeds_in: work.succeeds_in,
            fails_in: work.fails_in,
        };
        store::operations::insert(self.tx, new, self.stamp.now)?;
        Ok(id)
    }

    // The one place where existence could be told from absence. It is not even looked up.
    fn unseen(&mut self, exists: impl FnOnce(&mut Tx<'_>) -> Result<bool, StoreError>) -> Refusal {
        if model::planted!(ForeignIdTells) && exists(self.tx).is_ok_and(|exists| exists) {
            return Refusal::new(Code::Forbidden, format!("Your role does not allow {} here.", self.operation.id));
        }
        Refusal::not_found()
    }
}

/// Long work to write down.
#[derive(Debug, Clone, Copy)]
pub struct Work<'a> {
    /// What kind of thing it works on.
    pub noun: Noun,
    /// Which.
    pub subject_id: &'a str,
    /// The tenant it belongs to.
    pub tenant_id: Option<&'a TenantId>,
    /// The project it belongs to.
    pub project_id: Option<&'a ProjectId>,
    /// States of the thing that end it well.
    pub succeeds_in: &'a [&'a str],
    /// States of the thing that end it badly.
    pub fails_in: &'a [&'a str],
}
