//! Disk grants: disks that may be destroyed although something was found on them.

use api::{
    fleet::NodePath,
    supply::{DiskGrantCreate, DiskGrantCreateBody, DiskGrantDelete, DiskGrantList, DiskGrantPath},
};
use clap::Subcommand;
use model::text::{DeviceName, Note};

use crate::{
    args::{Consent, Keyed, examples},
    confirm::confirm,
    failure::Failure,
    resolve,
    session::{Extra, Session},
    table,
};

/// Verbs of disk grants.
#[derive(Debug, Subcommand)]
#[command(after_help = examples!["gpuaas disk-grant list h200-slices-01"])]
pub enum DiskGrantCommand {
    /// List the grants on a node
    #[command(after_help = examples!["gpuaas disk-grant list h200-slices-01"])]
    List {
        /// Id or host name of the node
        node: String,
    },
    /// Say that a disk may be destroyed although something was found on it
    #[command(after_help = examples![
        "gpuaas disk-grant create h200-slices-01 --disk eui.36344730528001250025384500000001 --reason 'wiped, ticket 4711'",
    ])]
    Create {
        /// Id or host name of the node
        node: String,
        /// The disk, by its own identity
        #[arg(long, value_name = "IDENTITY")]
        disk: DeviceName,
        /// What shows that its content may go
        #[arg(long)]
        reason: Note,
        #[command(flatten)]
        consent: Consent,
        #[command(flatten)]
        keyed: Keyed,
    },
    /// Take a grant back
    #[command(after_help = examples!["gpuaas disk-grant delete h200-slices-01 --disk eui.36344730528001250025384500000001"])]
    Delete {
        /// Id or host name of the node
        node: String,
        /// The disk, by its own identity
        #[arg(long, value_name = "IDENTITY")]
        disk: DeviceName,
    },
}

/// Carries out a verb.
pub async fn run(session: &Session, command: DiskGrantCommand) -> Result<(), Failure> {
    match command {
        DiskGrantCommand::List { node } => {
            let path = NodePath { node_id: resolve::node(session, &node).await? };
            session.print_list(&table::DISK_GRANTS, session.list::<DiskGrantList, _>(path).await?)
        }
        DiskGrantCommand::Create { node, disk, reason, consent, keyed } => {
            confirm(&consent, &format!("Let the platform destroy what is on disk {disk}?"))?;
            let path = NodePath { node_id: resolve::node(session, &node).await? };
            let body = DiskGrantCreateBody { nvme_identity: disk, reason };
            session.print(&session.send::<DiskGrantCreate>(path, body, Extra::keyed(&keyed)).await?)
        }
        DiskGrantCommand::Delete { node, disk } => {
            let path = DiskGrantPath { node_id: resolve::node(session, &node).await?, nvme_identity: disk.clone() };
            session.send::<DiskGrantDelete>(path, api::Nothing {}, Extra::default()).await?;
            session.note(&format!("grant for disk {disk} taken back"));
            Ok(())
        }
    }
}
