//! Programs for tests.

use std::{
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

/// Makes an executable script. Another process writes it: a thread that forks while this one held the
/// file open for writing would keep it from being run ("text file busy").
pub(super) fn script(path: &Path, text: &str) {
    let mut child = Command::new("/bin/sh")
        .args(["-c", "cat > \"$1\" && chmod 755 \"$1\"", "sh"])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .expect("a shell");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(text.as_bytes()).expect("the shell reads");
    drop(stdin);
    assert!(child.wait().expect("the shell ends").success());
}
