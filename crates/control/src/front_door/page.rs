//! Page tokens. A token holds the last id of a page and a short hash of the list it belongs to: the operation, its path, its
//! filters and the caller. It opens nothing by itself (every page is filtered by scope again); the hash only keeps a
//! token from being used on another list, where it would silently skip items.

use api::{
    Code, Problem,
    page::{DEFAULT_PAGE_SIZE, Page, PageToken, Paged},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};

const BINDING_BYTES: usize = 8;

/// What a token is bound to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Binding([u8; BINDING_BYTES]);

impl Binding {
    /// The binding of a list; each part counts, and so does where one ends and the next begins.
    pub(crate) fn of<'a>(parts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update(format!("{}:", part.len()));
            hash.update(part);
        }
        let mut short = [0u8; BINDING_BYTES];
        short.iter_mut().zip(hash.finalize()).for_each(|(to, from)| *to = from);
        Self(short)
    }
}

/// Where a page starts and how long it may be.
#[derive(Debug, Clone)]
pub(crate) struct Cursor {
    binding: Binding,
    after: String,
    size: i64,
}

impl Cursor {
    /// Reads where to go on.
    pub(crate) fn read(query: &impl Paged, binding: Binding) -> Result<Self, Problem> {
        let size = query.page_size().unwrap_or(DEFAULT_PAGE_SIZE);
        let after = match query.page_token() {
            None => String::new(),
            Some(token) => opened(token, binding).ok_or_else(foreign)?,
        };
        Ok(Self { binding, after, size })
    }

    /// What to ask the store for: one row more than fits, to know whether there is a next page.
    pub(crate) fn rows(&self) -> store::Page<'_> {
        store::Page::after(&self.after, self.size + 1)
    }

    /// The page out of those rows.
    pub(crate) fn page<R, V, E>(
        &self,
        mut rows: Vec<R>,
        id: impl Fn(&R) -> &str,
        view: impl FnMut(R) -> Result<V, E>,
    ) -> Result<Page<V>, E> {
        let size = usize::try_from(self.size).unwrap_or(usize::MAX);
        let more = rows.len() > size;
        rows.truncate(size);
        let next = rows.last().filter(|_| more).map(|row| sealed(id(row), self.binding));
        let items = rows.into_iter().map(view).collect::<Result<Vec<V>, E>>()?;
        Ok(Page { items, next_page_token: next })
    }
}

fn foreign() -> Problem {
    Problem::new(Code::InvalidPageToken, "The page token does not belong to this list.")
        .with_field("page_token", "the next_page_token of an earlier page of the same list")
}

fn sealed(id: &str, binding: Binding) -> PageToken {
    let mut bytes = binding.0.to_vec();
    bytes.extend_from_slice(id.as_bytes());
    PageToken(URL_SAFE_NO_PAD.encode(bytes))
}

fn opened(token: &PageToken, binding: Binding) -> Option<String> {
    let bytes = URL_SAFE_NO_PAD.decode(&token.0).ok()?;
    let id = bytes.strip_prefix(&binding.0)?;
    let shaped =
        !id.is_empty() && id.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'-'));
    if shaped { String::from_utf8(id.to_vec()).ok() } else { None }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use api::page::PageQuery;

    #[test]
    fn a_token_goes_on_in_its_own_list_only() {
        let (mine, other) = (Binding::of(["tenant_list", "prn_1"]), Binding::of(["tenant_list", "prn_2"]));
        let first =
            Cursor::read(&PageQuery { page_size: Some(2.try_into().unwrap()), page_token: None }, mine).unwrap();
        assert_eq!(first.rows().limit, 3);
        let page = first.page(vec!["a_1", "a_2", "a_3"], |id| id, Ok::<_, ()>).unwrap();
        assert_eq!(page.items, ["a_1", "a_2"]);
        let query = PageQuery { page_size: None, page_token: page.next_page_token };
        assert_eq!(Cursor::read(&query, mine).unwrap().rows().after, "a_2");
        assert_eq!(Cursor::read(&query, other).unwrap_err().code, Code::InvalidPageToken);
        let last = first.page(vec!["a_3"], |id| id, Ok::<_, ()>).unwrap();
        assert_eq!(last.next_page_token, None);
    }

    #[test]
    fn what_was_never_a_token_is_refused() {
        let binding = Binding::of(["x"]);
        for text in ["a", "AAAAAAAAAAA", "not-base64-at-all-", &sealed("DROP TABLE", binding).0, &sealed("", binding).0]
        {
            let query = PageQuery { page_size: None, page_token: Some(PageToken(text.to_owned())) };
            assert!(Cursor::read(&query, binding).is_err(), "{text}");
        }
    }

    #[test]
    fn parts_do_not_run_together() {
        assert_ne!(Binding::of(["ab", "c"]), Binding::of(["a", "bc"]));
    }
}
