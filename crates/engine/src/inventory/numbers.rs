//! Where each node lies, by its key: a table with open addressing. A tree costs several jumps through memory, this one, and
//! every change to a node begins with it. It is never walked, so its order can be part of no answer.

use super::node::Key;

const NOBODY: u32 = u32::MAX;

/// The numbers of nodes.
#[derive(Debug, Clone, Default)]
pub(super) struct Numbers {
    /// Empty, or a power of two of entries, at most half of them taken.
    entries: Vec<Entry>,
    taken: usize,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    /// A digest of the key. What it leaves open is asked from the node itself.
    digest: u32,
    number: u32,
}

const EMPTY: Entry = Entry { digest: 0, number: NOBODY };

impl Numbers {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.taken
    }

    /// The number of this key, where the caller says which key a number has.
    pub(super) fn get(&self, key: Key, is: impl Fn(usize) -> bool) -> Option<usize> {
        self.find(key, is).map(|place| self.entries[place].number as usize)
    }

    /// Takes in a key that is not there.
    pub(super) fn insert(&mut self, key: Key, number: usize) {
        if self.entries.len() < 2 * (self.taken + 1) {
            let larger = vec![EMPTY; (2 * self.entries.len()).max(16)];
            let old = std::mem::replace(&mut self.entries, larger);
            old.into_iter().filter(|entry| entry.number != NOBODY).for_each(|entry| self.settle(entry));
        }
        self.settle(Entry { digest: digest(key), number: crate::board::count(number) });
        self.taken += 1;
    }

    /// Takes a key out, and tells its number.
    pub(super) fn remove(&mut self, key: Key, is: impl Fn(usize) -> bool) -> Option<usize> {
        let mut gap = self.find(key, is)?;
        let number = self.entries[gap].number as usize;
        // Whoever stands further from home than the gap moves up, so that nobody is cut off from it.
        let mut place = gap;
        loop {
            place = self.after(place);
            let entry = self.entries[place];
            if entry.number == NOBODY {
                break;
            }
            if self.distance(self.home(entry.digest), place) >= self.distance(gap, place) {
                self.entries[gap] = entry;
                gap = place;
            }
        }
        self.entries[gap] = EMPTY;
        self.taken -= 1;
        Some(number)
    }

    fn find(&self, key: Key, is: impl Fn(usize) -> bool) -> Option<usize> {
        if self.entries.is_empty() {
            return None;
        }
        let digest = digest(key);
        let mut place = self.home(digest);
        loop {
            let entry = self.entries[place];
            if entry.number == NOBODY {
                return None;
            }
            if entry.digest == digest && is(entry.number as usize) {
                return Some(place);
            }
            place = self.after(place);
        }
    }

    fn settle(&mut self, entry: Entry) {
        let mut place = self.home(entry.digest);
        while self.entries[place].number != NOBODY {
            place = self.after(place);
        }
        self.entries[place] = entry;
    }

    fn home(&self, digest: u32) -> usize {
        digest as usize & (self.entries.len() - 1)
    }

    fn after(&self, place: usize) -> usize {
        (place + 1) & (self.entries.len() - 1)
    }

    fn distance(&self, from: usize, to: usize) -> usize {
        to.wrapping_sub(from) & (self.entries.len() - 1)
    }
}

// The upper half of a product: every bit of the key reaches it.
fn digest(key: Key) -> u32 {
    let mixed = (key.high.rotate_left(29) ^ key.low).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    u32::try_from(mixed >> 32).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn it_tells_what_a_tree_would() {
        let (mut numbers, mut tree, mut keys) = (Numbers::default(), BTreeMap::new(), vec![]);
        let mut dice = 1u64;
        for round in 0..20_000usize {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let key = Key { high: dice >> 62, low: (dice >> 33) % 700 };
            let is = |at: usize| keys.get(at) == Some(&key);
            assert_eq!(numbers.get(key, is), tree.get(&key).copied());
            match tree.get(&key) {
                Some(_) if dice & (1 << 20) == 0 => assert_eq!(numbers.remove(key, is), tree.remove(&key)),
                Some(_) => (),
                None => {
                    keys.push(key);
                    numbers.insert(key, keys.len() - 1);
                    tree.insert(key, keys.len() - 1);
                }
            }
            assert_eq!(numbers.len(), tree.len(), "round {round}");
        }
        assert!(tree.len() > 500);
        assert!(tree.iter().all(|(key, at)| numbers.get(*key, |at| keys[at] == *key) == Some(*at)));
    }
}
