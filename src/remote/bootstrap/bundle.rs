//! The bundle that `cargo xtask dist` makes: programs that run on any box, whatever this machine is.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use gpurun_protocol::bundle::{self, Bundle, Glibc, Program};

use super::super::command::RemoteError;
use crate::sink::Digest;

/// A bundle of this program's own version.
#[derive(Clone, Debug)]
pub(super) struct Found {
    folder: PathBuf,
    bundle: Bundle,
}

/// A program to bring to a box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Portable {
    pub(super) path: PathBuf,
    /// The oldest glibc it runs on, where that is known before it is tried.
    pub(super) glibc: Option<Glibc>,
}

/// Looks in each place, and in the bundle's own folder there; `None` where no place has one.
///
/// # Errors
/// When one is there that can't be used: unreadable, or of another version.
pub(super) fn find(
    places: impl Iterator<Item = PathBuf>,
    version: &str,
) -> Result<Option<Found>, RemoteError> {
    let folders = places.flat_map(|place| [place.join(Bundle::folder(version)), place]);
    for folder in folders {
        let file = folder.join(bundle::FILE);
        let text = match fs::read(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(broken(&file, error)),
        };
        let bundle: Bundle = serde_json::from_slice(&text).map_err(|error| broken(&file, error))?;
        if bundle.version != version {
            return Err(RemoteError::permanent(
                format!(
                    "the bundle in {} is of gpurun {}, and this is {version}",
                    folder.display(),
                    bundle.version
                ),
                how_to_get(version),
            ));
        }
        return Ok(Some(Found { folder, bundle }));
    }
    Ok(None)
}

impl Found {
    /// One of its programs, whole; `None` when it has none of that name.
    ///
    /// # Errors
    /// When the file isn't the one that was built.
    pub(super) fn program(&self, name: &str) -> Result<Option<Portable>, RemoteError> {
        let Some(program) = self.bundle.programs.iter().find(|one| one.name == name) else {
            return Ok(None);
        };
        let path = self.folder.join(name);
        check(&path, program, &self.bundle.version)?;
        Ok(Some(Portable {
            path,
            glibc: Some(program.glibc),
        }))
    }
}

fn check(path: &Path, program: &Program, version: &str) -> Result<(), RemoteError> {
    let digest = Digest::of_file(path).map_err(|error| broken(path, error))?;
    if digest.sha256 == program.sha256 {
        return Ok(());
    }
    Err(RemoteError::permanent(
        format!(
            "{} is not the program that was built: its SHA-256 is {}, not {}",
            path.display(),
            digest.sha256,
            program.sha256
        ),
        how_to_get(version),
    ))
}

/// The way to a bundle of this version.
pub(super) fn how_to_get(version: &str) -> String {
    format!(
        "`cargo xtask dist` on x86-64 Linux makes {name}.tar.gz: unpack it beside gpurun",
        name = Bundle::folder(version)
    )
}

fn broken(path: &Path, error: impl std::fmt::Display) -> RemoteError {
    RemoteError::permanent(
        format!("the bundle can't be used: {}: {error}", path.display()),
        "remove its folder and unpack it anew",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    fn write(place: &Path, version: &str) -> io::Result<()> {
        let folder = place.join(Bundle::folder("1.2.3"));
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("gpurun"), "program")?;
        let bundle = Bundle {
            schema_version: 1,
            version: version.to_owned(),
            system: bundle::SYSTEM.to_owned(),
            programs: vec![Program {
                name: "gpurun".to_owned(),
                sha256: Digest::of_bytes(b"program").sha256,
                bytes: 7,
                glibc: Glibc {
                    major: 2,
                    minor: 28,
                },
            }],
        };
        let text = serde_json::to_string(&bundle).map_err(io::Error::other)?;
        fs::write(folder.join(bundle::FILE), text)
    }

    #[test]
    fn a_bundle_serves_only_its_own_version() -> Outcome {
        let place = tempfile::tempdir()?;
        let look = || find([place.path().to_owned()].into_iter(), "1.2.3");
        assert!(look()?.is_none());
        write(place.path(), "1.2.2")?;
        let refused = look().err().ok_or("another version is used")?.to_string();
        assert!(
            refused.contains("of gpurun 1.2.2, and this is 1.2.3")
                && refused.contains("cargo xtask dist"),
            "{refused}"
        );
        write(place.path(), "1.2.3")?;
        let found = look()?.ok_or("it isn't found")?;
        assert!(found.program("gpurun")?.is_some());
        assert_eq!(found.program("gpurun-train")?, None);
        Ok(())
    }

    #[test]
    fn a_program_that_changed_after_it_was_built_goes_nowhere() -> Outcome {
        let place = tempfile::tempdir()?;
        write(place.path(), "1.2.3")?;
        let found = find([place.path().to_owned()].into_iter(), "1.2.3")?;
        fs::write(
            place.path().join(Bundle::folder("1.2.3")).join("gpurun"),
            "progrom",
        )?;
        let refused = found.ok_or("it isn't found")?.program("gpurun");
        let refused = refused.err().ok_or("it is used")?.to_string();
        assert!(refused.contains("SHA-256"), "{refused}");
        Ok(())
    }
}
