//! The authority that signs nodes' certificates: made once, in a folder that only its owner can read, and shared by all
//! replicas.

use clap::{Args, Subcommand};
use control::{
    Ports,
    authority::{Authority, AuthorityFault},
};
use serde::Serialize;
use std::path::{Path, PathBuf};

use crate::{
    args::{Global, examples},
    failure::Failure,
    output,
};

/// What to do with an authority.
#[derive(Debug, Subcommand)]
pub enum AuthorityCommand {
    /// Make the authority of a platform
    Init(Init),
    /// Show what agents are told to trust
    Show(Show),
}

/// Where to make it.
#[derive(Debug, Args)]
#[command(after_help = examples!["gpuaas authority init /etc/gpuaas/authority"])]
pub struct Init {
    /// The folder; made when absent, for its owner only
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Where it is.
#[derive(Debug, Args)]
#[command(after_help = examples!["gpuaas authority show /etc/gpuaas/authority", "gpuaas authority show /etc/gpuaas/authority -o json"])]
pub struct Show {
    /// The folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

#[derive(Serialize)]
struct Shown {
    folder: PathBuf,
    authority_sha256: String,
}

/// What a fault of an authority means for the command.
pub fn authority_failure(fault: &AuthorityFault) -> Failure {
    match fault {
        AuthorityFault::Exists(_) => Failure::Conflict(fault.to_string()),
        AuthorityFault::TrustDomain(_) | AuthorityFault::Name(_) => Failure::Usage(fault.to_string()),
        _ => Failure::Local(fault.to_string()),
    }
}

/// Carries out what was asked.
pub fn run(global: &Global, command: AuthorityCommand) -> Result<(), Failure> {
    match command {
        AuthorityCommand::Init(init) => {
            Authority::create(&init.folder, &Ports::system()).map_err(|fault| authority_failure(&fault))?;
            show(global, &init.folder)?;
            if !global.quiet {
                output::note(
                    "keep a copy of this folder in a safe place: without it every host has to be enrolled again",
                );
            }
            Ok(())
        }
        AuthorityCommand::Show(wanted) => show(global, &wanted.folder),
    }
}

fn show(global: &Global, folder: &Path) -> Result<(), Failure> {
    // What it calls itself does not matter for what it is.
    let authority = Authority::open(folder, "shown").map_err(|fault| authority_failure(&fault))?;
    output::object(global.output, &Shown { folder: folder.to_owned(), authority_sha256: authority.sha256() })
}
