//! The portal: the files that a browser loads, as the build of `portal/` left them, carried inside the binary.
//!
//! They are taken in when this crate is compiled, if they are there. Without them everything else works as usual, and the
//! server says at `/` that this binary has no portal. Nothing here serves anything; that is the HTTP server's business.

#[cfg(test)]
mod scan;

/// One file of the portal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct File {
    /// Its path under the root of the site, such as `/index.html`.
    pub path: &'static str,
    /// Its media type.
    pub content_type: &'static str,
    /// Its name changes with what is in it, so whoever has it need never ask again.
    pub immutable: bool,
    /// What is in it.
    pub plain: &'static [u8],
    /// The same, compressed with gzip when the portal was built.
    pub gzip: Option<&'static [u8]>,
}

// A derived Debug would print the bytes.
impl std::fmt::Debug for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("File").field("path", &self.path).field("bytes", &self.plain.len()).finish_non_exhaustive()
    }
}

/// The page that everything starts from.
pub const INDEX: &str = "/index.html";

/// The files that this binary was built with; none if the portal was not built before.
pub fn files() -> &'static [File] {
    FILES
}

include!(concat!(env!("OUT_DIR"), "/files.rs"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_portal_that_is_there_has_a_page_to_start_from() {
        assert!(files().is_empty() || files().iter().any(|file| file.path == INDEX));
    }
}
