//! Operators: who runs the platform.

use api::{
    Nothing,
    identity::{OperatorCreate, OperatorCreateBody, OperatorList, OperatorRemove, PrincipalPath},
};
use clap::Subcommand;
use model::{identity::PlatformRole, text::Email};

use crate::{
    args::{Consent, Keyed, Pinned, examples, words},
    confirm::confirm,
    failure::Failure,
    resolve,
    session::{Extra, Session},
    table,
};

/// Verbs of operators.
#[derive(Debug, Subcommand)]
#[command(after_help = examples!["gpuaas operator list"])]
pub enum OperatorCommand {
    /// List the platform's operators
    #[command(after_help = examples!["gpuaas operator list"])]
    List,
    /// Make somebody an operator
    #[command(after_help = examples!["gpuaas operator create ops@cloud.example --role operator_read_only"])]
    Create {
        /// Who, by address
        email: Email,
        /// As what
        #[arg(long, value_parser = words!(PlatformRole))]
        role: PlatformRole,
        #[command(flatten)]
        keyed: Keyed,
    },
    /// Take an operator's platform role away
    #[command(after_help = examples!["gpuaas operator remove ops@cloud.example --yes"])]
    Remove {
        /// Id or address
        operator: String,
        #[command(flatten)]
        consent: Consent,
        #[command(flatten)]
        pinned: Pinned,
    },
}

/// Carries out a verb.
pub async fn run(session: &Session, command: OperatorCommand) -> Result<(), Failure> {
    match command {
        OperatorCommand::List => {
            session.print_list(&table::OPERATORS, session.list::<OperatorList, _>(Nothing {}).await?)
        }
        OperatorCommand::Create { email, role, keyed } => session.print(
            &session
                .send::<OperatorCreate>(Nothing {}, OperatorCreateBody { email, role }, Extra::keyed(&keyed))
                .await?,
        ),
        OperatorCommand::Remove { operator, consent, pinned } => {
            confirm(&consent, &format!("Take the platform role of {operator} away?"))?;
            let path = PrincipalPath { principal_id: resolve::operator(session, &operator).await? };
            session.send::<OperatorRemove>(path, Nothing {}, Extra::default().pinned(&pinned)).await?;
            session.note(&format!("{operator} is no operator any more"));
            Ok(())
        }
    }
}
