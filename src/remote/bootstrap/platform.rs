//! What kind of machine a box is, asked before anything goes there: pure but for the question.

use gpurun_protocol::bundle::Glibc;

use super::super::command::{Command, RemoteError};
use super::super::transport::Remote;

const ASK: &str = "uname -sm; getconf GNU_LIBC_VERSION 2>/dev/null";

/// As the box itself says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Platform {
    /// `Linux x86_64`; `None` where it doesn't say.
    system: Option<String>,
    /// `None` where it doesn't say, as with another C library.
    glibc: Option<Glibc>,
}

/// Asks the box.
///
/// # Errors
/// When it can't be asked.
pub(super) async fn ask(remote: &dyn Remote) -> Result<Platform, RemoteError> {
    let output = remote.exec(&Command::new(&["/bin/sh", "-c", ASK])).await?;
    Ok(read(&String::from_utf8_lossy(&output.stdout)))
}

fn read(said: &str) -> Platform {
    let lines = || said.lines().map(str::trim).filter(|line| !line.is_empty());
    let glibc = lines().find_map(|line| line.strip_prefix("glibc ")?.parse().ok());
    let system = lines().find(|line| !line.starts_with("glibc "));
    let system = system.map(str::to_owned);
    Platform { system, glibc }
}

impl Platform {
    /// Whether a program that needs this glibc can run there.
    ///
    /// # Errors
    /// Why not, in words.
    pub(super) fn runs(&self, program: &str, needed: Option<Glibc>) -> Result<(), RemoteError> {
        if let Some(system) = self.system.as_ref().filter(|it| *it != "Linux x86_64") {
            return Err(RemoteError::permanent(
                format!(
                    "the box is `{system}`, and gpurun's programs are built for `Linux x86_64` alone"
                ),
                "take an offer with an x86-64 processor: GH200, GB200 and Jetson are aarch64",
            ));
        }
        match (self.glibc, needed) {
            (Some(there), Some(needed)) if there < needed => Err(too_old(&format!(
                "{program} needs glibc {needed} or newer, and the box has {there}"
            ))),
            _ => Ok(()),
        }
    }
}

/// What the box's loader said of a program that doesn't start, in words; `None` when it is something else.
pub(super) fn explained(program: &str, said: &str) -> Option<RemoteError> {
    let versions = said
        .lines()
        .filter(|line| line.contains("not found"))
        .filter_map(|line| {
            let (_, rest) = line.split_once("version `GLIBC_")?;
            rest.split_once('\'')?.0.parse::<Glibc>().ok()
        });
    let needed = versions.max()?;
    Some(too_old(&format!(
        "{program} needs glibc {needed} or newer, and the box's is older"
    )))
}

fn too_old(message: &str) -> RemoteError {
    RemoteError::permanent(
        message,
        "choose a newer image: Ubuntu 22.04 has glibc 2.35, Debian 12 has 2.36",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_of_another_kind_is_refused_with_the_reason() {
        let refused = |said: &str| {
            let needed = "2.34".parse().ok();
            read(said)
                .runs("gpurun-train", needed)
                .map_err(|error| error.to_string())
        };
        assert_eq!(refused("Linux x86_64\nglibc 2.34\n"), Ok(()));
        assert_eq!(refused("Linux x86_64\n"), Ok(()), "its own word decides");
        assert_eq!(refused(""), Ok(()), "a box without uname");
        assert_eq!(refused("glibc 2.36\n"), Ok(()), "the same");
        let arm = refused("Linux aarch64\nglibc 2.39\n").expect_err("ARM");
        assert!(
            arm.contains("Linux aarch64") && arm.contains("x86-64"),
            "{arm}"
        );
        let old = refused("Linux x86_64\nglibc 2.9\n").expect_err("old");
        assert!(
            old.contains("needs glibc 2.34 or newer, and the box has 2.9"),
            "{old}"
        );
    }

    #[test]
    fn what_the_loader_says_is_put_in_words() {
        let said = "gpurun: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.34' not found (required by gpurun)\n\
                    gpurun: /lib/x86_64-linux-gnu/libm.so.6: version `GLIBC_2.29' not found (required by gpurun)\n";
        let words = explained("gpurun", said).expect("it is known").to_string();
        assert!(words.contains("glibc 2.34 or newer"), "{words}");
        assert_eq!(explained("gpurun", "no such file"), None);
    }
}
