//! The simulated network between agents and the control plane: messages are lost, doubled, delayed and reordered, as far as
//! the weather of the seed allows. Nothing is ever altered in flight; that would be a broken host, not a broken network.

use crate::dice::Dice;
use std::collections::BTreeMap;

/// How bad the network is, in per mille of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Weather {
    /// Never arrive.
    pub loss: u64,
    /// Arrive twice.
    pub duplication: u64,
    /// Arrive late, and so out of order.
    pub delay: u64,
    /// The longest delay, in steps.
    pub delay_steps_max: u64,
}

/// Messages under way, ordered by the step they are due at, then by when they were sent.
#[derive(Debug, Clone)]
pub struct Network<M> {
    under_way: BTreeMap<(u64, u64), M>,
    sent: u64,
    weather: Weather,
}

impl<M: Clone> Network<M> {
    /// An empty network.
    pub fn new(weather: Weather) -> Self {
        Self { under_way: BTreeMap::new(), sent: 0, weather }
    }
    /// The sky clears: from now on nothing is lost, doubled or delayed.
    pub fn heal(&mut self) {
        self.weather = Weather::default();
    }
    /// Sends a message at this step.
    pub fn send(&mut self, dice: &mut Dice, step: u64, message: M) {
        if dice.chance(self.weather.loss) {
            return;
        }
        let copies = if dice.chance(self.weather.duplication) { 2 } else { 1 };
        for _ in 0..copies {
            let late = if dice.chance(self.weather.delay) { dice.below(self.weather.delay_steps_max + 1) } else { 0 };
            self.sent += 1;
            self.under_way.insert((step + 1 + late, self.sent), message.clone());
        }
    }
    /// The next message that is due, if any.
    pub fn receive(&mut self, step: u64) -> Option<M> {
        let key = *self.under_way.first_key_value()?.0;
        if key.0 <= step { self.under_way.remove(&key) } else { None }
    }
    /// How many messages are under way.
    pub fn len(&self) -> usize {
        self.under_way.len()
    }
    /// Whether nothing is under way.
    pub fn is_empty(&self) -> bool {
        self.under_way.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivered(weather: Weather) -> Vec<u64> {
        let (mut dice, mut network) = (Dice::new(7, "network"), Network::new(weather));
        for message in 0..200 {
            network.send(&mut dice, message, message);
        }
        (0..1000).flat_map(|step| std::iter::from_fn(|| network.receive(step)).collect::<Vec<_>>()).collect()
    }

    #[test]
    fn a_calm_network_delivers_everything_once_and_in_order() {
        assert_eq!(delivered(Weather::default()), (0..200).collect::<Vec<_>>());
    }

    #[test]
    fn a_stormy_one_loses_doubles_and_reorders() {
        let seen = delivered(Weather { loss: 200, duplication: 300, delay: 500, delay_steps_max: 20 });
        let distinct: std::collections::BTreeSet<_> = seen.iter().collect();
        assert!(distinct.len() < 200 && seen.len() > distinct.len() && !seen.is_sorted());
    }
}
