use std::fs;

use super::*;

fn load(yaml: &str) -> Result<DataConfig> {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let file = dir.path().join("data.yaml");
    fs::write(&file, yaml).expect("the folder is writable");
    DataConfig::load(&file)
}

#[test]
fn names_may_be_a_list_or_a_map() {
    let list = load("train: images/train\nnames: [cat, 7]\n").expect("a list of names");
    assert_eq!(list.names, ["cat", "7"]);
    let map = load("train: a\nnames:\n  1: dog\n  0: cat\n").expect("a map of names");
    assert_eq!(
        (map.nc, map.names),
        (2, vec!["cat".to_owned(), "dog".to_owned()])
    );
}

#[test]
fn nc_decides_and_fills_the_missing_names() {
    let config = load("train: a\nnc: 3\nnames: [cat]\n")
        .expect("nc and names differ, which only the check refuses");
    assert_eq!(config.names, ["cat", "class_1", "class_2"]);
}

#[test]
fn the_root_is_relative_to_the_file() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let file = dir.path().join("data.yaml");
    for (key, root) in [
        ("", dir.path().to_path_buf()),
        ("path: set\n", dir.path().join("set")),
        ("path: /srv/set\n", PathBuf::from("/srv/set")),
    ] {
        fs::write(
            &file,
            format!("{key}train: [images/a, /else/b]\nval:\nnames: [x]\n"),
        )
        .expect("writable");
        let config = DataConfig::load(dir.path()).expect("a folder finds its data.yaml");
        assert_eq!(config.root, root);
        assert_eq!(
            config.entries(Split::Train),
            [root.join("images/a"), PathBuf::from("/else/b")]
        );
        assert!(config.entries(Split::Val).is_empty());
    }
}

#[test]
fn a_yaml_error_has_line_and_column() {
    let error = load("train: images\nnames: {0: [a\n").expect_err("an open bracket");
    let Error::Yaml { line, column, .. } = error else {
        panic!("not a YAML error: {error}")
    };
    assert!(line >= 2 && column >= 1, "{line}:{column}");
    let error = load("train: images\nnames: 3\n").expect_err("names is a number");
    assert!(error.to_string().contains("data.yaml:2:"), "{error}");
    assert!(error.to_string().contains("class names"), "{error}");
}

#[test]
fn other_tasks_and_nameless_files_are_refused_with_a_remedy() {
    for (yaml, expected) in [
        ("train: a\nnames: [x]\nkpt_shape: [17, 3]\n", "pose"),
        ("train: a\n", "names no class"),
        ("train: a\nnc: 2.5\n", "nc is 2.5"),
    ] {
        let message = load(yaml).expect_err(yaml).to_string();
        assert!(
            message.contains(expected) && message.contains("; "),
            "{message}"
        );
    }
}

#[test]
fn a_folder_without_or_with_several_descriptions_is_an_error() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    assert!(
        DataConfig::load(dir.path())
            .expect_err("empty")
            .to_string()
            .contains("no .yaml file")
    );
    fs::write(dir.path().join("b.yaml"), "train: a\nnames: [x]").expect("writable");
    assert!(DataConfig::load(dir.path()).is_ok());
    fs::write(dir.path().join("a.yml"), "").expect("writable");
    assert!(
        DataConfig::load(dir.path())
            .expect_err("two")
            .to_string()
            .contains("a.yml, b.yaml")
    );
}
