//! Sessions: how people sign in from a browser, who is signed in, and signing out.

use api::{
    Nothing,
    session::{
        OidcStartView, OidcWayView, SessionCreate, SessionDelete, SessionOidcStart, SessionShow, SessionView,
        SignInShow, SignInView,
    },
};
use store::{Tx, sessions, tokens};

use super::tokens::who;
use crate::{
    authz::{Caller, authenticate, token::Secret, unauthenticated},
    front_door::{Answer, Ctx, Input, Refusal, Route, Stranger, internal, public_route, route},
    sign_in::{self, Way},
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        public_route::<SignInShow>(sign_in_show),
        public_route::<SessionCreate>(session_create),
        public_route::<SessionOidcStart>(session_oidc_start),
        route::<SessionShow>(session_show),
        route::<SessionDelete>(session_delete),
    ]
}

fn sign_in_show(stranger: &mut Stranger<'_, '_>, _: Input<SignInShow>) -> Result<Answer<SignInView>, Refusal> {
    let oidc = stranger.config.sign_in.oidc.as_ref().map(|oidc| OidcWayView { name: oidc.name().to_owned() });
    Ok(Answer::new(SignInView { token: true, oidc }))
}

fn session_create(
    stranger: &mut Stranger<'_, '_>,
    input: Input<SessionCreate>,
) -> Result<Answer<SessionView>, Refusal> {
    let secret = Secret::parse(input.body.token.as_str()).ok_or_else(unauthenticated)?;
    let mut caller = authenticate(stranger.tx, &secret, stranger.stamp.now)??;
    let (config, ports, request_id) = (stranger.config, stranger.ports, stranger.request_id);
    let secret = sign_in::open(stranger.tx, &mut stranger.stamp, ports, &mut caller, (&Way::Token, request_id))?;
    let cookie = config.sign_in.site.session_cookie(&secret);
    Ok(Answer::new(view(stranger.tx, &caller)?).cookie(cookie))
}

fn session_oidc_start(
    stranger: &mut Stranger<'_, '_>,
    input: Input<SessionOidcStart>,
) -> Result<Answer<OidcStartView>, Refusal> {
    let sign_in = &stranger.config.sign_in;
    let oidc = sign_in.oidc.as_ref().ok_or_else(sign_in::no_provider)?;
    let begun = oidc.begin(stranger.ports, input.body.return_to.as_ref())?;
    let cookie = sign_in.site.begun_cookie(&begun.cookie);
    Ok(Answer::new(OidcStartView { authorization_url: begun.authorization_url }).cookie(cookie))
}

fn session_show(ctx: &mut Ctx<'_, '_>, _: Input<SessionShow>) -> Result<Answer<SessionView>, Refusal> {
    ctx.myself()?;
    Ok(Answer::new(view(ctx.tx, ctx.caller)?))
}

fn session_delete(ctx: &mut Ctx<'_, '_>, _: Input<SessionDelete>) -> Result<Answer<Nothing>, Refusal> {
    ctx.myself()?;
    let session = ctx.caller.session.as_ref().ok_or_else(Refusal::not_found)?;
    sessions::end(ctx.tx, &session.row.id, ctx.stamp.now)?;
    if session.row.owns_token {
        let token = tokens::get(ctx.tx, &session.row.token_id)?.ok_or_else(internal)?;
        tokens::revoke(ctx.tx, &mut ctx.stamp, &token, Some("signed out"))?;
    }
    let cookie = ctx.config.sign_in.site.no_session_cookie();
    Ok(Answer::new(Nothing {}).about(&session.row.id, None).cookie(cookie))
}

fn view(tx: &mut Tx<'_>, caller: &Caller) -> Result<SessionView, Refusal> {
    let session = caller.session.as_ref().ok_or_else(Refusal::not_found)?;
    Ok(SessionView {
        id: session.row.id.clone(),
        who: who(tx, caller)?,
        csrf_token: session.csrf_token.clone(),
        created_at: session.row.created,
        idle_expires_at: session.idle_end(),
        expires_at: session.row.expires,
    })
}
