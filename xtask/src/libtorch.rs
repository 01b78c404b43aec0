//! `cargo xtask libtorch`: the smallest set of libtorch that builds and runs the trainer on a CPU.
//!
//! The set comes out of three wheels, pinned by hash. Of the torch wheel only the CPU libraries
//! and the headers are unpacked (490 MB of 1.1 GB); the other two give libraries that
//! `libtorch_cpu.so` needs. Nothing is installed: the whole set lies in one folder.

mod download;
mod error;
mod manifest;
mod unpack;

use std::fs;
use std::path::{Path, PathBuf};

use self::error::{Error, IoContext};
use self::unpack::Pick;
use crate::output::say;

/// What the trainer is built for; `torch-sys` and the trainer's own start check want exactly this.
pub(crate) const VERSION: &str = "2.13.0";

/// A wheel of the set: which release, which bytes, and what is taken out of it.
pub(crate) struct Wheel {
    /// Name and exact version, as pip takes them.
    pub(crate) requirement: &'static str,
    /// The hash of the one file meant (CPython 3.11, x86_64; any Python on this machine will do).
    pub(crate) sha256: &'static str,
    pub(crate) bytes: u64,
    pick: Pick,
}

const WHEELS: [Wheel; 3] = [
    Wheel {
        requirement: "torch==2.13.0",
        sha256: "60fcdcb2f3876e21146cb4524ef06397d727ca9ad5f020818547e25075fe3cb7",
        bytes: 526_574_961,
        pick: pick_torch,
    },
    Wheel {
        requirement: "nvidia-cuda-runtime==13.0.96",
        sha256: "7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548",
        bytes: 2_243_632,
        pick: pick_cuda_runtime,
    },
    Wheel {
        requirement: "nvidia-cuda-cupti==13.0.85",
        sha256: "4eb01c08e859bf924d222250d2e8f8b8ff6d3db4721288cf35d14252a4d933c8",
        bytes: 10_715_597,
        pick: pick_cupti,
    },
];

/// Where archives lie until they are unpacked.
const DOWNLOADS: &str = ".download";

/// Size of the unpacked set, for the check of free space.
const UNPACKED_BYTES: u64 = 490_000_000;

fn pick_torch(entry: &str) -> Option<PathBuf> {
    match entry {
        "torch/lib/libtorch_cpu.so" | "torch/lib/libc10.so" | "torch/lib/libgomp.so.1" => {
            entry.strip_prefix("torch/").map(PathBuf::from)
        }
        _ if entry.starts_with("torch/include/") => entry.strip_prefix("torch/").map(PathBuf::from),
        _ => None,
    }
}

fn pick_cuda_runtime(entry: &str) -> Option<PathBuf> {
    entry
        .ends_with("/lib/libcudart.so.13")
        .then(|| "lib/libcudart.so.13".into())
}

fn pick_cupti(entry: &str) -> Option<PathBuf> {
    entry
        .ends_with("/lib/libcupti.so.13")
        .then(|| "lib/libcupti.so.13".into())
}

/// Makes the set complete and sound, fetching only what is missing.
///
/// # Errors
/// When a tool or disk space is missing, the download fails, or the folder holds something else.
pub(crate) fn run(options: &[String]) -> Result<(), Error> {
    let options = Options::parse(options)?;
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err(Error::Platform);
    }
    let dir = options.dir;
    match manifest::check(&dir, options.verify)? {
        manifest::State::Sound => {
            // A call that ended between its last two steps leaves the archives behind.
            let _ = fs::remove_dir_all(dir.join(DOWNLOADS));
            say(format_args!(
                "libtorch {VERSION} is ready in {}",
                dir.display()
            ));
            return Ok(());
        }
        manifest::State::Damaged(path) => say(format_args!(
            "{} is missing or damaged: fetching the set again",
            path.display()
        )),
        manifest::State::Absent => refuse_foreign(&dir)?,
    }
    fetch(&dir)?;
    say(format_args!(
        "libtorch {VERSION} is ready in {}\nTo use it from another checkout: export LIBTORCH={}",
        dir.display(),
        dir.display()
    ));
    Ok(())
}

