//! Whole machines: who provides them, what each provider last showed, and where that does not agree with the platform.

use api::{
    Nothing,
    machine::{MachineList, MachineSync, ProviderList},
};
use clap::Subcommand;

use crate::{
    args::{Keyed, examples},
    failure::Failure,
    output,
    session::{Extra, Items, Session},
    table,
};

/// Verbs of machines.
#[derive(Debug, Subcommand)]
#[command(after_help = examples!["gpuaas machine list", "gpuaas machine sync"])]
pub enum MachineCommand {
    /// List the machines of all providers, with what does not agree with the platform
    #[command(after_help = examples!["gpuaas machine list", "gpuaas machine list -o json"])]
    List,
    /// Look at all machines of all providers again, soon
    #[command(after_help = examples!["gpuaas machine sync"])]
    Sync {
        #[command(flatten)]
        keyed: Keyed,
    },
}

/// Verbs of providers.
#[derive(Debug, Subcommand)]
#[command(after_help = examples!["gpuaas provider list"])]
pub enum ProviderCommand {
    /// List the providers of machines, and how the last look at each went
    #[command(after_help = examples!["gpuaas provider list", "gpuaas provider list -o json"])]
    List,
}

/// Carries out a verb of machines.
pub async fn run(session: &Session, command: MachineCommand) -> Result<(), Failure> {
    match command {
        MachineCommand::List => session.print_list(&table::MACHINES, session.list::<MachineList, _>(Nothing {}).await?),
        MachineCommand::Sync { keyed } => {
            session.send::<MachineSync>(Nothing {}, Nothing {}, Extra::keyed(&keyed)).await?;
            session.note("asked for; `gpuaas provider list` says when it was done");
            Ok(())
        }
    }
}

/// Carries out a verb of providers.
pub async fn providers(session: &Session, command: ProviderCommand) -> Result<(), Failure> {
    let ProviderCommand::List = command;
    let seen = session.show::<ProviderList>(Nothing {}).await?;
    output::list(session.format, &table::PROVIDERS, &seen.items, &Items { items: &seen.items })
}
