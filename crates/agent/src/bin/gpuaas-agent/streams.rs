//! Streams to the host's guests, as `run` has them: one place where the way to the guests is chosen.

use agent::{
    state::Enrolled,
    streams::{Dialer, NoDoor, Streams},
    wire::credential::Credential,
};

use crate::args::Join;

/// The streams of this host: to guests of its root process, if it is this machine.
pub(crate) fn streams(join: &Join, session: &str) -> Streams {
    if join.host().is_live() { Streams::new(join.hands(session)) } else { Streams::new(NoDoor) }
}

/// How a stream reaches the control plane: like every other call, on a connection of its own.
pub(crate) fn dialer(
    join: &Join,
    enrolled: &Enrolled,
    credential: &Credential,
    session: &str,
) -> Result<Dialer, String> {
    let (server, pin) = (join.server()?.clone(), join.pin(Some(enrolled))?);
    Ok(Dialer { server, pin, credential: credential.clone(), session: session.to_owned() })
}