fn fetch(dir: &Path) -> Result<(), Error> {
    let downloads = dir.join(DOWNLOADS);
    fs::create_dir_all(&downloads).context(&downloads)?;
    download::require_space(
        dir,
        WHEELS.iter().map(|wheel| wheel.bytes).sum::<u64>() + UNPACKED_BYTES,
    )?;
    // Until every file is in place the set must not look finished.
    manifest::remove(dir)?;
    let mut files = Vec::new();
    for (wheel, url) in WHEELS.iter().zip(download::resolve(&WHEELS)?) {
        let archive = download::wheel(wheel, &url, &downloads)?;
        say(format_args!("unpacking {}", wheel.requirement));
        files.extend(unpack::wheel(&archive, wheel.pick, dir)?);
    }
    // `torch-sys` links -ltorch; the real libtorch.so would pull in all of CUDA.
    files.push(unpack::write(
        dir,
        "lib/libtorch.so",
        b"INPUT(libtorch_cpu.so)\n",
    )?);
    files.push(unpack::write(
        dir,
        manifest::BUILD_VERSION,
        format!("{VERSION}+cu130\n").as_bytes(),
    )?);
    manifest::write(dir, &files)?;
    fs::remove_dir_all(&downloads).context(&downloads)
}

/// A folder with other things in it, such as somebody's own libtorch, is never written to.
fn refuse_foreign(dir: &Path) -> Result<(), Error> {
    let Ok(entries) = fs::read_dir(dir) else {
        return Ok(());
    };
    let ours = dir.join(DOWNLOADS).exists() || manifest::was_ours(dir);
    if ours || entries.count() == 0 {
        return Ok(());
    }
    Err(Error::Foreign { dir: dir.into() })
}

struct Options {
    dir: PathBuf,
    verify: bool,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, Error> {
        let mut dir = None;
        let mut verify = false;
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--dir" => dir = Some(arguments.next().ok_or(Error::DirWithoutValue)?.into()),
                "--verify" => verify = true,
                other => return Err(Error::Option { name: other.into() }),
            }
        }
        let dir: PathBuf = dir
            .or_else(|| std::env::var_os("LIBTORCH").map(PathBuf::from))
            .unwrap_or_else(|| workspace().join(".libtorch"));
        // Link flags and messages outlive this process's working directory.
        let dir = std::path::absolute(&dir).context(&dir)?;
        Ok(Self { dir, verify })
    }
}

/// Where the set lies by default.
pub(crate) fn folder() -> Result<PathBuf, Error> {
    Options::parse(&[]).map(|options| options.dir)
}

fn workspace() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).to_path_buf()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_cpu_libraries_and_headers_are_taken_from_the_torch_wheel() {
        assert_eq!(
            pick_torch("torch/lib/libtorch_cpu.so"),
            Some("lib/libtorch_cpu.so".into())
        );
        assert_eq!(
            pick_torch("torch/include/ATen/ATen.h"),
            Some("include/ATen/ATen.h".into())
        );
        assert_eq!(pick_torch("torch/lib/libtorch_cuda.so"), None);
        assert_eq!(pick_torch("torch/nn/__init__.py"), None);
    }

    #[test]
    fn somebody_elses_folder_is_refused() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        assert!(
            refuse_foreign(dir.path()).is_ok(),
            "an empty folder is fine"
        );
        fs::write(dir.path().join("build-version"), "2.13.0").expect("writable");
        assert!(matches!(
            refuse_foreign(dir.path()),
            Err(Error::Foreign { .. })
        ));
    }

    #[test]
    fn an_unknown_option_is_named() {
        let error = Options::parse(&["--dri".into()]).err().expect("refused");
        assert!(error.to_string().contains("--dri"), "{error}");
    }
}
