//! Whether a guest is ready: it took the lease of its address, and it answers SSH with the host key that the platform gave
//! it. Anything less is a guest that nobody can use, so each of the two has a time by which it must have happened, and
//! what did not is named.
//!
//! The decision ([`decide`]) is a plain function over what was seen; [`wait`] looks, decides, sleeps a little and looks
//! again, with eyes and clock brought by the caller.

mod ssh;

use crate::identity::Mac;
use model::Timestamp;
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;

pub use ssh::{ExpectedKey, Handshake, SshFault, SshSeen, handshake};

/// A lease that a DHCP server gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaseSeen {
    /// To which card.
    pub mac: Mac,
    /// Which address.
    pub ip: Ipv4Addr,
}

/// What a guest must show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// The lease it was promised.
    pub lease: LeaseSeen,
    /// When it was started.
    pub started_at: Timestamp,
    /// Within which time the lease must be seen.
    pub lease_within_s: i64,
    /// Within which time SSH must answer, counted from the start too.
    pub ssh_within_s: i64,
}

/// What was seen of a guest so far.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Observed {
    /// Whether its machine runs; none when that could not be told.
    pub running: Option<bool>,
    /// Its lease.
    pub lease: Option<LeaseSeen>,
    /// The last attempt to speak SSH with it.
    pub ssh: Option<Result<SshSeen, SshFault>>,
}

/// What a guest waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Because {
    /// It has not asked for its address.
    NoLeaseYet,
    /// It does not answer as it should.
    NoSshYet(Option<SshFault>),
}

/// Why a guest will not be ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum NotReady {
    /// Its machine ended.
    #[error("the guest stopped before it was ready")]
    Stopped,
    /// It never asked for its address.
    #[error("the guest took no lease within {within_s} s")]
    NoLease {
        /// How long it was waited for.
        within_s: i64,
    },
    /// It has another address than it was promised.
    #[error("the guest has the lease {} for {}, expected {} for {}", found.ip, found.mac, expected.ip, expected.mac)]
    WrongLease {
        /// The promise.
        expected: LeaseSeen,
        /// What there is.
        found: LeaseSeen,
    },
    /// It never answered as it should.
    #[error("the guest did not answer SSH within {within_s} s: {}", last.as_ref().map_or("it was never reached".to_owned(), ToString::to_string))]
    NoSsh {
        /// How long it was waited for.
        within_s: i64,
        /// What the last attempt showed.
        last: Option<SshFault>,
    },
}

/// How a guest stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Readiness {
    /// Both were seen.
    Ready {
        /// What it said on SSH.
        ssh: SshSeen,
    },
    /// Not yet, and there is time.
    Wait {
        /// For what.
        because: Because,
        /// Until when.
        until: Timestamp,
    },
    /// It will not be.
    Failed(NotReady),
}

/// Decides how a guest stands.
pub fn decide(wanted: &Wanted, seen: &Observed, now: Timestamp) -> Readiness {
    if seen.running == Some(false) {
        return Readiness::Failed(NotReady::Stopped);
    }
    let Some(lease) = seen.lease else {
        let until = wanted.started_at.plus_seconds(wanted.lease_within_s);
        return if now < until {
            Readiness::Wait { because: Because::NoLeaseYet, until }
        } else {
            Readiness::Failed(NotReady::NoLease { within_s: wanted.lease_within_s })
        };
    };
    if lease != wanted.lease {
        return Readiness::Failed(NotReady::WrongLease { expected: wanted.lease, found: lease });
    }
    // A wrong host key may be the image's own, shown before cloud-init has put the right one: it is never ready with it,
    // and it has until the end to show the other.
    let last = match &seen.ssh {
        Some(Ok(ssh)) => return Readiness::Ready { ssh: ssh.clone() },
        Some(Err(fault)) => Some(fault.clone()),
        None => None,
    };
    let until = wanted.started_at.plus_seconds(wanted.ssh_within_s);
    if now < until {
        Readiness::Wait { because: Because::NoSshYet(last), until }
    } else {
        Readiness::Failed(NotReady::NoSsh { within_s: wanted.ssh_within_s, last })
    }
}

/// How a guest is looked at while it is waited for.
pub trait Eyes {
    /// What time it is.
    fn now(&mut self) -> Timestamp;
    /// Whether its machine runs; none when that cannot be told.
    fn running(&mut self) -> Option<bool>;
    /// Its lease, as far as it can be told.
    fn lease(&mut self) -> Option<LeaseSeen>;
    /// One attempt to speak SSH with it.
    fn ssh(&mut self) -> Result<SshSeen, SshFault>;
    /// Sleeps a little, and is told what is waited for.
    fn pause(&mut self, because: &Because);
}

