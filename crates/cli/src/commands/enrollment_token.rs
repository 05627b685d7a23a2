//! Enrollment tokens: each brings one host in, once. The secret is shown when the token is made and never again.

use api::{
    Nothing,
    supply::{
        EnrollmentTokenCreate, EnrollmentTokenCreateBody, EnrollmentTokenList, EnrollmentTokenPath,
        EnrollmentTokenRevoke, EnrollmentTokenShow,
    },
};
use clap::Subcommand;
use model::{
    EnrollmentTokenId,
    number::EnrollmentLifetimeS,
    text::{DisplayName, Slug},
};
use std::time::Duration;

use crate::{
    args::{Consent, Keyed, Pinned, examples},
    confirm::confirm,
    failure::Failure,
    resolve,
    session::{Extra, Session},
    table,
};

/// Verbs of enrollment tokens.
#[derive(Debug, Subcommand)]
#[command(after_help = examples!["gpuaas enrollment-token create h200-slices-09 --pool h200-slices"])]
pub enum EnrollmentTokenCommand {
    /// List enrollment tokens, used ones too
    #[command(after_help = examples!["gpuaas enrollment-token list", "gpuaas enrollment-token list -o json"])]
    List,
    /// Show an enrollment token, without its secret
    #[command(after_help = examples!["gpuaas enrollment-token show enr_01jh2n6f4zw8q9r0s1t2v3x4y5"])]
    Show {
        /// Id of the token
        token_id: EnrollmentTokenId,
    },
    /// Make a token that brings one host in; its secret is printed this once
    #[command(after_help = examples![
        "gpuaas enrollment-token create h200-slices-09 --pool h200-slices",
        "gpuaas enrollment-token create h200-slices-09 --pool h200-slices --serial S417733X9 --lifetime 5m -o json",
    ])]
    Create {
        /// What the host will be called; the name of a node that is there means: enroll it again
        name: Slug,
        /// Id or slug of the pool it will be in
        #[arg(long)]
        pool: String,
        /// The serial number its mainboard must have; any when absent
        #[arg(long)]
        serial: Option<DisplayName>,
        /// How long the token can be used, a minute to a quarter of an hour
        #[arg(long, default_value = "15m", value_name = "TIME", value_parser = crate::waiting::duration)]
        lifetime: Duration,
        #[command(flatten)]
        keyed: Keyed,
    },
    /// Take an unused token back
    #[command(after_help = examples!["gpuaas enrollment-token revoke enr_01jh2n6f4zw8q9r0s1t2v3x4y5 --yes"])]
    Revoke {
        /// Id of the token
        token_id: EnrollmentTokenId,
        #[command(flatten)]
        consent: Consent,
        #[command(flatten)]
        pinned: Pinned,
    },
}

fn lifetime(given: Duration) -> Result<EnrollmentLifetimeS, Failure> {
    let seconds = i64::try_from(given.as_secs()).unwrap_or(i64::MAX);
    EnrollmentLifetimeS::try_from(seconds)
        .map_err(|_| Failure::Usage("--lifetime: expected from 60s to 15m".to_owned()))
}

/// Carries out a verb.
pub async fn run(session: &Session, command: EnrollmentTokenCommand) -> Result<(), Failure> {
    match command {
        EnrollmentTokenCommand::List => {
            let all = session.list::<EnrollmentTokenList, _>(Nothing {}).await?;
            session.print_list(&table::ENROLLMENT_TOKENS, all)
        }
        EnrollmentTokenCommand::Show { token_id } => {
            let path = EnrollmentTokenPath { enrollment_token_id: token_id };
            session.print(&session.show::<EnrollmentTokenShow>(path).await?)
        }
        EnrollmentTokenCommand::Create { name, pool, serial, lifetime: given, keyed } => {
            let lifetime_s = lifetime(given)?;
            let pool_id = resolve::pool(session, &pool).await?;
            let body = EnrollmentTokenCreateBody { pool_id, node_name: name, hardware_serial: serial, lifetime_s };
            let made = session.send::<EnrollmentTokenCreate>(Nothing {}, body, Extra::keyed(&keyed)).await?;
            session.print(&made)?;
            session.note("keep the secret now: it is not stored and cannot be shown again");
            session.note(&format!(
                "on the host, with the secret in a file: gpuaas-agent run --server https://ADDRESS --authority-sha256 {} --token-file FILE",
                made.authority_sha256
            ));
            Ok(())
        }
        EnrollmentTokenCommand::Revoke { token_id: token, consent, pinned } => {
            confirm(&consent, &format!("Take enrollment token {token} back?"))?;
            let path = EnrollmentTokenPath { enrollment_token_id: token.clone() };
            session.send::<EnrollmentTokenRevoke>(path, Nothing {}, Extra::default().pinned(&pinned)).await?;
            session.note(&format!("enrollment token {token} revoked"));
            Ok(())
        }
    }
}
