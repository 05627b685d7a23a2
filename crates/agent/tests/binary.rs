//! What the program needs from the host it runs on, read from the program itself: nothing but glibc, and no glibc newer than
//! that of Ubuntu 22.04.
#![allow(clippy::unwrap_used)]

use object::{
    LittleEndian,
    elf::{DT_NEEDED, FileHeader64},
    read::elf::{Dyn, FileHeader},
};
use std::{collections::BTreeSet, fs};

const GLIBC_MAX: (u32, u32) = (2, 35);

#[test]
fn it_needs_only_glibc_and_none_newer_than_2_35() {
    let bytes = fs::read(env!("CARGO_BIN_EXE_gpuaas-agent")).unwrap();
    let file = FileHeader64::<LittleEndian>::parse(&*bytes).unwrap();
    let endian = file.endian().unwrap();
    let sections = file.sections(endian, &*bytes).unwrap();

    let (dynamic, at) = sections.dynamic(endian, &*bytes).unwrap().unwrap();
    let strings = sections.strings(endian, &*bytes, at).unwrap();
    let needed: BTreeSet<&str> = dynamic
        .iter()
        .filter(|entry| entry.tag(endian) == DT_NEEDED)
        .map(|entry| std::str::from_utf8(entry.string(endian, strings).unwrap()).unwrap())
        .collect();
    let loader = |name: &str| name.starts_with("ld-linux-");
    let glibc = |name: &&str| ["libc.so.6", "libm.so.6"].contains(name) || loader(name);
    assert!(needed.contains("libc.so.6") && needed.iter().all(glibc), "{needed:?}");

    let (mut versions, at) = sections.gnu_verneed(endian, &*bytes).unwrap().unwrap();
    let strings = sections.strings(endian, &*bytes, at).unwrap();
    let mut named = BTreeSet::new();
    while let Some((_, mut of_library)) = versions.next().unwrap() {
        while let Some(version) = of_library.next().unwrap() {
            named.insert(std::str::from_utf8(version.name(endian, strings).unwrap()).unwrap());
        }
    }
    let number = |name: &str| -> Option<(u32, u32)> {
        let mut parts = name.strip_prefix("GLIBC_")?.split('.').map(|part| part.parse().ok());
        Some((parts.next()??, parts.next()??))
    };
    assert!(named.iter().any(|name| number(name).is_some()), "{named:?}");
    for name in named {
        assert!(number(name).is_some_and(|version| version <= GLIBC_MAX), "needs {name}");
    }
}
