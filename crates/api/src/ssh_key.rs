//! Public keys of a project. A launch names some of them, and whoever has the private half may sign in to the guest.

use crate::{
    endpoint::Nothing,
    endpoints,
    page::{Page, PageQuery},
    tenancy::ProjectPath,
};
use model::{
    ProjectId, SshKeyId, TenantId, Timestamp,
    text::{PublicKeyLine, Slug},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Names a public key.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SshKeyPath {
    /// The key.
    pub ssh_key_id: SshKeyId,
}

/// A key to add.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SshKeyCreateBody {
    /// A name for it, unique in the project.
    pub name: Slug,
    /// The key as it stands in a `.pub` file: Ed25519, ECDSA, RSA of at least 2048 bits, or one on a security key; no options.
    pub public_key: PublicKeyLine,
}

/// A public key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SshKeyView {
    /// Its id.
    pub id: SshKeyId,
    /// The tenant it belongs to.
    pub tenant_id: TenantId,
    /// The project it belongs to.
    pub project_id: ProjectId,
    /// Its name.
    pub name: Slug,
    /// The key in one line.
    pub public_key: String,
    /// SHA-256 of the key, as `ssh-keygen -l` shows it.
    pub fingerprint: String,
    /// Rises by one with every change; the ETag.
    pub version: i64,
    /// When it was added.
    pub created_at: Timestamp,
}

endpoints! {
    /// List a project's public keys.
    SshKeyList = "ssh_key_list", Get "/api/v1/projects/{project_id}/ssh-keys", "ssh keys", ProjectRead { path: ProjectPath, query: PageQuery, answer: Ok Page<SshKeyView>, problems: [InvalidPageToken] }
    /// Add a public key to a project.
    SshKeyCreate = "ssh_key_create", Post "/api/v1/projects/{project_id}/ssh-keys", "ssh keys", ProjectUse { path: ProjectPath, body: SshKeyCreateBody, answer: Created SshKeyView, problems: [NameTaken, SshKeyRefused, StateConflict] }
    /// Show a public key.
    SshKeyShow = "ssh_key_show", Get "/api/v1/ssh-keys/{ssh_key_id}", "ssh keys", ProjectRead { path: SshKeyPath, answer: Ok SshKeyView }
    /// Remove a public key. What was launched with it keeps it.
    SshKeyDelete = "ssh_key_delete", Delete "/api/v1/ssh-keys/{ssh_key_id}", "ssh keys", ProjectUse { path: SshKeyPath, answer: NoContent Nothing, if_match: Optional }
}
