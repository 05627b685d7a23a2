//! Rows as readers see them: the four states side by side, and one sentence that says what they come to. Nothing is decided
//! here and nothing is left out of a view because of who reads it; what a caller may not see never gets this far.

mod decision;
mod fleet;
mod operation;
mod workload;

pub(crate) use decision::{checks, refusal};
pub use decision::{decision, placed_decision};
pub(crate) use fleet::{CLEANUP_NEEDS_OPERATOR, OVERRIDDEN, profiles, waiting_override};
pub use fleet::{availability, claim, disk_grant, drift, node, slot, slot_cell, task};
pub use operation::operation;
pub(crate) use workload::{Beside, explanation, workload};

use api::{
    allocation::{AccessView, AllocationObserved, AllocationView},
    audit::AuditView,
    catalog::{PoolView, RegionView, SkuView, SlotProfileView},
    event::{CloudEvent, EventData},
    identity::{BindingView, MemberView, PrincipalView, TokenView},
    image::{ImageKeyView, ImageView},
    ssh_key::SshKeyView,
    states::{FaultView, ProgressView, WaitView},
    tenancy::{Holdings, ProjectView, TenantView},
};
use model::{
    Timestamp,
    allocation::{Desired as AllocationDesired, State as AllocationState},
    guest::LOGIN_USER,
    image::ImageState,
    number::GpuCount,
    runtime::GuestSeen,
    tenancy::{Desired, State},
};
use store::{
    StoreError,
    allocations::AllocationRow,
    audit::Chained,
    events::EventRow,
    images::{ImageKeyRow, ImageRow},
    living::Life,
    members::{Binding, MemberRow},
    pools::PoolRow,
    principals::PrincipalRow,
    projects::{ProjectLeft, ProjectRow},
    regions::RegionRow,
    skus::SkuRow,
    slot_profiles::SlotProfileRow,
    ssh_keys::SshKeyRow,
    tenants::{TenantLeft, TenantRow},
    tokens::TokenRow,
};

/// How far a workflow has come.
pub fn progress(life: &Life, now: Timestamp) -> ProgressView {
    let wait = life.wait.as_ref().map(|wait| WaitView {
        code: wait.code.clone(),
        because: wait.because.clone(),
        source: wait.source.clone(),
        until: wait.until,
        over_budget: now > wait.until,
    });
    let fault = life.last_fault.as_ref().map(|last| FaultView { count: life.faults, last: last.clone() });
    ProgressView { since: life.state_since, wait, fault }
}

/// A sentence, with what is waited for.
fn sentence(base: &str, life: &Life) -> String {
    match (&life.wait, &life.last_fault) {
        (_, Some(_)) => format!("{base} The last attempt failed; it is tried again."),
        (Some(wait), None) => format!("{base} {}", wait.because),
        (None, None) => base.to_owned(),
    }
}

fn tenancy_sentence(noun: &str, state: State, desired: Desired, life: &Life) -> String {
    let base = match (state, desired) {
        (State::Deleted, _) => return format!("The {noun} is deleted and nothing of it is left."),
        (State::Deleting, _) => format!("The {noun} is being deleted."),
        (_, Desired::Deleted) => format!("The {noun} is about to be deleted."),
        (State::Creating, _) => format!("The {noun} is being created."),
        (State::Active, Desired::Suspended) => format!("The {noun} is about to be suspended."),
        (State::Active, Desired::Active) => format!("The {noun} is active."),
        (State::Suspended, Desired::Active) => format!("The {noun} is about to be active again."),
        (State::Suspended, Desired::Suspended) => {
            format!("The {noun} is suspended: what runs goes on, nothing new starts.")
        }
    };
    sentence(&base, life)
}

/// What was counted, or nothing before the first count.
fn holdings(observed: &str) -> Holdings {
    serde_json::from_str(observed).unwrap_or_default()
}

