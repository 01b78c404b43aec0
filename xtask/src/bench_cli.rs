//! `cargo xtask bench-cli`: what starting gpurun costs, against a hello-world of the same crates.
//!
//! Everything is run in turns, so that whatever else the machine does hits all alike, and medians are compared: of the
//! time that passed, and of the processor's. Absolute times are for reading; the ratios are the result
//! (`docs/speed.md`).

mod statistics;
mod world;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde_json::json;

use self::statistics::{Summary, Timing};
use self::world::World;
use crate::Error;
use crate::bench_options::{Rounds, parse};
use crate::output::say;
use crate::process::cargo;

const USAGE: &str = "usage: cargo xtask bench-cli [--quick] [--json]";
const ROUNDS: Rounds = Rounds {
    whole: 500,
    quick: 50,
};

/// One command line and the command it is measured against.
struct Case {
    name: &'static str,
    /// Index of its floor in the list; `None`: it is one.
    floor: Option<usize>,
    command: Command,
}

/// Builds, makes the ledgers, measures, prints.
pub(crate) fn run(options: &[String]) -> Result<(), Error> {
    let options = parse(options, &ROUNDS, USAGE)?;
    succeed(cargo().args([
        "build",
        "--release",
        "--package",
        "gpurun",
        "--package",
        "hello",
    ]))?;
    let world = World::make()?;
    let mut cases = cases(&world);
    let summaries = measure(&mut cases, options.rounds)?;
    if options.json {
        say(report(&cases, &summaries, options.rounds));
    } else {
        for line in table(&cases, &summaries) {
            say(line);
        }
    }
    Ok(())
}

const HELLO: usize = 0;
const HELLO_LEDGER: usize = 1;

fn cases(world: &World) -> Vec<Case> {
    let floor = |name, command| Case {
        name,
        floor: None,
        command,
    };
    let against = |floor, name, command| Case {
        name,
        floor: Some(floor),
        command,
    };
    let closed = |arguments: &[&str]| world.gpurun(world::CLOSED, arguments);
    let open = |arguments: &[&str]| world.gpurun(world::OPEN, arguments);
    vec![
        floor("hello", world.hello()),
        floor("hello-ledger", world.hello_ledger()),
        against(HELLO, "--version", closed(&["--version"])),
        against(HELLO, "--help", closed(&["--help"])),
        against(HELLO, "cost", closed(&["cost", "--disk", "250"])),
        against(HELLO_LEDGER, "status", closed(&["status"])),
        against(HELLO_LEDGER, "status --all", closed(&["status", "--all"])),
        against(
            HELLO_LEDGER,
            "status --offline, 10 open",
            open(&["status", "--offline"]),
        ),
        against(HELLO_LEDGER, "cost RUN", closed(&["cost", world::RUN])),
    ]
}

/// Runs every case once a round. The first round only warms the page cache.
fn measure(cases: &mut [Case], rounds: usize) -> Result<Vec<Summary>, Error> {
    for case in cases.iter_mut() {
        time(case)?;
    }
    let mut times = vec![Vec::with_capacity(rounds); cases.len()];
    for round in 0..rounds {
        for turn in 0..cases.len() {
            // Another one begins each round: none always follows the same one.
            let index = (round + turn) % cases.len();
            times[index].push(time(&mut cases[index])?);
        }
    }
    Ok(times.iter().map(|times| Summary::of(times)).collect())
}

fn time(case: &mut Case) -> Result<Timing, Error> {
    let cpu_before = cpu_of_children()?;
    let begun = Instant::now();
    let status = case.command.stderr(Stdio::null()).status();
    let elapsed = begun.elapsed();
    match status {
        Ok(status) if status.success() => Ok(Timing {
            elapsed,
            cpu: cpu_of_children()?.saturating_sub(cpu_before),
        }),
        Ok(status) => Err(format!("`{}` ended with {status}", case.name).into()),
        Err(error) => Err(format!("`{}` can't be started: {error}", case.name).into()),
    }
}

/// Of all that ended and were waited for.
fn cpu_of_children() -> Result<Duration, Error> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let spent = usage.user_time() + usage.system_time();
    Ok(Duration::from_micros(spent.num_microseconds().try_into()?))
}

/// How many times its floor's medians a case's are: elapsed, and on the processor.
fn ratios(case: &Case, index: usize, summaries: &[Summary]) -> Option<(f64, f64)> {
    let (own, floor) = (summaries[index], summaries[case.floor?]);
    Some((
        own.elapsed.as_secs_f64() / floor.elapsed.as_secs_f64(),
        own.cpu.as_secs_f64() / floor.cpu.as_secs_f64(),
    ))
}

fn table(cases: &[Case], summaries: &[Summary]) -> Vec<String> {
    let mut lines = vec![format!(
        "{:<28}{:>12}{:>8}{:>12}{:>8}",
        "", "elapsed ms", "ratio", "cpu ms", "ratio"
    )];
    for (index, case) in cases.iter().enumerate() {
        let (elapsed_ratio, cpu_ratio) = ratios(case, index, summaries).map_or_else(
            || ("floor".to_owned(), "floor".to_owned()),
            |(elapsed, cpu)| (format!("{elapsed:.2}"), format!("{cpu:.2}")),
        );
        let Summary { elapsed, cpu } = summaries[index];
        lines.push(format!(
            "{:<28}{:>12.2}{elapsed_ratio:>8}{:>12.2}{cpu_ratio:>8}",
            case.name,
            elapsed.as_secs_f64() * 1e3,
            cpu.as_secs_f64() * 1e3,
        ));
    }
    lines
}

fn report(cases: &[Case], summaries: &[Summary], rounds: usize) -> serde_json::Value {
    let mut document =
        json!({ "rounds": rounds, "ratio": {}, "cpu_ratio": {}, "elapsed_ms": {}, "cpu_ms": {} });
    for (index, case) in cases.iter().enumerate() {
        let Summary { elapsed, cpu } = summaries[index];
        document["elapsed_ms"][case.name] = json!(elapsed.as_secs_f64() * 1e3);
        document["cpu_ms"][case.name] = json!(cpu.as_secs_f64() * 1e3);
        if let Some((elapsed, cpu)) = ratios(case, index, summaries) {
            document["ratio"][case.name] = json!(elapsed);
            document["cpu_ratio"][case.name] = json!(cpu);
        }
    }
    document
}

/// Runs a step whose output nobody needs: stdout is for the result.
fn succeed(command: &mut Command) -> Result<(), Error> {
    let status = command.stdout(Stdio::null()).status()?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{command:?} ended with {status}").into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_is_measured_as_often_and_set_against_its_floor() -> Result<(), Error> {
        let case = |name, floor, argument| {
            let mut command = Command::new("test");
            command.args([argument, "=", "a"]);
            Case {
                name,
                floor,
                command,
            }
        };
        let mut cases = vec![case("floor", None, "a"), case("verb", Some(0), "a")];
        let summaries = measure(&mut cases, 3)?;
        let document = report(&cases, &summaries, 3);
        let expected = summaries[1].elapsed.as_secs_f64() / summaries[0].elapsed.as_secs_f64();
        assert_eq!(document["ratio"], json!({ "verb": expected }));
        assert_eq!(table(&cases, &summaries).len(), 3);

        cases.push(case("fails", None, "b"));
        let refused = measure(&mut cases, 3).err().ok_or("a failure was timed")?;
        assert!(refused.to_string().contains("`fails`"), "{refused}");
        Ok(())
    }
}
