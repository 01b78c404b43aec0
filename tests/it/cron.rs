//! `gpurun cron` as a whole, with a stand-in for `crontab` first on the path.

use assert_cmd::Command;
use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

const STAND_IN: &str = r#"#!/bin/sh
table="$(dirname "$0")/table"
case "$1" in
-l) [ -e "$table" ] || { echo "no crontab for tester" >&2; exit 1; }; cat "$table" ;;
-r) rm "$table" ;;
-) cat > "$table" ;;
esac
"#;

/// A home with a crontab of its own.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().expect("a temporary folder"));
        fs::create_dir(home.path("bin")).expect("made");
        // By another process, so that no thread that forks meanwhile keeps the script from being run.
        let mut shell = std::process::Command::new("/bin/sh")
            .args(["-c", "cat > \"$1\" && chmod 755 \"$1\"", "sh"])
            .arg(home.path("bin/crontab"))
            .stdin(std::process::Stdio::piped())
            .spawn()
            .expect("a shell");
        let mut stdin = shell.stdin.take().expect("a pipe");
        stdin
            .write_all(STAND_IN.as_bytes())
            .expect("the shell reads");
        drop(stdin);
        assert!(shell.wait().expect("the shell ends").success());
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn gpurun(&self, arguments: &[&str]) -> Command {
        let path = format!("{}:/usr/bin:/bin", self.path("bin").display());
        let mut command = Command::new(env!("CARGO_BIN_EXE_gpurun"));
        command
            .env_clear()
            .env("HOME", self.0.path())
            .env("PATH", path)
            .env("GPURUN_HOME", self.path("state of mine"))
            .arg("cron")
            .args(arguments);
        command
    }

    fn table(&self) -> Option<String> {
        fs::read_to_string(self.path("bin/table")).ok()
    }
}

#[test]
fn a_pass_is_rehearsed_installed_shown_and_removed() {
    let home = Home::new();
    let foreign = "MAILTO=me\n0 5 * * * backup\n";
    fs::write(home.path("bin/table"), foreign).expect("written");
    home.gpurun(&["install", "--every", "15m"])
        .assert()
        .success();
    let table = home.table().expect("a table");
    let ours = table
        .strip_prefix(foreign)
        .expect("the other lines stay first");
    let line = ours.lines().nth(2).expect("the line of the pass");
    let state = home.path("state of mine");
    let state = state.display();
    assert!(line.starts_with("*/15 * * * * HOME="), "{line}");
    assert!(line.contains(&format!("GPURUN_HOME='{state}' /")), "{line}");
    assert!(
        line.ends_with(&format!("gpurun reap --json >> '{state}/cron.log' 2>&1")),
        "{line}"
    );
    assert!(Path::new(&format!("{state}/cron.log")).exists());

    let shown = home.gpurun(&["show", "--json"]).assert().success();
    let shown: serde_json::Value =
        serde_json::from_slice(&shown.get_output().stdout).expect("one document");
    assert_eq!(shown["entries"][0]["line"], line);

    home.gpurun(&["install"]).assert().success();
    assert_eq!(
        home.table()
            .expect("a table")
            .matches("gpurun:begin")
            .count(),
        1
    );
    home.gpurun(&["remove"]).assert().success();
    assert_eq!(home.table().as_deref(), Some(foreign));
}

#[test]
fn a_key_in_the_shell_alone_is_refused_and_never_written() {
    let home = Home::new();
    let refused = home
        .gpurun(&["install"])
        .env("RUNPOD_API_KEY", "top-secret")
        .assert()
        .failure();
    let said = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(
        said.contains("RUNPOD_API_KEY") && !said.contains("top-secret"),
        "{said}"
    );
    assert_eq!(home.table(), None);
}

#[test]
fn what_could_not_read_every_provider_is_not_installed() {
    let home = Home::new();
    fs::create_dir_all(home.path("state of mine/local")).expect("made");
    fs::write(home.path("state of mine/local/boxes"), "no folder").expect("written");
    let refused = home.gpurun(&["install"]).assert().failure();
    let said = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(said.contains("not installed"), "{said}");
    assert_eq!(home.table(), None);
}
