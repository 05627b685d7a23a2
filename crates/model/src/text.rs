//! Text that people write: names, short slugs, e-mail addresses, notes. Each type has one rule, states it in its error and
//! in its JSON schema, and refuses control characters, so nothing written by a tenant can break a log line, a table or SQL.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::{borrow::Cow, fmt, str::FromStr};

/// A word that is not in a fixed list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is not one of {accepted:?}")]
pub struct UnknownWord {
    /// What was given.
    pub word: String,
    /// What would have been accepted.
    pub accepted: &'static [&'static str],
}

/// A text that breaks the rule of its type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}")]
pub struct BadText {
    /// The rule in words.
    pub expected: &'static str,
}

macro_rules! texts {
    ($($(#[$meta:meta])* $name:ident { rule: $rule:literal, pattern: $pattern:literal, $(min: $min:literal,)? max: $max:literal, example: $example:literal, check: $check:expr }),+ $(,)?) => { $(
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// The text itself.
            pub fn as_str(&self) -> &str { &self.0 }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str(&self.0) }
        }
        impl FromStr for $name {
            type Err = BadText;
            fn from_str(text: &str) -> Result<Self, BadText> {
                let check: fn(&str) -> bool = $check;
                if text.chars().count() <= $max && check(text) { Ok(Self(text.to_owned())) } else { Err(BadText { expected: $rule }) }
            }
        }
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> { s.serialize_str(&self.0) }
        }
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
            }
        }
        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> { stringify!($name).into() }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "minLength": texts!(@min $($min)?), "maxLength": $max, "pattern": $pattern, "description": $rule, "examples": [$example] })
            }
        }
    )+ };
    (@min) => { 1 };
    (@min $min:literal) => { $min };
}

fn is_slug_shaped(text: &str) -> bool {
    let bytes = text.as_bytes();
    let edge = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    bytes.first().is_some_and(|b| b.is_ascii_lowercase())
        && bytes.last().is_some_and(edge)
        && bytes.iter().all(|b| edge(b) || *b == b'-')
}

// Letters people write names in, as ranges that a JSON Schema pattern can state too. No control, format or
// direction-changing characters, and no space but the plain one.
fn is_name_character(c: char) -> bool {
    matches!(c, '!'..='~' | '\u{a1}'..='\u{ac}' | '\u{ae}'..='\u{24f}' | '\u{370}'..='\u{4ff}' | '\u{3041}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}')
}

fn is_plain_line(text: &str) -> bool {
    let edge_ok =
        text.chars().next().is_some_and(is_name_character) && text.chars().next_back().is_some_and(is_name_character);
    edge_ok && text.chars().all(|c| c == ' ' || is_name_character(c))
}

fn is_justification(text: &str) -> bool {
    text.chars().count() >= 20 && is_plain_line(text)
}

fn is_email_shaped(text: &str) -> bool {
    let Some((local, domain)) = text.split_once('@') else { return false };
    let word = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    !local.is_empty()
        && local.bytes().all(|b| word(b) || matches!(b, b'.' | b'_' | b'+' | b'-'))
        && !domain.is_empty()
        && domain.split('.').all(|label| {
            !label.is_empty()
                && label.bytes().all(|b| word(b) || b == b'-')
                && !label.starts_with('-')
                && !label.ends_with('-')
        })
}

fn is_device_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_graphic)
        && bytes.last().is_some_and(u8::is_ascii_graphic)
        && bytes.iter().all(|b| b.is_ascii_graphic() || *b == b' ')
}

fn is_label_word(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

fn is_label_key(text: &str) -> bool {
    let edge = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let is_domain = |domain: &str| {
        let bytes = domain.as_bytes();
        bytes.first().is_some_and(edge)
            && bytes.last().is_some_and(edge)
            && bytes.iter().all(|b| edge(b) || matches!(b, b'-' | b'.'))
    };
    match text.split_once('/') {
        Some((domain, name)) => is_domain(domain) && is_label_word(name),
        None => is_label_word(text),
    }
}

fn is_key_line(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_graphic() || b == b' ') && is_device_name(text)
}

