//! What must be refused before money is spent, each with its own exit code and a way out.

use crate::world::World;

fn refused(code: i32, arguments: &[&str], words: &[&str]) {
    let world = World::new();
    let said = world.fails(code, arguments);
    for word in words {
        assert!(said.contains(word), "{arguments:?} lacks `{word}`: {said}");
    }
    assert!(world.boxes().is_empty());
    assert!(
        !world.path("state/ledger.db").exists(),
        "nothing was written down"
    );
}

#[test]
fn an_unknown_gpu() {
    refused(2, &["launch", "--gpu", "4009x8"], &["4009", "4090"]);
}

#[test]
fn no_epochs() {
    refused(
        2,
        &[
            "launch", "--gpu", "cpu", "--data", ".", "--model", "yolo9-t", "--epochs", "0",
        ],
        &["epochs"],
    );
}

#[test]
fn a_data_set_that_is_not_there() {
    refused(
        2,
        &[
            "launch", "--gpu", "cpu", "--data", "nowhere", "--model", "yolo9-t",
        ],
        &["nowhere"],
    );
}

#[test]
fn an_unknown_key_with_line_and_suggestion() {
    let world = World::new();
    std::fs::write(
        world.path("job.toml"),
        "name = \"a\"\n[train]\nepochz = 3\n",
    )
    .expect("writable");
    let said = world.fails(2, &["launch", "job.toml"]);
    assert!(said.contains("job.toml:3:1"), "{said}");
    assert!(said.contains("epochs"), "{said}");
}

#[test]
fn a_corrupt_label_and_a_missing_image_name_their_places() {
    let world = World::new();
    for split in ["train", "val"] {
        for kind in ["images", "labels"] {
            std::fs::create_dir_all(world.path("data").join(kind).join(split)).expect("writable");
        }
        std::fs::write(
            world.path(&format!("data/labels/{split}/a.txt")),
            "0 0.5 0.5 0.2 0.2\n",
        )
        .expect("writable");
        std::fs::write(world.path(&format!("data/images/{split}/a.png")), PIXEL).expect("writable");
    }
    std::fs::write(
        world.path("data/data.yaml"),
        "train: images/train\nval: images/val\nnames: [cell]\n",
    )
    .expect("writable");
    std::fs::write(
        world.path("data/labels/train/a.txt"),
        "0 0.5 0.5 0.2 0.2\n0 0.5 oops 0.2 0.2\n",
    )
    .expect("writable");
    let launch = [
        "launch", "--gpu", "cpu", "--data", "data", "--model", "yolo9-t", "--epochs", "1",
    ];
    let said = world.fails(3, &launch);
    assert!(
        said.contains("labels.syntax") && said.contains("a.txt:2"),
        "{said}"
    );
    assert!(said.contains("--allow-data-errors"), "{said}");

    std::fs::write(world.path("data/labels/train/a.txt"), "0 0.5 0.5 0.2 0.2\n").expect("writable");
    std::fs::write(world.path("data/images/train/a.png"), &PIXEL[..40]).expect("writable");
    let said = world.fails(3, &launch);
    assert!(
        said.contains("images.corrupt") && said.contains("a.png"),
        "{said}"
    );
    assert!(world.boxes().is_empty());
}

/// One white pixel.
const PIXEL: &[u8] = &[
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52,
    0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x02, 0x00, 0x00, 0x00, 0x90, 0x77, 0x53,
    0xde, 0x00, 0x00, 0x00, 0x0c, 0x49, 0x44, 0x41, 0x54, 0x08, 0xd7, 0x63, 0xf8, 0xff, 0xff, 0x3f,
    0x00, 0x05, 0xfe, 0x02, 0xfe, 0xdc, 0xcc, 0x59, 0xe7, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e,
    0x44, 0xae, 0x42, 0x60, 0x82,
];

