//! Against a small stand-in that keeps Debian's manners, and against the real program where it is.

use super::*;
use crate::cron::table::{installed, with_entry, without_entry};

/// `crontab` as Debian's behaves: a last line without its break is refused, `-l` of nothing fails.
const STAND_IN: &str = r#"#!/bin/sh
here=$(dirname "$0")
case "$1" in
-l) [ -e "$here/table" ] || { echo "no crontab for tester" >&2; exit 1; }; cat "$here/table" ;;
-r) [ -e "$here/table" ] || { echo "no crontab for tester" >&2; exit 1; }; rm "$here/table"; echo r >> "$here/log" ;;
-) cat > "$here/new"
   [ -z "$(tail -c 1 "$here/new")" ] || { echo "new crontab file is missing newline before EOF, can't install." >&2; exit 1; }
   ! grep -q REFUSED "$here/new" || { echo '"-":1: bad minute' >&2; exit 1; }
   mv "$here/new" "$here/table"
   if [ -e "$here/rival" ]; then mv "$here/rival" "$here/table"; fi ;;
esac
"#;

struct Machine(tempfile::TempDir);

impl Machine {
    fn new() -> Self {
        let machine = Self(tempfile::tempdir().expect("a temporary folder"));
        let program = machine.path("crontab");
        crate::cron::script::script(&program, STAND_IN);
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn crontab(&self) -> Crontab {
        Crontab {
            program: self.path("crontab"),
            user: None,
            folder: self.path("state"),
        }
    }

    fn table(&self) -> Option<String> {
        fs::read_to_string(self.path("table")).ok()
    }
}

const LINE: &str = "*/10 * * * * /usr/bin/gpurun reap --json >> /tmp/gpurun.log 2>&1";

fn install(crontab: &Crontab) -> Result<(), CronError> {
    crontab.update(|text| with_entry(text, "/state", LINE))
}

fn remove(crontab: &Crontab) -> Result<(), CronError> {
    crontab.update(|text| without_entry(text, "/state"))
}

#[test]
fn an_entry_goes_in_and_out_and_the_table_only_goes_when_it_is_empty() {
    let machine = Machine::new();
    let crontab = machine.crontab();
    assert_eq!(crontab.read().expect("no table is an empty one"), "");
    install(&crontab).expect("accepted");
    assert_eq!(
        installed(&crontab.read().expect("readable"))
            .expect("ours")
            .len(),
        1
    );
    remove(&crontab).expect("accepted");
    assert_eq!(machine.table(), None);

    let foreign = "0 5 * * * backup\n";
    fs::write(machine.path("table"), foreign).expect("written");
    fs::remove_file(machine.path("log")).expect("-r was used once");
    install(&crontab).expect("accepted");
    assert_eq!(
        fs::read_to_string(machine.path("state/crontab.before")).expect("a copy"),
        foreign
    );
    remove(&crontab).expect("accepted");
    assert_eq!(machine.table().as_deref(), Some(foreign));
    assert!(
        !machine.path("log").exists(),
        "-r would have taken somebody else's lines"
    );
}

#[test]
fn a_rival_who_overwrites_us_loses_nothing_and_neither_do_we() {
    let machine = Machine::new();
    let rivals = "0 5 * * * theirs\n";
    fs::write(machine.path("rival"), rivals).expect("written");
    install(&machine.crontab()).expect("at the second attempt");
    let table = machine.table().expect("a table");
    assert!(table.starts_with(rivals) && table.contains(LINE), "{table}");
}

#[test]
fn a_refused_table_leaves_the_old_one() {
    let machine = Machine::new();
    fs::write(machine.path("table"), "old\n").expect("written");
    let error = machine
        .crontab()
        .update(|_| Ok("REFUSED\n".to_owned()))
        .expect_err("a bad minute");
    assert!(error.message.contains("the old one stays") && error.message.contains("bad minute"));
    assert_eq!(machine.table().as_deref(), Some("old\n"));
}

#[test]
fn eight_at_once_all_get_their_entry() {
    let machine = Machine::new();
    std::thread::scope(|scope| {
        for number in 0..8 {
            let crontab = machine.crontab();
            scope.spawn(move || {
                crontab
                    .update(|text| with_entry(text, &format!("/state-{number}"), LINE))
                    .expect("accepted");
            });
        }
    });
    let entries = installed(&machine.table().expect("a table")).expect("ours");
    assert_eq!(entries.len(), 8);
}

#[test]
fn a_machine_without_cron_is_told_so() {
    let crontab = Crontab {
        program: PathBuf::from("/nowhere/crontab"),
        user: None,
        folder: PathBuf::from("/nowhere"),
    };
    let error = crontab.read().expect_err("no such program");
    assert!(error.help.contains("any other scheduler"), "{error}");
}

/// A user that goes, with its crontab, when this does.
struct Throwaway(String);

impl Throwaway {
    fn new() -> Option<Self> {
        let name = format!("gpurun{}", std::process::id());
        let made = Command::new("useradd")
            .args(["--system", "--no-create-home", &name])
            .output();
        made.is_ok_and(|output| output.status.success())
            .then_some(Self(name))
    }
}

impl Drop for Throwaway {
    fn drop(&mut self) {
        for (program, arguments) in [("crontab", &["-r", "-u"][..]), ("userdel", &[])] {
            let _best_effort = Command::new(program).args(arguments).arg(&self.0).output();
        }
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn the_real_program_agrees() {
    let has_cron = Command::new("crontab").arg("-l").output().is_ok();
    if !nix::unistd::Uid::effective().is_root() || !has_cron {
        eprintln!("skipped: needs root and an installed cron");
        return;
    }
    let Some(user) = Throwaway::new() else {
        eprintln!("skipped: no user can be made here");
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let crontab = Crontab {
        program: PathBuf::from("crontab"),
        user: Some(user.0.clone()),
        folder: folder.path().to_path_buf(),
    };
    assert_eq!(crontab.read().expect("an empty table"), "");
    let odd = LINE.replace("/tmp/", "/tmp/100\\%/");
    crontab
        .update(|text| with_entry(text, "/state", &odd))
        .expect("cron takes the line");
    let entries = installed(&crontab.read().expect("readable")).expect("ours");
    assert_eq!(entries[0].line, odd);
    let error = crontab
        .update(|_| Ok("99 * * * * nonsense\n".to_owned()))
        .expect_err("no such minute");
    assert!(error.message.contains("the old one stays"), "{error}");
    crontab
        .update(|text| Ok(format!("0 5 * * * backup\n{text}")))
        .expect("cron takes the line");
    remove(&crontab).expect("only ours goes");
    assert_eq!(crontab.read().expect("readable"), "0 5 * * * backup\n");
    crontab
        .update(|_| Ok(String::new()))
        .expect("the last line goes");
    assert_eq!(crontab.read().expect("an empty table"), "");
}
