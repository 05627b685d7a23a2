//! How much a caller may ask for: requests per token in a window, connections in all and per address.
//!
//! A token is counted by itself once it has been seen to open something. Until then, and without a token, the address is
//! counted, so that guessing does not come free and made-up tokens do not fill the memory. What has been quiet for a whole
//! window is forgotten.

use std::{
    collections::{HashMap, HashSet},
    net::IpAddr,
    num::NonZeroU32,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use api::{Code, Problem};
use governor::{
    Quota, RateLimiter,
    clock::{Clock as _, DefaultClock},
    middleware::StateInformationMiddleware,
    state::keyed::DashMapStateStore,
};
use model::Timestamp;

/// An allowance: so many requests in so many seconds, all at once if need be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Requests.
    pub requests: u32,
    /// Seconds.
    pub window_s: u32,
}

impl Default for Rate {
    fn default() -> Self {
        Self { requests: 6000, window_s: 60 }
    }
}

type Limiter<K> = RateLimiter<K, DashMapStateStore<K>, DefaultClock, StateInformationMiddleware>;

/// Counts requests.
pub(super) struct Rates {
    tokens: Allowance<String>,
    addresses: Allowance<IpAddr>,
    sign_ins: Allowance<IpAddr>,
    // Hashes of tokens that opened something. Forgotten all at once when there are too many: they are learnt again.
    known: Mutex<HashSet<String>>,
}

const KNOWN_MAX: usize = 100_000;

struct Allowance<K: std::hash::Hash + Eq + Clone> {
    limiter: Limiter<K>,
    rate: Rate,
}

/// What is left of an allowance, as two headers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Left {
    pub(super) policy: String,
    pub(super) left: String,
}

impl Rates {
    pub(super) fn new(tokens: Rate, addresses: Rate, sign_ins: Rate) -> Self {
        Self {
            tokens: Allowance::new(tokens),
            addresses: Allowance::new(addresses),
            sign_ins: Allowance::new(sign_ins),
            known: Mutex::default(),
        }
    }

    /// Takes one try to sign in out of the allowance of an address.
    pub(super) fn sign_in(&self, address: IpAddr) -> Result<Left, (Problem, Left)> {
        self.sign_ins.take(&address)
    }

    /// Takes one request out of the allowance that it falls under.
    pub(super) fn take(&self, token_hash: Option<&String>, address: IpAddr) -> Result<Left, (Problem, Left)> {
        match token_hash {
            Some(hash) if self.known().contains(hash) => self.tokens.take(hash),
            _ => self.addresses.take(&address),
        }
    }

    /// Learns whether a token opened something. What is left of its own allowance, when that is news.
    pub(super) fn learn(&self, token_hash: &String, opened: bool) -> Option<Left> {
        let mut known = self.known();
        if !opened {
            known.remove(token_hash);
            return None;
        }
        if known.contains(token_hash) {
            return None;
        }
        if known.len() >= KNOWN_MAX {
            known.clear();
        }
        known.insert(token_hash.clone());
        drop(known);
        self.tokens.take(token_hash).ok()
    }

    fn known(&self) -> MutexGuard<'_, HashSet<String>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets whoever has their whole allowance again.
    pub(super) fn tidy(&self) {
        self.tokens.tidy();
        self.addresses.tidy();
        self.sign_ins.tidy();
    }
}

impl<K: std::hash::Hash + Eq + Clone> Allowance<K> {
    fn new(rate: Rate) -> Self {
        let requests = NonZeroU32::new(rate.requests).unwrap_or(NonZeroU32::MIN);
        let window = Duration::from_secs(u64::from(rate.window_s.max(1)));
        let period = (window / requests.get()).max(Duration::from_nanos(1));
        let quota = Quota::with_period(period).unwrap_or_else(|| Quota::per_second(requests)).allow_burst(requests);
        let limiter = RateLimiter::dashmap(quota).with_middleware::<StateInformationMiddleware>();
        Self { limiter, rate: Rate { requests: requests.get(), window_s: rate.window_s.max(1) } }
    }

    fn take(&self, who: &K) -> Result<Left, (Problem, Left)> {
        match self.limiter.check_key(who) {
            Ok(state) => {
                let more_in_s = self.rate.window_s.div_ceil(self.rate.requests);
                Ok(self.left(state.remaining_burst_capacity(), more_in_s))
            }
            Err(until) => {
                let wait = until.wait_time_from(DefaultClock::default().now());
                let seconds = u32::try_from(wait.as_secs() + 1).unwrap_or(u32::MAX);
                let detail = format!("More than {} requests in {} s.", self.rate.requests, self.rate.window_s);
                let problem = Problem::new(Code::RateLimited, detail).with_retry_after(seconds);
                Err((problem, self.left(0, seconds)))
            }
        }
    }

    fn left(&self, left: u32, more_in_s: u32) -> Left {
        Left {
            policy: format!("\"default\";q={};w={}", self.rate.requests, self.rate.window_s),
            left: format!("\"default\";r={left};t={more_in_s}"),
        }
    }

