//! Where on this machine the programs lie that go to the box.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::super::command::RemoteError;

const TRAINER: &str = "gpurun-train";
/// The library that every libtorch has.
const LIBRARY: &str = "libtorch_cpu.so";

/// The places to look at.
#[derive(Clone, Debug)]
pub(super) struct Sources {
    /// This program, as a file that can be read also when it was replaced on disk meanwhile.
    pub(super) gpurun: PathBuf,
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
            beside: env::current_exe()
                .ok()
                .and_then(|program| program.parent().map(Path::to_owned)),
            named_trainer: env::var_os("GPURUN_TRAIN").map(PathBuf::from),
            named_libtorch: env::var_os("LIBTORCH").map(PathBuf::from),
            path: env::var_os("PATH"),
        }
    }

    /// The trainer: the one named, else the one beside this program, else the one on the path.
    pub(super) fn trainer(&self) -> Result<PathBuf, RemoteError> {
        if let Some(named) = &self.named_trainer {
            return if named.is_file() {
                Ok(named.clone())
            } else {
                Err(no_trainer(&format!(
                    "GPURUN_TRAIN names {}, which is no file",
                    named.display()
                )))
            };
        }
        let on_path = self.path.iter().flat_map(env::split_paths);
        let mut folders = self.beside.clone().into_iter().chain(on_path);
        let found = folders
            .find_map(|folder| Some(folder.join(TRAINER)).filter(|program| program.is_file()));
        found.ok_or_else(|| {
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

fn no_trainer(why: &str) -> RemoteError {
    RemoteError::permanent(
        format!("the training core is not built here: {why}"),
        "run `cargo xtask demo` in gpurun's own folder, set GPURUN_TRAIN to the program, or choose another engine",
    )
}