/// Looks at a guest until it is ready or will not be.
pub fn wait(wanted: &Wanted, eyes: &mut impl Eyes) -> Result<SshSeen, NotReady> {
    let mut seen = Observed::default();
    loop {
        seen.running = eyes.running();
        seen.lease = eyes.lease();
        if seen.lease == Some(wanted.lease) && seen.running != Some(false) {
            seen.ssh = Some(eyes.ssh());
        }
        match decide(wanted, &seen, eyes.now()) {
            Readiness::Ready { ssh } => return Ok(ssh),
            Readiness::Failed(why) => return Err(why),
            Readiness::Wait { because, .. } => eyes.pause(&because),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(0).plus_seconds(seconds)
    }

    fn lease(last: u8) -> LeaseSeen {
        LeaseSeen { mac: "02:00:00:00:2a:05".parse().unwrap(), ip: [10, 77, 0, last].into() }
    }

    fn wanted() -> Wanted {
        Wanted { lease: lease(9), started_at: at(100), lease_within_s: 60, ssh_within_s: 180 }
    }

    fn answered() -> SshSeen {
        SshSeen { banner: "SSH-2.0-x".into(), fingerprint: "SHA256:x".into() }
    }

    #[test]
    fn a_guest_is_ready_with_its_lease_and_its_key() {
        let seen = Observed { running: Some(true), lease: Some(lease(9)), ssh: Some(Ok(answered())) };
        assert_eq!(decide(&wanted(), &seen, at(500)), Readiness::Ready { ssh: answered() });
    }

    #[test]
    fn each_wait_has_its_end_and_its_reason() {
        let mut seen = Observed::default();
        assert!(
            matches!(decide(&wanted(), &seen, at(159)), Readiness::Wait { because: Because::NoLeaseYet, until } if until == at(160))
        );
        assert_eq!(decide(&wanted(), &seen, at(160)), Readiness::Failed(NotReady::NoLease { within_s: 60 }));
        seen.lease = Some(lease(9));
        assert!(matches!(decide(&wanted(), &seen, at(160)), Readiness::Wait { because: Because::NoSshYet(None), .. }));
        seen.ssh = Some(Err(SshFault::Refused));
        let failed = Readiness::Failed(NotReady::NoSsh { within_s: 180, last: Some(SshFault::Refused) });
        assert_eq!(decide(&wanted(), &seen, at(280)), failed);
        seen.lease = Some(lease(8));
        assert!(matches!(decide(&wanted(), &seen, at(101)), Readiness::Failed(NotReady::WrongLease { .. })));
        seen.running = Some(false);
        assert_eq!(decide(&wanted(), &seen, at(101)), Readiness::Failed(NotReady::Stopped));
    }

    struct Script {
        now: i64,
        lease_at: i64,
        ssh_at: i64,
        waits: Vec<Because>,
    }

    impl Eyes for Script {
        fn now(&mut self) -> Timestamp {
            at(self.now)
        }
        fn running(&mut self) -> Option<bool> {
            Some(true)
        }
        fn lease(&mut self) -> Option<LeaseSeen> {
            (self.now >= self.lease_at).then(|| lease(9))
        }
        fn ssh(&mut self) -> Result<SshSeen, SshFault> {
            if self.now >= self.ssh_at { Ok(answered()) } else { Err(SshFault::Refused) }
        }
        fn pause(&mut self, because: &Because) {
            self.waits.push(because.clone());
            self.now += 1;
        }
    }

    proptest! {
        #[test]
        fn waiting_ends_as_the_times_say(lease_at in 100i64..400, ssh_at in 100i64..400) {
            let mut eyes = Script { now: 100, lease_at, ssh_at, waits: vec![] };
            let end = wait(&wanted(), &mut eyes);
            // An answer that is there when it is looked for counts, also in the last moment.
            let expected = match (lease_at <= 160, ssh_at <= 280) {
                (false, _) => Err(NotReady::NoLease { within_s: 60 }),
                (true, false) => Err(NotReady::NoSsh { within_s: 180, last: Some(SshFault::Refused) }),
                (true, true) => Ok(answered()),
            };
            prop_assert_eq!(end, expected);
            prop_assert!(eyes.now <= 280);
        }
    }
}
