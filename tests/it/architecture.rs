//! The invariants of `ARCHITECTURE.md`, each held by something that fails when it breaks.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Names of the normal dependencies of `package`, resolved for it alone.
fn dependencies(package: &str) -> BTreeSet<String> {
    let tree = cargo_tree(&[
        "--package",
        package,
        "--edges",
        "normal",
        "--prefix",
        "none",
    ]);
    tree.lines()
        .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .filter(|name| name != package)
        .collect()
}

fn cargo_tree(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO"))
        .current_dir(root())
        .arg("tree")
        .args(["--offline", "--locked"])
        .args(arguments)
        .output()
        .expect("cargo runs");
    assert!(
        output.status.success(),
        "cargo tree: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("cargo prints UTF-8")
}

/// Every tracked or new file below `folder` with this extension.
fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a readable folder") {
            let path = entry.expect("a readable entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

const CODE: [&str; 11] = [
    "src",
    "pricing",
    "lifecycle",
    "protocol",
    "providers",
    "dataset",
    "trainer",
    "xtask",
    "benches",
    "tests",
    "examples",
];

fn code_files() -> Vec<PathBuf> {
    CODE.iter()
        .filter(|folder| root().join(folder).is_dir())
        .flat_map(|folder| files(folder, "rs"))
        .filter(|path| !path.components().any(|part| part.as_os_str() == "target"))
        .collect()
}

fn relative(path: &Path) -> String {
    path.strip_prefix(root())
        .expect("a file of the repository")
        .display()
        .to_string()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("a readable file")
}

#[test]
fn the_command_line_never_links_libtorch() {
    for name in dependencies("gpurun") {
        assert!(
            !["tch", "torch-sys", "gpurun-train"].contains(&name.as_str()),
            "gpurun depends on {name}"
        );
    }
    assert!(dependencies("gpurun-train").contains("tch"));
}

#[test]
fn the_pure_crates_do_no_io() {
    for package in ["gpurun-pricing", "gpurun-lifecycle"] {
        let found = dependencies(package);
        for forbidden in [
            "tokio", "reqwest", "nix", "libc", "rusqlite", "tempfile", "rand",
        ] {
            assert!(
                !found.contains(forbidden),
                "{package} depends on {forbidden}"
            );
        }
        let features = cargo_tree(&[
            "--package",
            package,
            "--edges",
            "normal",
            "--prefix",
            "none",
            "--format",
            "{p} [{f}]",
        ]);
        let chrono = features
            .lines()
            .find(|line| line.starts_with("chrono "))
            .expect("chrono is used");
        assert!(
            !chrono.contains("now") && !chrono.contains("clock"),
            "{package} could read a clock: {chrono}"
        );
    }
}

#[test]
fn dependencies_point_inwards() {
    let allowed: [(&str, &[&str]); 6] = [
        ("gpurun-pricing", &[]),
        ("gpurun-protocol", &[]),
        ("gpurun-dataset", &[]),
        ("gpurun-lifecycle", &["gpurun-pricing", "gpurun-protocol"]),
        ("gpurun-providers", &["gpurun-pricing"]),
        ("gpurun-train", &["gpurun-protocol", "gpurun-dataset"]),
    ];
    for (package, inner) in allowed {
        for name in dependencies(package) {
            let ours = name.starts_with("gpurun");
            assert!(
                !ours || inner.contains(&name.as_str()),
                "{package} depends on {name}"
            );
        }
    }
}

#[test]
fn only_observe_and_execute_call_a_provider() {
    let calls = [
        ".rent(",
        ".describe(",
        ".list_mine(",
        ".search(",
        ".start(",
        ".stop(",
        ".destroy(",
        ".rate_card(",
        ".account(",
        ".authorize(",
    ];
    for path in files("src", "rs") {
        let name = relative(&path);
        if ["src/observe.rs", "src/execute.rs"].contains(&name.as_str())
            || name.starts_with("src/observe/")
            || name.starts_with("src/execute/")
            || name.ends_with("/tests.rs")
        {
            continue;
        }
        let text = read(&path);
        if !text.contains("gpurun_providers") {
            continue;
        }
        // A GPU's description has no box in it.
        let text = text.replace(".describe()", "");
        for call in calls {
            assert!(!text.contains(call), "{name} calls a provider: {call}");
        }
    }
}

#[test]
fn only_the_store_knows_sql() {
    for path in files("src", "rs") {
        let name = relative(&path);
        if !name.starts_with("src/store/") {
            assert!(!read(&path).contains("rusqlite"), "{name} knows SQL");
        }
    }
}

#[test]
fn only_ui_prints() {
    let printers = ["print_stdout", "print_stderr"];
    for path in files("src", "rs") {
        let name = relative(&path);
        if name.starts_with("src/ui/") {
            continue;
        }
        let text = read(&path);
        // A test that can't run on this machine says so.
        let is_test = name.ends_with("tests.rs") || name.contains("/tests/");
        for lint in printers {
            assert!(
                is_test || !text.contains(lint),
                "{name} lifts the lint {lint}"
            );
        }
        let writes = text.contains("io::stdout()") || text.contains("io::stderr()");
        // The agent's documents go to stdout on the box, where there is no person.
        assert!(
            !writes || name.starts_with("src/agent/"),
            "{name} writes to the terminal"
        );
    }
}

#[test]
fn every_provider_folder_has_the_same_files() {
    let folder = root().join("providers/src");
    let mut providers = 0;
    for entry in std::fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable entry").path();
        if !path.join("README.md").exists() {
            continue;
        }
        providers += 1;
        for name in ["mod.rs", "api.rs", "convert.rs"] {
            assert!(path.join(name).exists(), "{} lacks {name}", relative(&path));
        }
    }
    assert!(providers > 0, "no provider folder found");
}

#[test]
fn files_stay_small() {
    for path in code_files() {
        let lines = read(&path).lines().count();
        assert!(
            lines <= 600,
            "{} has {lines} lines: is there a second job inside?",
            relative(&path)
        );
    }
}

#[test]
fn lints_are_expected_never_allowed_and_nothing_is_left_undone() {
    let this_file = Path::new(file!());
    for path in code_files() {
        if path.ends_with(this_file) {
            continue;
        }
        let text = read(&path);
        for forbidden in [
            "#[allow(",
            "#![allow(",
            "todo!(",
            "unimplemented!(",
            "#[ignore",
        ] {
            assert!(
                !text.contains(forbidden),
                "{} has {forbidden}",
                relative(&path)
            );
        }
    }
}

#[test]
fn the_architecture_page_names_every_crate() {
    let page = read(&root().join("ARCHITECTURE.md"));
    let manifest = read(&root().join("Cargo.toml"));
    let members = manifest
        .lines()
        .find(|line| line.starts_with("members"))
        .expect("a workspace");
    for member in members
        .split('"')
        .skip(1)
        .step_by(2)
        .filter(|member| *member != ".")
    {
        assert!(
            page.contains(&format!("{member}/")),
            "ARCHITECTURE.md doesn't name {member}/"
        );
    }
}
