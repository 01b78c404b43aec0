//! The data set's way to the box: checked before money, packed, copied, verified, described anew.
//!
//! [`examine`] answers before anything is rented: what is wrong with the data, how large it is and
//! what its fingerprint is. [`receive`] puts it into a box's home, in one of two forms: a directory,
//! copied file by file, or a `.tar`, unpacked. Both write beside the destination and appear there by
//! one rename, so a process killed at any point leaves either nothing or all of it; and both end by
//! comparing the fingerprint, so what is on the box is what was checked.
//!
//! A data set is copied as a whole: every file below its root that isn't hidden. Symbolic links are
//! followed. The user's own files are never changed; the copy's description is (see [`description`]).

mod arrive;
mod copy;
mod description;
mod digest;
mod doctor;
mod error;
mod layout;
mod listing;
mod marker;
mod parcel;
mod receive;
mod sizing;
mod space;
mod unpack;

pub(crate) use arrive::{Arrival, is_there, receive_stream};
pub(crate) use doctor::{Examination, examine, measure, pack};
pub(crate) use error::StageError;
pub(crate) use parcel::Parcel;
pub(crate) use receive::{Order, receive};
pub(crate) use sizing::{DiskOf, disk_need};

#[cfg(test)]
mod tests;
