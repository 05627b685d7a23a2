//! Which server, with which token. A value comes from the flag, else the environment, else the chosen profile of the
//! configuration file, else the default. The file is `$XDG_CONFIG_HOME/gpuaas/config.toml`; it holds tokens, so it is only
//! ever written readable by its owner.
//!
//! A profile's token goes to that profile's server and nowhere else: naming another server with `--url` or `GPUAAS_URL`
//! does not send it there.

use etcetera::BaseStrategy;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
};

use crate::{failure::Failure, output};

/// The server when nothing else is said: where `gpuaas serve` and `gpuaas dev` listen.
pub const DEFAULT_URL: &str = "http://127.0.0.1:7070";

/// The profile that `login` writes when none is named.
pub const DEFAULT_PROFILE: &str = "default";

/// One server and how to reach it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The server.
    pub url: String,
    /// The token to send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

/// The configuration file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The profile in use when none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Every profile by name.
    #[serde(default)]
    pub profiles: BTreeMap<String, Profile>,
}

/// What was said on the command line or in the environment.
#[derive(Debug, Clone, Default)]
pub struct Said {
    /// The server.
    pub url: Option<String>,
    /// The token.
    pub token: Option<String>,
    /// The profile.
    pub profile: Option<String>,
}

/// What a command uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// The server, without a slash at the end.
    pub url: String,
    /// The token.
    pub token: Option<String>,
    /// The profile, when one took part.
    pub profile: Option<String>,
}

/// Where the configuration file is.
pub fn path() -> Result<PathBuf, Failure> {
    let dirs = etcetera::choose_base_strategy()
        .map_err(|error| Failure::Local(format!("cannot find the home directory: {error}")))?;
    Ok(dirs.config_dir().join("gpuaas").join("config.toml"))
}

/// Reads the configuration; an absent file is an empty one.
pub fn load() -> Result<Config, Failure> {
    let path = path()?;
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Config::default());
        }
        Err(error) => return Err(Failure::Local(format!("cannot read {}: {error}", path.display()))),
    };
    if is_open_to_others(&path) {
        output::note(&format!("warning: others can read {}; run: chmod 600 {}", path.display(), path.display()));
    }
    toml::from_str(&text).map_err(|error| Failure::Local(format!("{} is not right: {error}", path.display())))
}

/// Writes the configuration, readable by its owner only, in one step.
pub fn save(config: &Config) -> Result<PathBuf, Failure> {
    let path = path()?;
    let text = toml::to_string_pretty(config)
        .map_err(|error| Failure::Local(format!("cannot write the configuration: {error}")))?;
    private_write(&path, &text).map_err(|error| Failure::Local(format!("cannot write {}: {error}", path.display())))?;
    Ok(path)
}

/// Writes a file that only its owner can read: a new file beside it takes its place, so no reader sees half of it.
pub fn private_write(path: &Path, text: &str) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let beside = folder.join(format!(".{name}.{}", std::process::id()));
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&beside)?;
    let written =
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).and_then(|()| std::fs::rename(&beside, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    written
}

#[cfg(unix)]
fn is_open_to_others(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o077 != 0)
}
#[cfg(not(unix))]
fn is_open_to_others(_: &Path) -> bool {
    false
}

/// Puts what was said and what is configured together.
pub fn choose(said: &Said, config: &Config) -> Result<Chosen, Failure> {
    let named = said.profile.as_ref().or(config.profile.as_ref());
    let profile = match named {
        Some(name) => Some((name, config.profiles.get(name).ok_or_else(|| unknown_profile(name, config))?)),
        None => None,
    };
    let url =
        clean_url(said.url.as_deref().or(profile.map(|(_, profile)| profile.url.as_str())).unwrap_or(DEFAULT_URL))?;
    let same_server = profile.filter(|(_, profile)| clean_url(&profile.url).is_ok_and(|theirs| theirs == url));
    let token = said.token.clone().or_else(|| same_server.and_then(|(_, profile)| profile.token.clone()));
    Ok(Chosen { url, token, profile: same_server.map(|(name, _)| name.clone()) })
}

fn unknown_profile(name: &str, config: &Config) -> Failure {
    let known: Vec<&str> = config.profiles.keys().map(String::as_str).collect();
    let known = if known.is_empty() { "none yet; `gpuaas login` makes one".to_owned() } else { known.join(", ") };
    Failure::Usage(format!("there is no profile `{name}`; there are: {known}"))
}

/// A server's address in the form it is compared and used in.
pub fn clean_url(text: &str) -> Result<String, Failure> {
    let refuse = || Failure::Usage(format!("`{text}` is not the address of a server; expected such as {DEFAULT_URL}"));
    let url: reqwest::Url = text.parse().map_err(|_| refuse())?;
    let plain = matches!(url.scheme(), "http" | "https")
        && url.has_host()
        && url.username().is_empty()
        && url.password().is_none();
    if !plain || url.query().is_some() || url.fragment().is_some() {
        return Err(refuse());
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

/// A token as it may be shown: enough to tell two apart, not enough to use.
pub fn masked(token: &str) -> String {
    let shown: String = token.chars().take(8).filter(|c| c.is_ascii_graphic()).collect();
    if token.len() > 16 { format!("{shown}…") } else { "…".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> Config {
        let profile = |url: &str, token: &str| Profile { url: url.to_owned(), token: Some(token.to_owned()) };
        Config {
            profile: Some("work".to_owned()),
            profiles: BTreeMap::from([
                ("work".to_owned(), profile("https://work.example/", "work-token")),
                ("lab".to_owned(), profile("http://lab.example:7070", "lab-token")),
            ]),
        }
    }
    fn said(url: &str, token: &str, profile: &str) -> Said {
        let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Said { url: some(url), token: some(token), profile: some(profile) }
    }

    #[test]
    fn what_is_said_wins_over_the_profile_and_the_profile_over_the_default() {
        let chosen = |said: &Said| choose(said, &config()).map(|chosen| (chosen.url, chosen.token)).unwrap();
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(chosen(&said("", "", "")), ("https://work.example".to_owned(), text("work-token")));
        assert_eq!(chosen(&said("", "", "lab")), ("http://lab.example:7070".to_owned(), text("lab-token")));
        assert_eq!(chosen(&said("", "mine", "lab")), ("http://lab.example:7070".to_owned(), text("mine")));
        let nothing = choose(&said("", "", ""), &Config::default()).unwrap();
        assert_eq!(nothing, Chosen { url: DEFAULT_URL.to_owned(), token: None, profile: None });
    }

    #[test]
    fn a_profiles_token_is_not_sent_to_another_server() {
        assert_eq!(choose(&said("https://other.example", "", ""), &config()).unwrap().token, None);
        assert_eq!(
            choose(&said("https://work.example", "", ""), &config()).unwrap().token.as_deref(),
            Some("work-token")
        );
    }

    #[test]
    fn unknown_profiles_and_bad_addresses_are_usage_errors() {
        assert!(
            matches!(choose(&said("", "", "nope"), &config()), Err(Failure::Usage(text)) if text.contains("lab, work"))
        );
        for url in ["", "work.example", "ftp://x", "https://user:pass@x", "https://x/?a=b", "https://x/#a", "http://"] {
            assert!(matches!(clean_url(url), Err(Failure::Usage(_))), "{url}");
        }
    }

    #[test]
    fn a_masked_token_cannot_be_used() {
        assert_eq!(masked("gpuaas_tok_0123456789abcdef"), "gpuaas_t…");
        assert_eq!(masked("short"), "…");
    }
}
