//! Letting somebody in whom the identity provider vouches for: who that is here, which roles the rules give them now, and a
//! session. All of it is one transaction.
//!
//! An account at the provider is one person's for good. The first time, the person is looked for by an address that the
//! provider says is theirs, so that whoever was made a member by address is that member. Roles that rules gave and no
//! longer give are taken back; what people gave is left alone, in both directions. Who has no role in the end is not let
//! in.

use api::{Code, Problem, session::LIFETIME_HOURS};
use model::{
    AuditId, MemberId, PrincipalId, ProjectId, TenantId, TokenId,
    identity::{MemberRole, PlatformRole, PrincipalKind, TokenScope},
    tenancy::{Desired, State},
};
use serde_json::json;
use std::collections::BTreeMap;
use store::{
    Stamp, StoreError, Tx,
    audit::{self, AuditRow},
    identities::{self, IdentityRow},
    members::{self, MemberNew},
    principals::{self, PrincipalNew, PrincipalRow},
    projects, tenants,
    tokens::{self, TokenNew},
};

use super::{Oidc, Way, claims::Claims, open, rules::Given};
use crate::{
    Ports,
    authz::{authenticate, token::Secret},
    front_door::{Refusal, internal},
};

/// What changed about somebody's roles.
#[derive(Debug, Default)]
struct Changes {
    gained: Vec<String>,
    lost: Vec<String>,
}

/// Lets somebody in: the secret of their session, or why they stay outside. Roles that they have lost are gone either way.
pub(crate) fn admit(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    ports: &Ports,
    (oidc, claims): (&Oidc, &Claims),
    request_id: &str,
) -> Result<Result<Secret, Problem>, Refusal> {
    let given = oidc.rules().given(&claims.groups);
    let (principal, identity) = match person(tx, stamp, oidc, claims, &given)? {
        Ok(found) => found,
        Err(problem) => return Ok(Err(problem)),
    };
    let mut changes = Changes::default();
    let role = platform_role(tx, stamp, &principal, (identity.platform_role, given.platform_role), &mut changes)?;
    identities::seen(tx, (oidc.issuer(), &claims.subject), role, stamp.now)?;
    memberships(tx, stamp, &principal.id, &given, &mut changes)?;
    let principal = principals::get(tx, &principal.id)?.ok_or_else(internal)?;
    if principal.platform_role.is_none() && members::bindings_of(tx, &principal.id)?.is_empty() {
        stays_outside(tx, stamp, &principal, (oidc, changes), request_id)?;
        return Ok(Err(nothing_open()));
    }
    let token = token_of_session(tx, stamp, ports, &principal.id, oidc.name())?;
    let mut caller = authenticate(tx, &token, stamp.now)??;
    let way = Way::Oidc { issuer: oidc.issuer().to_owned(), gained: changes.gained, lost: changes.lost };
    Ok(Ok(open(tx, stamp, ports, &mut caller, (&way, request_id))?))
}

fn nothing_open() -> Problem {
    let detail =
        "The identity provider knows you, but none of your groups has a role here, and nobody made you a member.";
    Problem::new(Code::SignInRefused, detail)
}

/// Who has this account: the person it belongs to, a person with the same address, or a new one.
fn person(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    oidc: &Oidc,
    claims: &Claims,
    given: &Given,
) -> Result<Result<(PrincipalRow, IdentityRow), Problem>, Refusal> {
    let account = (oidc.issuer(), claims.subject.as_str());
    if let Some(identity) = identities::find(tx, account)? {
        let principal = principals::get(tx, &identity.principal_id)?.ok_or_else(internal)?;
        let removed = principal.removed.is_some();
        let gone = Problem::new(Code::SignInRefused, "You were removed from this platform.");
        return Ok(if removed { Err(gone) } else { Ok((principal, identity)) });
    }
    let known = match &claims.email {
        Some(email) => principals::by_email(tx, email.as_str())?,
        None => None,
    };
    let principal = match known {
        Some(known) if identities::has_one(tx, &known.id, oidc.issuer())? => {
            let detail = "Your address belongs to another account of the identity provider. Ask an operator.";
            return Ok(Err(Problem::new(Code::SignInRefused, detail)));
        }
        Some(known) => known,
        // Whom nothing here is open to leaves no trace.
        None if *given == Given::default() => return Ok(Err(nothing_open())),
        None => new_person(tx, stamp, account, claims)?,
    };
    identities::insert(tx, account, &principal.id, stamp.now)?;
    let identity = IdentityRow { principal_id: principal.id.clone(), platform_role: None };
    Ok(Ok((principal, identity)))
}

fn new_person(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    (issuer, subject): (&str, &str),
    claims: &Claims,
) -> Result<PrincipalRow, Refusal> {
    let id = PrincipalId::from_parts(stamp.now, stamp.bits());
    // Never an address that nobody vouched for, nor anything that looks like one.
    let name = claims.email.as_ref().map_or_else(|| format!("{issuer}#{subject}"), ToString::to_string);
    let new = PrincipalNew { id: &id, kind: PrincipalKind::User, name: &name, tenant_id: None, platform_role: None };
    principals::insert(tx, stamp, new)?;
    Ok(principals::get(tx, &id)?.ok_or_else(internal)?)
}

