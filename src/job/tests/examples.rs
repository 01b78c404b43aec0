//! Every job in `examples/jobs` can be run as far as its text goes.

use super::{arguments, at_home};
use crate::job::{Defaults, Job, JobSpec, Train, load, resolve};
use gpurun_lifecycle::Engine;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/jobs")
}

fn job(path: &Path) -> Job {
    let flags = arguments(&[&*path.to_string_lossy()]);
    load(flags, &Defaults::default(), Path::new("/")).unwrap_or_else(|error| panic!("{error}"))
}

fn example(name: &str) -> JobSpec {
    job(&folder().join(name)).spec
}

#[test]
fn every_example_is_a_good_job() {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder()).expect("the examples are there") {
        let path = entry.expect("an entry").path();
        let stem = path
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let spec = job(&path).spec;
        assert!(spec.train.is_some(), "{stem} trains nothing");
        assert!(resolve(&spec, None, &at_home()).launch.is_some());
        names.push(stem);
    }
    names.sort();
    assert_eq!(names, ["bccd", "command", "libreyolo", "shapes", "yolo"]);
}

#[test]
fn the_examples_are_what_they_say() {
    let shapes = example("shapes.toml");
    assert_eq!(
        (shapes.provider.as_deref(), shapes.gpu.count()),
        (Some("local"), 0)
    );
    let data = shapes.data.expect("a data set");
    assert!(
        data.ends_with("demo/shapes") && !data.to_string_lossy().contains(".."),
        "{}",
        data.display()
    );
    let yolo = example("yolo.toml");
    assert_eq!(
        (yolo.provider, yolo.gpu.count(), yolo.engine),
        (None, 8, Engine::GpurunTrain)
    );
    assert_eq!(example("libreyolo.toml").engine, Engine::Libreyolo);
    let Some(Train::Command(argv)) = example("command.toml").train else {
        panic!("a command runs");
    };
    assert_eq!(&argv[..2], ["/bin/sh", "-c"]);
}