/// What a tenant holds, counted at the moment given.
pub fn tenant_holdings(left: &TenantLeft, now: Timestamp) -> Holdings {
    Holdings {
        projects: left.projects,
        members: left.members,
        service_accounts: left.service_accounts,
        tokens: left.tokens_live,
        allocations: left.allocations_live,
        claims: left.claims_active,
        counted_at: Some(now),
    }
}

/// What a project holds, counted at the moment given.
pub fn project_holdings(left: &ProjectLeft, now: Timestamp) -> Holdings {
    Holdings {
        projects: 0,
        members: left.members,
        service_accounts: 0,
        tokens: left.tokens_live,
        allocations: left.allocations_live,
        claims: left.claims_active,
        counted_at: Some(now),
    }
}

/// A tenant.
pub fn tenant(row: TenantRow, now: Timestamp) -> TenantView {
    TenantView {
        observed: holdings(&row.observed),
        projected: tenancy_sentence("tenant", row.state, row.desired, &row.life),
        progress: progress(&row.life, now),
        id: row.id,
        slug: row.slug,
        name: row.name,
        desired: row.desired,
        execution: row.state,
        version: row.version,
        created_at: row.created,
    }
}

/// A project.
pub fn project(row: ProjectRow, now: Timestamp) -> ProjectView {
    ProjectView {
        observed: holdings(&row.observed),
        projected: tenancy_sentence("project", row.state, row.desired, &row.life),
        progress: progress(&row.life, now),
        id: row.id,
        tenant_id: row.tenant_id,
        slug: row.slug,
        name: row.name,
        gpu_cap: row.gpu_cap,
        desired: row.desired,
        execution: row.state,
        version: row.version,
        created_at: row.created,
    }
}

/// A membership.
pub fn member(row: MemberRow) -> MemberView {
    MemberView {
        id: row.id,
        tenant_id: row.tenant_id,
        project_id: row.project_id,
        principal_id: row.principal_id,
        principal_kind: row.principal_kind,
        principal_name: row.principal_name,
        role: row.role,
        version: row.version,
        created_at: row.created,
    }
}

/// A role that a token carries.
pub fn binding(row: Binding) -> BindingView {
    BindingView { role: row.role, tenant_id: row.tenant_id, project_id: row.project_id }
}

/// A person or service account.
pub fn principal(row: PrincipalRow) -> PrincipalView {
    PrincipalView {
        id: row.id,
        kind: row.kind,
        name: row.name,
        tenant_id: row.tenant_id,
        platform_role: row.platform_role,
        version: row.version,
        created_at: row.created,
    }
}

/// A token, without its secret.
pub fn token(row: TokenRow) -> Result<TokenView, StoreError> {
    Ok(TokenView {
        name: stored(&row.name, "tokens.name")?,
        id: row.id,
        principal_id: row.principal_id,
        scope: row.scope,
        tenant_id: row.tenant_id,
        project_id: row.project_id,
        expires_at: row.expires,
        revoked_at: row.revoked,
        version: row.version,
        created_at: row.created,
    })
}

/// A stored text in a type that is narrower than its column.
fn stored<T: std::str::FromStr>(text: &str, column: &str) -> Result<T, StoreError>
where
    T::Err: std::fmt::Display,
{
    text.parse().map_err(|error: T::Err| StoreError::Corrupt { column: column.to_owned(), why: error.to_string() })
}

/// A region.
pub fn region(row: RegionRow) -> RegionView {
    RegionView {
        id: row.id,
        slug: row.slug,
        name: row.name,
        enabled: row.enabled,
        version: row.version,
        created_at: row.created,
    }
}

/// A pool.
pub fn pool(row: PoolRow) -> Result<PoolView, StoreError> {
    let range = row.private_range.as_deref().map(|range| stored(range, "pools.private_range")).transpose()?;
    Ok(PoolView {
        private_range: range,
        id: row.id,
        region_id: row.region_id,
        slug: row.slug,
        name: row.name,
        gpu_model: row.gpu_model,
        slices_enabled: row.slices_enabled,
        version: row.version,
        created_at: row.created,
    })
}

