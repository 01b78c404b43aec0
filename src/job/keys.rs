//! Every key of a job, once: its place in the file, its flag, its shape and its help.

/// Names a key of the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    Name,
    Provider,
    Gpu,
    Disk,
    Image,
    MaxPrice,
    BootDeadline,
    Volume,
    Source,
    Engine,
    Model,
    Epochs,
    Batch,
    ImageSize,
    Device,
    SavePeriod,
    Extras,
    Args,
    Command,
    To,
    Files,
    Milestones,
    MaxHours,
    MaxCost,
    Policy,
    Grace,
    Away,
}

/// What may stand behind a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A string.
    Text,
    /// A whole number.
    Integer,
    /// A number or a string such as `"250GB"`, `"$60"`, `"2h30m"`, `"480x640"`.
    Quantity,
    /// A list of strings; the flag may be given several times.
    List,
    /// A table of `name = value`; the flag takes `NAME=VALUE`, several times.
    Pairs,
    /// A list of strings (one per argument) or one line for the shell.
    Command,
}

/// One row of the table.
#[derive(Debug)]
pub(crate) struct KeyInfo {
    pub(crate) key: Key,
    /// The TOML table the key lives in; empty for the top of the file.
    pub(crate) section: &'static str,
    pub(crate) name: &'static str,
    /// The flag, without its dashes.
    pub(crate) flag: &'static str,
    pub(crate) shape: Shape,
    /// How help names the flag's value.
    pub(crate) value: &'static str,
    pub(crate) help: &'static str,
}

impl KeyInfo {
    /// The key as a person writes it: `train.epochs`, or `name` at the top.
    pub(crate) fn path(&self) -> String {
        if self.section.is_empty() {
            return self.name.to_owned();
        }
        format!("{}.{}", self.section, self.name)
    }
}

impl Key {
    pub(crate) fn info(self) -> &'static KeyInfo {
        KEYS.iter()
            .find(|info| info.key == self)
            .expect("every key has its row; a test goes through them all")
    }
}

const fn row(
    key: Key,
    place: (&'static str, &'static str),
    flag: &'static str,
    shape: Shape,
    value: &'static str,
    help: &'static str,
) -> KeyInfo {
    let (section, name) = place;
    KeyInfo {
        key,
        section,
        name,
        flag,
        shape,
        value,
        help,
    }
}

use Shape::{Command, Integer, List, Pairs, Quantity, Text};

