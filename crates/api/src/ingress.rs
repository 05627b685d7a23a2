//! Ways in from outside. They are refused until an operator has said, region by region, who owns the firewall and the
//! addresses and what may be used of them; then each is accepted inside of that, every address and port once. Accepting one
//! writes it down and opens nothing.

use crate::{
    catalog::{Cidr, RegionPath},
    endpoint::{Nothing, not_null},
    endpoints,
    page::{Page, PageQuery},
    problem::FieldError,
    tenancy::ProjectPath,
};
use model::{
    AllocationId, IngressId, ProjectId, RegionId, TenantId, Timestamp,
    number::Port,
    supply::{IngressProtocol, IngressState},
    text::DisplayName,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;

/// Ranges that one region may have.
pub const RANGES_MAX: usize = 16;

/// Names a way in.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IngressPath {
    /// The way in.
    pub ingress_id: IngressId,
}

/// Addresses and ports that may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IngressRange {
    /// Addresses, such as `203.0.113.8/29`. The first and the last are not given out, unless there is only one or two.
    pub addresses: Cidr,
    /// Lowest port.
    pub port_min: Port,
    /// Highest port.
    pub port_max: Port,
}

/// Who owns ways in, and what may be used.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IngressSettingsBody {
    /// Who answers for the firewall.
    pub firewall_owner: DisplayName,
    /// Who answers for the addresses.
    pub address_owner: DisplayName,
    /// What may be used: 1 to 16 ranges.
    #[schemars(length(min = 1, max = RANGES_MAX))]
    pub ranges: Vec<IngressRange>,
}
impl IngressSettingsBody {
    fn check(&self) -> Result<(), FieldError> {
        let wrong = |pointer: String, detail: &str| Err(FieldError { pointer, detail: detail.to_owned() });
        if !(1..=RANGES_MAX).contains(&self.ranges.len()) {
            return wrong("/ranges".to_owned(), "1 to 16 ranges");
        }
        for (at, range) in self.ranges.iter().enumerate() {
            if range.port_min > range.port_max {
                return wrong(format!("/ranges/{at}/port_max"), "a port that is not below port_min");
            }
        }
        Ok(())
    }
}

/// Who owns ways in to a region.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IngressSettingsView {
    /// The region.
    pub region_id: RegionId,
    /// Who answers for the firewall; absent while nobody does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firewall_owner: Option<DisplayName>,
    /// Who answers for the addresses; absent while nobody does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address_owner: Option<DisplayName>,
    /// What may be used.
    pub ranges: Vec<IngressRange>,
    /// One sentence.
    pub projected: String,
    /// The version of the region, which these are part of; the ETag.
    pub version: i64,
}

/// A way in that somebody wants.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IngressCreateBody {
    /// To whose guest.
    pub allocation_id: AllocationId,
    /// What travels.
    pub protocol: IngressProtocol,
    /// The guest's port.
    pub guest_port: Port,
    /// The public port; one that is free when absent.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub public_port: Option<Port>,
}

/// A way in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IngressView {
    /// Its id.
    pub id: IngressId,
    /// The tenant it belongs to.
    pub tenant_id: TenantId,
    /// The project it belongs to.
    pub project_id: ProjectId,
    /// To whose guest. It goes when the allocation does.
    pub allocation_id: AllocationId,
    /// The region it leads into.
    pub region_id: RegionId,
    /// What travels.
    pub protocol: IngressProtocol,
    /// The public address.
    pub address: Ipv4Addr,
    /// The public port.
    pub public_port: i64,
    /// The guest's port.
    pub guest_port: i64,
    /// Where it stands.
    pub execution: IngressState,
    /// One sentence.
    pub projected: String,
    /// Rises by one with every change; the ETag.
    pub version: i64,
    /// When it came to be.
    pub created_at: Timestamp,
}

endpoints! {
    /// Show who owns ways in to a region, and what may be used.
    IngressSettingsShow = "ingress_settings_show", Get "/api/v1/regions/{region_id}/ingress-settings", "ingress", PlatformRead { path: RegionPath, answer: Ok IngressSettingsView }
    /// Say who owns ways in to a region, and what may be used. What is in use already must stay inside.
    IngressSettingsSet = "ingress_settings_set", Put "/api/v1/regions/{region_id}/ingress-settings", "ingress", CatalogManage { path: RegionPath, body: IngressSettingsBody, check: IngressSettingsBody::check, answer: Ok IngressSettingsView, if_match: Optional, problems: [StillInUse] }
    /// Take that back. There must be no way in left.
    IngressSettingsClear = "ingress_settings_clear", Delete "/api/v1/regions/{region_id}/ingress-settings", "ingress", CatalogManage { path: RegionPath, answer: NoContent Nothing, if_match: Optional, problems: [StillInUse] }
    /// List a project's ways in.
    IngressList = "ingress_list", Get "/api/v1/projects/{project_id}/ingresses", "ingress", ProjectRead { path: ProjectPath, query: PageQuery, answer: Ok Page<IngressView>, problems: [InvalidPageToken] }
    /// Ask for a way in to a guest.
    IngressCreate = "ingress_create", Post "/api/v1/projects/{project_id}/ingresses", "ingress", ProjectUse { path: ProjectPath, body: IngressCreateBody, answer: Created IngressView, problems: [IngressNotOwned, IngressOutOfRange, NameTaken, StateConflict, UnknownReference] }
    /// Show a way in.
    IngressShow = "ingress_show", Get "/api/v1/ingresses/{ingress_id}", "ingress", ProjectRead { path: IngressPath, answer: Ok IngressView }
    /// Give a way in back.
    IngressDelete = "ingress_delete", Delete "/api/v1/ingresses/{ingress_id}", "ingress", ProjectUse { path: IngressPath, answer: NoContent Nothing, if_match: Optional }
}
