use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use gpurun_lifecycle::{Engine, InstallSpec};
use gpurun_protocol::bundle::{Bundle, FILE, Program, SYSTEM};
use tempfile::TempDir;

use super::super::local::Local;
use super::*;

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// A machine with a workspace in `here`, and a box.
struct Place {
    folder: TempDir,
    sources: Sources,
    remote: Local,
}

fn place() -> Result<Place, Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let home = folder.path().join("home");
    fs::create_dir(&home)?;
    let bin = folder.path().join("here/target/release");
    fs::create_dir_all(&bin)?;
    let gpurun = bin.join("gpurun");
    script(&gpurun, "echo gpurun 9.9.9")?;
    // No test fetches gigabytes.
    let marks = [("PIP_NO_INDEX".to_owned(), "1".to_owned())];
    let remote = Local::open(&home, &marks.into())?;
    let sources = Sources {
        gpurun,
        is_for_boxes: true,
        data: folder.path().join("data"),
        beside: Some(bin),
        named_trainer: None,
        named_libtorch: None,
        path: None,
    };
    Ok(Place {
        folder,
        sources,
        remote,
    })
}

impl Place {
    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Puts a trainer beside gpurun that works only with its libtorch, as the real one does.
    fn build_trainer(&self) -> std::io::Result<()> {
        let needs_libtorch = "test -e \"${0%/*}/../libtorch/lib/libtorch_cpu.so\" || { echo cannot open libtorch >&2; exit 127; }";
        script(
            &self.path("here/target/release/gpurun-train"),
            &format!("{needs_libtorch}; echo gpurun-train 9.9.9"),
        )
    }

    fn fetch_libtorch(&self) -> std::io::Result<()> {
        fs::create_dir_all(self.path("here/.libtorch/lib"))?;
        fs::write(self.path("here/.libtorch/lib/libtorch_cpu.so"), "")
    }
}

