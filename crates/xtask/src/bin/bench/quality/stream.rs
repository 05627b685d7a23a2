//! Arrivals and departures by chance, in whole numbers: the same seed gives the same requests to every policy.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// One mean lifetime, in ticks.
pub const LIFETIME: u64 = 1 << 24;

/// What is asked for, and how often in a hundred.
pub const MIX: [(Wish, u64); 5] =
    [(Wish::Slice(1), 50), (Wish::Slice(2), 20), (Wish::Slice(4), 15), (Wish::Slice(8), 10), (Wish::BareMetal, 5)];

/// A request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// This many GPUs of one node.
    Slice(u32),
    /// A node.
    BareMetal,
}

impl Wish {
    /// GPUs it takes.
    pub fn gpus(self) -> u32 {
        match self {
            Self::Slice(gpus) => gpus,
            Self::BareMetal => 8,
        }
    }

    /// Its place in the mix.
    pub fn at(self) -> usize {
        MIX.iter().position(|(wish, _)| *wish == self).unwrap_or(0)
    }

    /// What it is called in tables.
    pub fn name(self) -> String {
        match self {
            Self::Slice(gpus) => format!("{gpus}-gpu"),
            Self::BareMetal => "bare-metal".to_owned(),
        }
    }
}

/// SplitMix64: small, seeded, and good enough to draw arrivals with.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// Dice that always fall alike for one seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any number.
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below this one.
    pub fn below(&mut self, limit: u64) -> u64 {
        low((u128::from(self.roll()) * u128::from(limit.max(1))) >> 64)
    }

    /// The place of one of so many things.
    pub fn index(&mut self, things: usize) -> usize {
        usize::try_from(self.below(things as u64)).unwrap_or(0)
    }

    /// A time with an exponential distribution and this mean.
    pub fn exponential(&mut self, mean: u64) -> u64 {
        low((u128::from(mean) * u128::from(minus_ln(self.roll()))) >> 32)
    }

    /// A wish of the mix.
    pub fn wish(&mut self) -> Wish {
        let mut at = self.below(MIX.iter().map(|(_, share)| share).sum());
        for (wish, share) in MIX {
            if at < share {
                return wish;
            }
            at -= share;
        }
        Wish::BareMetal
    }
}

// -ln(u / 2^64) with 32 bits after the point: the whole part of the binary logarithm is where the first bit is, and each
// squaring gives one more digit of the rest.
fn minus_ln(u: u64) -> u64 {
    const LN_2: u128 = 2_977_044_472; // with 32 bits after the point
    let u = u.max(1);
    let zeros = u.leading_zeros();
    let mut x = u128::from(u << zeros); // 1 <= x < 2, with 63 bits after the point
    let mut log2 = u64::from(63 - zeros);
    for _ in 0..32 {
        x = (x * x) >> 63;
        let carry = u64::from(x >> 64 != 0);
        x >>= carry;
        log2 = (log2 << 1) | carry;
    }
    let below_one = (64u128 << 32) - u128::from(log2);
    low((below_one * LN_2) >> 32)
}

fn low(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// What happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Happening {
    /// Somebody asks for something, and would keep it for so long.
    Arrival {
        /// What for.
        wish: Wish,
        /// For how long.
        lifetime: u64,
    },
    /// A holder leaves.
    Departure(u32),
}

/// Arrivals without end, and the departures of those who were let in.
#[derive(Debug, Clone)]
pub struct Stream {
    dice: Dice,
    now: u64,
    next_arrival: u64,
    mean_gap: u64,
    leaving: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Stream {
    /// A stream that would fill this share (in thousandths) of so many GPUs if everybody were let in.
    pub fn new(seed: u64, gpus: u64, load: u64) -> Self {
        let shares: u64 = MIX.iter().map(|(_, share)| share).sum();
        let mean_gpus: u64 = MIX.iter().map(|(wish, share)| u64::from(wish.gpus()) * share).sum();
        // The gap between arrivals is the lifetime times the mean size over the GPUs that are to be busy.
        let mean_gap = LIFETIME * mean_gpus * 1000 / (shares * gpus * load);
        let mut dice = Dice::new(seed);
        let next_arrival = dice.exponential(mean_gap);
        Self { dice, now: 0, next_arrival, mean_gap, leaving: BinaryHeap::new() }
    }

    /// Lets a holder in until its lifetime is over.
    pub fn stay(&mut self, holder: u32, lifetime: u64) {
        self.leaving.push(Reverse((self.now + lifetime, holder)));
    }

    /// What happens next. The arrivals are the same whoever was let in.
    pub fn next(&mut self) -> Happening {
        if let Some(Reverse((at, holder))) = self.leaving.peek().copied()
            && at <= self.next_arrival
        {
            self.leaving.pop();
            self.now = at;
            return Happening::Departure(holder);
        }
        self.now = self.next_arrival;
        self.next_arrival += self.dice.exponential(self.mean_gap);
        Happening::Arrival { wish: self.dice.wish(), lifetime: self.dice.exponential(LIFETIME) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_has_its_mean_and_its_tail() {
        let mut dice = Dice::new(7);
        let times: Vec<u64> = (0..200_000).map(|_| dice.exponential(1_000_000)).collect();
        let mean = times.iter().sum::<u64>() / 200_000;
        assert!((985_000..1_015_000).contains(&mean), "{mean}");
        let beyond_two = times.iter().filter(|time| **time > 2_000_000).count();
        assert!((26_000..28_200).contains(&beyond_two), "e^-2 of them: {beyond_two}");
    }

    #[test]
    fn the_mix_is_drawn_as_stated() {
        let mut dice = Dice::new(1);
        let mut drawn = [0u64; MIX.len()];
        (0..100_000).for_each(|_| drawn[dice.wish().at()] += 1);
        for ((_, share), times) in MIX.iter().zip(drawn) {
            assert!(times.abs_diff(share * 1000) < 700, "{drawn:?}");
        }
    }
}
