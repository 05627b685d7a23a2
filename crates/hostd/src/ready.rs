//! Waiting for a guest that was started: its lease, then the right host key on SSH. And how it is seen at any time later.

use crate::{
    console,
    failed::Failed,
    host::{Hostd, now},
    record::{self, Record},
    work::Work,
};
use guest::{
    domain::Accelerator,
    machine::{Machines, State},
    ready::{self, Because, ExpectedKey, Eyes, Handshake, LeaseSeen, SshFault, SshSeen, Wanted},
};
use model::{
    AllocationId, Timestamp,
    runtime::{GuestLeaseState, GuestSeen, WorkProgress, WorkStep},
};
use network::{HostNetwork, LeaseState};
use std::{
    fs::File,
    io::{self, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpStream},
    os::fd::AsFd,
    path::Path,
    thread,
    time::{Duration, Instant},
};

const SSH_PORT: u16 = 22;
/// How long a guest that runs may take to pick up.
pub(crate) const DIAL_WITHIN: Duration = Duration::from_secs(3);
// A guest drops what arrives before it has put on the address that it was just given, and the kernel would ask again only after
// a second. So the first looks ask again by themselves, each with twice the patience of the one before.
const DIAL_FIRST_WITHIN: Duration = Duration::from_millis(100);
const ATTEMPT_WITHIN: Duration = Duration::from_secs(10);
// The lease and a closed port cost next to nothing to look at. A guest that speaks and is not yet who it should be has better
// things to do than to speak with us.
const LOOK_EVERY: Duration = Duration::from_millis(20);
const SPEAK_EVERY: Duration = Duration::from_millis(100);
// libvirt takes a process and some of its time for each answer.
const RUNNING_EVERY: Duration = Duration::from_millis(500);

/// Opens a connection to a guest, from the namespace that its bridge is in.
pub(crate) fn dial(host: &HostNetwork, ip: Ipv4Addr, within: Duration) -> io::Result<TcpStream> {
    let address = SocketAddr::from((ip, SSH_PORT));
    let Some(namespace) = host.namespace.clone() else {
        return TcpStream::connect_timeout(&address, within);
    };
    // Only a thread of its own may go there: it cannot be trusted to come back.
    let there = thread::Builder::new().name("dial".to_owned()).spawn(move || {
        let door = File::open(Path::new("/run/netns").join(namespace))?;
        rustix::thread::move_into_link_name_space(door.as_fd(), None)?;
        TcpStream::connect_timeout(&address, within)
    })?;
    there.join().unwrap_or_else(|_| Err(io::Error::other("the thread that dials ended")))
}

/// A connection that logs when the guest says its first word: whose time passes until then is the guest's.
struct Overheard<'a> {
    stream: TcpStream,
    speaker: Option<&'a AllocationId>,
}

impl Read for Overheard<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.stream.read(buffer)?;
        if let Some(allocation) = self.speaker.take_if(|_| count > 0) {
            tracing::debug!(%allocation, "speaks");
        }
        Ok(count)
    }
}

impl Write for Overheard<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

struct Looking<'a> {
    host: &'a Hostd,
    record: &'a Record,
    expected: ExpectedKey,
    work: Work<'a>,
    told: WorkStep,
    running: Option<(Instant, bool)>,
    dial_within: Duration,
}

impl Looking<'_> {
    fn told(&mut self, step: WorkStep) {
        if step != self.told {
            self.told = step;
            (self.work.tell)(WorkProgress::at(step));
        }
    }
}

