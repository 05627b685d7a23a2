//! What `run`, `enroll` and `doctor` share: where the control plane is, which authority it must have, and which token the
//! host comes with.

use crate::{Outcome, args::Join, backoff::Backoff, images::ControlImages, output};
use agent::{
    enrollment::{self, EnrollFault},
    real::{RealHost, hostd_hands::HostdHands},
    state::{Enrolled, StateDir, token_sha256},
    wire::{CallFault, Client, address::ServerAddress, credential::Credential, trust::AuthorityPin},
};
use std::{fs, path::PathBuf, process::ExitCode, sync::Arc};

const TOKEN_FILE: &str = "/etc/gpuaas-agent/enrollment-token";

impl Join {
    /// Where the control plane is.
    pub(crate) fn server(&self) -> Result<&ServerAddress, String> {
        self.server.as_ref().ok_or_else(|| "no control plane is named; give --server or GPUAAS_AGENT_SERVER".to_owned())
    }

    /// The authority it must have: the one that was named, which must be the one that is remembered.
    pub(crate) fn pin(&self, enrolled: Option<&Enrolled>) -> Result<AuthorityPin, String> {
        match (self.authority_sha256, enrolled.map(|enrolled| enrolled.authority_sha256)) {
            (Some(named), Some(kept)) if named != kept => Err(format!(
                "this host was enrolled under the authority {kept}, not {named}; accepted: the same, or another --state-dir"
            )),
            (Some(pin), _) | (None, Some(pin)) => Ok(pin),
            (None, None) => {
                Err("no authority is named; give --authority-sha256 or GPUAAS_AGENT_AUTHORITY_SHA256".to_owned())
            }
        }
    }

    /// The one-time token, if one is there.
    pub(crate) fn token(&self) -> Result<Option<String>, String> {
        let (path, named) = self.token_path();
        match fs::read_to_string(&path) {
            Ok(text) if text.trim().is_empty() => Ok(None),
            Ok(text) => Ok(Some(text.trim().to_owned())),
            Err(error) if named || error.kind() != std::io::ErrorKind::NotFound => {
                Err(format!("{}: {error}", path.display()))
            }
            Err(_) => Ok(None),
        }
    }

    /// A token that this host was not enrolled with yet.
    pub(crate) fn new_token(&self, enrolled: &Enrolled) -> Option<String> {
        self.token().ok().flatten().filter(|token| token_sha256(token) != enrolled.token_sha256)
    }

    /// The host to show.
    pub(crate) fn host(&self) -> RealHost {
        RealHost::new(&self.root, &self.image_cache).with_lab(self.lab)
    }

    /// The same with its root process, if it is this machine.
    pub(crate) fn host_with_hands(&self, session: &str) -> RealHost {
        let host = self.host();
        if host.is_live() { host.with_hands(Arc::new(self.hands(session))) } else { host }
    }

    /// The machine's serial number: as far as the agent may read it, or else as its root process tells it.
    pub(crate) fn serial(&self) -> Option<String> {
        let host = self.host();
        host.serial().or_else(|| host.is_live().then(|| self.hands("").ready().ok()).flatten()?.hardware_serial)
    }

    /// The root process of this machine.
    pub(crate) fn hands(&self, session: &str) -> HostdHands {
        HostdHands::new(&self.hostd_socket, Arc::new(ControlImages::new(self, session)))
    }

    fn token_path(&self) -> (PathBuf, bool) {
        if let Some(path) = &self.token_file {
            return (path.clone(), true);
        }
        let credentials =
            std::env::var_os("CREDENTIALS_DIRECTORY").map(|folder| PathBuf::from(folder).join("enrollment-token"));
        (credentials.filter(|path| path.exists()).unwrap_or_else(|| PathBuf::from(TOKEN_FILE)), false)
    }
}

/// A client that speaks as this node.
pub(crate) fn client(
    join: &Join,
    enrolled: &Enrolled,
    credential: &Credential,
    session: &str,
) -> Result<Client, String> {
    let client = Client::new(join.server()?, join.pin(Some(enrolled))?, Some(credential));
    Ok(client.map_err(|fault| fault.to_string())?.with_session(session))
}

/// Trades the token for an identity.
pub(crate) async fn enroll(join: Join) -> Outcome {
    let state = StateDir::open(&join.state_dir).map_err(|fault| fault.to_string())?;
    let _lock = state.lock().map_err(|fault| fault.to_string())?;
    if let Some(enrolled) = state.enrolled().map_err(|fault| fault.to_string())?
        && join.new_token(&enrolled).is_none()
    {
        return Err(format!(
            "this host is enrolled as {} already; accepted: a new token, or another --state-dir",
            enrolled.node_id
        ));
    }
    let enrolled = traded(&join, &state).await.map_err(|fault| fault.to_string())?;
    output::data(&format!("{}\n", enrolled.node_id))?;
    Ok(ExitCode::SUCCESS)
}

/// Why a token was not traded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TradeFault {
    /// The command line does not say enough.
    #[error("{0}")]
    Settings(String),
    /// The trade failed.
    #[error(transparent)]
    Enroll(#[from] EnrollFault),
}

/// Trades the token once.
pub(crate) async fn traded(join: &Join, state: &StateDir) -> Result<Enrolled, TradeFault> {
    let server = join.server().map_err(TradeFault::Settings)?;
    let pin = match join.authority_sha256 {
        Some(pin) => pin,
        None => join.pin(state.enrolled().map_err(EnrollFault::State)?.as_ref()).map_err(TradeFault::Settings)?,
    };
    let token = join.token().map_err(TradeFault::Settings)?.ok_or_else(|| {
        TradeFault::Settings("this host is not enrolled and there is no token; give --token-file".to_owned())
    })?;
    Ok(enrollment::enroll(state, server, pin, &token, join.serial()).await?)
}

/// Trades the token, and tries again until it is done. A token that was refused is not shown again; whoever puts a new one in
/// its place need not restart anything.
pub(crate) async fn traded_in_the_end(join: &Join, state: &StateDir) -> Result<Enrolled, String> {
    let mut backoff = Backoff::default();
    let mut refused: Option<String> = None;
    loop {
        let token = join.token()?.map(|token| token_sha256(&token));
        if token.is_none() || token != refused {
            match traded(join, state).await {
                Ok(enrolled) => {
                    tracing::info!(node_id = %enrolled.node_id, "enrolled");
                    return Ok(enrolled);
                }
                Err(TradeFault::Enroll(EnrollFault::Call(fault))) if may_pass(&fault) => {
                    tracing::warn!(%fault, "not enrolled yet");
                }
                Err(TradeFault::Enroll(EnrollFault::Call(fault))) => {
                    tracing::error!(%fault, "the token was refused; waiting for another one in its place");
                    refused = token;
                }
                Err(fault) => return Err(fault.to_string()),
            }
        }
        tokio::time::sleep(backoff.next()).await;
    }
}

// What a control plane that restarts, is overloaded or has the wrong certificate may recover from. A token that was refused
// stays refused.
fn may_pass(fault: &CallFault) -> bool {
    match fault {
        CallFault::Refused { status, .. } => *status == 429 || *status >= 500,
        CallFault::Unreachable(_) | CallFault::Garbled(_) | CallFault::Untrusted(_) => true,
    }
}
