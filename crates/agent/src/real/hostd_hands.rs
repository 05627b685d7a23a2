//! The agent's side of the root process: every change to the host is asked for over its socket, and an image that it does not
//! have yet is fetched by the agent, which may speak to the network, and handed over byte by byte. What arrives there is checked
//! there: neither the control plane nor the agent is believed about what an image is.

use crate::{
    host::{Effect, Guest, HostFault, SlotUse, Watch},
    real::root_hands::RootHands,
    streams::GuestDoor,
};
use hostd::{
    Client, ClientFault, Waiting,
    protocol::{LineFault, Ready},
};
use model::{
    AllocationId,
    image::ImageSpec,
    notice::NoticeSeen,
    proof::WipeStep,
    runtime::{GuestSeen, PlanReport, ReconcileReport, WorkProgress, WorkStep},
    stream::StreamKind,
    task::{GuestOrder, NoticeOrder, PlanOrder, ReconcileOrder, TaskFailure, TaskSlot},
};
use std::{
    fmt::Debug,
    io::{self, Read},
    os::unix::net::UnixStream,
    path::Path,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

const TRIES_MAX: u32 = 20;
const TRY_PAUSE: Duration = Duration::from_millis(250);
// How often one ask may be cut off, as when the root process is started anew under it.
const CUT_OFF_MAX: u32 = 5;

/// Where the bytes of images come from.
pub trait ImageSource: Debug + Send + Sync {
    /// Begins to read an image. Reading blocks, and goes on by itself after a broken connection.
    fn open(&self, image: &ImageSpec) -> io::Result<Box<dyn Read + Send>>;
}

/// The root process of this host.
#[derive(Debug, Clone)]
pub struct HostdHands {
    client: Client,
    images: Arc<dyn ImageSource>,
}

impl HostdHands {
    /// At this socket, with images from there.
    pub fn new(socket: &Path, images: Arc<dyn ImageSource>) -> Self {
        Self { client: Client::new(socket), images }
    }

    /// What the root process can do.
    pub fn ready(&self) -> Result<Ready, ClientFault> {
        self.client.ready()
    }

    // A root process that is being started again is waited for a moment, and asked again for what it was at: every verb of
    // it can be repeated, and an order need not fail for that.
    fn asked<T>(&self, ask: impl Fn(&Client) -> Result<T, ClientFault>) -> Result<T, ClientFault> {
        let (mut tries, mut cut_off) = (0, 0);
        loop {
            match ask(&self.client) {
                Err(ClientFault::Unreachable { .. }) if tries < TRIES_MAX => tries += 1,
                Err(ClientFault::Broken(LineFault::Closed | LineFault::Io(_))) if cut_off < CUT_OFF_MAX => {
                    (tries, cut_off) = (0, cut_off + 1);
                }
                answered => return answered,
            }
            thread::sleep(TRY_PAUSE);
        }
    }

    fn patiently<T>(&self, ask: impl Fn(&Client) -> Result<T, ClientFault>) -> Result<T, HostFault> {
        self.asked(ask).map_err(fault)
    }

    fn fetch(&self, image: &ImageSpec, watch: &dyn Watch) -> Result<(), HostFault> {
        watch.tell(WorkProgress::at(WorkStep::Image));
        let fetched = self.asked(|client| {
            if client.image_there(image)? {
                return Ok(());
            }
            let source = self.images.open(image).map_err(ClientFault::Source)?;
            let (total, begun) = (image.size_bytes, Instant::now());
            client.image_admit(image, &mut Counted { source, done: 0, total, begun, told: 0, watch })
        });
        fetched.map_err(|given| match given {
            ClientFault::Source(error) => {
                let detail = format!("The image {} cannot be fetched: {error}.", image.id);
                HostFault::of(TaskFailure::ImageRefused, detail)
            }
            other => fault(other),
        })
    }
}

impl RootHands for HostdHands {
    fn provision(&self, effect: &Effect, order: &GuestOrder, watch: &dyn Watch) -> Result<GuestSeen, HostFault> {
        let Some(guest) = order.guest.as_deref() else {
            return Err(HostFault::new("The order does not say what the guest is made of."));
        };
        self.fetch(&guest.image, watch)?;
        let (progress, wanted) = (|progress| watch.tell(progress), || watch.is_wanted());
        let waiting = Waiting { progress: &progress, wanted: &wanted };
        self.patiently(|client| client.provision(&effect.allocation_id, &effect.given, guest, waiting))
    }

    fn notice(&self, order: &NoticeOrder) -> Result<NoticeSeen, HostFault> {
        self.patiently(|client| client.notice(&order.allocation_id, &order.notice))
    }

    fn stop_guest(&self, effect: &Effect, guest: &Guest, watch: &dyn Watch) -> Result<String, HostFault> {
        let progress = |progress| watch.tell(progress);
        let waiting = Waiting { progress: &progress, wanted: &|| true };
        // Whoever else sits there was promised nothing.
        let grace_s = effect.grace_s.filter(|_| guest.allocation_id == effect.allocation_id);
        self.patiently(|client| client.stop(&guest.allocation_id, &effect.given, grace_s, waiting))
    }

    fn wipe_step(
        &self,
        effect: &Effect,
        slot: &TaskSlot,
        step: WipeStep,
        watch: &dyn Watch,
    ) -> Result<String, HostFault> {
        let progress = |progress| watch.tell(progress);
        let waiting = Waiting { progress: &progress, wanted: &|| true };
        self.patiently(|client| client.wipe(&effect.allocation_id, slot, step, waiting))
    }

    fn guests(&self) -> Result<Vec<Guest>, HostFault> {
        let listed = self.patiently(Client::guests)?;
        let held =
            |slot: hostd::protocol::SlotHeld| SlotUse { slot_id: slot.slot_id, use_generation: slot.use_generation };
        let guests = listed.into_iter().map(|guest| {
            let mut slots: Vec<SlotUse> = guest.slots.into_iter().map(held).collect();
            slots.sort();
            // Asked for again when an order needs it: a guest that is ready is only looked at.
            Guest { allocation_id: guest.allocation_id, slots, ready: guest.ready, seen: None }
        });
        Ok(guests.collect())
    }

    fn plan(&self, order: &PlanOrder) -> Result<PlanReport, HostFault> {
        self.patiently(|client| client.plan(&order.slots))
    }

    fn reconcile(
        &self,
        order: &ReconcileOrder,
        busy: &[AllocationId],
        watch: &dyn Watch,
    ) -> Result<ReconcileReport, HostFault> {
        let progress = |progress| watch.tell(progress);
        let waiting = Waiting { progress: &progress, wanted: &|| true };
        self.patiently(|client| client.reconcile(order, busy, waiting))
    }

    fn prefetch(&self, image: &ImageSpec, watch: &dyn Watch) -> Result<(), HostFault> {
        self.fetch(image, watch)
    }
}

impl GuestDoor for HostdHands {
    fn open(&self, allocation_id: &AllocationId, kind: StreamKind) -> io::Result<UnixStream> {
        self.client.stream(allocation_id, kind).map_err(|fault| io::Error::other(fault.to_string()))
    }
}

fn fault(fault: ClientFault) -> HostFault {
    match fault {
        ClientFault::Refused { failure, detail, refusals } => HostFault { failure, detail, refusals },
        other => HostFault::new(format!("{other}.")),
    }
}

// Tells how far an image has come, once for every hundredth part of it.
struct Counted<'a> {
    source: Box<dyn Read + Send>,
    done: u64,
    total: u64,
    begun: Instant,
    told: u64,
    watch: &'a dyn Watch,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.watch.is_wanted() {
            return Err(io::Error::other("it is not wanted any more"));
        }
        let count = self.source.read(buffer)?;
        self.done = self.done.saturating_add(u64::try_from(count).unwrap_or(0));
        let percent = self.done.saturating_mul(100).checked_div(self.total).unwrap_or(100).min(100);
        if percent > self.told {
            self.told = percent;
            let passed_ms = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX).max(1);
            let bytes_per_s = self.done.saturating_mul(1000) / passed_ms;
            let left = self.total.saturating_sub(self.done);
            self.watch.tell(WorkProgress {
                percent: u8::try_from(percent).ok(),
                bytes_per_s: Some(bytes_per_s),
                remaining_s: left.checked_div(bytes_per_s),
                ..WorkProgress::at(WorkStep::Image)
            });
        }
        Ok(count)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use hostd::protocol::{self, ASK_BYTES_MAX, Answer, Ask, Said};
    use std::{
        io::BufReader,
        os::unix::net::UnixListener,
        sync::atomic::{AtomicUsize, Ordering},
    };

    #[derive(Debug)]
    struct NoImages;

    impl ImageSource for NoImages {
        fn open(&self, _: &ImageSpec) -> io::Result<Box<dyn Read + Send>> {
            Err(io::Error::other("there are none"))
        }
    }

    // A root process that is started anew under each of its first asks.
    fn asked(cut_off: usize) -> (Result<Vec<Guest>, HostFault>, usize) {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        let count = AtomicUsize::new(0);
        let mut listener = UnixListener::bind(&socket).unwrap();
        let answered = thread::scope(|scope| {
            let (socket, count) = (&socket, &count);
            scope.spawn(move || {
                loop {
                    let (mut stream, _) = listener.accept().unwrap();
                    let ask = protocol::read::<Ask>(&mut BufReader::new(&stream), ASK_BYTES_MAX);
                    // The test is over.
                    if ask.is_err() {
                        return;
                    }
                    if count.fetch_add(1, Ordering::SeqCst) >= cut_off {
                        protocol::write(&mut stream, &Said::Done { answer: Answer::Guests { guests: vec![] } })
                            .unwrap();
                        continue;
                    }
                    std::fs::remove_file(socket).unwrap();
                    listener = UnixListener::bind(socket).unwrap();
                }
            });
            let answered = HostdHands::new(socket, Arc::new(NoImages)).guests();
            drop(UnixStream::connect(socket).unwrap());
            answered
        });
        (answered, count.into_inner())
    }

    #[test]
    fn an_ask_that_is_cut_off_is_asked_again_but_not_for_ever() {
        let often = usize::try_from(CUT_OFF_MAX).unwrap();
        assert_eq!(asked(often), (Ok(vec![]), often + 1));
        let (gave_up, count) = asked(usize::MAX);
        assert_eq!(count, often + 1);
        assert!(gave_up.unwrap_err().detail.contains("gave no answer"));
    }
}