fn script(path: &Path, line: &str) -> std::io::Result<()> {
    fs::write(path, format!("#!/bin/sh\n{line}\n"))?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

fn spec(engine: Engine) -> InstallSpec {
    InstallSpec {
        engine,
        extras: Vec::new(),
        version: None,
    }
}

#[tokio::test]
async fn a_plain_command_needs_only_gpurun_itself() -> Outcome {
    let place = place()?;
    let installed = install_from(&place.remote, &spec(Engine::Command), 0, &place.sources).await?;
    assert_eq!(
        installed,
        Installed {
            gpurun: "gpurun 9.9.9".to_owned(),
            engine: None
        }
    );
    assert!(!place.path("home/gpurun/bin/gpurun-train").exists());
    Ok(())
}

#[tokio::test]
async fn the_trainer_goes_with_its_libtorch_as_often_as_asked() -> Outcome {
    let place = place()?;
    place.build_trainer()?;
    place.fetch_libtorch()?;
    for _ in 0..2 {
        let installed =
            install_from(&place.remote, &spec(Engine::GpurunTrain), 0, &place.sources).await?;
        assert_eq!(installed.engine.as_deref(), Some("gpurun-train 9.9.9"));
    }
    script(&place.sources.gpurun, "echo gpurun 10.0.0")?;
    let installed =
        install_from(&place.remote, &spec(Engine::GpurunTrain), 0, &place.sources).await?;
    assert_eq!(
        installed.gpurun, "gpurun 10.0.0",
        "a newer program replaces the older one"
    );
    Ok(())
}

#[tokio::test]
async fn what_a_kill_left_half_done_is_finished() -> Outcome {
    let place = place()?;
    place.build_trainer()?;
    place.fetch_libtorch()?;
    fs::create_dir_all(place.path("home/gpurun/bin"))?;
    fs::create_dir_all(place.path("home/gpurun/libtorch"))?;
    fs::write(place.path("home/gpurun/bin/gpurun"), "half a prog")?;
    std::os::unix::fs::symlink("/nowhere", place.path("home/gpurun/libtorch/lib"))?;
    install_from(&place.remote, &spec(Engine::GpurunTrain), 0, &place.sources).await?;
    Ok(())
}

#[tokio::test]
async fn what_is_missing_is_said_with_the_way_to_get_it() -> Outcome {
    let mut place = place()?;
    let install = async |place: &Place| {
        let result =
            install_from(&place.remote, &spec(Engine::GpurunTrain), 0, &place.sources).await;
        result.err().ok_or("it was installed")
    };
    let missing = install(&place).await?;
    assert!(
        missing.to_string().contains("neither beside gpurun")
            && missing.remedy.contains("cargo xtask demo"),
        "{missing}"
    );
    assert!(!missing.temporary);

    place.build_trainer()?;
    let missing = install(&place).await?;
    assert!(
        missing
            .to_string()
            .contains("No matching distribution found for torch==2.13.0"),
        "{missing}"
    );

    place.sources.named_trainer = Some(place.path("nothing-here"));
    let missing = install(&place).await?;
    assert!(
        missing.to_string().contains("GPURUN_TRAIN names"),
        "{missing}"
    );
    Ok(())
}

#[tokio::test]
async fn a_program_that_does_not_run_is_not_installed() -> Outcome {
    let place = place()?;
    script(
        &place.sources.gpurun,
        "echo 'cannot execute: wrong architecture' >&2; exit 126",
    )?;
    let refused = install_from(&place.remote, &spec(Engine::Command), 0, &place.sources)
        .await
        .err()
        .ok_or("it was installed")?;
    assert!(
        refused.to_string().contains("wrong architecture"),
        "{refused}"
    );
    script(&place.sources.gpurun, "echo something else")?;
    let refused = install_from(&place.remote, &spec(Engine::Command), 0, &place.sources)
        .await
        .err()
        .ok_or("it was installed")?;
    assert!(
        refused.to_string().contains("it says `something else`"),
        "{refused}"
    );
    Ok(())
}

#[tokio::test]
async fn a_laptop_of_another_kind_sends_its_bundle() -> Outcome {
    let mut place = place()?;
    place.sources.is_for_boxes = false;
    let refused = install_from(&place.remote, &spec(Engine::Command), 0, &place.sources).await;
    let refused = refused.err().ok_or("it was installed")?;
    assert!(refused.remedy.contains("cargo xtask dist"), "{refused}");

    let version = env!("CARGO_PKG_VERSION");
    let folder = place.path("data").join(Bundle::folder(version));
    fs::create_dir_all(&folder)?;
    let mut programs = Vec::new();
    for name in ["gpurun", "gpurun-train"] {
        script(&folder.join(name), &format!("echo {name} bundled"))?;
        let digest = crate::sink::Digest::of_file(&folder.join(name))?;
        programs.push(Program {
            name: name.to_owned(),
            sha256: digest.sha256,
            bytes: digest.bytes,
            glibc: "2.9".parse()?,
        });
    }
    let mut bundle = Bundle {
        schema_version: 1,
        version: version.to_owned(),
        system: SYSTEM.to_owned(),
        programs,
    };
    fs::write(folder.join(FILE), serde_json::to_string(&bundle)?)?;
    let installed =
        install_from(&place.remote, &spec(Engine::GpurunTrain), 0, &place.sources).await?;
    assert_eq!(installed.gpurun, "gpurun bundled");
    assert_eq!(installed.engine.as_deref(), Some("gpurun-train bundled"));

    fs::remove_dir_all(place.path("home/gpurun"))?;
    bundle.programs[1].glibc = "99.1".parse()?;
    fs::write(folder.join(FILE), serde_json::to_string(&bundle)?)?;
    let refused = install_from(&place.remote, &spec(Engine::GpurunTrain), 0, &place.sources).await;
    let refused = refused.err().ok_or("it was installed")?.to_string();
    assert!(
        refused.contains("gpurun-train needs glibc 99.1"),
        "{refused}"
    );
    assert!(
        !place.path("home/gpurun/bin/gpurun-train").exists(),
        "nothing goes to a box that can't run it"
    );
    Ok(())
}
