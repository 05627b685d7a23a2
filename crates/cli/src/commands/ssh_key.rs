//! Public keys of a project: who may sign in to its guests.

use api::{
    Nothing,
    ssh_key::{SshKeyCreate, SshKeyCreateBody, SshKeyDelete, SshKeyList, SshKeyPath, SshKeyShow},
    tenancy::ProjectPath,
};
use clap::{Args, Subcommand};
use model::{SshKeyId, text::PublicKeyLine, text::Slug};
use std::path::{Path, PathBuf};

use crate::{
    args::{Consent, Keyed, Pinned, examples},
    confirm::confirm,
    failure::Failure,
    resolve,
    session::{Extra, Session},
    table,
};

/// A `.pub` file is one short line.
const FILE_BYTES_MAX: u64 = 64 * 1024;

/// Verbs of public keys.
#[derive(Debug, Subcommand)]
#[command(after_help = examples!["gpuaas ssh-key add laptop --project aurora/vision --file ~/.ssh/id_ed25519.pub"])]
pub enum SshKeyCommand {
    /// Add a public key to a project
    #[command(after_help = examples![
        "gpuaas ssh-key add laptop --project aurora/vision --file ~/.ssh/id_ed25519.pub",
        "gpuaas ssh-key add laptop --project aurora/vision --key 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJmUo4aHXqXLnqOZ+ozqUbbCZMYTR7xr1ZpHv1kmlgfQ ada'",
    ])]
    Add(Add),
    /// List a project's public keys
    #[command(after_help = examples!["gpuaas ssh-key list --project aurora/vision"])]
    List {
        /// Id, tenant/slug, or a slug that only one project has
        #[arg(long)]
        project: String,
    },
    /// Show a public key
    #[command(after_help = examples!["gpuaas ssh-key show ssh_01jh2n6f4zw8q9r0s1t2v3x4y5"])]
    Show {
        /// Id of the key
        key: SshKeyId,
    },
    /// Remove a public key; what was launched with it keeps it
    #[command(after_help = examples!["gpuaas ssh-key remove ssh_01jh2n6f4zw8q9r0s1t2v3x4y5 --yes"])]
    Remove {
        /// Id of the key
        key: SshKeyId,
        #[command(flatten)]
        consent: Consent,
        #[command(flatten)]
        pinned: Pinned,
    },
}

/// A key to add.
#[derive(Debug, Args)]
pub struct Add {
    /// A name for it, unique in the project
    name: Slug,
    /// Id, tenant/slug, or a slug that only one project has
    #[arg(long)]
    project: String,
    /// The `.pub` file; never the private half
    #[arg(long, value_name = "PATH", required_unless_present = "key")]
    file: Option<PathBuf>,
    /// The line of the `.pub` file itself
    #[arg(long, value_name = "LINE", conflicts_with = "file")]
    key: Option<PublicKeyLine>,
    #[command(flatten)]
    keyed: Keyed,
}

fn read(path: &Path) -> Result<PublicKeyLine, Failure> {
    let failed = |why: String| Failure::Usage(format!("cannot use {}: {why}", path.display()));
    let about = std::fs::metadata(path).map_err(|error| failed(error.to_string()))?;
    if about.len() > FILE_BYTES_MAX {
        return Err(failed("it is too long for a public key".to_owned()));
    }
    let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    // It must not leave the machine.
    if text.contains("PRIVATE KEY") {
        return Err(failed("it is a private key; give the .pub file beside it".to_owned()));
    }
    text.trim().parse().map_err(|error| failed(format!("{error}")))
}

/// Carries out a verb.
pub async fn run(session: &Session, command: SshKeyCommand) -> Result<(), Failure> {
    match command {
        SshKeyCommand::Add(add) => {
            let public_key = match (add.key, &add.file) {
                (Some(key), _) => key,
                (None, Some(path)) => read(path)?,
                (None, None) => return Err(Failure::Usage("give --file or --key".to_owned())),
            };
            let path = ProjectPath { project_id: resolve::project(session, &add.project).await? };
            let body = SshKeyCreateBody { name: add.name, public_key };
            session.print(&session.send::<SshKeyCreate>(path, body, Extra::keyed(&add.keyed)).await?)
        }
        SshKeyCommand::List { project } => {
            let path = ProjectPath { project_id: resolve::project(session, &project).await? };
            session.print_list(&table::SSH_KEYS, session.list::<SshKeyList, _>(path).await?)
        }
        SshKeyCommand::Show { key } => {
            session.print(&session.show::<SshKeyShow>(SshKeyPath { ssh_key_id: key }).await?)
        }
        SshKeyCommand::Remove { key, consent, pinned } => {
            confirm(&consent, &format!("Remove public key {key}?"))?;
            let path = SshKeyPath { ssh_key_id: key.clone() };
            session.send::<SshKeyDelete>(path, Nothing {}, Extra::default().pinned(&pinned)).await?;
            session.note(&format!("public key {key} removed"));
            Ok(())
        }
    }
}
