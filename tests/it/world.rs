//! A world of its own for each test: a state directory, a configuration, a destination, and a small
//! training program whose every epoch waits for the test.

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Nothing here takes longer, unless something hangs.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct World {
    folder: tempfile::TempDir,
    environment: Vec<(String, String)>,
}

impl World {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join("trainer.py"), include_str!("trainer.py"))
            .expect("a writable folder");
        Self {
            folder,
            environment: Vec::new(),
        }
    }

    /// What gpurun finds in its environment besides.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// gpurun in this world. Nothing of the user's own environment is seen.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gpurun"));
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env_clear()
            .env("HOME", self.path("home"))
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("GPURUN_HOME", self.path("state"))
            .env("GPURUN_CONFIG", self.path("config.toml"))
            .envs(self.environment.iter().cloned())
            .stdin(Stdio::null());
        for name in ["GPURUN_TRAIN", "LIBTORCH"] {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("gpurun starts")
    }

    /// Runs a verb that must succeed; returns its stdout.
    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", text(&output));
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// Runs a verb that must end with this code; returns all it said.
    pub(crate) fn fails(&self, code: i32, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{arguments:?}: {}",
            text(&output)
        );
        text(&output)
    }

    /// The one JSON document of a verb, whatever its exit code.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let mut all = vec!["--json"];
        all.extend(arguments);
        let output = self.run(&all);
        let document: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {}", text(&output)));
        assert_eq!(document["schema_version"], 1);
        document
    }

    /// Launches the small training of `epochs` epochs and returns once it runs.
    pub(crate) fn launch_detached(&self, name: &str, epochs: u32) {
        self.ok(&self
            .launch_arguments(name, epochs)
            .iter()
            .map(String::as_str)
            .collect::<Vec<_>>());
    }

    pub(crate) fn launch_arguments(&self, name: &str, epochs: u32) -> Vec<String> {
        let trainer = format!(
            "python3 {} {epochs} {}",
            self.path("trainer.py").display(),
            self.path("gate").display()
        );
        let to = self.path("out").display().to_string();
        [
            "launch",
            "--detach",
            "--gpu",
            "cpu",
            "--name",
            name,
            "--to",
            &to,
            "--command",
            &trainer,
        ]
        .map(str::to_owned)
        .to_vec()
    }

    /// Lets the training finish this many epochs in all.
    pub(crate) fn let_epochs_pass(&self, epochs: u32) {
        let partial = self.path("gate.part");
        std::fs::write(&partial, epochs.to_string()).expect("a writable folder");
        std::fs::rename(partial, self.path("gate")).expect("a writable folder");
    }

    /// One run as `status --json` has it.
    pub(crate) fn status(&self, run: &str) -> Value {
        self.json(&["status", run])["runs"][0].clone()
    }

    /// Waits until the run's status answers `wanted`.
    pub(crate) fn until(&self, run: &str, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        eventually(&format!("{run}: {what}"), || {
            last = self.status(run);
            wanted(&last).then(|| last.clone())
        })
    }

    /// The ids of all local boxes there are.
    pub(crate) fn boxes(&self) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.path("state/local/boxes")) else {
            return Vec::new();
        };
        entries
            .map(|entry| {
                entry
                    .expect("a readable folder")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .filter(|name| !name.starts_with('.'))
            .collect()
    }

    /// The home of the only box.
    pub(crate) fn home(&self) -> PathBuf {
        let boxes = self.boxes();
        let [only] = boxes.as_slice() else {
            panic!("one box was expected: {boxes:?}");
        };
        self.path("state/local/boxes").join(only).join("home")
    }

    /// The pid of the training on the only box.
    pub(crate) fn training_pid(&self) -> i32 {
        let heartbeat = self.home().join("gpurun/heartbeat.json");
        eventually("the training's pid in the heartbeat", || {
            let heartbeat: Value = serde_json::from_slice(&std::fs::read(&heartbeat).ok()?).ok()?;
            i32::try_from(heartbeat["training"]["process"]["pid"].as_i64()?).ok()
        })
    }

    pub(crate) fn spawn(&self, arguments: &[&str]) -> Child {
        self.command(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("gpurun starts")
    }
}

impl Drop for World {
    /// No process of a test outlives it.
    fn drop(&mut self) {
        let marks: Vec<String> = self.boxes();
        for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Ok(pid) = entry.file_name().to_string_lossy().parse::<i32>() else {
                continue;
            };
            let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            let environment = String::from_utf8_lossy(&environment);
            if marks
                .iter()
                .any(|mark| environment.contains(&format!("GPURUN_BOX={mark}")))
            {
                kill(pid);
            }
        }
    }
}

/// Kills an agent for good: what would start it again goes first.
pub(crate) fn kill_agent(agent: i32) {
    let stat = std::fs::read_to_string(format!("/proc/{agent}/stat")).expect("it runs");
    let (_, fields) = stat.rsplit_once(") ").expect("a line of /proc");
    let keeper = fields.split(' ').nth(1).expect("its parent");
    kill(keeper.parse().expect("a pid"));
    kill(agent);
}

/// `kill -9`.
pub(crate) fn kill(pid: i32) {
    let _already_gone = nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(pid),
        nix::sys::signal::Signal::SIGKILL,
    );
}

/// Asks until there is an answer; a bound on a hang, not on speed.
pub(crate) fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(started.elapsed() < PATIENCE, "never happened: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub(crate) fn text(output: &Output) -> String {
    format!(
        "{:?}\n{}{}",
        output.status.code(),
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// Whether the companion binary is there; says so when a test goes without it.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
pub(crate) fn has_trainer(what: &str) -> bool {
    let found = std::env::var_os("GPURUN_TRAIN").is_some_and(|path| PathBuf::from(path).is_file())
        || beside_gpurun("gpurun-train").is_file();
    if !found {
        eprintln!("skipped, gpurun-train is not built: {what}");
    }
    found
}

/// A program in the folder of the gpurun under test.
pub(crate) fn beside_gpurun(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_gpurun")).with_file_name(name)
}
