//! Usage as it was: intervals read from claims, which carry what was sold and at what price. No bill is made of them here.

use crate::{
    endpoints,
    page::{Page, PageToken, paged},
    tenancy::ProjectPath,
};
use model::{AllocationId, ClaimId, SkuId, Timestamp, number::PageSize, sku::CapacityShape, time::UtcTime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which time, and which page.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UsageQuery {
    /// From this moment on; from the beginning when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<UtcTime>,
    /// Until before this moment; until now when absent. Nothing is counted beyond now, and nothing lies before `from`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<UtcTime>,
    /// How many items at most; 50 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_size: Option<PageSize>,
    /// Where to go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_token: Option<PageToken>,
}

paged!(UsageQuery);

/// One claim as an interval of use. The claims of one allocation are told one by one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UsageView {
    /// The claim.
    pub claim_id: ClaimId,
    /// Who held it.
    pub allocation_id: AllocationId,
    /// What was sold.
    pub sku_id: SkuId,
    /// Its short name then.
    pub sku: String,
    /// In which form.
    pub shape: CapacityShape,
    /// GPUs to bill.
    pub gpus: i64,
    /// The price it was sold at.
    pub price_micros_per_gpu_hour: i64,
    /// When it began.
    pub from: Timestamp,
    /// When it ended; absent while it goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Timestamp>,
    /// What the part of it that lies in the asked time comes to, in millionths of the currency, rounded down.
    pub micros: i64,
}

endpoints! {
    /// List what a project held, claim by claim.
    UsageList = "usage_list", Get "/api/v1/projects/{project_id}/usage", "usage", ProjectRead { path: ProjectPath, query: UsageQuery, answer: Ok Page<UsageView>, problems: [InvalidPageToken] }
}
