//! What the agent keeps on its host: who the node is, its key, and the journal, in one directory that nobody else may read.
//!
//! The identity is one file that is replaced as a whole, so a crash leaves either the old or the new one. A directory that
//! others can read is refused, and so is a second process on it.

use crate::{
    file_journal::{Lock, replace_file},
    wire::{
        credential::{Credential, CredentialFault, NodeKey},
        trust::AuthorityPin,
    },
};
use model::NodeId;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{
    fs::{self, DirBuilder, TryLockError},
    io,
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::{Path, PathBuf},
};

/// Where it is unless somebody says otherwise.
pub const STATE_DIR: &str = "/var/lib/gpuaas-agent";

/// What cannot be kept or read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StateFault {
    /// The directory or a file in it cannot be used.
    #[error("{path}: {reason}")]
    Unusable {
        /// Which.
        path: String,
        /// Why.
        reason: String,
    },
    /// Others can read what is in it.
    #[error("{path} can be read by others (mode {mode:o}); accepted: chmod 700")]
    Open {
        /// The directory.
        path: String,
        /// Its mode.
        mode: u32,
    },
    /// Another agent runs on it.
    #[error("another agent runs on {0}")]
    InUse(String),
    /// The key and certificate do not go together.
    #[error(transparent)]
    Credential(#[from] CredentialFault),
}

/// Who the node is, as it was enrolled.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Enrolled {
    /// The node.
    pub node_id: NodeId,
    /// The secret key in hexadecimal.
    pub key: String,
    /// Its certificate and what is between it and the authority.
    pub certificate_pem: String,
    /// The authority that the control plane is checked against.
    pub authority_sha256: AuthorityPin,
    /// SHA-256 of the token it was enrolled with, so that a new one can be told from the old one.
    pub token_sha256: String,
    /// How often to say "I am here".
    pub heartbeat_s: u32,
}

impl Enrolled {
    /// The key with its certificate.
    pub fn credential(&self) -> Result<Credential, CredentialFault> {
        Credential::new(NodeKey::from_hex(&self.key)?, &self.certificate_pem)
    }
}

/// The directory.
#[derive(Debug)]
pub struct StateDir {
    folder: PathBuf,
}

/// A key that a token is being traded with.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Enrolling {
    token_sha256: String,
    key: String,
}

impl StateDir {
    /// Opens the directory; makes it when it is not there.
    pub fn open(folder: &Path) -> Result<Self, StateFault> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|error| unusable(folder, &error))?;
        let metadata = fs::metadata(folder).map_err(|error| unusable(folder, &error))?;
        let mode = metadata.permissions().mode() & 0o7777;
        if mode & 0o077 != 0 {
            return Err(StateFault::Open { path: folder.display().to_string(), mode });
        }
        Ok(Self { folder: folder.to_owned() })
    }

    /// Keeps every other agent away from it for as long as the answer lives.
    pub fn lock(&self) -> Result<Lock, StateFault> {
        let path = self.folder.join("lock");
        Lock::take(&path).map_err(|fault| match fault {
            TryLockError::WouldBlock => StateFault::InUse(self.folder.display().to_string()),
            TryLockError::Error(error) => unusable(&path, &error),
        })
    }

    /// Where the journal lies.
    pub fn journal_path(&self) -> PathBuf {
        self.folder.join("journal")
    }

    /// Who the node is; `None` before it was enrolled.
    pub fn enrolled(&self) -> Result<Option<Enrolled>, StateFault> {
        read(&self.folder.join("identity.json"))
    }

    /// Keeps who the node is.
    pub fn keep(&self, enrolled: &Enrolled) -> Result<(), StateFault> {
        write(&self.folder.join("identity.json"), enrolled)?;
        let enrolling = self.folder.join("enrolling.json");
        match fs::remove_file(&enrolling) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(unusable(&enrolling, &error)),
            _ => Ok(()),
        }
    }

    /// The key to trade a token with. It is kept before it is used: when the answer is lost on the way, the next try says
    /// the same again instead of appearing as another host.
    pub fn enrolling_key(&self, token: &str) -> Result<NodeKey, StateFault> {
        let path = self.folder.join("enrolling.json");
        let token_sha256 = token_sha256(token);
        let before: Option<Enrolling> = read(&path)?;
        if let Some(before) = before.filter(|before| before.token_sha256 == token_sha256) {
            return Ok(NodeKey::from_hex(&before.key)?);
        }
        let key = NodeKey::generate()?;
        write(&path, &Enrolling { token_sha256, key: key.to_hex() })?;
        Ok(key)
    }
}

/// How a token is remembered without being kept.
pub fn token_sha256(token: &str) -> String {
    crate::hex::encode(&Sha256::digest(token))
}

fn read<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<Option<T>, StateFault> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unusable(path, &error)),
    };
    serde_json::from_slice(&bytes).map(Some).map_err(|error| unusable(path, &error))
}

fn write(path: &Path, value: &impl Serialize) -> Result<(), StateFault> {
    let mut bytes = serde_json::to_vec_pretty(value).map_err(|error| unusable(path, &error))?;
    bytes.push(b'\n');
    replace_file(path, &bytes).map_err(|error| unusable(path, &error))
}

fn unusable(path: &Path, error: &dyn std::fmt::Display) -> StateFault {
    StateFault::Unusable { path: path.display().to_string(), reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use model::Timestamp;

    fn enrolled() -> Enrolled {
        Enrolled {
            node_id: NodeId::from_parts(Timestamp::from_micros(1), [7; 10]),
            key: "00".repeat(32),
            certificate_pem: String::new(),
            authority_sha256: "ab".repeat(32).parse().unwrap(),
            token_sha256: token_sha256("gpe_x"),
            heartbeat_s: 10,
        }
    }

    #[test]
    fn an_identity_reads_back_and_nobody_else_may_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(&folder.path().join("state")).unwrap();
        assert!(state.enrolled().unwrap().is_none());
        state.enrolling_key("gpe_x").unwrap();
        state.keep(&enrolled()).unwrap();
        assert_eq!(state.enrolled().unwrap().unwrap().node_id, enrolled().node_id);
        let names: Vec<_> = fs::read_dir(&state.folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["identity.json"]);
        let mode = fs::metadata(state.folder.join("identity.json")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_directory_that_others_can_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        assert!(matches!(StateDir::open(folder.path()), Err(StateFault::Open { mode: 0o755, .. })));
    }

    #[test]
    fn a_second_process_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(&folder.path().join("state")).unwrap();
        let held = state.lock().unwrap();
        assert!(matches!(state.lock(), Err(StateFault::InUse(_))));
        drop(held);
        assert!(state.lock().is_ok());
    }

    #[test]
    fn the_same_token_is_traded_with_the_same_key_and_another_with_another() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(&folder.path().join("state")).unwrap();
        let first = state.enrolling_key("gpe_x").unwrap();
        assert_eq!(state.enrolling_key("gpe_x").unwrap().to_hex(), first.to_hex());
        assert_ne!(state.enrolling_key("gpe_y").unwrap().to_hex(), first.to_hex());
    }

    #[test]
    fn a_file_that_was_touched_by_hand_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(&folder.path().join("state")).unwrap();
        fs::write(state.folder.join("identity.json"), "{}").unwrap();
        assert!(matches!(state.enrolled(), Err(StateFault::Unusable { .. })));
    }
}