/// Brings a role over the platform to what the rules give; the role that rules have given from here on.
fn platform_role(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    principal: &PrincipalRow,
    (before, given): (Option<PlatformRole>, Option<PlatformRole>),
    changes: &mut Changes,
) -> Result<Option<PlatformRole>, StoreError> {
    let has = principal.platform_role;
    // A role that people gave stays what they made it.
    if has.is_some() && has != before {
        return Ok(None);
    }
    if has == given {
        return Ok(given);
    }
    let was_operator = has == Some(PlatformRole::PlatformOperator);
    if was_operator && principals::operators_hold(tx)? <= 1 {
        tracing::error!(principal = %principal.id, alert = "last_operator_kept", "rules no longer make the last operator one; the role stays");
        return Ok(has);
    }
    principals::update(tx, stamp, principal, &principal.name, given)?;
    changes.lost.extend(has.map(|role| role.to_string()));
    changes.gained.extend(given.map(|role| role.to_string()));
    Ok(given)
}

/// Where a membership holds, by ids.
type At = (TenantId, Option<ProjectId>);

/// Brings memberships to what the rules give.
fn memberships(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    principal_id: &PrincipalId,
    given: &Given,
    changes: &mut Changes,
) -> Result<(), StoreError> {
    let mut wanted = places(tx, given)?;
    let ruled = identities::ruled_members(tx, principal_id)?;
    for member in members::of_principal(tx, principal_id)? {
        let at = (member.tenant_id.clone(), member.project_id.clone());
        let role = wanted.remove(&at);
        if role == Some(member.role) || !ruled.contains(&member.id) {
            continue;
        }
        tenants::hold(tx, &member.tenant_id)?;
        if member.role == MemberRole::TenantAdmin && members::admins_left(tx, &member.tenant_id)? <= 1 {
            tracing::warn!(tenant = %member.tenant_id, "rules no longer make a tenant's last administrator one; the role stays");
            continue;
        }
        changes.lost.push(written(&at, member.role));
        match role {
            Some(role) => {
                members::set_role(tx, stamp, &member, role)?;
                changes.gained.push(written(&at, role));
            }
            None => drop(members::remove(tx, stamp, &member)?),
        }
    }
    for (at, role) in wanted {
        let id = MemberId::from_parts(stamp.now, stamp.bits());
        tenants::hold(tx, &at.0)?;
        let new = MemberNew { id: &id, tenant_id: &at.0, project_id: at.1.as_ref(), principal_id, role };
        members::insert(tx, stamp, new)?;
        identities::rule_member(tx, &id, principal_id)?;
        changes.gained.push(written(&at, role));
    }
    Ok(())
}

fn written((tenant, project): &At, role: MemberRole) -> String {
    project.as_ref().map_or_else(|| format!("{role} in {tenant}"), |project| format!("{role} in {project}"))
}

/// The tenants and projects that rules name, by ids. What is not there, or is on its way out, gives nothing.
fn places(tx: &mut Tx<'_>, given: &Given) -> Result<BTreeMap<At, MemberRole>, StoreError> {
    let stays = |state: State, desired: Desired| {
        desired != Desired::Deleted && !matches!(state, State::Deleting | State::Deleted)
    };
    let mut found = BTreeMap::new();
    for ((tenant, project), role) in &given.memberships {
        let Some(row) = tenants::by_slug(tx, tenant)?.filter(|row| stays(row.state, row.desired)) else {
            tracing::warn!(%tenant, "a rule of sign-in names a tenant that is not there");
            continue;
        };
        let inside = match project {
            Some(slug) => {
                let project = projects::by_slug(tx, &row.id, slug)?.filter(|row| stays(row.state, row.desired));
                let Some(project) = project else {
                    tracing::warn!(%tenant, project = %slug, "a rule of sign-in names a project that is not there");
                    continue;
                };
                Some(project.id)
            }
            None => None,
        };
        found.insert((row.id, inside), *role);
    }
    Ok(found)
}

/// A token for the session alone. Nobody ever sees its secret; the person sees it in their list and can revoke it.
fn token_of_session(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    ports: &Ports,
    principal_id: &PrincipalId,
    provider: &str,
) -> Result<Secret, StoreError> {
    let (id, secret) = (TokenId::from_parts(stamp.now, stamp.bits()), Secret::mint(ports));
    let name = format!("Signed in through {provider}");
    let new = TokenNew {
        id: &id,
        principal_id,
        tenant_id: None,
        project_id: None,
        name: &name,
        secret_hash: &secret.hash(),
        scope: TokenScope::Write,
        expires: stamp.now.plus_seconds(LIFETIME_HOURS * 3600),
    };
    tokens::insert(tx, stamp, new)?;
    Ok(secret)
}

/// Writes down that somebody lost their last role.
fn stays_outside(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    principal: &PrincipalRow,
    (oidc, changes): (&Oidc, Changes),
    request_id: &str,
) -> Result<(), StoreError> {
    if changes.lost.is_empty() {
        return Ok(());
    }
    let row = AuditRow {
        id: AuditId::from_parts(stamp.now, stamp.bits()),
        actor: principal.id.to_string(),
        token_id: None,
        action: "session_refused".to_owned(),
        subject: principal.id.to_string(),
        tenant_id: None,
        request_id: request_id.to_owned(),
        body: json!({ "way": "oidc", "issuer": oidc.issuer(), "lost": changes.lost }).to_string(),
        at: stamp.now,
    };
    audit::append(tx, &row)
}