impl Eyes for Looking<'_> {
    fn now(&mut self) -> Timestamp {
        now()
    }

    fn running(&mut self) -> Option<bool> {
        // One that nobody wants is not waited for.
        if !(self.work.wanted)() {
            return Some(false);
        }
        if let Some((asked, true)) = self.running
            && asked.elapsed() < RUNNING_EVERY
        {
            return Some(true);
        }
        let seen = self.host.virsh.state(self.record.guest.uuid()).ok()?;
        let runs = seen.is_some_and(|seen| seen.state == State::Running);
        self.running = Some((Instant::now(), runs));
        Some(runs)
    }

    fn lease(&mut self) -> Option<LeaseSeen> {
        let leases = network::lease_file_read(&self.host.config.network).ok()?;
        let own = self.record.plan.mac;
        let lease = leases.into_iter().find(|lease| lease.mac.to_string() == own.to_string())?;
        Some(LeaseSeen { mac: own, ip: lease.ip })
    }

    fn ssh(&mut self) -> Result<SshSeen, SshFault> {
        // It has its lease.
        self.told(WorkStep::SshReady);
        let mut random = [0; 32];
        getrandom::fill(&mut random).map_err(|error| SshFault::Unreachable(error.to_string()))?;
        let attempt = Handshake { expected: self.expected.clone(), random, within: ATTEMPT_WITHIN };
        let (host, record, patience) = (self.host, self.record, &mut self.dial_within);
        ready::handshake(&attempt, || {
            let within = *patience;
            *patience = DIAL_WITHIN.min(within * 2);
            let stream = dial(&host.config.network, record.plan.ip, within)?;
            stream.set_read_timeout(Some(ATTEMPT_WITHIN))?;
            stream.set_write_timeout(Some(ATTEMPT_WITHIN))?;
            Ok(Overheard { stream, speaker: Some(&record.guest.allocation_id) })
        })
    }

    fn pause(&mut self, because: &Because) {
        let (step, pause) = match because {
            Because::NoLeaseYet => (WorkStep::LeaseSeen, LOOK_EVERY),
            Because::NoSshYet(None | Some(SshFault::Refused | SshFault::TimedOut)) => (WorkStep::SshReady, LOOK_EVERY),
            Because::NoSshYet(Some(_)) => (WorkStep::SshReady, SPEAK_EVERY),
        };
        self.told(step);
        tracing::debug!(allocation = %self.record.guest.allocation_id, ?because, "is not ready yet");
        thread::sleep(pause);
    }
}

impl Hostd {
    /// Waits until a guest that was started has its address and answers with its key.
    pub(crate) fn ready_wait(&self, record: &Record, work: Work<'_>) -> Result<GuestSeen, Failed> {
        work.step(WorkStep::LeaseSeen)?;
        let expected = ExpectedKey::from_line(&record.host_key.public)
            .map_err(|refused| Failed::at(WorkStep::SshReady, refused))?;
        let wanted = Wanted {
            lease: LeaseSeen { mac: record.plan.mac, ip: record.plan.ip },
            started_at: record.started_at.unwrap_or_else(now),
            lease_within_s: self.config.ready.lease_s,
            ssh_within_s: self.config.ready.ssh_s,
        };
        let mut eyes = Looking {
            host: self,
            record,
            expected,
            work,
            told: WorkStep::LeaseSeen,
            running: None,
            dial_within: DIAL_FIRST_WITHIN,
        };
        let ended = ready::wait(&wanted, &mut eyes);
        let step = eyes.told;
        match ended {
            Ok(_) => Ok(self.seen(record)),
            Err(_) if !(work.wanted)() => Err(Failed::not_wanted(step)),
            Err(why) => {
                // The release that follows takes the console with it, so what it said goes into the reason.
                let log = record::places(&self.config, &record.guest).console_log;
                Err(Failed::at(step, format!("{why}; {}", console::last_words(&log))))
            }
        }
    }

    /// How a guest is seen now.
    pub(crate) fn seen(&self, record: &Record) -> GuestSeen {
        let leases = network::lease_file_read(&self.config.network).unwrap_or_default();
        let report = network::lease_report(&[record.port()], &leases, now());
        let own = report.first();
        let lease_state = match own.map(|own| own.lease_state) {
            Some(LeaseState::Expected) => GuestLeaseState::Leased,
            Some(LeaseState::Expired) => GuestLeaseState::Expired,
            Some(LeaseState::OtherIp) => GuestLeaseState::WrongAddress,
            Some(LeaseState::None | LeaseState::Stale) | None => GuestLeaseState::Waiting,
        };
        GuestSeen {
            mac: record.plan.mac.to_string(),
            expected_ip: record.plan.ip.to_string(),
            actual_ip: own.and_then(|own| own.actual_ip).map(|ip| ip.to_string()),
            lease_state,
            host_key: record.host_key.public.to_string(),
            accelerator: accelerator(self.config.accelerator).to_owned(),
        }
    }
}

/// What executes guests, in one word.
pub(crate) fn accelerator(accelerator: Accelerator) -> &'static str {
    match accelerator {
        Accelerator::Kvm => "kvm",
        Accelerator::Tcg => "tcg",
    }
}
