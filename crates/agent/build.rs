//! Links the program `gpuaas-agent` so that it needs nothing but glibc on the host it runs on.
//!
//! Rust's standard library asks the linker for `libgcc_s`, the shared half of GCC's run-time library, which unwinds the stack
//! on a panic. A minimal host may not have it. The same code exists as `libgcc_eh.a`, so for this one program the name
//! `gcc_s` is answered by a linker script that points there. Nothing else in the workspace is linked differently, and
//! `tests/binary.rs` reads from the finished program that it worked.

use std::{env, error::Error, fs, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(&env::var("OUT_DIR")?).join("unwind");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("libgcc_s.so"), "GROUP ( libgcc_eh.a libgcc.a )\n")?;
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-link-arg-bin=gpuaas-agent=-L{}", folder.display());
    Ok(())
}
