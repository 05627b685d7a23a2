//! Where browsers find this site, and the cookies that it gives them.

use api::session::{COOKIE, LIFETIME_HOURS};
use reqwest::Url;

use crate::authz::token::Secret;

/// The cookie of a sign-in that was begun and is with the identity provider now.
pub(crate) const BEGUN_COOKIE: &str = "gpuaas_sign_in";
/// For how many seconds a sign-in may be with the identity provider.
pub(crate) const BEGUN_S: i64 = 600;

/// The address is not one that browsers can be sent to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not the address of a site: expected https://NAME or http://NAME:PORT, without a path")]
pub struct BadSite(pub String);

/// Where browsers find this site. Without a fixed address it is wherever a request says that it was sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Site(Option<String>);

impl Site {
    /// A site with a fixed address.
    pub fn at(address: &str) -> Result<Self, BadSite> {
        let bad = || BadSite(address.to_owned());
        let url = Url::parse(address).map_err(|_| bad())?;
        let whole = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
        let plain = url.username().is_empty() && url.password().is_none() && url.host_str().is_some();
        if !(whole && plain && matches!(url.scheme(), "http" | "https")) {
            return Err(bad());
        }
        Ok(Self(Some(url.origin().ascii_serialization())))
    }

    /// The address of a path of this site, if it has a fixed one.
    pub(crate) fn address(&self, path: &str) -> Option<String> {
        self.0.as_ref().map(|origin| format!("{origin}{path}"))
    }

    /// Whether an `Origin` is this site. Who has no fixed address goes by the host that the request was sent to: a browser
    /// sends cookies of that host only, so a page under another name has none.
    pub(crate) fn is_own(&self, origin: &str, host: Option<&str>) -> bool {
        match &self.0 {
            Some(own) => origin == own,
            None => origin.split_once("://").is_some_and(|(_, at)| host.is_some_and(|host| at == host)),
        }
    }

    /// The cookie of a session. Scripts cannot read it, and requests from other sites come without it.
    pub(crate) fn session_cookie(&self, secret: &Secret) -> String {
        self.cookie(COOKIE, secret.reveal(), "Strict", LIFETIME_HOURS * 3600)
    }

    /// Takes the cookie of a session away.
    pub(crate) fn no_session_cookie(&self) -> String {
        self.cookie(COOKIE, "", "Strict", 0)
    }

    /// The cookie of a sign-in that was begun. It has to come along when the identity provider sends the browser back.
    pub(crate) fn begun_cookie(&self, value: &str) -> String {
        self.cookie(BEGUN_COOKIE, value, "Lax", BEGUN_S)
    }

    /// Takes the cookie of a sign-in away.
    pub(crate) fn no_begun_cookie(&self) -> String {
        self.cookie(BEGUN_COOKIE, "", "Lax", 0)
    }

    fn cookie(&self, name: &str, value: &str, same_site: &str, age_s: i64) -> String {
        let secure = self.0.as_ref().is_some_and(|origin| origin.starts_with("https://"));
        let secure = if secure { "; Secure" } else { "" };
        format!("{name}={value}; Path=/; Max-Age={age_s}; HttpOnly; SameSite={same_site}{secure}")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_site_is_a_scheme_and_a_host() {
        assert_eq!(Site::at("https://gpuaas.example/").unwrap().address("/x").unwrap(), "https://gpuaas.example/x");
        for bad in ["gpuaas.example", "ftp://x", "https://x/path", "https://u@x", "https://x?q", "https://x#f", ""] {
            assert_eq!(Site::at(bad), Err(BadSite(bad.to_owned())));
        }
    }

    #[test]
    fn a_fixed_address_is_the_only_origin_and_makes_cookies_secure() {
        let site = Site::at("https://gpuaas.example").unwrap();
        assert!(site.is_own("https://gpuaas.example", Some("10.0.0.7:7070")));
        assert!(!site.is_own("http://gpuaas.example", Some("gpuaas.example")));
        let secret = Secret::parse_session(&format!("gps_{}", "A".repeat(43))).unwrap();
        let cookie = site.session_cookie(&secret);
        for word in ["; HttpOnly", "; SameSite=Strict", "; Secure", "; Path=/", "; Max-Age=604800"] {
            assert!(cookie.contains(word), "{cookie}");
        }
        assert!(!Site::at("http://127.0.0.1:7070").unwrap().session_cookie(&secret).contains("Secure"));
        assert!(site.no_session_cookie().contains("Max-Age=0"));
    }
}
