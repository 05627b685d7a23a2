//! Pages: a cursor, a hard cap, no totals.

use crate::endpoint::Part;
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

/// The query of a list that comes in pages, beside whatever it filters by.
pub trait Paged: Part {
    /// How many items at most.
    fn page_size(&self) -> Option<i64>;
    /// Where to go on.
    fn page_token(&self) -> Option<&PageToken>;
    /// The same query, from where an earlier page ended.
    fn going_on(&self, page_token: PageToken) -> Self;
}

/// Says of queries with `page_size` and `page_token` that they are of lists in pages.
macro_rules! paged {
    ($($query:ty),+) => { $(
        impl $crate::page::Paged for $query {
            fn page_size(&self) -> Option<i64> {
                self.page_size.map(|size| size.get())
            }
            fn page_token(&self) -> Option<&$crate::page::PageToken> {
                self.page_token.as_ref()
            }
            fn going_on(&self, page_token: $crate::page::PageToken) -> Self {
                Self { page_token: Some(page_token), ..self.clone() }
            }
        }
    )+ };
}
pub(crate) use paged;

paged!(PageQuery);

/// One page of a list; oldest first, where the query does not say otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "{T}Page")]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// Present when there is more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_page_token: Option<PageToken>,
}
