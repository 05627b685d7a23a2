//! The request headers that mean something: which wish this is, which version it is about, where a stream goes on.
//!
//! Each has one rule, written once: the OpenAPI document prints it, the server reads with it, the client writes with it.
//! What breaks the rule is refused; nothing is guessed, trimmed or taken as absent.

use model::number::EventPosition;

use crate::problem::{Code, Problem};

/// Names one wish, so that a retry is not a second wish.
pub const IDEMPOTENCY_KEY: &str = "Idempotency-Key";
/// The version a change was made for.
pub const IF_MATCH: &str = "If-Match";
/// The versions that a reader has already.
pub const IF_NONE_MATCH: &str = "If-None-Match";
/// The last event a reader of the stream has handled.
pub const LAST_EVENT_ID: &str = "Last-Event-ID";
/// What the connection becomes.
pub const UPGRADE: &str = "Upgrade";
/// The version of the object in the answer.
pub const ETAG: &str = "ETag";
/// Where the new object or operation is.
pub const LOCATION: &str = "Location";
/// Where the next page of a list is.
pub const LINK: &str = "Link";
/// Names the request in logs and in the audit trail.
pub const REQUEST_ID: &str = "X-Request-Id";
/// What is left of the token's allowance.
pub const RATE_LIMIT: &str = "RateLimit";
/// The token's allowance.
pub const RATE_LIMIT_POLICY: &str = "RateLimit-Policy";
/// Seconds to wait before trying again.
pub const RETRY_AFTER: &str = "Retry-After";

/// Characters of an idempotency key at most.
pub const IDEMPOTENCY_KEY_CHARACTERS_MAX: usize = 64;
/// The rule of `Idempotency-Key`: bare, or as the string of a structured field.
pub const IDEMPOTENCY_KEY_PATTERN: &str = r#"^("[A-Za-z0-9_.:-]{1,64}"|[A-Za-z0-9_.:-]{1,64})$"#;
/// The rule of `If-Match` and `ETag`: one version in double quotes.
pub const VERSION_PATTERN: &str = r#"^"[1-9][0-9]{0,17}"$"#;

/// The rule of `If-None-Match`: an asterisk, or entity tags with commas between them.
pub const NONE_MATCH_PATTERN: &str = r#"^(\*|(W/)?"[!#-~]*"([ \t]*,[ \t]*(W/)?"[!#-~]*")*)$"#;

const KEY_RULE: &str = "1 to 64 of the characters A-Z a-z 0-9 _ . : -, bare or in double quotes";
const VERSION_RULE: &str = r#"one version in double quotes, such as "7""#;
const NONE_MATCH_RULE: &str = r#"an asterisk, or entity tags such as "7" with commas between them"#;
const POSITION_RULE: &str = "the whole number of the last event that was handled";

fn invalid(header: &str, rule: &str) -> Problem {
    Problem::new(Code::InvalidHeader, "A header does not match its rule.").with_field(header, rule)
}

/// Reads an `Idempotency-Key`: the key without quotes, so that both forms of one key are the same key.
pub fn idempotency_key(text: &str) -> Result<&str, Problem> {
    let key = match text.strip_prefix('"') {
        Some(rest) => rest.strip_suffix('"').ok_or_else(|| invalid(IDEMPOTENCY_KEY, KEY_RULE))?,
        None => text,
    };
    let shaped = (1..=IDEMPOTENCY_KEY_CHARACTERS_MAX).contains(&key.len())
        && key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b':' | b'-'));
    if shaped { Ok(key) } else { Err(invalid(IDEMPOTENCY_KEY, KEY_RULE)) }
}

/// Writes an idempotency key as the header carries it.
pub fn idempotency_key_text(key: &str) -> String {
    format!("\"{key}\"")
}

/// Reads an `If-Match`: the version it names.
pub fn if_match(text: &str) -> Result<i64, Problem> {
    version(text).ok_or_else(|| invalid(IF_MATCH, VERSION_RULE))
}

/// What an `If-None-Match` names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoneMatch {
    /// Whatever version there is.
    Any,
    /// These entity tags, without what marks them as weak: for a reader the two kinds are one.
    Tags(Vec<String>),
}

impl NoneMatch {
    /// Whether this entity tag is among them, so that its object need not be sent again.
    pub fn names(&self, etag: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Tags(tags) => tags.iter().any(|tag| tag == etag),
        }
    }
}

