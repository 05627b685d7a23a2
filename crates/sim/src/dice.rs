//! The one source of chance in a simulated world. Everything that could go either way asks the dice, so a seed and a
//! commit give one history, and only whole numbers are rolled, so it is the same history on every machine.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Seeded chance.
#[derive(Debug, Clone)]
pub struct Dice(ChaCha8Rng);

impl Dice {
    /// Dice for one seed. `purpose` keeps independent streams apart: rolling more of one does not shift another.
    pub fn new(seed: u64, purpose: &str) -> Self {
        use sha2::{Digest, Sha256};
        let digest = Sha256::new().chain_update(seed.to_be_bytes()).chain_update(purpose.as_bytes()).finalize();
        Self(ChaCha8Rng::from_seed(digest.into()))
    }
    /// A number from 0 to `bound - 1`; 0 when the bound is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.0.next_u64() % bound }
    }
    /// True in `per_mille` of 1,000 rolls.
    pub fn chance(&mut self, per_mille: u64) -> bool {
        self.below(1000) < per_mille
    }
    /// One of the items, if there are any.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        let index = usize::try_from(self.below(items.len() as u64)).ok()?;
        items.get(index)
    }
    /// Random bytes.
    pub fn fill(&mut self, buffer: &mut [u8]) {
        self.0.fill_bytes(buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_gives_one_history_and_purposes_are_apart() {
        let roll = |seed, purpose| {
            let mut dice = Dice::new(seed, purpose);
            (0..8).map(|_| dice.below(1000)).collect::<Vec<_>>()
        };
        assert_eq!(roll(1, "a"), roll(1, "a"));
        assert_ne!(roll(1, "a"), roll(2, "a"));
        assert_ne!(roll(1, "a"), roll(1, "b"));
    }
}
