//! Finds the files of a built portal and writes them down as Rust. Used by the build script; a part of the crate only for
//! its tests.

use std::{
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
};

/// One file that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its path under the root of the site.
    pub path: String,
    /// Where it is.
    pub file: PathBuf,
    /// Where the same is, compressed.
    pub gzip: Option<PathBuf>,
}

/// Every file of a folder, in the order of their paths. What ends in `.gz` is the compressed form of its neighbour.
pub fn files(root: &Path) -> io::Result<Vec<Found>> {
    let mut all = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                all.push(path);
            }
        }
    }
    let mut found = Vec::new();
    for file in all.iter().filter(|file| file.extension().is_none_or(|ending| ending != "gz")) {
        let inside = file.strip_prefix(root).map_err(io::Error::other)?;
        let path = inside.to_str().ok_or_else(|| io::Error::other(format!("{} is no text", file.display())))?;
        let mut beside = file.as_os_str().to_owned();
        beside.push(".gz");
        let beside = PathBuf::from(beside);
        let gzip = all.contains(&beside).then_some(beside);
        found.push(Found { path: format!("/{path}"), file: file.clone(), gzip });
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(found)
}

/// The table as Rust.
pub fn table(found: &[Found]) -> String {
    let mut text = String::from("static FILES: &[File] = &[\n");
    for Found { path, file, gzip } in found {
        let gzip = gzip.as_ref().map_or_else(|| "None".to_owned(), |gzip| format!("Some(include_bytes!({gzip:?}))"));
        // Their names change with what is in them.
        let immutable = path.starts_with("/assets/");
        let _ = writeln!(
            text,
            "    File {{ path: {path:?}, content_type: {:?}, immutable: {immutable}, plain: include_bytes!({file:?}), gzip: {gzip} }},",
            content_type(path)
        );
    }
    text.push_str("];\n");
    text
}

/// The media type of a file, by the end of its name.
fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "map" => "application/json",
        "webmanifest" => "application/manifest+json",
        "txt" => "text/plain; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_with_their_compressed_form_and_kind() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("assets/deep")).unwrap();
        for (name, text) in [
            ("index.html", "<p>"),
            ("index.html.gz", "z"),
            ("assets/main-1a2b.js", "1"),
            ("assets/main-1a2b.js.gz", "z"),
            ("assets/deep/font.woff2", "f"),
            ("favicon.svg", "<svg/>"),
        ] {
            fs::write(root.join(name), text).unwrap();
        }
        let found = files(root).unwrap();
        let paths: Vec<(&str, bool)> = found.iter().map(|file| (file.path.as_str(), file.gzip.is_some())).collect();
        assert_eq!(
            paths,
            [
                ("/assets/deep/font.woff2", false),
                ("/assets/main-1a2b.js", true),
                ("/favicon.svg", false),
                ("/index.html", true)
            ]
        );
        let text = table(&found);
        let line = |path: &str| text.lines().find(|line| line.contains(&format!("{path:?}"))).unwrap().to_owned();
        assert!(line("/assets/main-1a2b.js").contains("immutable: true"));
        assert!(line("/assets/main-1a2b.js").contains("text/javascript"));
        assert!(line("/assets/main-1a2b.js").contains("Some(include_bytes!("));
        assert!(line("/index.html").contains("immutable: false"));
        assert!(line("/favicon.svg").contains("gzip: None"));
    }

    #[test]
    fn an_empty_folder_is_an_empty_table() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(table(&files(folder.path()).unwrap()), "static FILES: &[File] = &[\n];\n");
    }
}