    fn tidy(&self) {
        self.limiter.retain_recent();
        self.limiter.shrink_to_fit();
    }
}

/// For how many seconds it is good enough to know that a session was used.
const NOTED_S: i64 = 300;

/// Which sessions were noted as used, and when. Forgotten all at once when there are too many: they are noted again.
#[derive(Debug, Default)]
pub(super) struct Noted(Mutex<HashMap<String, Timestamp>>);

impl Noted {
    /// Whether it is time to note that a session is used. Who is told so is taken to do it.
    pub(super) fn due(&self, session_hash: &str, now: Timestamp) -> bool {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if noted.get(session_hash).is_some_and(|at| *at <= now && now < at.plus_seconds(NOTED_S)) {
            return false;
        }
        if noted.len() >= KNOWN_MAX {
            noted.clear();
        }
        noted.insert(session_hash.to_owned(), now);
        true
    }
}

/// Counts connections.
#[derive(Debug, Clone)]
pub(super) struct Connections(Arc<Mutex<Open>>);

#[derive(Debug)]
struct Open {
    all: usize,
    by_address: HashMap<IpAddr, usize>,
    all_max: usize,
    per_address_max: usize,
}

/// One open connection; dropping it lets the next one in.
#[derive(Debug)]
pub(super) struct Admitted {
    open: Connections,
    address: IpAddr,
}

impl Connections {
    pub(super) fn new(all_max: usize, per_address_max: usize) -> Self {
        Self(Arc::new(Mutex::new(Open { all: 0, by_address: HashMap::new(), all_max, per_address_max })))
    }

    pub(super) fn admit(&self, address: IpAddr) -> Option<Admitted> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let here = open.by_address.get(&address).copied().unwrap_or(0);
        if open.all >= open.all_max || here >= open.per_address_max {
            return None;
        }
        open.all += 1;
        open.by_address.insert(address, here + 1);
        Some(Admitted { open: self.clone(), address })
    }

    pub(super) fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).all
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let mut open = self.open.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.all = open.all.saturating_sub(1);
        let left = open.by_address.get(&self.address).copied().unwrap_or(0).saturating_sub(1);
        if left == 0 {
            open.by_address.remove(&self.address);
        } else {
            open.by_address.insert(self.address, left);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_allowance_runs_out_and_says_when_to_come_back() {
        let rates =
            Rates::new(Rate { requests: 2, window_s: 3600 }, Rate { requests: 9, window_s: 60 }, Rate::default());
        let (me, other, here) = ("a".to_owned(), "b".to_owned(), "127.0.0.1".parse().unwrap());
        assert_eq!(rates.take(Some(&me), here).unwrap().policy, "\"default\";q=9;w=60", "not known yet");
        assert_eq!(rates.learn(&me, true).unwrap().left, "\"default\";r=1;t=1800");
        assert_eq!(rates.take(Some(&me), here).unwrap().policy, "\"default\";q=2;w=3600");
        let (problem, left) = rates.take(Some(&me), here).unwrap_err();
        assert_eq!(problem.code, Code::RateLimited);
        assert!(problem.retry_after_s.unwrap() > 1000);
        assert!(left.left.starts_with("\"default\";r=0;t="));
        assert!(rates.take(Some(&other), here).is_ok());
        assert_eq!(rates.learn(&me, false), None);
        assert!(rates.take(Some(&me), here).is_ok(), "a token that no longer opens is a stranger again");
    }

    #[test]
    fn made_up_tokens_share_the_allowance_of_their_address() {
        let rates = Rates::new(Rate::default(), Rate { requests: 2, window_s: 3600 }, Rate::default());
        let here = "127.0.0.1".parse().unwrap();
        let outcomes: Vec<bool> = (0..3).map(|n| rates.take(Some(&format!("made-up-{n}")), here).is_ok()).collect();
        assert_eq!(outcomes, [true, true, false]);
        assert!(rates.take(None, "127.0.0.2".parse().unwrap()).is_ok());
    }

    #[test]
    fn that_a_session_is_used_is_noted_now_and_then() {
        let (noted, start) = (Noted::default(), Timestamp::from_micros(1_000_000));
        let at = |seconds: i64| noted.due("a", start.plus_seconds(seconds));
        assert_eq!([at(0), at(1), at(NOTED_S - 1), at(NOTED_S), at(NOTED_S + 1)], [true, false, false, true, false]);
        assert!(noted.due("b", start));
        assert!(at(-5), "a clock that was set back does not end sessions");
    }

    #[test]
    fn connections_are_counted_in_all_and_by_address() {
        let connections = Connections::new(3, 2);
        let (a, b): (IpAddr, IpAddr) = ("127.0.0.1".parse().unwrap(), "127.0.0.2".parse().unwrap());
        let held: Vec<_> = [a, a, b].iter().map(|address| connections.admit(*address).unwrap()).collect();
        assert!(connections.admit(a).is_none() && connections.admit(b).is_none());
        drop(held);
        assert_eq!(connections.count(), 0);
        assert!(connections.admit(a).is_some());
    }
}
