//! API tokens. A secret is shown once, when its token is made.

use api::{
    Nothing,
    identity::{TokenCreate, TokenCreateBody, TokenList, TokenPath, TokenRevoke, TokenShow},
};
use clap::{Args, Subcommand};
use model::{PrincipalId, TokenId, identity::TokenScope, number::TokenLifetimeS, text::DisplayName};
use std::time::Duration;

use crate::{
    args::{Consent, Keyed, examples, words},
    confirm::confirm,
    failure::Failure,
    resolve,
    session::{Extra, Session},
    table,
};

/// Verbs of tokens.
#[derive(Debug, Subcommand)]
#[command(after_help = examples!["gpuaas token list", "gpuaas token create laptop --scope write --lifetime 30d"])]
pub enum TokenCommand {
    /// List the tokens you may see: your own, and those of a tenant you administer
    #[command(after_help = examples!["gpuaas token list", "gpuaas token list -o json"])]
    List,
    /// Show a token, without its secret
    #[command(after_help = examples!["gpuaas token show tok_01jh2n6f4zw8q9r0s1t2v3x4y5"])]
    Show {
        /// Id of the token
        token_id: TokenId,
    },
    /// Make a token; its secret is printed this once
    #[command(after_help = examples![
        "gpuaas token create laptop --scope write --lifetime 30d",
        "gpuaas token create dashboard --scope read --lifetime 365d --restrict-project aurora/vision",
        "gpuaas token create ci --scope write --lifetime 30d --service-account aurora/builder -o json",
    ])]
    Create(TokenCreateArgs),
    /// Revoke tokens
    #[command(after_help = examples!["gpuaas token revoke tok_01jh2n6f4zw8q9r0s1t2v3x4y5 --yes"])]
    Revoke {
        /// Ids of the tokens
        #[arg(required = true, value_name = "TOKEN_ID")]
        token_ids: Vec<TokenId>,
        #[command(flatten)]
        consent: Consent,
    },
}

/// What a new token is.
#[derive(Debug, Args)]
pub struct TokenCreateArgs {
    /// What it is for
    name: DisplayName,
    /// How far it reaches
    #[arg(long, value_parser = words!(TokenScope))]
    scope: TokenScope,
    /// How long it lives, a minute to a year
    #[arg(long, default_value = "30d", value_name = "TIME", value_parser = crate::waiting::duration)]
    lifetime: Duration,
    /// Whose it is, by id; your own when absent
    #[arg(long, conflicts_with = "service_account", value_name = "ID")]
    principal: Option<PrincipalId>,
    /// Whose it is: a service account, by id or tenant/name
    #[arg(long)]
    service_account: Option<String>,
    /// Restrict it to one tenant, by id or slug
    #[arg(long, value_name = "TENANT")]
    restrict_tenant: Option<String>,
    /// Restrict it to one project, by id or tenant/slug
    #[arg(long, value_name = "PROJECT")]
    restrict_project: Option<String>,
    #[command(flatten)]
    keyed: Keyed,
}

fn lifetime(given: Duration) -> Result<TokenLifetimeS, Failure> {
    let seconds = i64::try_from(given.as_secs()).unwrap_or(i64::MAX);
    TokenLifetimeS::try_from(seconds).map_err(|_| Failure::Usage("--lifetime: expected from 60s to 365d".to_owned()))
}

async fn create(session: &Session, args: TokenCreateArgs) -> Result<(), Failure> {
    let lifetime_s = lifetime(args.lifetime)?;
    let principal_id = match (args.principal, args.service_account) {
        (Some(id), _) => Some(id),
        (None, Some(name)) => Some(resolve::service_account(session, &name).await?),
        (None, None) => None,
    };
    let tenant_id = match args.restrict_tenant {
        Some(name) => Some(resolve::tenant(session, &name).await?),
        None => None,
    };
    let project_id = match args.restrict_project {
        Some(name) => Some(resolve::project(session, &name).await?),
        None => None,
    };
    let body = TokenCreateBody { name: args.name, scope: args.scope, lifetime_s, principal_id, tenant_id, project_id };
    let made = session.send::<TokenCreate>(Nothing {}, body, Extra::keyed(&args.keyed)).await?;
    session.print(&made)?;
    session.note("keep the secret now: it is not stored and cannot be shown again");
    Ok(())
}

/// Carries out a verb.
pub async fn run(session: &Session, command: TokenCommand) -> Result<(), Failure> {
    match command {
        TokenCommand::List => session.print_list(&table::TOKENS, session.list::<TokenList, _>(Nothing {}).await?),
        TokenCommand::Show { token_id } => session.print(&session.show::<TokenShow>(TokenPath { token_id }).await?),
        TokenCommand::Create(args) => create(session, args).await,
        TokenCommand::Revoke { token_ids, consent } => {
            let names: Vec<&str> = token_ids.iter().map(TokenId::as_str).collect();
            confirm(&consent, &format!("Revoke {}?", names.join(", ")))?;
            let mut outcomes = Vec::new();
            for token_id in token_ids {
                let revoked = session
                    .send::<TokenRevoke>(TokenPath { token_id: token_id.clone() }, Nothing {}, Extra::default())
                    .await;
                outcomes.push(revoked.map(|_| session.note(&format!("token {token_id} revoked"))));
            }
            session.all_or_partial(outcomes).map(|_| ())
        }
    }
}
