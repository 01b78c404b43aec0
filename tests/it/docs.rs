//! Generated pages are current. `GPURUN_UPDATE_DOCS=1 cargo test --test it docs` writes them.

use std::fmt::Write;
use std::path::Path;

fn check(name: &str, expected: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("docs")
        .join(name);
    if std::env::var_os("GPURUN_UPDATE_DOCS").is_some() {
        std::fs::write(&path, expected).expect("docs/ is writable");
        return;
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "docs/{name} is out of date: run GPURUN_UPDATE_DOCS=1 cargo test --test it docs"
    );
}

#[test]
fn command_line_reference() {
    let options = clap_markdown::MarkdownOptions::new()
        .title("Command-line reference".to_owned())
        .show_footer(false);
    let page = clap_markdown::help_markdown_command_custom(&gpurun::command(), &options);
    check("cli.md", &(page.trim_end().to_owned() + "\n"));
}

#[test]
fn exit_codes() {
    let mut page = String::from(
        "# Exit codes\n\nEvery verb exits with one of these; `--json` error documents carry the name.\n\n\
         | code | name | meaning |\n|---:|---|---|\n",
    );
    for code in gpurun::ExitCode::ALL {
        writeln!(
            page,
            "| {} | `{}` | {} |",
            code.number(),
            code.name(),
            code.meaning()
        )
        .expect("a string takes every write");
    }
    check("exit-codes.md", &page);
}

#[test]
fn the_readme_shows_what_cost_really_says() {
    let world = crate::world::World::new();
    let output = world.run(&["cost", "--disk", "250"]);
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8(said).expect("UTF-8");
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = std::fs::read_to_string(readme).expect("a README");
    assert!(
        readme.contains(said.trim_end()),
        "the README's `gpurun cost` differs from:\n{said}"
    );
}
