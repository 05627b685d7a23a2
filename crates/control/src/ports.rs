//! What the control plane needs from the world and must not reach for itself: time and randomness. The server brings the
//! operating system's; the simulator brings its own, so that one seed gives one history.

use model::{IdBits, Timestamp};
use std::sync::Arc;

/// Where the time comes from.
pub trait Clock: Send + Sync {
    /// The moment now.
    fn now(&self) -> Timestamp;
    /// Microseconds of a clock that never jumps, from any beginning: for how long something has lasted, never for when it was.
    fn monotonic_us(&self) -> i64 {
        self.now().as_micros()
    }
}

/// Where unpredictable bytes come from: ids, token secrets, wipe challenges.
pub trait Entropy: Send + Sync {
    /// Fills the buffer.
    fn fill(&self, buffer: &mut [u8]);
}

/// Time and randomness together, cheap to clone.
#[derive(Clone)]
pub struct Ports {
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub entropy: Arc<dyn Entropy>,
}

impl Ports {
    /// The operating system's clock and random numbers.
    pub fn system() -> Self {
        Self { clock: Arc::new(SystemClock), entropy: Arc::new(SystemEntropy) }
    }
    /// The moment now.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }
    /// Microseconds of a clock that never jumps.
    pub fn monotonic_us(&self) -> i64 {
        self.clock.monotonic_us()
    }
    /// Fresh bits for one id.
    pub fn id_bits(&self) -> IdBits {
        let mut bits = IdBits::default();
        self.entropy.fill(&mut bits);
        bits
    }
}

impl std::fmt::Debug for Ports {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ports")
    }
}

struct SystemClock;
impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the injected clock")]
    fn now(&self) -> Timestamp {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }
    fn monotonic_us(&self) -> i64 {
        static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
        let since = START.get_or_init(std::time::Instant::now).elapsed();
        i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
    }
}

struct SystemEntropy;
impl Entropy for SystemEntropy {
    fn fill(&self, buffer: &mut [u8]) {
        if let Err(error) = getrandom::fill(buffer) {
            // Without randomness every id and secret would be guessable: better no process than that one.
            tracing::error!(%error, "the operating system gives no random bytes");
            std::process::abort();
        }
    }
}
