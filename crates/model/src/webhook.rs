//! Webhooks: where events are sent, which of them, and how a delivery stands. An address is only read here; whether the
//! platform may connect to it is decided where the connection is made.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::{borrow::Cow, fmt, net::IpAddr, str::FromStr};

use crate::{
    event::{Change, Noun},
    text::BadText,
};

text_enum! {
    /// How a delivery of one event to one webhook stands.
    DeliveryState {
        /// It was not tried yet.
        Pending = "pending",
        /// The receiver took it.
        Delivered = "delivered",
        /// The last attempt failed; there will be another.
        Failed = "failed",
        /// Every attempt failed; there will be no other unless somebody asks for it.
        Exhausted = "exhausted",
    }
}

/// Characters that the address of a webhook may have.
pub const URL_LENGTH_MAX: usize = 2000;

/// The address of a webhook as it was written: scheme, host, perhaps a port, perhaps a path. No user, no fragment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WebhookUrl(String);

/// The machine that an address names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Host {
    /// By its name, which is looked up at every attempt.
    Name(String),
    /// By its number.
    Address(IpAddr),
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V4(address)) => write!(f, "{address}"),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

/// What an address says, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Whether the connection is encrypted.
    pub is_https: bool,
    /// Where to.
    pub host: Host,
    /// Which port.
    pub port: u16,
    /// What to ask for there.
    pub path: String,
}

impl Target {
    /// What a request names as its host: the port only where it is not the usual one.
    pub fn authority(&self) -> String {
        let usual = if self.is_https { 443 } else { 80 };
        if self.port == usual { self.host.to_string() } else { format!("{}:{}", self.host, self.port) }
    }
}

const URL_RULE: &str = "http:// or https://, a host, perhaps a port, and perhaps a path; no user and no fragment";

impl WebhookUrl {
    /// The text itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn parts(&self) -> Option<(bool, &str, &str)> {
        let (is_https, rest) = match self.0.strip_prefix("https://") {
            Some(rest) => (true, rest),
            None => (false, self.0.strip_prefix("http://")?),
        };
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        Some((is_https, authority, path))
    }

    /// What it says. The error is the rule that it breaks, in words.
    pub fn target(&self) -> Result<Target, &'static str> {
        let (is_https, authority, path) = self.parts().ok_or(URL_RULE)?;
        let (host, port) = if let Some(rest) = authority.strip_prefix('[') {
            let (inside, after) = rest.split_once(']').ok_or("an IPv6 address in brackets")?;
            let address = inside.parse().map_err(|_| "an IPv6 address in brackets")?;
            (Host::Address(IpAddr::V6(address)), after.strip_prefix(':').or(after.is_empty().then_some("")))
        } else {
            let (host, port) = authority.split_once(':').unwrap_or((authority, ""));
            (host_of(host)?, Some(port))
        };
        let port = match (port, authority.ends_with(':')) {
            (Some(""), false) => {
                if is_https {
                    443
                } else {
                    80
                }
            }
            (Some(digits), false) if digits.bytes().all(|b| b.is_ascii_digit()) => {
                digits.parse().map_err(|_| PORT_RULE)?
            }
            _ => return Err(PORT_RULE),
        };
        if !matches!(port, 80 | 443 | 1024..) {
            return Err(PORT_RULE);
        }
        let path = if path.is_empty() { "/" } else { path }.to_owned();
        Ok(Target { is_https, host, port, path })
    }
}

/// Other well-known ports belong to services that a webhook has no business with.
const PORT_RULE: &str = "port 80, 443, or one from 1024 to 65535";

/// A name, or an IPv4 address in its one usual form. What only looks like a number is neither: resolvers read it in ways
/// of their own.
fn host_of(text: &str) -> Result<Host, &'static str> {
    if let Ok(address) = text.parse() {
        return Ok(Host::Address(IpAddr::V4(address)));
    }
    let label = |label: &str| {
        let edge = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
        let bytes = label.as_bytes();
        bytes.len() <= 63
            && edge(bytes.first())
            && edge(bytes.last())
            && bytes.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'-')
    };
    let name = text.strip_suffix('.').unwrap_or(text);
    let last = name.rsplit('.').next().unwrap_or("");
    let looks_like_a_number =
        last.bytes().all(|b| b.is_ascii_digit()) || last.starts_with("0x") || last.starts_with("0X");
    if name.len() <= 253 && name.split('.').all(label) && !looks_like_a_number {
        return Ok(Host::Name(name.to_ascii_lowercase()));
    }
    Err("a host name, an IPv4 address, or an IPv6 address in brackets")
}

impl FromStr for WebhookUrl {
    type Err = BadText;
    fn from_str(text: &str) -> Result<Self, BadText> {
        let url = Self(text.to_owned());
        let shaped = url.parts().is_some_and(|(_, authority, path)| {
            let host = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b':' | b'[' | b']');
            !authority.is_empty()
                && authority.bytes().all(host)
                && path.bytes().all(|b| {
                    b.is_ascii_graphic()
                        && !matches!(b, b'#' | b'\\' | b'"' | b'<' | b'>' | b'`' | b'{' | b'|' | b'}' | b'^')
                })
        });
        if shaped && text.len() <= URL_LENGTH_MAX { Ok(url) } else { Err(BadText { expected: URL_RULE }) }
    }
}
impl fmt::Display for WebhookUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl JsonSchema for WebhookUrl {
    fn schema_name() -> Cow<'static, str> {
        "WebhookUrl".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "maxLength": URL_LENGTH_MAX,
            "pattern": "^https?://[A-Za-z0-9.:\\[\\]-]+(/[!$-;=?-\\[\\]_a-z~]*)?$",
            "description": URL_RULE,
            "examples": ["https://hooks.acme.example/gpuaas"]
        })
    }
}

