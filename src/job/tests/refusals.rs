//! Jobs that are wrong as written: each error at its place, with a remedy.

use super::refused;

#[test]
fn an_unknown_key_shows_line_column_snippet_and_the_nearest() {
    refused(
        "[train]\nepochz = 3\n",
        &[],
        &[
            "jobs/job.toml:2:1: unknown key 'epochz' in [train]",
            "did you mean 'epochs'?",
            "epochz = 3",
            "───",
        ],
    );
    refused(
        "[trian]\nepochs = 3\n",
        &[],
        &[
            "job.toml:1:2",
            "unknown key 'trian'",
            "did you mean 'train'?",
        ],
    );
    refused(
        "epochs = 3\n",
        &[],
        &["unknown key 'epochs'", "belongs under [train]"],
    );
    refused("[box]\nname = 'x'\n", &[], &["at the top of the file"]);
    refused("[box]\nbatchh = 1\n", &[], &["did you mean 'train.batch'?"]);
    refused("[data]\nzzz = 1\n", &[], &["known here: source"]);
}

#[test]
fn a_wrong_type_or_broken_text_points_at_its_place() {
    refused(
        "[train]\nepochs = 'ten'\n",
        &[],
        &[
            "job.toml:2:10: train.epochs wants a whole number",
            "this is a string",
        ],
    );
    refused(
        "[train]\nargs = { a = [1] }\n",
        &[],
        &["train.args wants a table of name = value"],
    );
    refused("train = 3\n", &[], &["train is a table", "write [train]"]);
    refused(
        "[box]\ngpu = 4090x8\n",
        &[],
        &["job.toml:2:", "strings want quotes"],
    );
    refused("[box]\ngpu = 'cpu'\n[box]\n", &[], &["job.toml:3:"]);
}

#[test]
fn values_out_of_range_are_refused_before_money() {
    let with = |lines: &str| format!("[box]\ngpu = 'cpu'\n[data]\nsource = 'd'\n{lines}\n");
    for (lines, expected) in [
        ("[train]\nepochs = 0", "train.epochs: 0 is too small"),
        ("[train]\nbatch = 0", "train.batch: 0 images per step"),
        ("[train]\nbatch = -2", "train.batch: -2 is too small"),
        (
            "[train]\nimgsz = 0",
            "train.imgsz: '0' is not an image size",
        ),
        ("[train]\nimgsz = '640x'", "is not an image size"),
        ("[train]\ndevice = 0", "train.device: there is no GPU 0"),
        ("[train]\ndevice = 'tpu'", "'tpu' is not a device"),
        ("[train]\nengine = 'libreyol'", "did you mean 'libreyolo'?"),
        ("[train.args]\nepochs = 3", "epochs has a key of its own"),
        ("[train.args]\nproject = 'x'", "gpurun itself sets project"),
        ("[train.args]\n'a b' = 1", "is not the name of an option"),
        (
            "[train]\ncommand = 'x'\nengine = 'libreyolo'",
            "a command and an engine exclude each other",
        ),
        (
            "[train]\ncommand = 'x'\nmodel = 'y'",
            "says nothing to a command",
        ),
        ("[train]\ncommand = ' '", "the command is empty"),
        ("[train]\nengine = 'command'", "needs a command"),
        (
            "[stop]\nmax_hours = 0",
            "stop.max_hours: '0' is no time at all",
        ),
        (
            "[stop]\nmax_hours = -3",
            "stop.max_hours: '-3' can't be read",
        ),
        ("[stop]\nmax_cost = 0", "stop.max_cost: '0' can't be read"),
        ("[stop]\ngrace = 30", "stop.grace: '30' can't be read"),
        ("[stop]\npolicy = 'destory'", "did you mean 'destroy'?"),
        (
            "[checkpoints]\nfiles = ['weights/*.pt']",
            "is not a file name pattern",
        ),
        ("[checkpoints]\nfiles = []", "no file would be kept"),
        (
            "[checkpoints]\nmilestones = ['each_best']",
            "did you mean 'each-best'?",
        ),
        (
            "[checkpoints]\nto = 'ftp://host/x'",
            "ftp:// is not a place gpurun knows",
        ),
    ] {
        refused(&with(lines), &[], &[expected, "help:"]);
    }
    refused(
        "",
        &["--gpu", "4090x8", "--data", "d", "--batch", "100"],
        &["--batch: 100 images", "96 or 104"],
    );
    refused(
        "",
        &["--gpu", "4090x8", "--data", "d", "--device", "cpu"],
        &["8 GPUs would be paid for"],
    );
    refused(
        "",
        &["--gpu", "4090x8", "--data", "d", "--device", "0,8"],
        &["there is no GPU 8", "0 to 7"],
    );
    refused(
        "",
        &["--gpu", "4090x8", "--data", "d", "--device", "1,1"],
        &["GPU 1 is named twice"],
    );
    refused(
        "",
        &["--gpu", "4090x2", "--data", "d", "--engine", "libreyolo"],
        &["can't train on several GPUs"],
    );
    refused("", &["--gpu", "4091x8", "--data", "d"], &["--gpu:", "4090"]);
    refused(
        "",
        &["--gpu", "cpu", "--data", "hf://org/set"],
        &["hf:// is not available here yet"],
    );
    refused(
        "",
        &["--gpu", "cpu", "--model", "yolo9-t"],
        &["a training needs a data set"],
    );
    refused(
        "",
        &["--data", "d"],
        &["the job doesn't say what to train on", "--gpu cpu"],
    );
    refused(
        "",
        &["--gpu", "cpu", "--provider", "vastt"],
        &["did you mean 'vast'?"],
    );
    refused(
        "",
        &["--gpu", "cpu", "--data", "d", "--", "lr0=1", "fast"],
        &["'fast' after '--'"],
    );
    for name in ["", "a b", "../x", "-x", "a/b", &"x".repeat(64)] {
        let flag = format!("--name={name}");
        refused("", &["--gpu", "cpu", &flag], &["can't name a run"]);
    }
}

#[test]
fn a_network_that_does_not_exist_is_refused_before_money() {
    refused(
        "[train]\nmodel = 'yolo9-x'\n[data]\nsource = 'cells'\n[box]\ngpu = 'cpu'\n",
        &[],
        &[
            "job.toml:2:9",
            "gpurun-train has no network `yolo9-x`",
            "yolo9-t, yolo9-s",
            "yolox-n",
        ],
    );
}
