//! The words of the platform: ids, units, nouns, states and reason codes.
//!
//! Everything here is plain data with its own validation. There is no clock, no I/O and no randomness: an id is
//! built from a time and random bits that the caller brings, a [`Timestamp`] is a number somebody else read.
//! If a value of one of these types exists, it is valid; nothing downstream checks it again.

#[macro_use]
mod text_enum;

pub mod allocation;
pub mod claim;
pub mod event;
pub mod governance;
pub mod guest;
pub mod id;
pub mod identity;
pub mod image;
pub mod lifecycle;
pub mod listing;
pub mod notice;
pub mod number;
pub mod operation;
pub mod placement;
#[cfg(feature = "planted-bugs")]
pub mod planted;
pub mod proof;
pub mod runtime;
pub mod sku;
pub mod stream;
pub mod supply;
pub mod task;
pub mod tenancy;
pub mod text;
pub mod time;
pub mod webhook;
pub mod workload;

pub use id::*;
pub use time::Timestamp;

/// Whether a deliberately planted bug is active on this thread. Always false, and compiled away, unless the
/// `planted-bugs` feature is on: simulator tests switch bugs on one at a time to prove that a check catches them.
#[macro_export]
macro_rules! planted {
    ($bug:ident) => {{
        #[cfg(feature = "planted-bugs")]
        {
            $crate::planted::is_active($crate::planted::Bug::$bug)
        }
        #[cfg(not(feature = "planted-bugs"))]
        {
            false
        }
    }};
}
