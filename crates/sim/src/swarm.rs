//! Which misfortunes a seed has, and how strong they are. Not every seed has every fault: some bugs only show when most
//! things work, others only when nothing does.

use crate::{dice::Dice, host::HostWeather, network::Weather};

/// The misfortunes of one world. Rates are in per mille a step, unless said otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Swarm {
    /// The network.
    pub weather: Weather,
    /// The hosts.
    pub hosts: HostWeather,
    /// An agent's process dies.
    pub agent_crash: u64,
    /// An agent stands still for a while, with what it heard still in its ears.
    pub agent_pause: u64,
    /// A host loses power.
    pub host_reboot: u64,
    /// A replica's process dies between two actions.
    pub replica_crash: u64,
    /// A replica's process dies at a commit, per mille of its actions.
    pub commit_crash: u64,
    /// A replica stands still past its lease, and goes on as if nothing had happened.
    pub zombie: u64,
    /// Time jumps forward.
    pub clock_jump: u64,
    /// The replicas' clocks differ by up to this many milliseconds.
    pub clock_skew_ms: u64,
    /// One agent lies.
    pub liar: u64,
    /// Clients ask for something, per mille.
    pub client: u64,
    /// Of what clients ask, this many per mille are launches and releases.
    pub client_appetite: u64,
    /// Whoever launched something gives it back at once, per mille.
    pub client_regret: u64,
    /// Several clients launch something in one step.
    pub client_rush: u64,
    /// The store refuses a commit of a replica's step, per mille of its steps.
    pub commit_refused: u64,
    /// How many steps the bad time lasts.
    pub steps: u64,
    /// Everything is given back in the end.
    pub give_back: bool,
}

impl Swarm {
    /// The misfortunes of a seed.
    pub fn pick(seed: u64) -> Self {
        let mut dice = Dice::new(seed, "swarm");
        // Most seeds have most faults; one in eight has none at all.
        let calm = dice.chance(125);
        let mut rate = |likely: u64, strongest: u64| {
            let (on, strength) = (dice.chance(likely), 1 + dice.below(strongest));
            if on && !calm { strength } else { 0 }
        };
        let weather = Weather {
            loss: rate(600, 250),
            duplication: rate(600, 300),
            delay: rate(700, 400),
            delay_steps_max: rate(800, 120),
        };
        let hosts = HostWeather {
            provision_fails: rate(400, 300),
            stop_fails: rate(300, 400),
            stop_sticks: rate(200, 300),
            wipe_fails: rate(400, 200),
            wipe_blank: rate(300, 200),
            blind: rate(200, 60),
            slow: rate(500, 300),
            slow_steps_max: rate(900, 12),
        };
        let commit_refused = rate(500, 150);
        Self {
            weather,
            hosts,
            commit_refused,
            agent_crash: rate(600, 40),
            agent_pause: rate(500, 20),
            host_reboot: rate(400, 15),
            replica_crash: rate(500, 20),
            commit_crash: rate(600, 80),
            zombie: rate(500, 40),
            clock_jump: rate(300, 10),
            clock_skew_ms: rate(300, 3000),
            liar: rate(400, 150),
            client: 350 + dice.below(500),
            client_appetite: 300 + dice.below(500),
            client_regret: dice.below(400),
            steps: 200 + dice.below(200),
            give_back: dice.chance(500),
            client_rush: dice.below(80),
        }
    }
}