/// The table, in the order of the documentation.
#[rustfmt::skip]
pub(crate) const KEYS: [KeyInfo; 27] = [
    row(Key::Name, ("", "name"), "name", Text, "NAME", "Name of the run: letters, digits, '.', '_' and '-' [default: the data set's name]"),
    row(Key::Provider, ("box", "provider"), "provider", Text, "PROVIDER", "Where to rent [default: local for 'cpu', else every cloud that has a key]"),
    row(Key::Gpu, ("box", "gpu"), "gpu", Text, "GPU", "GPU model and count, such as 4090x8 or h100, or cpu"),
    row(Key::Disk, ("box", "disk"), "disk", Quantity, "GB", "Disk to allocate; it is billed as long as the box exists [default: what the job needs and 30 %]"),
    row(Key::Image, ("box", "image"), "image", Text, "IMAGE", "Container image to boot the box with [default: the provider's]"),
    row(Key::MaxPrice, ("box", "max_price"), "max-price", Quantity, "DOLLARS", "Rent nothing above this price per hour"),
    row(Key::BootDeadline, ("box", "boot_deadline"), "boot-deadline", Quantity, "DURATION", "A box that can't be used this long after it was rented is given back, and the next one tried [default: 10m; 30s on this machine]"),
    row(Key::Volume, ("box", "volume"), "volume", Text, "ID:PATH", "Mount this disk of the provider's, which outlives the box, at this path; it bills on its own"),
    row(Key::Source, ("data", "source"), "data", Text, "PATH", "Data set in YOLO layout: a directory with a data.yaml, or a .tar of one"),
    row(Key::Engine, ("train", "engine"), "engine", Text, "ENGINE", "What trains: gpurun-train, libreyolo or command [default: command if one is given, else gpurun-train]"),
    row(Key::Model, ("train", "model"), "model", Text, "MODEL", "Model to train, in the engine's own spelling [default: yolo9-t]"),
    row(Key::Epochs, ("train", "epochs"), "epochs", Integer, "N", "Passes over the training images [default: the engine's]"),
    row(Key::Batch, ("train", "batch"), "batch", Integer, "N", "Images per step over all GPUs together; -1 lets the engine measure what fits [default: the engine's]"),
    row(Key::ImageSize, ("train", "imgsz"), "imgsz", Quantity, "PIXELS", "Training image size: 640, or HEIGHTxWIDTH [default: the engine's]"),
    row(Key::Device, ("train", "device"), "device", Quantity, "DEVICE", "cpu, auto, or GPU numbers such as 0,1 [default: all of the box]"),
    row(Key::SavePeriod, ("train", "save_period"), "save-period", Integer, "N", "Keep weights/epoch_N.pt every N epochs [default: the engine's]"),
    row(Key::Extras, ("train", "extras"), "extra", List, "EXTRA", "Optional parts of the engine to install, such as rfdetr, lora or onnx"),
    row(Key::Args, ("train", "args"), "arg", Pairs, "NAME=VALUE", "Any other option of the engine; also after '--'"),
    row(Key::Command, ("train", "command"), "command", Command, "COMMAND", "A command to run instead of an engine; also after '--'"),
    row(Key::To, ("checkpoints", "to"), "to", Text, "DIRECTORY", "Where weights go while the training runs: a directory, or s3://bucket/folder; into a folder of the run's name [default: runs]"),
    row(Key::Files, ("checkpoints", "files"), "file", List, "PATTERN", "Names of files worth keeping, with * and ? [default: weights, metrics and configuration]"),
    row(Key::Milestones, ("checkpoints", "milestones"), "milestone", List, "MILESTONE", "When to push: first-best, each-best, epochs, end, or a period such as 15m [default: the first four]"),
    row(Key::MaxHours, ("stop", "max_hours"), "max-hours", Quantity, "HOURS", "Hard cap on time: the box goes, whatever it does [default: 24]"),
    row(Key::MaxCost, ("stop", "max_cost"), "max-cost", Quantity, "DOLLARS", "Hard cap on money: the box goes, whatever it does"),
    row(Key::Policy, ("stop", "policy"), "policy", Text, "POLICY", "What ends the box: default, break-even, ski-rental, learned, destroy or keep [default: default]"),
    row(Key::Grace, ("stop", "grace"), "grace", Quantity, "DURATION", "How long a box may wait for checkpoints that are not safe yet [default: 30m]"),
    row(Key::Away, ("stop", "away"), "away", Quantity, "DURATION", "You go on with this box after this long: decides between stopping and destroying"),
];

/// The tables of a job file, in the order of the documentation.
pub(crate) const SECTIONS: [&str; 5] = ["box", "data", "train", "checkpoints", "stop"];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_key_has_one_row_one_place_and_one_flag() {
        let keys: BTreeSet<_> = KEYS.iter().map(|info| info.key).collect();
        let paths: BTreeSet<_> = KEYS.iter().map(KeyInfo::path).collect();
        let flags: BTreeSet<_> = KEYS.iter().map(|info| info.flag).collect();
        assert_eq!(keys.len(), KEYS.len());
        assert_eq!(paths.len(), KEYS.len());
        assert_eq!(flags.len(), KEYS.len());
        // `Away` is the last variant: the table is complete when its row number is its ordinal.
        assert_eq!(Key::Away as usize + 1, KEYS.len());
        for info in &KEYS {
            assert_eq!(info.key.info().name, info.name);
            assert!(info.section.is_empty() || SECTIONS.contains(&info.section));
            assert!(!info.help.ends_with('.'), "{}", info.help);
        }
    }
}