#[test]
fn a_gpu_without_a_key_shows_the_plan_and_where_each_key_goes() {
    let world = World::new();
    let said = world.fails(5, &["launch", "--gpu", "4090x8", "--command", "true"]);
    for word in [
        "$",
        "VAST_API_KEY",
        "RUNPOD_API_KEY",
        "LAMBDA_API_KEY",
        "--provider local",
    ] {
        assert!(said.contains(word), "lacks `{word}`: {said}");
    }
    assert!(!world.path("state/ledger.db").exists());
}

#[test]
fn a_dry_run_changes_nothing() {
    let world = World::new();
    let plan = world.json(&[
        "launch",
        "-n",
        "--gpu",
        "cpu",
        "--name",
        "dry",
        "--command",
        "true",
    ]);
    let steps: Vec<&str> = plan["plan"]["actions"]
        .as_array()
        .expect("actions")
        .iter()
        .map(|action| action["action"].as_str().expect("a name"))
        .collect();
    assert_eq!(steps, ["rent", "install", "prove", "launch"]);
    assert!(!world.path("state").exists(), "a dry run leaves no trace");
}

#[test]
fn an_unknown_run_suggests_a_known_one() {
    let world = World::new();
    world.launch_detached("cells", 1);
    let said = world.fails(4, &["status", "cels"]);
    assert!(said.contains("cells"), "{said}");
    world.ok(&["destroy", "cells", "--force", "--yes"]);
}

#[test]
fn a_slip_of_the_finger_in_a_number() {
    for (flag, value) in [
        ("--epochs", "99999999999"),
        ("--batch", "99999999999"),
        ("--imgsz", "100000000"),
        ("--save-period", "-2"),
    ] {
        let wrong = [
            "launch", "--gpu", "cpu", "--data", ".", "--model", "yolo9-t", flag, value,
        ];
        refused(2, &wrong, &[flag, value]);
    }
}

#[test]
fn an_empty_path() {
    for flag in ["--data", "--to"] {
        refused(
            2,
            &["launch", "--gpu", "cpu", "--command", "true", flag, ""],
            &[flag, "empty"],
        );
    }
}

#[test]
fn a_device_or_a_film_instead_of_a_job() {
    refused(2, &["launch", "/dev/zero"], &["/dev/zero", "megabyte"]);
    let world = World::new();
    std::fs::write(world.path("film.mp4"), vec![0xff; 10_000_000]).expect("writable");
    let said = world.fails(2, &["launch", "film.mp4"]);
    assert!(said.contains("megabyte"), "{said}");
}

#[test]
fn a_pipe_in_a_data_set_is_named_and_not_waited_for() {
    let world = World::new();
    let launch = [
        "launch", "--gpu", "cpu", "--data", "data", "--model", "yolo9-t", "--epochs", "1",
    ];
    for pipe in [
        "data/images/train/a.png",
        "data/labels/train/a.txt",
        "data/data.yaml",
    ] {
        let _absent = std::fs::remove_dir_all(world.path("data"));
        for split in ["train", "val"] {
            for kind in ["images", "labels"] {
                std::fs::create_dir_all(world.path("data").join(kind).join(split))
                    .expect("writable");
            }
            std::fs::write(
                world.path(&format!("data/labels/{split}/a.txt")),
                "0 0.5 0.5 0.2 0.2\n",
            )
            .expect("writable");
            std::fs::write(world.path(&format!("data/images/{split}/a.png")), PIXEL)
                .expect("writable");
        }
        std::fs::write(
            world.path("data/data.yaml"),
            "train: images/train\nval: images/val\nnames: [cell]\n",
        )
        .expect("writable");
        std::fs::remove_file(world.path(pipe)).expect("written above");
        nix::unistd::mkfifo(&world.path(pipe), nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
        let said = world.fails(3, &launch);
        assert!(
            said.contains("regular file") || said.contains("neither a file nor a folder"),
            "{pipe}: {said}"
        );
    }
    assert!(world.boxes().is_empty());
}

#[test]
fn a_name_of_a_file_gives_the_terminal_no_orders() {
    let world = World::new();
    let said = world.fails(2, &["launch", "--gpu", "cpu", "--data", "\u{1b}[2Jgone"]);
    assert!(!said.contains('\u{1b}'), "{said:?}");
}