/// A SKU.
pub fn sku(row: SkuRow) -> Result<SkuView, StoreError> {
    let counts = row.terms.gpu_counts.iter().map(|count| GpuCount::try_from(*count));
    let gpu_counts = counts
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| StoreError::Corrupt { column: "skus.gpu_counts".to_owned(), why: error.to_string() })?;
    Ok(SkuView {
        id: row.id,
        slug: row.slug,
        name: row.terms.name,
        shape: row.shape,
        gpu_model: row.gpu_model,
        gpu_counts,
        profile: row.terms.profile,
        vcpus_per_gpu: row.terms.vcpus_per_gpu,
        memory_mib_per_gpu: row.terms.memory_mib_per_gpu,
        price_micros_per_gpu_hour: row.terms.price_micros_per_gpu_hour,
        enabled: row.terms.enabled,
        version: row.version,
        created_at: row.created,
    })
}

/// A slot profile.
pub fn slot_profile(row: SlotProfileRow) -> SlotProfileView {
    SlotProfileView {
        slug: row.slug,
        name: row.terms.name,
        gpu_model: row.gpu_model,
        vcpus: row.terms.vcpus,
        memory_mib: row.terms.memory_mib,
        min_disk_bytes: row.terms.min_disk_bytes,
        hugepage_kib: row.terms.hugepage_kib,
        needs_gpu: row.needs.gpu,
        needs_fabric: row.needs.fabric,
        version: row.version,
        created_at: row.created,
    }
}

/// An image.
pub fn image(row: ImageRow) -> ImageView {
    let projected = match row.state {
        ImageState::Registered => "Its entry is known; its bytes have not come yet.",
        ImageState::Available if row.is_default => "It can be launched, and is when nobody names another.",
        ImageState::Available => "It can be launched.",
        ImageState::Retired => "It is not launched any more; what runs from it goes on.",
    };
    ImageView {
        id: row.spec.id.clone(),
        state: row.state,
        is_default: row.is_default,
        entry: row.spec,
        projected: projected.to_owned(),
        version: row.version,
        created_at: row.created,
    }
}

/// A key that may sign images.
pub fn image_key(row: ImageKeyRow) -> ImageKeyView {
    ImageKeyView {
        key_id: row.key_id.to_string(),
        public_key: row.public_key,
        added_by: row.added_by,
        revoked_at: row.revoked,
        version: row.version,
        created_at: row.created,
    }
}

/// A public key.
pub fn ssh_key(row: SshKeyRow) -> SshKeyView {
    SshKeyView {
        id: row.id,
        tenant_id: row.tenant_id,
        project_id: row.project_id,
        name: row.name,
        public_key: row.public_key,
        fingerprint: row.fingerprint,
        version: row.version,
        created_at: row.created,
    }
}

fn allocation_sentence(row: &AllocationRow, observed: &AllocationObserved) -> String {
    let release_wanted = row.desired == AllocationDesired::Released;
    let base = match row.state {
        _ if release_wanted && row.desired_reason == "lease_ended" && !row.state.is_terminal() => {
            "Its lease has ended; it is being given back."
        }
        AllocationState::Requested if release_wanted => "It is about to be given back; nothing was placed.",
        AllocationState::Requested if row.workload_id.is_some() => "It waits in its queue.",
        AllocationState::Requested => "It is waiting to be placed.",
        AllocationState::Reserved | AllocationState::Provisioning | AllocationState::Running if release_wanted => {
            "It is about to be given back."
        }
        AllocationState::Reserved => "Its GPUs are reserved; the node has not been told yet.",
        AllocationState::Provisioning => "The node is building it.",
        AllocationState::Running => "It is running.",
        AllocationState::Releasing if observed.provision_failed => "It could not be built; the node is cleaning up.",
        AllocationState::Releasing => "It is being stopped and wiped.",
        AllocationState::Released if row.recreated_as.is_some() && row.workload_id.is_some() => {
            "It had to go; it was queued again."
        }
        AllocationState::Released if row.recreated_as.is_some() => {
            "Its node was evacuated; it was launched again elsewhere."
        }
        AllocationState::Released => "It was given back.",
        AllocationState::Refused => "It could not be placed.",
        AllocationState::Failed => "It could not be built; its GPUs were cleaned up.",
    };
    match &observed.reason {
        Some(reason) if row.life.wait.is_none() => sentence(&format!("{base} {reason}"), &row.life),
        _ => sentence(base, &row.life),
    }
}