/// Which events: one change of a kind of thing (`allocation.state_changed`), or all of them (`allocation.*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventFilter {
    noun: Noun,
    change: Option<Change>,
}

impl EventFilter {
    /// Whether an event is among those that are meant.
    pub fn takes(self, noun: Noun, change: Change) -> bool {
        self.noun == noun && self.change.is_none_or(|wanted| wanted == change)
    }
}

impl FromStr for EventFilter {
    type Err = BadText;
    fn from_str(text: &str) -> Result<Self, BadText> {
        let bad = BadText { expected: "NOUN.CHANGE or NOUN.*, such as allocation.state_changed or workload.*" };
        let (noun, change) = text.split_once('.').ok_or_else(|| bad.clone())?;
        let noun = noun.parse().map_err(|_| bad.clone())?;
        let change = if change == "*" { None } else { Some(change.parse().map_err(|_| bad)?) };
        Ok(Self { noun, change })
    }
}
impl fmt::Display for EventFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.noun, self.change.map_or("*", Change::as_str))
    }
}
impl JsonSchema for EventFilter {
    fn schema_name() -> Cow<'static, str> {
        "EventFilter".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let nouns: Vec<&str> = Noun::ALL.iter().map(|noun| noun.as_str()).collect();
        let changes: Vec<&str> = Change::ALL.iter().map(|change| change.as_str()).collect();
        json_schema!({
            "type": "string",
            "pattern": format!("^({})\\.(\\*|{})$", nouns.join("|"), changes.join("|")),
            "examples": ["allocation.state_changed", "workload.*"]
        })
    }
}

macro_rules! as_text {
    ($($name:ident),+) => { $(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> { s.collect_str(self) }
        }
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
            }
        }
    )+ };
}
as_text!(WebhookUrl, EventFilter);

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn target(text: &str) -> Result<Target, String> {
        text.parse::<WebhookUrl>().map_err(|bad| bad.to_string())?.target().map_err(str::to_owned)
    }

    #[test]
    fn an_address_is_taken_apart() {
        for (text, is_https, host, port, path, authority) in [
            ("https://a.example", true, "a.example", 443, "/", "a.example"),
            ("https://A.example:8443/x?y=1", true, "a.example", 8443, "/x?y=1", "a.example:8443"),
            ("http://10.0.0.1/in", false, "10.0.0.1", 80, "/in", "10.0.0.1"),
            ("https://[2001:db8::1]:4430/", true, "[2001:db8::1]", 4430, "/", "[2001:db8::1]:4430"),
            ("https://[::1]", true, "[::1]", 443, "/", "[::1]"),
            ("https://a.example./", true, "a.example", 443, "/", "a.example"),
        ] {
            let found = target(text).unwrap();
            assert_eq!(
                (found.is_https, found.host.to_string(), found.port),
                (is_https, host.to_owned(), port),
                "{text}"
            );
            assert_eq!((found.path.as_str(), found.authority().as_str()), (path, authority), "{text}");
        }
    }

    #[test]
    fn what_hides_where_it_leads_is_refused() {
        for text in [
            "",
            "a.example",
            "ftp://a.example/",
            "file:///etc/passwd",
            "gopher://a.example/",
            "https://",
            "https:///x",
            "https://user@a.example/",
            "https://user:pw@a.example/",
            "https://a.example#x",
            "https://a.example/#x",
            "https://a.example\\@b.example/",
            "https://a.example /",
            "https://a.example/\n",
            "https://a.example:",
            "https://a.example:0/",
            "https://a.example:22/",
            "https://a.example:65536/",
            "https://a.example:+443/",
            "https://[::1",
            "https://::1/",
            "https://[::1]x/",
            "https://[fe80::1%25eth0]/",
            "https://2130706433/",
            "https://0x7f.1/",
            "https://0x7f000001/",
            "https://127.1/",
            "https://0177.0.0.1/",
            "https://1.2.3.4.5/",
            "https://-a.example/",
            "https://a..example/",
            "https://ex\u{e4}mple.org/",
            "https://a.0x1/",
        ] {
            assert!(target(text).is_err(), "{text:?}: {:?}", target(text));
        }
        assert!(format!("https://a.example/{}", "x".repeat(2000)).parse::<WebhookUrl>().is_err());
    }

    #[test]
    fn a_filter_takes_one_change_or_all() {
        let one: EventFilter = "allocation.state_changed".parse().unwrap();
        let all: EventFilter = "workload.*".parse().unwrap();
        assert!(one.takes(Noun::Allocation, Change::StateChanged) && !one.takes(Noun::Allocation, Change::Created));
        assert!(all.takes(Noun::Workload, Change::Preempted) && !all.takes(Noun::Allocation, Change::Created));
        for text in ["allocation.state_changed", "workload.*"] {
            assert_eq!(text.parse::<EventFilter>().unwrap().to_string(), text);
        }
        for bad in ["", "*", "allocation", "allocation.", "allocation.x", "x.*", "Allocation.*", "allocation.*.v1"] {
            assert!(bad.parse::<EventFilter>().is_err(), "{bad}");
        }
    }
}
