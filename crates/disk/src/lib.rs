//! A slot's disk on a real host: which one it is, whether it is free, what it gets from an image, how it is wiped, and what
//! proves that it holds nothing. It knows no slot, allocation or node: those who call it do.
//!
//! A disk is reached in one way only, [`ExclusiveDisk::open`], with the identity that a person approved. Everything later
//! happens through what that opened. Nothing here takes a guess: what cannot be read, parsed or waited for is a fault.
//!
//! All functions are plain and synchronous and take their clock, tools and folders as inputs. They need the rights of root.

pub mod bulk;
pub mod cache;
pub mod clone;
pub mod exclusive;
pub mod fault;
pub mod identity;
pub mod image;
pub mod inspect;
pub mod nvme;
pub mod plain;
pub mod progress;
pub mod signatures;
pub mod tools;
pub mod verify;
pub mod wipe;

pub use cache::{Cache, CachedImage};
pub use clone::{CloneLimits, CloneReport, CloneStage};
pub use exclusive::ExclusiveDisk;
pub use fault::{Fault, ImageRefusal, Refusal};
pub use identity::{DeviceNumber, Difference, DiskIdentity, HostView, LoopIdentity, NvmeIdentity};
pub use image::{ImageFormat, ImageKind, ImageSpec, TrustedImage, TrustedKeys, trust};
pub use progress::Progress;
pub use tools::Tools;
pub use wipe::{WipeEvidence, WipeMethod, WipePolicy, WipeStage};
