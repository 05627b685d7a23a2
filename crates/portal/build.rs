//! Writes the table of the portal's files. Cargo never runs Node: what is in `portal/dist` when this runs is taken in, and
//! where there is no such folder the table is empty.

// Cargo reads what a build script prints.
#![allow(clippy::print_stdout)]

#[path = "src/scan.rs"]
mod scan;

use std::{env, fs, io, path::PathBuf};

fn main() -> io::Result<()> {
    let variable = |name: &str| env::var_os(name).map(PathBuf::from).ok_or_else(|| io::Error::other(name.to_owned()));
    let portal = variable("CARGO_MANIFEST_DIR")?.join("../../portal");
    let built = portal.join("dist");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/scan.rs");
    // A folder that is not there would count as changed every time; its parent changes when it comes.
    if let Some(watched) = [&built, &portal].into_iter().find(|folder| folder.is_dir()) {
        println!("cargo::rerun-if-changed={}", watched.display());
    }
    let found = if built.is_dir() { scan::files(&built.canonicalize()?)? } else { Vec::new() };
    fs::write(variable("OUT_DIR")?.join("files.rs"), scan::table(&found))
}
