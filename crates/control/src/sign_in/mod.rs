//! How people in browsers come in: with a token, or through an identity provider that speaks OpenID Connect. Either way they
//! get a session, which is a secret in a cookie that stands for a token.
//!
//! The provider is asked over the network, so nothing of that happens inside a transaction: what it says is fetched and
//! checked first, and one transaction then finds or makes the person, brings their roles to what the rules give
//! and opens the session.

mod admit;
mod claims;
mod fetched;
mod oidc;
mod rules;
mod site;

use std::sync::Arc;

use api::{Code, Problem, session::LIFETIME_HOURS};
use model::{AuditId, SessionId};
use serde_json::json;
use store::{
    Stamp, StoreError, Tx,
    audit::{self, AuditRow},
    sessions,
};

pub(crate) use admit::admit;
pub use oidc::{BadOidc, Oidc, OidcSettings};
pub(crate) use oidc::{CALLBACK, Returned};
pub use rules::{BadRules, Rule, Rules};
pub(crate) use site::BEGUN_COOKIE;
pub use site::{BadSite, Site};

use crate::{
    Ports,
    authz::{Caller, SignedIn, token::Secret},
};

/// How people sign in here.
#[derive(Debug, Clone, Default)]
pub struct SignIn {
    /// Where browsers find this site.
    pub site: Site,
    /// The identity provider, where there is one.
    pub oidc: Option<Arc<Oidc>>,
}

/// How somebody came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Way {
    /// With a token that they had.
    Token,
    /// Through the identity provider, with what changed about their roles on the way.
    Oidc {
        issuer: String,
        /// Roles that they have now and had not before.
        gained: Vec<String>,
        /// Roles that they had and have no longer.
        lost: Vec<String>,
    },
}

/// There is no identity provider here.
pub(crate) fn no_provider() -> Problem {
    Problem::new(Code::NotFound, "No identity provider is set up here. Sign in with a token.")
}

/// Opens a session for somebody who has shown who they are, and writes down that it was opened. The session ends with the
/// token that the caller has.
pub(crate) fn open(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    ports: &Ports,
    caller: &mut Caller,
    (way, request_id): (&Way, &str),
) -> Result<Secret, StoreError> {
    let (id, secret) = (SessionId::from_parts(stamp.now, stamp.bits()), Secret::mint_session(ports));
    let new = sessions::SessionNew {
        id: &id,
        secret_hash: &secret.hash(),
        principal_id: &caller.principal_id,
        token_id: &caller.token.id,
        owns_token: matches!(way, Way::Oidc { .. }),
        expires: stamp.now.plus_seconds(LIFETIME_HOURS * 3600).min(caller.token.expires),
    };
    sessions::insert(tx, new, stamp.now)?;
    let note = match way {
        Way::Token => json!({ "way": "token" }),
        Way::Oidc { issuer, gained, lost } => {
            json!({ "way": "oidc", "issuer": issuer, "gained": gained, "lost": lost })
        }
    };
    let row = AuditRow {
        id: AuditId::from_parts(stamp.now, stamp.bits()),
        actor: caller.principal_id.to_string(),
        token_id: Some(caller.token.id.clone()),
        action: "session_create".to_owned(),
        subject: id.to_string(),
        tenant_id: None,
        request_id: request_id.to_owned(),
        body: note.to_string(),
        at: stamp.now,
    };
    audit::append(tx, &row)?;
    let found = sessions::find_by_hash(tx, &secret.hash())?;
    caller.session = found.map(|row| SignedIn { row, csrf_token: secret.csrf_token() });
    Ok(secret)
}
