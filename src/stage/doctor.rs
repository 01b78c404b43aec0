//! Before money: what is wrong with the data, how much of it there is, and what it is known by.

use super::{
    description,
    digest::of_file,
    error::{Result, StageError},
    layout::Layout,
    listing,
    unpack::{self, unpack},
};
use crate::job::StagedData;
use gpurun_dataset::check::{CheckOptions, Report, Severity, check_for_launch};
use std::path::{Path, PathBuf};

/// What [`examine`] found.
#[derive(Debug)]
pub(crate) struct Examination {
    /// Every finding with its places and remedy.
    pub(crate) report: Report,
    /// What stands in the way of the copy even where data errors are allowed, as an error.
    pub(crate) data: Result<StagedData>,
}

impl Examination {
    /// Whether a launch must be refused unless the person allows data errors.
    pub(crate) fn has_errors(&self) -> bool {
        self.report.count(Severity::Error) > 0
    }
}

/// Checks a data set for a detection training and packs it. A `.tar` is unpacked below `scratch`,
/// which is empty again afterwards.
///
/// # Errors
/// A `.tar` that can't be unpacked. What is wrong with labels and images is a finding; what can't
/// travel is an error in [`Examination::data`], beside the findings that explain it.
pub(crate) fn examine(
    source: &Path,
    scratch: &Path,
    options: &CheckOptions,
) -> Result<Examination> {
    if !is_archive(source) {
        return Ok(Examination {
            report: check_for_launch(source, options),
            data: pack(source),
        });
    }
    let unpacked = Unpacked::new(source, scratch)?;
    let mut report = check_for_launch(&unpacked.described(), options);
    relocate(&mut report, &unpacked.layout.root, source);
    let data = description::portable(&unpacked.layout).map(|_text| unpacked.data);
    Ok(Examination { report, data })
}

/// Size and fingerprint of a data set, without a look at labels or images: enough for a command.
///
/// # Errors
/// A data set that can't be read or can't travel.
pub(crate) fn pack(source: &Path) -> Result<StagedData> {
    if is_archive(source) {
        return pack_archive(source);
    }
    let layout = Layout::of(source)?;
    description::portable(&layout)?;
    let items = listing::list(&layout.root)?;
    Ok(StagedData {
        source: source.to_path_buf(),
        bytes: listing::total(&items),
        fingerprint: listing::fingerprint(&layout.root, &items)?,
        config: layout.staged_name(),
    })
}

/// How many bytes a data set takes on a box, told without reading its files.
///
/// # Errors
/// A data set that can't be read.
pub(crate) fn measure(source: &Path) -> Result<u64> {
    if is_archive(source) {
        return unpack::content_bytes(source);
    }
    let layout = Layout::of(source)?;
    Ok(listing::total(&listing::list(&layout.root)?))
}

/// Whether a data set comes as one file to be unpacked.
pub(super) fn is_archive(source: &Path) -> bool {
    source.extension().is_some_and(|ending| ending == "tar")
}

fn pack_archive(source: &Path) -> Result<StagedData> {
    unpack::check_end(source)?;
    let metadata = source
        .metadata()
        .map_err(StageError::io("can't be read", source))?;
    Ok(StagedData {
        source: source.to_path_buf(),
        bytes: metadata.len(),
        fingerprint: of_file(source).map_err(StageError::io("can't be read", source))?,
        config: "data.yaml".to_owned(),
    })
}

/// An archive's content in a folder that goes when this does.
struct Unpacked {
    layout: Layout,
    data: StagedData,
    _folder: tempfile::TempDir,
}

impl Unpacked {
    fn new(source: &Path, scratch: &Path) -> Result<Self> {
        std::fs::create_dir_all(scratch).map_err(StageError::io("can't be made", scratch))?;
        let folder = tempfile::Builder::new()
            .prefix("unpacked-")
            .tempdir_in(scratch)
            .map_err(StageError::io("no folder can be made in it", scratch))?;
        let metadata = source
            .metadata()
            .map_err(StageError::io("can't be read", source))?;
        super::space::check(folder.path(), metadata.len(), None)?;
        let unpacked = unpack(source, folder.path(), &mut |_| {})?;
        let layout = Layout::of_unpacked(folder.path())?;
        Ok(Self {
            data: StagedData {
                source: source.to_path_buf(),
                bytes: unpacked.bytes,
                fingerprint: unpacked.fingerprint,
                config: layout.staged_name(),
            },
            layout,
            _folder: folder,
        })
    }

    /// What the check is to look at: the description where there is one.
    fn described(&self) -> PathBuf {
        let config = self.layout.config.as_ref();
        config.map_or_else(|| self.layout.root.clone(), |config| config.file.clone())
    }
}

/// Names places by the archive and not by the folder it was unpacked in, which is gone by then.
fn relocate(report: &mut Report, folder: &Path, archive: &Path) {
    let from = format!("{}/", folder.display());
    let to = format!("{}:", archive.display());
    for finding in &mut report.findings {
        finding.message = finding.message.replace(&from, &to);
        finding.remedy = finding.remedy.replace(&from, &to);
        for place in &mut finding.places {
            place.path = PathBuf::from(place.path.to_string_lossy().replace(&from, &to));
        }
    }
    report.stats.yaml = PathBuf::from(report.stats.yaml.to_string_lossy().replace(&from, &to));
    report.stats.root = archive.to_path_buf();
}
