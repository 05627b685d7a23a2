//! Profiles: which server, with which token.

use api::{Nothing, identity::Whoami};
use clap::{Args, Subcommand};
use serde::Serialize;
use std::{collections::BTreeMap, io::Read};

use crate::{
    args::{Consent, Global, examples},
    config::{self, Config, DEFAULT_PROFILE, Profile},
    confirm::confirm,
    failure::Failure,
    output,
    session::{self, Session},
};

/// How to sign in.
#[derive(Debug, Args)]
#[command(after_help = examples![
    "gpuaas login --url http://127.0.0.1:7070",
    "gpuaas login --profile lab --url https://gpu.lab.example --token-stdin < token.txt",
])]
pub struct Login {
    /// Read the token from standard input instead of asking for it
    #[arg(long)]
    token_stdin: bool,
    /// Save without asking the server whether the token works
    #[arg(long)]
    offline: bool,
    /// Do not make this the profile in use
    #[arg(long)]
    keep_current: bool,
}

/// Verbs of the configuration.
#[derive(Debug, Subcommand)]
#[command(after_help = examples!["gpuaas config show", "gpuaas config use lab"])]
pub enum ConfigCommand {
    /// Print where the configuration file is
    #[command(after_help = examples!["gpuaas config path"])]
    Path,
    /// Show the profiles and what a command would use now, with tokens masked
    #[command(after_help = examples!["gpuaas config show", "gpuaas config show --profile lab -o json"])]
    Show,
    /// Make a profile the one in use
    #[command(after_help = examples!["gpuaas config use lab"])]
    Use {
        /// The profile
        name: String,
    },
    /// Forget a profile and its token
    #[command(after_help = examples!["gpuaas config remove lab --yes"])]
    Remove {
        /// The profile
        name: String,
        #[command(flatten)]
        consent: Consent,
    },
}

fn given_token(login: &Login, global: &Global) -> Result<String, Failure> {
    let text = if login.token_stdin {
        let mut text = String::new();
        std::io::stdin()
            .take(16 * 1024)
            .read_to_string(&mut text)
            .map_err(|error| Failure::Local(format!("cannot read standard input: {error}")))?;
        text
    } else if let Some(token) = global.token.as_ref().filter(|token| !token.is_empty()) {
        token.clone()
    } else if output::can_ask() {
        output::ask("token (not shown): ");
        console::Term::stderr()
            .read_secure_line()
            .map_err(|error| Failure::Local(format!("cannot read the token: {error}")))?
    } else {
        return Err(Failure::Usage("give the token with --token-stdin or GPUAAS_TOKEN".to_owned()));
    };
    let token = text.trim();
    if token.is_empty() || !token.chars().all(|c| c.is_ascii_graphic()) {
        return Err(Failure::Usage("that is not a token: expected printable characters without spaces".to_owned()));
    }
    Ok(token.to_owned())
}

/// Saves a server and a token as a profile, after asking the server whose it is.
pub async fn login(global: &Global, login: &Login) -> Result<(), Failure> {
    let said = session::said(global);
    let mut config = config::load()?;
    let name = said.profile.clone().unwrap_or_else(|| DEFAULT_PROFILE.to_owned());
    let known_url = config.profiles.get(&name).map(|profile| profile.url.clone());
    let url = config::clean_url(said.url.as_deref().or(known_url.as_deref()).unwrap_or(config::DEFAULT_URL))?;
    let token = given_token(login, global)?;
    if !login.offline {
        let session =
            Session::to(global, config::Chosen { url: url.clone(), token: Some(token.clone()), profile: None })?;
        let who = session.show::<Whoami>(Nothing {}).await?;
        session.note(&format!("signed in to {url} as {} until {}", who.principal.name, who.token.expires_at));
    }
    config.profiles.insert(name.clone(), Profile { url, token: Some(token) });
    if !login.keep_current || config.profile.is_none() {
        config.profile = Some(name.clone());
    }
    let path = config::save(&config)?;
    if !global.quiet {
        output::note(&format!("profile {name} saved in {}", path.display()));
    }
    Ok(())
}

#[derive(Serialize)]
struct ShownProfile {
    url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
}

#[derive(Serialize)]
struct ShownConfig {
    path: String,
    in_use: Option<ShownProfile>,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<String>,
    profiles: BTreeMap<String, ShownProfile>,
}

fn shown(url: &str, token: Option<&String>) -> ShownProfile {
    ShownProfile { url: url.to_owned(), token: token.map(|token| config::masked(token)) }
}

/// Carries out a verb.
pub fn run(global: &Global, command: ConfigCommand) -> Result<(), Failure> {
    match command {
        ConfigCommand::Path => output::data(&config::path()?.display().to_string()),
        ConfigCommand::Show => {
            let config = config::load()?;
            let chosen = config::choose(&session::said(global), &config)?;
            let profiles = config
                .profiles
                .iter()
                .map(|(name, profile)| (name.clone(), shown(&profile.url, profile.token.as_ref())))
                .collect();
            let in_use = Some(shown(&chosen.url, chosen.token.as_ref()));
            output::object(
                global.output,
                &ShownConfig { path: config::path()?.display().to_string(), in_use, profile: config.profile, profiles },
            )
        }
        ConfigCommand::Use { name } => {
            let mut config = config::load()?;
            known(&config, &name)?;
            config.profile = Some(name);
            config::save(&config).map(|_| ())
        }
        ConfigCommand::Remove { name, consent } => {
            let mut config = config::load()?;
            known(&config, &name)?;
            confirm(&consent, &format!("Forget profile {name} and its token?"))?;
            config.profiles.remove(&name);
            if config.profile.as_ref() == Some(&name) {
                config.profile = None;
            }
            config::save(&config).map(|_| ())
        }
    }
}

fn known(config: &Config, name: &str) -> Result<(), Failure> {
    let said = config::Said { profile: Some(name.to_owned()), ..config::Said::default() };
    config::choose(&said, config).map(|_| ())
}
