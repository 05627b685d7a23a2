//! Commands that open a store themselves, without a server: checking it, and creating its first operator.

use clap::Args;
use control::{Ports, auditor, bootstrap as first};
use model::{PrincipalId, TokenId, identity::PlatformRole, number::TokenLifetimeS, text::Email};
use serde::Serialize;
use std::{
    path::{Path, PathBuf},
    time::Duration,
};
use store::{Db, DbConfig, Stamp, StoreError, principals};

use crate::{
    args::{Global, examples},
    failure::Failure,
    output,
    progress::patiently,
    session::Items,
    table,
};

/// Which store.
#[derive(Debug, Clone, Args)]
pub struct Database {
    /// The store: sqlite:PATH or postgres://USER@HOST/DATABASE
    #[arg(long, env = "GPUAAS_DATABASE", hide_env_values = true, value_name = "URL", value_parser = store_address)]
    pub database: String,
}

/// An address of a kind that there is a store for. The address itself stays out of the message: it may hold a password.
fn store_address(text: &str) -> Result<String, String> {
    match text.split_once(':') {
        Some(("sqlite" | "postgres" | "postgresql", rest)) if !rest.is_empty() => Ok(text.to_owned()),
        _ => Err("a store is sqlite:PATH or postgres://USER@HOST/DATABASE".to_owned()),
    }
}

impl Database {
    /// The folder that an embedded store is in; none for one that is elsewhere, or nowhere.
    pub fn folder(&self) -> Option<PathBuf> {
        let path = Path::new(self.database.strip_prefix("sqlite:")?);
        if path == Path::new(":memory:") {
            return None;
        }
        Some(path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned())
    }

    /// How to open it.
    pub fn config(&self, ports: &Ports) -> DbConfig {
        DbConfig { now: ports.now(), ..DbConfig::new(&self.database) }
    }
}

/// What to check.
#[derive(Debug, Args)]
#[command(after_help = examples![
    "gpuaas verify --database sqlite:gpuaas.db",
    "gpuaas verify --database postgres://gpuaas@db.example/gpuaas -o json",
])]
pub struct Verify {
    #[command(flatten)]
    database: Database,
    /// Broken rules to show at most, for each check
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(i64).range(1..=10_000))]
    limit: i64,
}

/// Who becomes the first operator.
#[derive(Debug, Args)]
#[command(after_help = examples![
    "gpuaas bootstrap --database sqlite:gpuaas.db --email ops@cloud.example",
    "gpuaas bootstrap --database sqlite:gpuaas.db --email ops@cloud.example --new-token",
])]
pub struct Bootstrap {
    #[command(flatten)]
    database: Database,
    /// The operator, by address
    #[arg(long)]
    email: Email,
    /// How long the token lives, a minute to a year
    #[arg(long, default_value = "30d", value_name = "TIME", value_parser = crate::waiting::duration)]
    lifetime: Duration,
    /// Give an operator who lost the last token another one
    #[arg(long)]
    new_token: bool,
}

#[derive(Serialize)]
struct Broken {
    rule: &'static str,
    subject: String,
    detail: String,
}

/// What a store's refusal means for the command.
pub fn store_failure(error: &StoreError) -> Failure {
    match error {
        StoreError::Refused(_) => Failure::Local(error.to_string()),
        StoreError::Unavailable(_) | StoreError::Busy => Failure::Server(error.to_string()),
        other => Failure::Local(format!("the store failed: {other}")),
    }
}

async fn aside<T: Send + 'static>(
    global: &Global,
    what: &str,
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, Failure> {
    let done = patiently(global.quiet, what, tokio::task::spawn_blocking(work)).await;
    let done = done.map_err(|error| Failure::Local(format!("the work ended early: {error}")))?;
    done.map_err(|error| store_failure(&error))
}

/// Checks every rule against a store and lists what is broken. Broken rules are a failure.
pub async fn verify(global: &Global, verify: &Verify) -> Result<(), Failure> {
    let (config, limit) = (verify.database.config(&Ports::system()), verify.limit);
    let found =
        aside(global, "checking every rule", move || auditor::check(&Db::open_for_reading(&config)?, limit)).await?;
    let broken: Vec<Broken> =
        found.into_iter().map(|one| Broken { rule: one.invariant, subject: one.subject, detail: one.detail }).collect();
    output::list(global.output, &table::VIOLATIONS, &broken, &Items { items: &broken })?;
    match broken.len() {
        0 => Ok(()),
        1 => Err(Failure::Local("1 rule is broken".to_owned())),
        many => Err(Failure::Local(format!("{many} times a rule is broken"))),
    }
}

#[derive(Serialize)]
struct Made {
    email: Email,
    principal_id: PrincipalId,
    token_id: TokenId,
    secret: String,
}

enum Outcome {
    Made(Made),
    ThereIsOne,
    NoSuchOperator,
}

fn make(db: &Db, email: Email, lifetime: TokenLifetimeS, new_token: bool) -> Result<Outcome, StoreError> {
    let ports = Ports::system();
    db.write(move |tx| {
        let mut bits = || ports.id_bits();
        let mut stamp = Stamp::new(ports.now(), &mut bits);
        if !new_token {
            let made = first::first_operator(tx, &mut stamp, &ports, &email, lifetime)?;
            return Ok(made.map_or(Outcome::ThereIsOne, |made| {
                let secret = made.secret.reveal().to_owned();
                Outcome::Made(Made {
                    email: email.clone(),
                    principal_id: made.principal_id,
                    token_id: made.token_id,
                    secret,
                })
            }));
        }
        let known = principals::by_email(tx, email.as_str())?;
        let Some(operator) = known.filter(|one| one.platform_role == Some(PlatformRole::PlatformOperator)) else {
            return Ok(Outcome::NoSuchOperator);
        };
        let (token_id, secret) = first::token_for(tx, &mut stamp, &ports, &operator.id, lifetime)?;
        let secret = secret.reveal().to_owned();
        Ok(Outcome::Made(Made { email: email.clone(), principal_id: operator.id, token_id, secret }))
    })
}

/// Creates the first operator, or gives one a new token, and prints the secret once.
pub async fn bootstrap(global: &Global, bootstrap: &Bootstrap) -> Result<(), Failure> {
    let seconds = i64::try_from(bootstrap.lifetime.as_secs()).unwrap_or(i64::MAX);
    let lifetime = TokenLifetimeS::try_from(seconds)
        .map_err(|_| Failure::Usage("--lifetime: expected from 60s to 365d".to_owned()))?;
    let (config, email, new_token) =
        (bootstrap.database.config(&Ports::system()), bootstrap.email.clone(), bootstrap.new_token);
    let outcome =
        aside(global, "opening the store", move || make(&Db::open(&config)?, email, lifetime, new_token)).await?;
    match outcome {
        Outcome::Made(made) => {
            output::object(global.output, &made)?;
            if !global.quiet {
                output::note("keep the secret now: it is not stored and cannot be shown again; `gpuaas login` takes it");
            }
            Ok(())
        }
        Outcome::ThereIsOne => Err(Failure::Conflict(
            "the store has an operator already; more are made with `gpuaas operator create`, and one who lost the last token gets another with --new-token".to_owned(),
        )),
        Outcome::NoSuchOperator => Err(Failure::NotFound(format!("{} is no operator of this store", bootstrap.email))),
    }
}
