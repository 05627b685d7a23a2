//! Looking at governance: cohorts, flavors, priority classes and hardware profiles. They are changed with `gpuaas apply`;
//! queues are in a file of their own.

use api::{
    Nothing,
    governance::{
        CohortList, CohortPath, CohortShow, FlavorList, FlavorPath, FlavorShow, GovernanceShow, HardwareProfileList,
        HardwareProfilePath, HardwareProfileShow, PriorityClassList, PriorityClassPath, PriorityClassShow,
    },
};
use clap::Subcommand;
use model::text::Slug;

use super::apply::governance::as_file;
use crate::{args::examples, failure::Failure, session::Session, table};

/// Verbs of cohorts.
#[derive(Debug, Subcommand)]
#[command(after_help = examples!["gpuaas cohort list"])]
pub enum CohortCommand {
    /// List cohorts
    #[command(after_help = examples!["gpuaas cohort list"])]
    List,
    /// Show a cohort
    #[command(after_help = examples!["gpuaas cohort show science -o yaml"])]
    Show {
        /// Short name of the cohort
        cohort: Slug,
    },
}

/// Verbs of flavors.
#[derive(Debug, Subcommand)]
#[command(after_help = examples!["gpuaas flavor list"])]
pub enum FlavorCommand {
    /// List flavors
    #[command(after_help = examples!["gpuaas flavor list"])]
    List,
    /// Show a flavor
    #[command(after_help = examples!["gpuaas flavor show h200"])]
    Show {
        /// Short name of the flavor
        flavor: Slug,
    },
}

/// Verbs of priority classes.
#[derive(Debug, Subcommand)]
#[command(after_help = examples!["gpuaas priority-class list"])]
pub enum PriorityClassCommand {
    /// List priority classes
    #[command(after_help = examples!["gpuaas priority-class list"])]
    List,
    /// Show a priority class
    #[command(after_help = examples!["gpuaas priority-class show urgent"])]
    Show {
        /// Short name of the class
        priority_class: Slug,
    },
}

/// Verbs of hardware profiles.
#[derive(Debug, Subcommand)]
#[command(after_help = examples!["gpuaas hardware-profile list"])]
pub enum HardwareProfileCommand {
    /// List hardware profiles
    #[command(after_help = examples!["gpuaas hardware-profile list"])]
    List,
    /// Show a hardware profile
    #[command(after_help = examples!["gpuaas hardware-profile show training"])]
    Show {
        /// Short name of the profile
        hardware_profile: Slug,
    },
}

/// Verbs of governance as a whole.
#[derive(Debug, Subcommand)]
#[command(after_help = examples!["gpuaas governance export"])]
pub enum GovernanceCommand {
    /// Write all objects as one file that `gpuaas apply` reads: YAML unless JSON is asked for
    #[command(after_help = examples!["gpuaas governance export > governance.yaml"])]
    Export,
}

/// Carries out a verb of cohorts.
pub async fn cohort(session: &Session, command: CohortCommand) -> Result<(), Failure> {
    match command {
        CohortCommand::List => session.print_list(&table::COHORTS, session.list::<CohortList, _>(Nothing {}).await?),
        CohortCommand::Show { cohort } => session.print(&session.show::<CohortShow>(CohortPath { cohort }).await?),
    }
}

/// Carries out a verb of flavors.
pub async fn flavor(session: &Session, command: FlavorCommand) -> Result<(), Failure> {
    match command {
        FlavorCommand::List => session.print_list(&table::FLAVORS, session.list::<FlavorList, _>(Nothing {}).await?),
        FlavorCommand::Show { flavor } => session.print(&session.show::<FlavorShow>(FlavorPath { flavor }).await?),
    }
}

/// Carries out a verb of priority classes.
pub async fn priority_class(session: &Session, command: PriorityClassCommand) -> Result<(), Failure> {
    match command {
        PriorityClassCommand::List => {
            session.print_list(&table::PRIORITY_CLASSES, session.list::<PriorityClassList, _>(Nothing {}).await?)
        }
        PriorityClassCommand::Show { priority_class } => {
            session.print(&session.show::<PriorityClassShow>(PriorityClassPath { priority_class }).await?)
        }
    }
}

/// Carries out a verb of hardware profiles.
pub async fn hardware_profile(session: &Session, command: HardwareProfileCommand) -> Result<(), Failure> {
    match command {
        HardwareProfileCommand::List => {
            session.print_list(&table::HARDWARE_PROFILES, session.list::<HardwareProfileList, _>(Nothing {}).await?)
        }
        HardwareProfileCommand::Show { hardware_profile } => {
            session.print(&session.show::<HardwareProfileShow>(HardwareProfilePath { hardware_profile }).await?)
        }
    }
}

/// Carries out a verb of governance.
pub async fn governance(session: &Session, command: GovernanceCommand) -> Result<(), Failure> {
    let GovernanceCommand::Export = command;
    let objects = session.show::<GovernanceShow>(Nothing {}).await?.governance;
    session.print_file(&as_file(session, objects).await?)
}
