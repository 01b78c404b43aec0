//! Where on this machine the programs lie that go to the box.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use gpurun_protocol::bundle::Bundle;

use super::super::command::RemoteError;
use super::bundle::{self, Found, Portable};
use crate::settings::Environment;

const GPURUN: &str = "gpurun";
const TRAINER: &str = "gpurun-train";
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The library that every libtorch has.
const LIBRARY: &str = "libtorch_cpu.so";

/// The places to look at.
#[derive(Clone, Debug)]
pub(super) struct Sources {
    /// This program, as a file that can be read also when it was replaced on disk meanwhile.
    pub(super) gpurun: PathBuf,
    /// Whether it runs on boxes as it is.
    pub(super) is_for_boxes: bool,
    /// Where a bundle may lie, besides beside this program.
    pub(super) data: PathBuf,
    /// The folder this program was started from.
    pub(super) beside: Option<PathBuf>,
    /// `$GPURUN_TRAIN`: the trainer, named by the user.
    pub(super) named_trainer: Option<PathBuf>,
    /// `$LIBTORCH`: a folder with `lib` in it.
    pub(super) named_libtorch: Option<PathBuf>,
    /// `$PATH`.
    pub(super) path: Option<OsString>,
}

impl Sources {
    pub(super) fn of_this_process() -> Self {
        Self {
            gpurun: PathBuf::from("/proc/self/exe"),
            is_for_boxes: cfg!(all(target_os = "linux", target_arch = "x86_64")),
            data: Environment::of_process().state_directory(),
            beside: env::current_exe()
                .ok()
                .and_then(|program| program.parent().map(Path::to_owned)),
            named_trainer: env::var_os("GPURUN_TRAIN").map(PathBuf::from),
            named_libtorch: env::var_os("LIBTORCH").map(PathBuf::from),
            path: env::var_os("PATH"),
        }
    }

    fn bundle(&self) -> Result<Option<Found>, RemoteError> {
        let places = self.beside.clone().into_iter().chain([self.data.clone()]);
        bundle::find(places, VERSION)
    }

    /// The bundle's, else this very program where boxes can run it.
    pub(super) fn gpurun(&self) -> Result<Portable, RemoteError> {
        let bundled = match self.bundle()? {
            Some(bundle) => bundle.program(GPURUN)?,
            None => None,
        };
        match bundled {
            Some(program) => Ok(program),
            None if self.is_for_boxes => Ok(of_this_machine(self.gpurun.clone())),
            None => Err(RemoteError::permanent(
                format!(
                    "boxes run x86-64 Linux, this machine doesn't, and {} is neither beside gpurun nor in {}",
                    Bundle::folder(VERSION),
                    self.data.display()
                ),
                bundle::how_to_get(VERSION),
            )),
        }
    }

    /// The trainer: the one named, else the bundle's, else the one beside this program, else the one on the path.
    pub(super) fn trainer(&self) -> Result<Portable, RemoteError> {
        if let Some(named) = &self.named_trainer {
            return if named.is_file() {
                Ok(of_this_machine(named.clone()))
            } else {
                Err(no_trainer(&format!(
                    "GPURUN_TRAIN names {}, which is no file",
                    named.display()
                )))
            };
        }
        if let Some(bundle) = self.bundle()?
            && let Some(program) = bundle.program(TRAINER)?
        {
            return Ok(program);
        }
        let on_path = self.path.iter().flat_map(env::split_paths);
        let mut folders = self.beside.clone().into_iter().chain(on_path);
        let found = folders
            .find_map(|folder| Some(folder.join(TRAINER)).filter(|program| program.is_file()));
        found.map(of_this_machine).ok_or_else(|| {
            no_trainer(&format!(
                "{TRAINER} lies neither beside gpurun nor on the PATH"
            ))
        })
    }

    /// The `lib` folder of a libtorch: the one named, else the one of the workspace or bundle the trainer lies in.
    pub(super) fn libtorch(&self, trainer: &Path) -> Option<PathBuf> {
        let trainer = trainer
            .canonicalize()
            .unwrap_or_else(|_| trainer.to_owned());
        let around = trainer
            .ancestors()
            .skip(1)
            .flat_map(|folder| [folder.join(".libtorch"), folder.join("libtorch")]);
        let mut folders = self.named_libtorch.clone().into_iter().chain(around);
        let found = folders
            .find_map(|folder| Some(folder.join("lib")).filter(|lib| lib.join(LIBRARY).is_file()));
        found.map(|lib| lib.canonicalize().unwrap_or(lib))
    }
}

/// It needs the glibc it was linked with at most; which that is shows when it is tried.
fn of_this_machine(path: PathBuf) -> Portable {
    Portable { path, glibc: None }
}

fn no_trainer(why: &str) -> RemoteError {
    RemoteError::permanent(
        format!("the training core is not built here: {why}"),
        "unpack a bundle (`cargo xtask dist`) beside gpurun, run `cargo xtask demo` in gpurun's own folder, set GPURUN_TRAIN to the program, or choose another engine",
    )
}
