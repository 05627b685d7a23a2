//! The audit trail: who did what, in a hash chain.

use crate::{
    endpoint::not_null,
    endpoints,
    page::{Page, PageToken, paged},
};
use model::{
    AuditId, TenantId, Timestamp, TokenId, listing::ListOrder, number::PageSize, text::RecordedName, time::UtcTime,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which audited actions, and which page of them. Every given field has to match.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AuditQuery {
    /// Only by this one: a principal's id, or `system:…`.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub actor: Option<RecordedName>,
    /// Only this operation.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub action: Option<RecordedName>,
    /// Only on this.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub subject: Option<RecordedName>,
    /// From this moment on; from the beginning when absent.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub from: Option<UtcTime>,
    /// Until before this moment; until now when absent.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub to: Option<UtcTime>,
    /// What comes first; the oldest when absent.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub order: Option<ListOrder>,
    /// How many items at most; 50 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_size: Option<PageSize>,
    /// Where to go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_token: Option<PageToken>,
}

paged!(AuditQuery);

/// One audited action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditView {
    /// Its id.
    pub id: AuditId,
    /// Its place in the chain, once numbered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<i64>,
    /// Who: a principal's id, or `system:…`.
    pub actor: String,
    /// With which token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_id: Option<TokenId>,
    /// The operation.
    pub action: String,
    /// On what.
    pub subject: String,
    /// In which tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    /// In which request.
    pub request_id: String,
    /// When.
    pub at: Timestamp,
    /// The hash of the entry before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prev_hash: Option<String>,
    /// SHA-256 over the entry and `prev_hash`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

endpoints! {
    /// List audited actions the caller may see, by who, what, on what and when.
    AuditList = "audit_list", Get "/api/v1/audit", "audit", SelfRead { query: AuditQuery, answer: Ok Page<AuditView>, problems: [InvalidPageToken] }
}
