//! Whether guarantees over cells are as good as a cluster of one's own, in a million steps of made-up worlds, and what that
//! costs in use of the devices against quota that only counts them.
//!
//! `cargo run --release -p govern --example sharing_safety [SEED]`

#![expect(clippy::print_stdout, reason = "an example prints")]
#![expect(clippy::disallowed_methods, reason = "an example takes its seed from whoever starts it")]

use govern::cells::trial;

const WORLDS: u32 = 100;
const STEPS: u64 = 10_000;

fn main() {
    let seed = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(1);
    let tally = trial::run(seed, WORLDS, STEPS);
    let (cells, by_count) = tally.utilisation();
    let text = |hundredths: u64| format!("{}.{:02}", hundredths / 100, hundredths % 100);
    println!("seed {seed}: {WORLDS} worlds, {} steps, {} requests covered by a guarantee", tally.steps, tally.covered);
    println!("cells: {} violations, {} unsafe steps, {} % in use", tally.violations, tally.unsafe_steps, text(cells));
    println!("quota by count: {} violations, {} % in use", tally.violations_by_count, text(by_count));
    let word = if cells < by_count { "fewer" } else { "more" };
    println!("devices in use: {} percentage points {word} with cells", text(cells.abs_diff(by_count)));
}