/// How to reach a guest.
fn access(guest: &GuestSeen) -> AccessView {
    AccessView {
        user: LOGIN_USER.to_owned(),
        private_ip: guest.actual_ip.clone().unwrap_or_else(|| guest.expected_ip.clone()),
        mac: guest.mac.clone(),
        lease_state: guest.lease_state,
        host_key: guest.host_key.clone(),
    }
}

/// An allocation.
pub fn allocation(row: AllocationRow, now: Timestamp) -> Result<AllocationView, StoreError> {
    let observed: AllocationObserved = serde_json::from_str(&row.observed).unwrap_or_default();
    Ok(AllocationView {
        projected: allocation_sentence(&row, &observed),
        progress: progress(&row.life, now),
        name: stored(row.name.as_str(), "allocations.name")?,
        id: row.id,
        tenant_id: row.tenant_id,
        project_id: row.project_id,
        workload_id: row.workload_id,
        sku_id: row.sku_id,
        shape: row.shape,
        gpu_count: row.gpu_count,
        region_id: row.region_id,
        ssh_keys: row.terms.ssh_keys,
        image_sha256: row.terms.image.as_ref().map(|image| image.sha256.clone()),
        image_id: row.terms.image.map(|image| image.id),
        has_user_data: row.has_user_data,
        access: observed.guest.as_ref().filter(|_| observed.guest_up).map(access),
        labels: row.terms.labels,
        placement: row.terms.placement,
        lease_ends_at: row.terms.lease_ends,
        lease_warned_at: row.lease_warned,
        may_recreate: row.terms.may_recreate,
        recreated_from: row.recreated_from,
        recreated_as: row.recreated_as,
        desired: row.desired,
        desired_reason: row.desired_reason,
        observed,
        execution: row.state,
        version: row.version,
        created_at: row.created,
    })
}

/// An event of a store as a CloudEvent.
pub fn event(source: &str, row: EventRow) -> CloudEvent {
    CloudEvent {
        specversion: "1.0".to_owned(),
        id: row.id,
        source: source.to_owned(),
        event_type: api::event::event_type(row.noun, row.change),
        subject: row.subject_id,
        time: row.at,
        datacontenttype: "application/json".to_owned(),
        sequence: row.seq.to_string(),
        data: EventData {
            noun: row.noun,
            change: row.change,
            object_version: row.object_version,
            tenant_id: row.tenant_id,
            project_id: row.project_id,
            state_from: row.state_from,
            state_to: row.state_to,
            reason: row.reason,
            detail: row.detail.and_then(|detail| serde_json::from_str(&detail).ok()),
        },
    }
}

/// An audited action.
pub fn audit(chained: Chained) -> AuditView {
    let (row, link) = (chained.row, chained.link);
    AuditView {
        id: row.id,
        sequence: link.as_ref().map(|link| link.seq),
        actor: row.actor,
        token_id: row.token_id,
        action: row.action,
        subject: row.subject,
        tenant_id: row.tenant_id,
        request_id: row.request_id,
        at: row.at,
        prev_hash: chained.prev_hash,
        hash: link.map(|link| link.hash),
    }
}
