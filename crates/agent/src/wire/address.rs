//! Where the control plane listens for agents: `https://name:port`, and nothing more.

use std::{fmt, str::FromStr};

/// A server's name or address, and its port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerAddress {
    host: String,
    port: u16,
}

/// The port when none is given.
pub const PORT: u16 = 8443;

impl ServerAddress {
    /// The name or the address, without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Both, as they stand in a `Host` header.
    pub fn authority(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "https://{}", self.authority())
    }
}

/// The text is no such address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected an address such as https://control.example.net:8443, without a path")]
pub struct NotAnAddress;

impl FromStr for ServerAddress {
    type Err = NotAnAddress;

    fn from_str(text: &str) -> Result<Self, NotAnAddress> {
        let rest = text.strip_prefix("https://").ok_or(NotAnAddress)?;
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (host, port) = if let Some(inside) = rest.strip_prefix('[') {
            let (host, port) = inside.split_once(']').ok_or(NotAnAddress)?;
            host.parse::<std::net::Ipv6Addr>().map_err(|_| NotAnAddress)?;
            (host, port)
        } else {
            rest.find(':').map_or((rest, ""), |at| rest.split_at(at))
        };
        let port = match port.strip_prefix(':') {
            Some(port) => port.parse().ok().filter(|port| *port != 0).ok_or(NotAnAddress)?,
            None if port.is_empty() => PORT,
            None => return Err(NotAnAddress),
        };
        let good = |c: char| c.is_ascii_alphanumeric() || ['-', '.', ':', '_'].contains(&c);
        if host.is_empty() || host.len() > 253 || !host.chars().all(good) {
            return Err(NotAnAddress);
        }
        Ok(Self { host: host.to_owned(), port })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn names_and_addresses_are_read_and_printed() {
        for (text, host, port, printed) in [
            ("https://control.example.net", "control.example.net", 8443, "https://control.example.net:8443"),
            ("https://control.example.net:9000/", "control.example.net", 9000, "https://control.example.net:9000"),
            ("https://10.0.0.1:443", "10.0.0.1", 443, "https://10.0.0.1:443"),
            ("https://[::1]:8443", "::1", 8443, "https://[::1]:8443"),
            ("https://[::1]", "::1", 8443, "https://[::1]:8443"),
        ] {
            let address: ServerAddress = text.parse().unwrap();
            assert_eq!((address.host(), address.port(), address.to_string().as_str()), (host, port, printed));
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for text in [
            "",
            "control.example.net",
            "http://control.example.net",
            "https://",
            "https://a/b",
            "https://a:0",
            "https://a:99999",
            "https://a:",
            "https://user@a",
            "https://[::1",
            "https://[a]:1",
            "https://[::1]x",
            "https://a b",
        ] {
            assert_eq!(text.parse::<ServerAddress>(), Err(NotAnAddress), "{text}");
        }
    }
}
