//! How long one cycle takes over a million workloads: the same that `make bench` takes, without the rest of it. Prints one
//! line a shape.
//!
//! `cargo run --release -p govern --example speed`

#![expect(clippy::disallowed_methods, reason = "what measures reads a clock; the crate itself does not")]
#![expect(clippy::print_stdout, reason = "an example prints")]

#[path = "../../xtask/src/bin/bench/governance/million.rs"]
mod million;

use million::{SHAPES, run};

// The time that this process had a processor, so that a busy machine does not count.
fn cpu_us() -> u64 {
    let spent = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    spent.split(' ').next().and_then(|ns| ns.parse::<u64>().ok()).unwrap_or(0) / 1000
}

fn main() -> Result<(), String> {
    let mut words = std::env::args().skip(1);
    let waiting: u32 = words.next().and_then(|count| count.parse().ok()).unwrap_or(1_000_000);
    let named = words.next();
    for shape in SHAPES.iter().filter(|shape| named.as_ref().is_none_or(|name| name == shape.name)) {
        let outcome = run(shape, waiting, 5, &cpu_us, &mut || ())?;
        println!("{}: {outcome:?}", shape.name);
    }
    Ok(())
}