/// Reads an `If-None-Match`.
pub fn if_none_match(text: &str) -> Result<NoneMatch, Problem> {
    if text == "*" {
        return Ok(NoneMatch::Any);
    }
    let (mut tags, mut rest) = (Vec::new(), text);
    loop {
        // A comma may stand in a tag, so the quotes are followed instead of splitting.
        let inner = rest.strip_prefix("W/").unwrap_or(rest).strip_prefix('"');
        let tag =
            inner.and_then(|inner| inner.split_once('"')).filter(|(tag, _)| tag.bytes().all(|b| b.is_ascii_graphic()));
        let (tag, after) = tag.ok_or_else(|| invalid(IF_NONE_MATCH, NONE_MATCH_RULE))?;
        tags.push(format!("\"{tag}\""));
        if after.is_empty() {
            return Ok(NoneMatch::Tags(tags));
        }
        let spaces: &[char] = &[' ', '\t'];
        let next = after.trim_start_matches(spaces).strip_prefix(',');
        rest = next.ok_or_else(|| invalid(IF_NONE_MATCH, NONE_MATCH_RULE))?.trim_start_matches(spaces);
    }
}

/// Reads a version as `ETag` and `If-Match` carry it.
pub fn version(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('"')?.strip_suffix('"')?;
    let shaped =
        (1..=18).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0');
    if shaped { digits.parse().ok() } else { None }
}

/// Writes a version as `ETag` and `If-Match` carry it.
pub fn version_text(version: i64) -> String {
    format!("\"{version}\"")
}

/// Reads a `Last-Event-ID`: the position after which the stream goes on.
pub fn last_event_id(text: &str) -> Result<EventPosition, Problem> {
    let canonical = text == "0" || (!text.starts_with('0') && text.bytes().all(|b| b.is_ascii_digit()));
    let position = if canonical { text.parse().ok() } else { None };
    position.ok_or_else(|| invalid(LAST_EVENT_ID, POSITION_RULE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_the_same_with_and_without_quotes() {
        assert_eq!(idempotency_key("a.B_1:-"), Ok("a.B_1:-"));
        assert_eq!(idempotency_key("\"a.B_1:-\""), Ok("a.B_1:-"));
        assert_eq!(idempotency_key(&idempotency_key_text("k")), Ok("k"));
    }

    #[test]
    fn what_breaks_a_rule_is_refused_and_names_the_header() {
        let long = "k".repeat(65);
        for bad in ["", "\"\"", "\"k", "k\"", " k", "k k", "é", "k\u{7f}", long.as_str()] {
            let problem = idempotency_key(bad).expect_err(bad);
            assert_eq!(
                (problem.code, problem.errors[0].pointer.as_str()),
                (Code::InvalidHeader, IDEMPOTENCY_KEY),
                "{bad:?}"
            );
        }
        for bad in
            ["", "7", "\"\"", "\"0\"", "\"07\"", "W/\"7\"", "\"7\", \"8\"", "*", "\"-1\"", "\"9999999999999999999\""]
        {
            assert_eq!(if_match(bad).expect_err(bad).errors[0].pointer, IF_MATCH, "{bad:?}");
        }
        for bad in
            ["", "7", "\"7", "7\"", "\"7\",", ",\"7\"", "\"7\" \"8\"", "w/\"7\"", "\"a b\"", "*, \"7\"", " *", "\"é\""]
        {
            assert_eq!(if_none_match(bad).expect_err(bad).errors[0].pointer, IF_NONE_MATCH, "{bad:?}");
        }
        for bad in ["", "-1", "+1", "01", "1.0", "9007199254740992"] {
            assert_eq!(last_event_id(bad).expect_err(bad).errors[0].pointer, LAST_EVENT_ID, "{bad:?}");
        }
    }

    #[test]
    fn a_reader_may_have_several_versions_or_any() {
        for text in ["*", "\"7\"", "W/\"7\"", "\"6\",\"7\"", "\"a,b\" ,\tW/\"7\"", "\"\", \"7\""] {
            assert!(if_none_match(text).is_ok_and(|given| given.names("\"7\"")), "{text}");
        }
        for text in ["\"8\"", "W/\"77\"", "\"6\", \"8\""] {
            assert!(if_none_match(text).is_ok_and(|given| !given.names("\"7\"")), "{text}");
        }
    }

    #[test]
    fn versions_and_positions_are_read_back() {
        assert_eq!(if_match(&version_text(7)), Ok(7));
        assert_eq!(if_match("\"999999999999999999\""), Ok(999_999_999_999_999_999));
        assert_eq!(last_event_id("0").map(EventPosition::get), Ok(0));
        assert_eq!(last_event_id("42").map(EventPosition::get), Ok(42));
    }
}
