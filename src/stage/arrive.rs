//! The box's end of a data set's way over the network.

use super::{
    error::{Result, StageError},
    listing,
    marker::Marker,
    parcel::LENGTH_DIGITS,
    receive::{Places, remove, settled_archive},
    space::{self, Allotment},
    unpack::unpack_from,
};
use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
};

/// What arrives on a stream. The paths are of the machine this runs on, the box.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// A `.tar` of the person's own, whose hash is the fingerprint; else the files of a folder.
    pub(crate) archive: bool,
    pub(crate) fingerprint: String,
    pub(crate) bytes: u64,
    pub(crate) home: PathBuf,
    /// Relative to the home.
    pub(crate) dest: PathBuf,
    /// What the home may hold, in bytes.
    pub(crate) disk_limit: Option<u64>,
    /// Of a folder whose description is written anew for the box: its file's name. The text comes first in the stream.
    pub(crate) description: Option<String>,
}

/// Whether the data set is there already.
pub(crate) fn is_there(home: &Path, dest: &Path, fingerprint: &str) -> bool {
    Marker::read(&home.join(dest)).is_some_and(|marker| marker.fingerprint == fingerprint)
}

/// As [`super::receive`], from [`Parcel::write`](super::Parcel::write)'s stream. What a cut one left is begun anew.
///
/// # Errors
/// No room, a stream that ends early or is another data set, a file that can't be written.
pub(crate) fn receive_stream(arrival: &Arrival, mut stream: impl Read) -> Result<()> {
    let description = match &arrival.description {
        Some(name) => Some((name.as_str(), text(&mut stream).ok_or_else(not_whole)?)),
        None => None,
    };
    let dest = arrival.home.join(&arrival.dest);
    let places = Places::beside(&dest)?;
    remove(&places.partial)?;
    places.make_partial()?;
    let allotment = arrival.disk_limit.map(|limit| Allotment {
        limit,
        used: space::used(&arrival.home),
    });
    space::check(&arrival.home, arrival.bytes, allotment)?;
    let partial = &places.partial;
    let unpacked = unpack_from(Path::new("what arrived"), stream, partial, &mut |_| {});
    let content = unpacked.and_then(|unpacked| {
        if arrival.archive {
            whole(unpacked.fingerprint == arrival.fingerprint)?;
            settled_archive(&unpacked, partial)
        } else {
            settled_folder(arrival, description, partial)
        }
    });
    match content {
        Ok(content) => places.settle(&content, &dest),
        Err(error) => {
            remove(partial)?;
            Err(error)
        }
    }
}

fn settled_folder(
    arrival: &Arrival,
    description: Option<(&str, String)>,
    partial: &Path,
) -> Result<PathBuf> {
    let items = listing::list(partial)?;
    whole(listing::fingerprint(partial, &items)? == arrival.fingerprint)?;
    let marker = Marker {
        schema_version: 1,
        fingerprint: arrival.fingerprint.clone(),
        files: items.len() as u64,
        bytes: listing::total(&items),
    };
    marker.write(partial)?;
    if let Some((name, text)) = description {
        let path = partial.join(name);
        fs::write(&path, text).map_err(StageError::io("can't be written", &path))?;
    }
    Ok(partial.to_owned())
}

/// The description at the head of the stream; `None` where it is cut.
fn text(stream: &mut impl Read) -> Option<String> {
    let mut digits = [0; LENGTH_DIGITS];
    stream.read_exact(&mut digits).ok()?;
    let length: u64 = std::str::from_utf8(&digits).ok()?.parse().ok()?;
    let mut text = String::new();
    let read = stream.take(length).read_to_string(&mut text).ok()?;
    (read as u64 == length).then_some(text)
}

fn whole(it_is: bool) -> Result<()> {
    if it_is { Ok(()) } else { Err(not_whole()) }
}

fn not_whole() -> StageError {
    StageError {
        temporary: true,
        ..StageError::new(
            "what arrived is not the data set that was checked: the line was cut, or it changed meanwhile",
            "leave the data set alone while it is copied",
        )
    }
}
