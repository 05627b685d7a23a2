//! What was asked of the server: the OAuth header, checked strictly, and the operation with its fields.

use super::{CONSUMER, NOW_S, SECRET, TOKEN};
use bytes::Bytes;
use hyper::http::request::Parts;
use std::collections::{BTreeMap, BTreeSet};

/// Undoes percent-encoding; a plus is a space only in forms.
fn decoded(text: &str, form: bool) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
            }
            b'+' if form => bytes.push(b' '),
            byte => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).ok()
}

/// What is wrong with the header, if anything.
pub fn oauth_fault(head: &Parts, nonces: &mut BTreeSet<String>) -> Option<&'static str> {
    let Some(header) = head.headers.get("authorization").and_then(|value| value.to_str().ok()) else {
        return Some("no header");
    };
    let Some(fields) = header.strip_prefix("OAuth ") else { return Some("another scheme") };
    let mut read = BTreeMap::new();
    for field in fields.split(',') {
        let pair = field.trim().split_once('=').and_then(|(name, value)| {
            let value = value.strip_prefix('"')?.strip_suffix('"')?;
            Some((name.to_owned(), decoded(value, false)?))
        });
        let Some((name, value)) = pair else { return Some("not a field") };
        if read.insert(name, value).is_some() {
            return Some("a field twice");
        }
    }
    let is = |name: &str, value: &str| read.get(name).is_some_and(|found| found == value);
    let timestamp = read.get("oauth_timestamp").and_then(|text| text.parse::<i64>().ok());
    if read.len() != 8 || !is("realm", "") {
        return Some("other fields");
    }
    if !is("oauth_consumer_key", CONSUMER) {
        return Some("Invalid consumer.");
    }
    if !is("oauth_token", TOKEN) || !is("oauth_signature", &format!("&{SECRET}")) {
        return Some("Invalid signature.");
    }
    if !is("oauth_signature_method", "PLAINTEXT") || !is("oauth_version", "1.0") {
        return Some("another method");
    }
    if timestamp.is_none_or(|timestamp| (timestamp - NOW_S).abs() > 300) {
        return Some("Expired timestamp.");
    }
    match read.remove("oauth_nonce") {
        Some(nonce) if !nonce.is_empty() && nonces.insert(nonce.clone()) => None,
        _ => Some("Nonce already used."),
    }
}

/// One operation with its fields.
#[derive(Debug)]
pub struct Asked {
    pub operation: &'static str,
    /// The machine or tag in the address.
    pub subject: String,
    query: BTreeMap<String, String>,
    form: BTreeMap<String, String>,
}

fn fields(text: &str) -> Option<BTreeMap<String, String>> {
    let mut read = BTreeMap::new();
    for pair in text.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=')?;
        if read.insert(decoded(name, true)?, decoded(value, true)?).is_some() {
            return None;
        }
    }
    Some(read)
}

impl Asked {
    pub fn read(head: &Parts, body: &Bytes) -> Result<Self, (u16, String)> {
        let bad = |text: &str| (400, text.to_owned());
        let Some(path) = head.uri.path().strip_prefix("/MAAS/api/2.0/") else { return Err((404, "Not Found".into())) };
        let Some(path) = path.strip_suffix('/') else { return Err((301, "moved to the address with a slash".into())) };
        let query = fields(head.uri.query().unwrap_or_default()).ok_or_else(|| bad("query"))?;
        let text = std::str::from_utf8(body).map_err(|_| bad("body"))?;
        let form = fields(text).ok_or_else(|| bad("form"))?;
        let post = head.method == hyper::Method::POST;
        let kind = head.headers.get("content-type").and_then(|value| value.to_str().ok());
        if post != (kind == Some("application/x-www-form-urlencoded")) {
            return Err(bad("content type"));
        }
        let op = query.get("op").cloned().unwrap_or_default();
        let (collection, subject) = path.split_once('/').unwrap_or((path, ""));
        let (operation, takes): (&'static str, &[&str]) = match (post, collection, subject.is_empty(), op.as_str()) {
            (false, "machines", true, "") => ("list", &[]),
            (false, "machines", false, "") => ("read", &[]),
            (true, "machines", true, "allocate") => ("allocate", &["system_id", "agent_name", "comment"]),
            (true, "machines", false, "deploy") => {
                ("deploy", &["osystem", "distro_series", "hwe_kernel", "user_data", "comment"])
            }
            (true, "machines", false, "release") => ("release", &["comment", "erase", "secure_erase", "quick_erase"]),
            (true, "machines", false, "mark_broken") => ("mark_broken", &["comment"]),
            (true, "machines", false, "set_workload_annotations") => ("set_workload_annotations", &["gpuaas-order"]),
            (false, "tags", true, "") => ("tags", &[]),
            (true, "tags", true, "") => ("tag_make", &["name", "comment"]),
            (true, "tags", false, "update_nodes") => ("update_nodes", &["add", "remove"]),
            _ => return Err((400, format!("Unrecognised signature: method={} op={op}", head.method))),
        };
        if let Some(field) = form.keys().find(|field| !takes.contains(&field.as_str())) {
            return Err((400, format!("field {field} is not taken")));
        }
        Ok(Self { operation, subject: subject.to_owned(), query, form })
    }

    pub fn field(&self, name: &str) -> &str {
        self.form.get(name).map_or("", String::as_str)
    }

    pub fn queried(&self, name: &str) -> Option<&str> {
        self.query.get(name).map(String::as_str)
    }

    pub fn form(&self) -> &BTreeMap<String, String> {
        &self.form
    }
}
