//! A data set as one stream, for a box that is another machine.
//!
//! A `.tar` travels as it is, a directory as a tar of its files. The box unpacks what arrives beside the destination and
//! gives it its name only when the fingerprint is right, so a line that is cut leaves nothing that looks whole.

use super::{
    description,
    doctor::is_archive,
    error::{Result, StageError},
    layout::Layout,
    listing::{self, Item},
};
use std::{
    fs::File,
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

/// What a box has to know before the stream, as the words of a command line say it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parcel {
    source: PathBuf,
    content: Content,
    /// Of what is unpacked, or of the archive.
    pub(crate) bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Content {
    Archive,
    Folder {
        root: PathBuf,
        items: Vec<Item>,
        description: Option<Description>,
    },
}

/// Of a description's length, at the head of the stream.
pub(super) const LENGTH_DIGITS: usize = 10;

/// A description that is written anew for the copy.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Description {
    name: String,
    text: String,
}

impl Parcel {
    /// Looks at the data set; reads no image yet.
    ///
    /// # Errors
    /// A data set that can't be read or can't travel.
    pub(crate) fn of(source: &Path) -> Result<Self> {
        let source = source.to_path_buf();
        if is_archive(&source) {
            let metadata = source.metadata();
            let metadata = metadata.map_err(StageError::io("can't be read", &source))?;
            return Ok(Self {
                content: Content::Archive,
                bytes: metadata.len(),
                source,
            });
        }
        let layout = Layout::of(&source)?;
        let text = description::portable(&layout)?;
        let items = listing::list(&layout.root)?;
        let description = text.map(|text| Description {
            name: layout.staged_name(),
            text,
        });
        Ok(Self {
            bytes: listing::total(&items),
            content: Content::Folder {
                root: layout.root,
                items,
                description,
            },
            source,
        })
    }

    pub(crate) fn is_archive(&self) -> bool {
        self.content == Content::Archive
    }

    /// The file's name of a description that is written anew.
    pub(crate) fn description(&self) -> Option<&str> {
        match &self.content {
            Content::Archive => None,
            Content::Folder { description, .. } => description
                .as_ref()
                .map(|described| described.name.as_str()),
        }
    }

    /// Writes the stream: the description's length in ten digits and its text, where there is one, then the tar. Whoever
    /// takes no more of it has a reason, and says it: that is no error here.
    ///
    /// # Errors
    /// A file that can't be read.
    pub(crate) fn write(&self, out: impl Write) -> Result<()> {
        match self.stream(out) {
            Err((_, error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Err((path, error)) => Err(StageError::io("can't be sent to the box", path)(error)),
            Ok(()) => Ok(()),
        }
    }

    fn stream(&self, mut out: impl Write) -> Result<(), (&Path, io::Error)> {
        match &self.content {
            Content::Archive => {
                let copy = |out: &mut _| io::copy(&mut File::open(&self.source)?, out);
                copy(&mut out).map_err(|error| (self.source.as_path(), error))?;
            }
            Content::Folder {
                root,
                items,
                description,
            } => {
                let failed = |error| (root.as_path(), error);
                if let Some(Description { text, .. }) = description {
                    write!(out, "{:0LENGTH_DIGITS$}{text}", text.len()).map_err(failed)?;
                }
                let mut tar = tar::Builder::new(&mut out);
                for item in items {
                    append(&mut tar, root, item)
                        .map_err(|error| (item.relative.as_path(), error))?;
                }
                tar.finish().map_err(failed)?;
            }
        }
        out.flush().map_err(|error| (self.source.as_path(), error))
    }
}

/// A file that has grown or shrunk meanwhile has the length it was listed with: the fingerprint tells.
fn append(tar: &mut tar::Builder<impl Write>, root: &Path, item: &Item) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Regular);
    header.set_mode(0o644);
    header.set_size(item.bytes);
    let content = File::open(root.join(&item.relative))?
        .chain(io::repeat(0))
        .take(item.bytes);
    tar.append_data(&mut header, &item.relative, content)
}
