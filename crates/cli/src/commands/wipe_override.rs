//! Overrides: slots that two operators let go on without a proof of their wipe.

use api::{
    Nothing,
    wipe_override::{WipeOverrideApprove, WipeOverrideList, WipeOverridePath, WipeOverrideReject, WipeOverrideShow},
};
use clap::Subcommand;
use model::WipeOverrideId;

use crate::{
    args::{Consent, Keyed, examples},
    confirm::confirm,
    failure::Failure,
    session::{Extra, Session},
    table,
};

/// Verbs of overrides.
#[derive(Debug, Subcommand)]
#[command(after_help = examples!["gpuaas override list", "gpuaas override approve ovr_01jh2n6f4zw8q9r0s1t2v3x4y5"])]
pub enum OverrideCommand {
    /// List overrides, decided ones too
    #[command(after_help = examples!["gpuaas override list", "gpuaas override list -o json"])]
    List,
    /// Show an override
    #[command(after_help = examples!["gpuaas override show ovr_01jh2n6f4zw8q9r0s1t2v3x4y5"])]
    Show {
        /// Id of the override
        wipe_override: WipeOverrideId,
    },
    /// Agree to what another operator asked for; the slot is sold again without a proof
    #[command(after_help = examples!["gpuaas override approve ovr_01jh2n6f4zw8q9r0s1t2v3x4y5 --yes"])]
    Approve {
        /// Id of the override
        wipe_override: WipeOverrideId,
        #[command(flatten)]
        consent: Consent,
        #[command(flatten)]
        keyed: Keyed,
    },
    /// Refuse what another operator asked for; the slot stays blocked
    #[command(after_help = examples!["gpuaas override reject ovr_01jh2n6f4zw8q9r0s1t2v3x4y5"])]
    Reject {
        /// Id of the override
        wipe_override: WipeOverrideId,
        #[command(flatten)]
        keyed: Keyed,
    },
}

/// Carries out a verb.
pub async fn run(session: &Session, command: OverrideCommand) -> Result<(), Failure> {
    let path = |override_id| WipeOverridePath { override_id };
    match command {
        OverrideCommand::List => {
            session.print_list(&table::OVERRIDES, session.list::<WipeOverrideList, _>(Nothing {}).await?)
        }
        OverrideCommand::Show { wipe_override } => {
            session.print(&session.show::<WipeOverrideShow>(path(wipe_override)).await?)
        }
        OverrideCommand::Approve { wipe_override, consent, keyed } => {
            confirm(&consent, &format!("Let the slot of override {wipe_override} be sold again without a proof?"))?;
            let extra = Extra::keyed(&keyed);
            session.print(&session.send::<WipeOverrideApprove>(path(wipe_override), Nothing {}, extra).await?)
        }
        OverrideCommand::Reject { wipe_override, keyed } => {
            let extra = Extra::keyed(&keyed);
            session.print(&session.send::<WipeOverrideReject>(path(wipe_override), Nothing {}, extra).await?)
        }
    }
}
