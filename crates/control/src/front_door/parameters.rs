//! Reading path and query parameters into the types of an operation. Parameters are closed like bodies: an unknown or
//! repeated one is refused by name, so that a misspelt filter never lists everything.

use api::{Code, Problem};
use serde::{
    Deserializer,
    de::{
        DeserializeOwned, IntoDeserializer, Visitor,
        value::{Error, MapDeserializer},
    },
    forward_to_deserialize_any,
};

/// A parameter that breaks a rule.
pub(crate) fn invalid(name: &str, accepted: &str) -> Problem {
    Problem::new(Code::InvalidParameter, "A parameter does not match its schema.").with_field(name, accepted)
}

/// The pairs of a query string, decoded, each name once and known.
pub(crate) fn query_pairs(query: Option<&str>, known: &[String]) -> Result<Vec<(String, String)>, Problem> {
    let mut found: Vec<(String, String)> = Vec::new();
    for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name = decode(name, true).ok_or_else(|| invalid(&clipped(name), "percent-encoded UTF-8"))?;
        if !known.contains(&name) {
            let accepted =
                if known.is_empty() { "no parameters".to_owned() } else { format!("one of {}", known.join(", ")) };
            return Err(invalid(&clipped(&name), &accepted));
        }
        let value = decode(value, true).ok_or_else(|| invalid(&name, "percent-encoded UTF-8"))?;
        if found.iter().any(|(given, _)| *given == name) {
            return Err(invalid(&name, "the parameter once"));
        }
        found.push((name, value));
    }
    Ok(found)
}

/// Decoded pairs as the type of an operation's parameters.
pub(crate) fn typed<T: DeserializeOwned>(pairs: &[(String, String)]) -> Result<T, Problem> {
    let fields = pairs.iter().map(|(name, value)| (name.as_str(), Parameter(value)));
    let mut track = serde_path_to_error::Track::new();
    let source = serde_path_to_error::Deserializer::new(MapDeserializer::new(fields), &mut track);
    T::deserialize(source).map_err(|error| {
        let text = error.to_string();
        let missing = text.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
        let name = missing.map_or_else(|| track.path().to_string(), str::to_owned);
        invalid(&name, super::body::accepted(&text))
    })
}

/// Decodes `%41` and, in a query, `+`. `None` when an escape is broken or the bytes are not UTF-8.
pub(crate) fn decode(text: &str, plus_is_space: bool) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digit = |byte: Option<u8>| byte.map(char::from).and_then(|c| c.to_digit(16));
                let (high, low) = (digit(rest.next())?, digit(rest.next())?);
                u8::try_from(high * 16 + low).ok()?
            }
            b'+' if plus_is_space => b' ',
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

// A name that a caller made up is repeated in the answer, but not without end.
fn clipped(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(64).collect()
}

/// One value: a text that becomes a number where a number is wanted.
struct Parameter<'a>(&'a str);

impl<'de> IntoDeserializer<'de, Error> for Parameter<'de> {
    type Deserializer = Self;
    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Parameter<'de> {
    type Error = Error;
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_borrowed_str(self.0)
    }
    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0.parse::<i64>() {
            Ok(number) if !self.0.starts_with('+') => visitor.visit_i64(number),
            _ => Err(serde::de::Error::custom("expected a whole number")),
        }
    }
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }
    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_enum(IntoDeserializer::<Error>::into_deserializer(self.0))
    }
    forward_to_deserialize_any! {
        bool i8 i16 i32 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use api::{page::PageQuery, tenancy::TenantPath};

    fn page(query: &str) -> Result<PageQuery, String> {
        let known = ["page_size".to_owned(), "page_token".to_owned()];
        let pairs = query_pairs(Some(query), &known).map_err(|p| p.errors[0].pointer.clone())?;
        typed(&pairs).map_err(|p| format!("{}: {}", p.errors[0].pointer, p.errors[0].detail))
    }

    #[test]
    fn a_query_is_read_into_its_type() {
        let read = page("page_size=7&page_token=ab%2Dc").unwrap();
        assert_eq!(read.page_size.unwrap().get(), 7);
        assert_eq!(read.page_token.unwrap().0, "ab-c");
        assert!(page("").unwrap().page_size.is_none());
        assert!(page("&&").unwrap().page_size.is_none());
    }

    #[test]
    fn every_refusal_names_the_parameter() {
        assert_eq!(page("page_siz=7").unwrap_err(), "page_siz");
        assert_eq!(page("page_size=7&page_size=7").unwrap_err(), "page_size");
        assert_eq!(page("page_size=%zz").unwrap_err(), "page_size");
        assert_eq!(page("page_size=%ff").unwrap_err(), "page_size");
        assert_eq!(page("page_size=0").unwrap_err(), "page_size: a whole number from 1 to 200");
        for wrong in ["page_size=x", "page_size=", "page_size=+7", "page_size=7.0"] {
            assert!(page(wrong).unwrap_err().starts_with("page_size"), "{wrong}");
        }
        assert!(page("page_token=a%20b").unwrap_err().starts_with("page_token"));
    }

    #[test]
    fn an_id_of_another_kind_is_refused_in_a_path() {
        let read = |id: &str| typed::<TenantPath>(&[("tenant_id".to_owned(), id.to_owned())]);
        assert!(read("tnt_01jh2n6f4zw8q9r0s1t2v3x4y5").is_ok());
        let problem = read("prj_01jh2n6f4zw8q9r0s1t2v3x4y5").unwrap_err();
        assert_eq!((problem.code, problem.errors[0].pointer.as_str()), (Code::InvalidParameter, "tenant_id"));
    }
}