fn is_ed25519_key(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

// One slash at the start: two would name another site.
fn is_site_path(text: &str) -> bool {
    let kept = |b: u8| b.is_ascii_alphanumeric() || b"._~%&=?+:@,;/-".contains(&b);
    text.starts_with('/') && !text.starts_with("//") && text.bytes().all(kept)
}

fn is_token_secret(text: &str) -> bool {
    let letters = text.strip_prefix("gpuaas_");
    letters.is_some_and(|letters| {
        letters.len() == 43 && letters.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
    })
}

texts! {
    /// A path of this site, with what follows a question mark.
    SitePath {
        rule: "a path that starts with one slash, of letters, digits and ._~%&=?+:@,;/-",
        pattern: "^/([A-Za-z0-9._~%&=?+:@,;-][A-Za-z0-9._~%&=?+:@,;/-]*)?$", max: 500, example: "/nodes", check: is_site_path
    },
    /// The secret of a token, as it was shown once.
    TokenSecret {
        rule: "gpuaas_ and 43 letters, digits, hyphens and underscores",
        pattern: "^gpuaas_[A-Za-z0-9_-]{43}$", max: 50, example: "gpuaas_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", check: is_token_secret
    },
    /// What an image, or a key that signs images, is called.
    ImageName {
        rule: "1 to 64 of a-z, 0-9, '.', '_' and '-'",
        pattern: "^[a-z0-9._-]+$", max: 64, example: "debian-12", check: crate::image::is_name
    },
    /// The public half of an Ed25519 key.
    Ed25519Key {
        rule: "64 lower-case hexadecimal digits",
        pattern: "^[0-9a-f]{64}$", max: 64, example: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", check: is_ed25519_key
    },
    /// What a label is called: `team`, `acme.example/cost-centre`.
    LabelKey {
        rule: "1 to 128 letters, digits, hyphens, underscores and dots, starting and ending with a letter or digit; before it there may be a domain in lower case and a slash",
        pattern: "^([a-z0-9]([a-z0-9.-]*[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$", max: 128, example: "team", check: is_label_key
    },
    /// What a label says.
    LabelValue {
        rule: "1 to 63 letters, digits, hyphens, underscores and dots, starting and ending with a letter or digit",
        pattern: "^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$", max: 63, example: "vision", check: is_label_word
    },
    /// A public key as one line of printable ASCII. Whether it is a key is for whoever reads it to say.
    PublicKeyLine {
        rule: "one line of 1 to 4096 printable ASCII characters: the kind of key, the key, and perhaps a comment",
        pattern: "^[!-~]([ -~]*[!-~])?$", max: 4096, example: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJmUo4aHXqXLnqOZ+ozqUbbCZMYTR7xr1ZpHv1kmlgfQ ada", check: is_key_line
    },
    /// What a device or address is called on its host: a PCI address, the identity of a disk, a MAC. Whether there is such
    /// a thing is for the rules of approval to say.
    DeviceName {
        rule: "1 to 128 printable ASCII characters and inner spaces",
        pattern: "^[!-~]([ -~]*[!-~])?$", max: 128, example: "eui.36344730528001250025384500000001", check: is_device_name
    },
    /// How a record names who acted, what was done, or what it was done to: an id, a word, the identity of a disk. It finds
    /// what says exactly the same.
    RecordedName {
        rule: "1 to 200 printable ASCII characters and inner spaces",
        pattern: "^[!-~]([ -~]*[!-~])?$", max: 200, example: "tenant_create", check: is_device_name
    },
    /// A short machine-friendly name, unique where it is used: `acme`, `eu-1`, `h200-sxm-slice`.
    Slug {
        rule: "1 to 40 lower-case letters, digits and hyphens, starting with a letter and ending with a letter or digit",
        pattern: "^[a-z]([a-z0-9-]*[a-z0-9])?$", max: 40, example: "acme", check: is_slug_shaped
    },
    /// A name for people to read.
    DisplayName {
        rule: "1 to 80 printable letters, digits, punctuation and inner spaces (Latin, Greek, Cyrillic, Japanese, Chinese, Korean)",
        pattern: "^[!-~\\u00a1-\\u00ac\\u00ae-\\u024f\\u0370-\\u04ff\\u3041-\\u30ff\\u4e00-\\u9fff\\uac00-\\ud7a3]([ -~\\u00a1-\\u00ac\\u00ae-\\u024f\\u0370-\\u04ff\\u3041-\\u30ff\\u4e00-\\u9fff\\uac00-\\ud7a3]*[!-~\\u00a1-\\u00ac\\u00ae-\\u024f\\u0370-\\u04ff\\u3041-\\u30ff\\u4e00-\\u9fff\\uac00-\\ud7a3])?$", max: 80, example: "Acme Research", check: is_plain_line
    },
    /// An e-mail address in lower case, used as the name of a person.
    Email {
        rule: "an e-mail address in lower case such as ada@acme.example",
        pattern: "^[a-z0-9._+-]+@[a-z0-9]([a-z0-9-]*[a-z0-9])?(\\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$", max: 120, example: "ada@acme.example", check: is_email_shaped
    },
    /// A remark that explains an action, kept with it.
    Note {
        rule: "1 to 200 printable letters, digits, punctuation and inner spaces (Latin, Greek, Cyrillic, Japanese, Chinese, Korean)",
        pattern: "^[!-~\\u00a1-\\u00ac\\u00ae-\\u024f\\u0370-\\u04ff\\u3041-\\u30ff\\u4e00-\\u9fff\\uac00-\\ud7a3]([ -~\\u00a1-\\u00ac\\u00ae-\\u024f\\u0370-\\u04ff\\u3041-\\u30ff\\u4e00-\\u9fff\\uac00-\\ud7a3]*[!-~\\u00a1-\\u00ac\\u00ae-\\u024f\\u0370-\\u04ff\\u3041-\\u30ff\\u4e00-\\u9fff\\uac00-\\ud7a3])?$", max: 200, example: "Contract ended", check: is_plain_line
    },
    /// A reason that others have to be able to judge: a sentence, not a word.
    Justification {
        rule: "20 to 1000 printable letters, digits, punctuation and inner spaces (Latin, Greek, Cyrillic, Japanese, Chinese, Korean)",
        pattern: "^[!-~\\u00a1-\\u00ac\\u00ae-\\u024f\\u0370-\\u04ff\\u3041-\\u30ff\\u4e00-\\u9fff\\uac00-\\ud7a3]([ -~\\u00a1-\\u00ac\\u00ae-\\u024f\\u0370-\\u04ff\\u3041-\\u30ff\\u4e00-\\u9fff\\uac00-\\ud7a3]*[!-~\\u00a1-\\u00ac\\u00ae-\\u024f\\u0370-\\u04ff\\u3041-\\u30ff\\u4e00-\\u9fff\\uac00-\\ud7a3])?$", min: 20, max: 1000, example: "The disk was taken out and shredded; see the protocol.", check: is_justification
    },
}

impl Slug {
    /// The resource that requests ask for.
    pub fn gpu() -> Self {
        Self("gpu".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_follow_their_rule() {
        for good in ["a", "eu-1", "h200-sxm-slice"] {
            assert!(good.parse::<Slug>().is_ok(), "{good}");
        }
        for bad in ["", "-a", "a-", "A", "a_b", "1a", "a b", "a\n", "é", "a'--"] {
            assert!(bad.parse::<Slug>().is_err(), "{bad:?}");
        }
        assert!("a".repeat(41).parse::<Slug>().is_err());
    }

    #[test]
    fn names_refuse_control_characters_and_stray_spaces() {
        for bad in ["", " a", "a ", "a\u{0}b", "a\u{1b}[31m", "line\nline", "a\u{202e}b", "a\u{ad}b", "a\u{a0}b"] {
            assert!(bad.parse::<DisplayName>().is_err(), "{bad:?}");
        }
        for good in ["Acme Research (EU) <1>", "Müller GmbH", "研究所"] {
            assert!(good.parse::<DisplayName>().is_ok(), "{good}");
        }
    }

    #[test]
    fn names_of_devices_are_one_printable_word_or_a_few() {
        for good in ["0000:0f:00.0", "eui.36344730528001250025384500000001", "02:00:00:00:2a:05", "SN 12 34"] {
            assert!(good.parse::<DeviceName>().is_ok(), "{good}");
        }
        for bad in ["", " a", "a ", "a\nb", "a\u{0}", "é", "a\u{202e}"] {
            assert!(bad.parse::<DeviceName>().is_err(), "{bad:?}");
        }
        assert!("a".repeat(129).parse::<DeviceName>().is_err());
        assert!("system:placement".parse::<RecordedName>().is_ok() && "a".repeat(200).parse::<RecordedName>().is_ok());
        assert!("a".repeat(201).parse::<RecordedName>().is_err() && "a\u{0}".parse::<RecordedName>().is_err());
    }

    #[test]
    fn a_justification_is_more_than_a_word() {
        for good in ["The disk was shredded.", "Der Datenträger wurde zerstört, siehe Protokoll 17."] {
            assert!(good.parse::<Justification>().is_ok(), "{good}");
        }
        for bad in ["", "broken", "nineteen letters ab", " leading and long enough", "two lines of text\nare refused"] {
            assert!(bad.parse::<Justification>().is_err(), "{bad:?}");
        }
        assert!("a".repeat(20).parse::<Justification>().is_ok() && "a".repeat(1000).parse::<Justification>().is_ok());
        assert!("a".repeat(1001).parse::<Justification>().is_err());
    }

    #[test]
    fn labels_follow_their_rule() {
        for good in ["a", "team", "Team_1.x", "acme.example/cost-centre", "x/Y"] {
            assert!(good.parse::<LabelKey>().is_ok(), "{good}");
        }
        for bad in ["", "-a", "a-", "a b", "a/b/c", "/a", "a/", "A.example/x", "a\n", "a'--", "é", "${x}"] {
            assert!(bad.parse::<LabelKey>().is_err(), "{bad:?}");
        }
        assert!("a".repeat(64).parse::<LabelValue>().is_err());
        for bad in ["", "a/b", "a b", "<b>", "a;--"] {
            assert!(bad.parse::<LabelValue>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn emails_follow_their_rule() {
        assert!("ada.l+x@acme.example".parse::<Email>().is_ok());
        for bad in ["ada", "@x", "a@", "A@x", "a@-x", "a@x-", "a@x..y", "a b@x"] {
            assert!(bad.parse::<Email>().is_err(), "{bad}");
        }
    }
}
