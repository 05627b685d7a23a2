//! Chance with a seed.

use std::time::Duration;

/// A small generator (splitmix64). Not for secrets.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Another generator that goes its own way.
    pub fn fork(&mut self) -> Self {
        Self(self.next())
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// One of `0..bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound.max(1) as u64).unwrap()
    }

    /// A time between two others, both in milliseconds.
    pub fn between_ms(&mut self, least: u64, most: u64) -> Duration {
        Duration::from_micros(least * 1000 + self.next() % ((most - least) * 1000))
    }
}

/// The seed of this run, said again if the test fails.
pub struct Seed {
    test: &'static str,
    pub number: u64,
}

impl Seed {
    pub fn new(test: &'static str) -> Self {
        let given = std::env::var("GPUAAS_SEED").ok().and_then(|text| text.parse().ok());
        let number = given.unwrap_or_else(|| {
            let mut bytes = [0; 8];
            getrandom::fill(&mut bytes).unwrap();
            u64::from_le_bytes(bytes) >> 32
        });
        eprintln!("{test}: seed {number}");
        Self { test, number }
    }

    pub fn dice(&self) -> Dice {
        Dice::new(self.number)
    }
}

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Self { test, number } = self;
            eprintln!("{test} failed; replay with: GPUAAS_SEED={number} cargo test -p cli {test} -- --nocapture");
        }
    }
}
