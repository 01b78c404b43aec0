//! The shell lines that the box runs. Its login shell, whatever it is, only has to start `sh`.

use super::super::command::Command;

/// Before it, a shell's start-up files may have said something; after it comes only what was asked for.
pub(super) const MARK: &[u8] = b"\x01gpurun ";
/// Said instead of the process's id.
pub(super) const MISSING: &str = "missing";
/// Said instead of the process's id.
pub(super) const DENIED: &str = "denied";

// The id is that of the session's leader, and so of the process group.
const HEAD: &str = r#"say() { printf '\001gpurun %s\n' "$1"; }
cd || exit 125
"#;
const EXEC: &str = r#"case $1 in
*/*) [ -e "$1" ] || { say missing; exit 127; }
     [ -f "$1" ] && [ -x "$1" ] || { say denied; exit 126; };;
*) command -v "$1" >/dev/null 2>&1 || { say missing; exit 127; };;
esac
say $$
exec "$@"
"#;
// What a lost connection cut short is not the file: its length is known.
const PUT: &str = r#"say $$
to=$1
case $to in */*) mkdir -p -- "${to%/*}" || exit 1;; esac
[ ! -d "$to" ] || { echo "a folder is in the way" >&2; exit 1; }
new=$(mktemp "$to.XXXXXX") || exit 1
trap 'rm -f -- "$new"' EXIT
cat >"$new" || exit 1
[ "$(wc -c <"$new")" -eq "$2" ] || { echo "only a part of it arrived" >&2; exit 1; }
chmod "$3" "$new" || exit 1
sync "$new" 2>/dev/null
mv -f -- "$new" "$to" || exit 1
trap - EXIT
"#;
const IS_PROGRAM: &str = r#"say $$
[ -x "$1" ] && printf '%s  %s\n' "$2" "$1" | sha256sum -c >/dev/null 2>&1
"#;
const CHECK_SUMS: &str = r#"say $$
cd -- "$1" 2>/dev/null || exit 1
sha256sum -c 2>/dev/null
"#;
const PART: &str = r#"say $$
[ -f "$1" ] || { echo "no such file" >&2; exit 1; }
tail -c "+$2" -- "$1" | head -c "$3"
"#;
const KILL: &str = r#"say $$
kill -s KILL -- "-$1"
"#;

/// Runs a command in the box's home. Its first word is looked for before, so that a missing program isn't taken for one
/// that failed.
pub(super) fn exec(command: &Command) -> String {
    let mut script = HEAD.to_owned();
    script.push_str("PATH=$HOME/gpurun/bin:$PATH\nexport PATH\n");
    for (name, value) in &command.environment {
        script.push_str(&format!("{name}={}\nexport {name}\n", quote(value)));
    }
    script.push_str(EXEC);
    let words: Vec<&str> = command.argv.iter().map(String::as_str).collect();
    line(&script, &words)
}

/// Puts its input, `bytes` long, into the file `to`, at once and whole.
pub(super) fn put(to: &str, bytes: u64, mode: &str) -> String {
    helper(PUT, &[to, &bytes.to_string(), mode])
}

/// Succeeds when `path` is a program with this content.
pub(super) fn is_program(path: &str, sha256: &str) -> String {
    helper(IS_PROGRAM, &[path, sha256])
}

/// Reads lines as `sha256sum` writes them, and says `NAME: OK` for each file of the folder that agrees.
pub(super) fn check_sums(folder: &str) -> String {
    helper(CHECK_SUMS, &[folder])
}

/// Writes `bytes` of a file from `offset` on, fewer at its end.
pub(super) fn part(path: &str, offset: u64, bytes: u64) -> String {
    helper(PART, &[path, &(offset + 1).to_string(), &bytes.to_string()])
}

/// Ends a process group.
pub(super) fn kill(group: &str) -> String {
    helper(KILL, &[group])
}

fn helper(script: &str, words: &[&str]) -> String {
    line(&format!("{HEAD}{script}"), words)
}

fn line(script: &str, words: &[&str]) -> String {
    let mut line = format!("exec sh -c {} gpurun", quote(script));
    for word in words {
        line.push(' ');
        line.push_str(&quote(word));
    }
    line
}

/// One word, for any shell there is.
fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use std::process::Command as Process;

    use super::*;

    #[test]
    fn words_reach_the_program_as_they_are() -> Result<(), Box<dyn std::error::Error>> {
        let odd = [
            "printf",
            "<%s>\\n",
            "it's",
            "$HOME `id` \"x\"",
            "a\nb",
            "",
            "*",
            "-n",
            "\\",
        ];
        let output = Process::new("sh")
            .arg("-c")
            .arg(exec(&Command::new(&odd)))
            .output()?;
        let text = String::from_utf8(output.stdout)?;
        let (_, said) = text.split_once("gpurun ").ok_or("no mark")?;
        let (_, said) = said.split_once('\n').ok_or("no line")?;
        let expected: String = odd[2..].iter().map(|word| format!("<{word}>\n")).collect();
        assert_eq!(said, expected);
        Ok(())
    }
}
