//! The libtorch that gpurun-train uses on a box: the one at hand here, or that of a PyTorch installed there.

use std::path::Path;
use std::time::Duration;

use super::super::command::{Command, RemoteError};
use super::super::transport::Remote;
use super::recipe;

/// The one version the trainer works with.
pub(super) const VERSION: &str = "2.13.0";
/// The library that only a build for NVIDIA's cards has.
const CUDA: &str = "libtorch_cuda.so";
const FOLDER: &str = "gpurun/libtorch";
const SHORT: Duration = Duration::from_secs(180);

/// Where a box's libtorch comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The folder of this machine is brought.
    Here,
    /// PyTorch is installed on the box, unless its image has this very version.
    Box,
}

/// A libtorch without CUDA is of no use to a card, and one with it is gigabytes that the box fetches faster by itself.
pub(super) fn source(here: Option<&Path>, cards: u32) -> Source {
    match here {
        Some(lib) if cards == 0 || lib.join(CUDA).is_file() => Source::Here,
        _ => Source::Box,
    }
}

/// Makes `gpurun/libtorch` on the box the library folder of a PyTorch there.
///
/// # Errors
/// When none can be installed.
pub(super) async fn provide(remote: &dyn Remote, cards: u32) -> Result<(), RemoteError> {
    let cards = if cards == 0 { "0" } else { "1" };
    if link(remote, "python3", cards).await? {
        return Ok(());
    }
    recipe::venv(remote).await?;
    if link(remote, recipe::PYTHON, cards).await? {
        return Ok(());
    }
    recipe::pip(remote, &[&format!("torch=={VERSION}")]).await?;
    if link(remote, recipe::PYTHON, cards).await? {
        return Ok(());
    }
    Err(RemoteError::permanent(
        format!("torch {VERSION} was installed on the box and is not the one that is found there"),
        "take an image without a PyTorch of its own, or with this version",
    ))
}

/// Links the libraries of this Python's PyTorch; `false` when it has none, another version, or none for the cards.
async fn link(remote: &dyn Remote, python: &str, cards: &str) -> Result<bool, RemoteError> {
    let argv = [python, "-c", LINK, VERSION, cards, FOLDER];
    match remote.exec(&Command::new(&argv).timeout(SHORT)).await {
        Ok(output) => Ok(output.success()),
        // No such program is on the box.
        Err(error) if !error.temporary => Ok(false),
        Err(error) => Err(error),
    }
}

// Found without importing it, which takes seconds. A link to the folder itself: its libraries look for NVIDIA's beside it.
const LINK: &str = "
import importlib.util, os, sys
version, cards, to = sys.argv[1:]
found = importlib.util.find_spec('torch')
folder = os.path.dirname(found.origin) if found and found.origin else sys.exit('no torch')
lines = open(os.path.join(folder, 'version.py')).read().splitlines()
said = [line.split('=')[1].strip().strip('\\'\"') for line in lines if line.startswith('__version__')]
if not said or said[0].split('+')[0] != version:
    sys.exit(f'torch {said}')
if cards == '1' and not os.path.exists(os.path.join(folder, 'lib', 'libtorch_cuda.so')):
    sys.exit('a torch without CUDA')
if os.path.isdir(to) and not os.path.islink(to):
    os.rename(to, f'{to}.old-{os.getpid()}')
new = f'{to}.new-{os.getpid()}'
os.symlink(folder, new)
os.replace(new, to)
";

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::super::local::Local;
    use super::*;

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    #[test]
    fn it_is_the_trainer_s_own_version() {
        let trainer = include_str!("../../../trainer/src/libtorch.rs");
        assert!(trainer.contains(&format!("VERSION: &str = \"{VERSION}\"")));
    }

    #[test]
    fn a_card_never_gets_a_libtorch_without_cuda() -> Outcome {
        let here = tempfile::tempdir()?;
        assert_eq!(source(Some(here.path()), 0), Source::Here);
        assert_eq!(source(Some(here.path()), 1), Source::Box);
        assert_eq!(source(None, 0), Source::Box);
        fs::write(here.path().join(CUDA), "")?;
        assert_eq!(source(Some(here.path()), 8), Source::Here);
        Ok(())
    }

    #[tokio::test]
    async fn the_image_s_own_torch_serves_when_it_is_the_right_one() -> Outcome {
        let home = tempfile::tempdir()?;
        let site = home.path().join("site/torch");
        fs::create_dir_all(site.join("lib"))?;
        fs::create_dir_all(home.path().join("gpurun"))?;
        fs::write(
            site.join("__init__.py"),
            "raise ImportError('not to be imported')",
        )?;
        let marks = [(
            "PYTHONPATH".to_owned(),
            home.path().join("site").display().to_string(),
        )];
        let remote = Local::open(home.path(), &marks.into())?;
        let says = |version: &str| {
            let text = format!("__version__ = '{version}'\ndebug = False\n");
            fs::write(site.join("version.py"), text)
        };
        says("2.9.1+cu128")?;
        assert!(!link(&remote, "python3", "0").await?, "another version");
        says("2.13.0+cpu")?;
        assert!(!link(&remote, "python3", "1").await?, "nothing for a card");
        assert!(link(&remote, "python3", "0").await?);
        fs::write(site.join("lib").join(CUDA), "")?;
        // What a libtorch from here left is out of the way, and again is no different.
        fs::remove_file(home.path().join(FOLDER))?;
        fs::create_dir_all(home.path().join(FOLDER).join("lib"))?;
        for _ in 0..2 {
            provide(&remote, 1).await?;
            assert_eq!(fs::read_link(home.path().join(FOLDER))?, site);
        }
        assert!(
            !home.path().join(recipe::PYTHON).exists(),
            "nothing was installed"
        );
        Ok(())
    }
}
