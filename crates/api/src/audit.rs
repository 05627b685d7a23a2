//! The audit trail: who did what, in a hash chain.

use crate::{
    endpoints,
    page::{Page, PageQuery},
};
use model::{AuditId, TenantId, Timestamp, TokenId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// List audited actions the caller may see.
    AuditList = "audit_list", Get "/api/v1/audit", "audit", SelfRead { query: PageQuery, answer: Ok Page<AuditView>, problems: [InvalidPageToken] }
}
