//! Where the identity provider sends browsers back to. This is the one page that is neither the API's nor the portal's: it
//! takes the code, has it redeemed, lets the person in and sends the browser on. Who is refused is told on a page, since
//! nothing of the portal is there to tell them.

use api::{Problem, headers as names};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use model::text::SitePath;
use reqwest::Url;
use store::{Stamp, Tx};

use super::{
    portal::wants_a_page,
    service::{Answer, Service, plain},
};
use crate::{
    authz::token::Secret,
    front_door::{FrontDoor, Headers, Refusal, Response},
    sign_in::{self, BEGUN_COOKIE, Returned},
};

/// How often a sign-in that lost a race against another runs again.
const RACES_MAX: u32 = 4;

impl Service {
    /// Finishes a sign-in and sends the browser on.
    pub(super) async fn signed_in(&self, query: &str, headers: &Headers, map: &HeaderMap, request_id: &str) -> Answer {
        let site = &self.parts.door.config().sign_in.site;
        let (mut answer, cookie) = match self.sign_in(query, headers, request_id).await {
            Ok((secret, path)) => {
                let answer = plain(Response::empty(303).with(names::LOCATION, path.as_str()));
                (answer, Some(site.session_cookie(&secret)))
            }
            Err(problem) => {
                tracing::warn!(code = %problem.code, request_id, "a sign-in was refused");
                self.parts.metrics.refused(problem.code);
                (refusal(&problem, wants_a_page(map)), None)
            }
        };
        // Whatever came of it, it is over.
        for cookie in cookie.into_iter().chain([site.no_begun_cookie()]) {
            answer.headers_mut().extend(HeaderValue::from_str(&cookie).ok().map(|cookie| (header::SET_COOKIE, cookie)));
        }
        answer
    }

    async fn sign_in(&self, query: &str, headers: &Headers, request_id: &str) -> Result<(Secret, SitePath), Problem> {
        let door = &self.parts.door;
        let oidc = door.config().sign_in.oidc.as_ref().ok_or_else(sign_in::no_provider)?;
        let begun = FrontDoor::cookie_of(headers, BEGUN_COOKIE);
        let (claims, path) = oidc.finish(door.ports(), begun, &returned(query)).await?;
        let mut races = 0;
        loop {
            let (ports, oidc, claims) = (door.ports().clone(), oidc.clone(), claims.clone());
            let request_id = request_id.to_owned();
            let write = move |tx: &mut Tx<'_>| {
                let mut bits = || ports.id_bits();
                let mut stamp = Stamp::new(ports.now(), &mut bits);
                sign_in::admit(tx, &mut stamp, &ports, (&oidc, &claims), &request_id)
            };
            match self.parts.db.write_async(write).await {
                Ok(admitted) => {
                    self.parts.poke.poke();
                    return admitted.map(|secret| (secret, path));
                }
                Err(refusal) if refusal.lost_a_race(false) && races < RACES_MAX => races += 1,
                Err(refusal) => return Err(Refusal::into_problem(refusal)),
            }
        }
    }
}

/// What the provider put into the query. What is there twice counts as not there.
fn returned(query: &str) -> Returned {
    let Ok(url) = Url::parse(&format!("http://here/?{query}")) else { return Returned::default() };
    let one = |name: &str| {
        let mut found = url.query_pairs().filter(|(given, _)| given == name).map(|(_, value)| value.into_owned());
        let first = found.next()?;
        if found.next().is_none() { Some(first) } else { None }
    };
    Returned { code: one("code"), state: one("state"), issuer: one("iss"), error: one("error") }
}

/// A refusal: a page for a browser, a problem for everything else.
fn refusal(problem: &Problem, as_page: bool) -> Answer {
    if !as_page {
        return plain(Response::problem(problem));
    }
    let text = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    let (title, detail, code) = (text(&problem.title), text(&problem.detail), problem.code);
    let html = format!(
        "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\"><meta name=\"color-scheme\" content=\"light dark\">\
         <title>{title}</title><link rel=\"stylesheet\" href=\"/docs/reference.css\"></head><body><header class=\"bar\">\
         <a class=\"brand\" href=\"/\">gpuaas</a></header><div class=\"columns start\"><main id=\"main\"><h1>{title}</h1>\
         <p>{detail}</p><ul><li><a href=\"/\">Back to sign in</a></li>\
         <li><a href=\"/docs/errors/{code}\">What <code>{code}</code> means</a></li></ul></main></div></body></html>\n"
    );
    let mut answer = plain(Response {
        content_type: "text/html; charset=utf-8",
        body: html.into_bytes(),
        ..Response::empty(problem.status)
    });
    *answer.status_mut() = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::FORBIDDEN);
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_back_twice_does_not_count() {
        let all = returned("code=a%20b&state=s&iss=https%3A%2F%2Fid.example&x=y");
        assert_eq!((all.code.as_deref(), all.state.as_deref()), (Some("a b"), Some("s")));
        assert_eq!((all.issuer.as_deref(), all.error), (Some("https://id.example"), None));
        assert_eq!(returned("state=s&state=t").state, None);
    }
}
