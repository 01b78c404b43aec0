//! `docs/job-file.md` lists the keys as they are.

use crate::{
    document::reference,
    job::keys::{KEYS, KeyInfo},
};

fn row(info: &KeyInfo) -> String {
    format!(
        "| `{}` | `--{} {}` | {} |\n",
        info.path(),
        info.flag,
        info.value,
        info.help.replace('|', "\\|")
    )
}

#[test]
fn the_reference_is_current() {
    let rows: String = KEYS.iter().map(row).collect();
    reference::check(
        "job-file.md",
        &format!("| key | flag | meaning |\n|---|---|---|\n{rows}"),
    );
}
