//! Pages: a cursor, a hard cap, no totals.

use model::number::PageSize;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;

/// Items a page has when the request does not say.
pub const DEFAULT_PAGE_SIZE: i64 = 50;

/// An opaque position in one list. It is bound to the list and its filters: using it elsewhere is refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PageToken(pub String);

impl<'de> Deserialize<'de> for PageToken {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = String::deserialize(d)?;
        let shaped = (1..=200).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        if shaped {
            Ok(Self(text))
        } else {
            Err(serde::de::Error::custom("expected the next_page_token of an earlier page"))
        }
    }
}
impl JsonSchema for PageToken {
    fn schema_name() -> Cow<'static, str> {
        "PageToken".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[A-Za-z0-9_-]+$",
            "description": "Opaque: the next_page_token of an earlier page of the same list." })
    }
}

/// Which page.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageQuery {
    /// How many items at most; 50 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_size: Option<PageSize>,
    /// Where to go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_token: Option<PageToken>,
}

/// One page of a list, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "{T}Page")]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// Present when there is more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_page_token: Option<PageToken>,
}
