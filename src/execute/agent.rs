//! The box's agent: what it is to run, and what it is told.

use super::setup::way_in;
use super::{failed, fetch};
use crate::observe;
use crate::outbox;
use crate::remote::{Command, Output, Remote, RemoteError, WayIn};
use crate::shell::Shell;
use crate::sink;
use gpurun_lifecycle::{
    ActionResult, AgentState, CheckpointSpec, Intent, LaunchSpec, RunRecord, Target,
};
use gpurun_protocol::agent_spec::{AgentSpec, PushSpec, SCHEMA_VERSION};
use gpurun_protocol::exit_report::NotPushed;
use std::time::Duration;

/// Where the agent's orders lie, relative to the box's home.
const SPEC: &str = "gpurun/agent.json";
/// And the key of their destination, where it takes one.
const SINK_KEYS: &str = "gpurun/sink-keys.json";
/// From SIGTERM to SIGKILL: a trainer finishes its step and writes a checkpoint in less than ten.
const END_GRACE_SECONDS: u32 = 30;
const PUSH_SECONDS: u32 = 300;

/// Which of the run's launches it is.
pub(super) struct Attempt {
    pub(super) number: u32,
    pub(super) resume: bool,
}

pub(super) async fn launch(
    shell: &Shell,
    run: &RunRecord,
    target: &Target,
    spec: &LaunchSpec,
    checkpoints: &CheckpointSpec,
    attempt: Attempt,
) -> ActionResult {
    let (way, remote) = match way_in(shell, run, target).await {
        Ok(found) => found,
        Err(result) => return result,
    };
    let to = outbox::destination(&way.access, checkpoints);
    let orders = orders(run, spec, checkpoints, &attempt, to);
    let text = match serde_json::to_vec_pretty(&orders) {
        Ok(text) => text,
        Err(error) => return failed(false, error),
    };
    if let Err(error) = remote.put_bytes(&text, SPEC).await {
        return failed(true, error);
    }
    if sink::is_store(&checkpoints.to) {
        let keys = shell.sink_keys.only_for(&checkpoints.to);
        let text = match serde_json::to_vec(&keys) {
            Ok(text) => text,
            Err(error) => return failed(false, error),
        };
        if let Err(error) = remote.put_bytes(&text, SINK_KEYS).await {
            return failed(true, error);
        }
    }
    let command = Command::agent(&["start"]).timeout(Duration::from_secs(60));
    let output = remote.exec(&command).await;
    answered(shell, run, &way, remote.as_ref(), output, "start").await
}

fn orders(
    run: &RunRecord,
    spec: &LaunchSpec,
    checkpoints: &CheckpointSpec,
    attempt: &Attempt,
    to: String,
) -> AgentSpec {
    let argv = match (&spec.resume_argv, attempt.resume) {
        (Some(resume), true) => resume.clone(),
        _ => spec.argv.clone(),
    };
    AgentSpec {
        schema_version: SCHEMA_VERSION,
        run_id: run.id.clone(),
        run_name: run.name.clone(),
        attempt: attempt.number,
        argv,
        env: spec.env.clone(),
        working_dir: spec.working_dir.clone(),
        run_dir: spec.run_dir.clone(),
        heartbeat_seconds: 5,
        grace_seconds: END_GRACE_SECONDS,
        push: Some(PushSpec {
            to,
            files: checkpoints.files.clone(),
            first_best: checkpoints.first_best,
            each_best: checkpoints.each_best,
            epochs: checkpoints.epochs,
            every_minutes: checkpoints.every_minutes,
            at_end: checkpoints.at_end,
            keep_epochs: None,
        }),
        disk_limit_bytes: Some(run.spec.disk.to_bytes()),
    }
}

pub(super) async fn push(shell: &Shell, run: &RunRecord, target: &Target) -> ActionResult {
    if is_without_agent(run) {
        // A training is adopted by a new agent. Where that fails, this push is done without one.
        let adopted = tell(shell, run, target, &["start"]).await;
        tracing::debug!(?adopted, run = run.id, "the agent was started again");
    }
    tell(shell, run, target, &["push"]).await
}

/// The training was seen alive and its agent was not; and nobody has ordered its end.
fn is_without_agent(run: &RunRecord) -> bool {
    let seen = run.last_training.as_ref().map(|last| &last.value);
    let orphaned = seen.is_some_and(|view| {
        view.state.is_alive()
            && view.agent != AgentState::Alive
            && view.attempt == Some(run.launches)
    });
    orphaned && run.intent == Intent::Run && run.end_ordered.is_none()
}

pub(super) async fn end(
    shell: &Shell,
    run: &RunRecord,
    target: &Target,
    why: &str,
) -> ActionResult {
    let grace = END_GRACE_SECONDS.to_string();
    let seconds = PUSH_SECONDS.to_string();
    let verb = [
        "end",
        "--grace",
        &grace,
        "--push-timeout",
        &seconds,
        "--why",
        why,
    ];
    tell(shell, run, target, &verb).await
}

/// What the box holds ready comes here, where it can't reach the destination itself.
pub(super) async fn fetch(shell: &Shell, run: &RunRecord, target: &Target) -> ActionResult {
    let (way, remote) = match way_in(shell, run, target).await {
        Ok(found) => found,
        Err(result) => return result,
    };
    match brought(shell, run, &way, remote.as_ref()).await {
        Ok(()) => seen(shell, run, &way).await,
        Err(error) => failed(true, error),
    }
}

async fn brought(
    shell: &Shell,
    run: &RunRecord,
    way: &WayIn,
    remote: &dyn Remote,
) -> Result<(), RemoteError> {
    match observe::outbox(shell, way).await {
        None => Ok(()),
        Some(manifest) => fetch::fetch(remote, run, &manifest).await,
    }
}

/// Done, with the box's own word on training and checkpoints: a box that is stopped next can't be asked again.
async fn seen(shell: &Shell, run: &RunRecord, way: &WayIn) -> ActionResult {
    let (training, checkpoints) = observe::views(shell, run, way).await.unzip();
    ActionResult::Done {
        instance: None,
        training: training.map(Box::new),
        checkpoints: checkpoints.map(Box::new),
    }
}

async fn tell(shell: &Shell, run: &RunRecord, target: &Target, verb: &[&str]) -> ActionResult {
    let (way, remote) = match way_in(shell, run, target).await {
        Ok(found) => found,
        Err(result) => return result,
    };
    let limit = Duration::from_secs(u64::from(END_GRACE_SECONDS + PUSH_SECONDS + 30));
    let command = Command::agent(verb).timeout(limit);
    let output = remote.exec(&command).await;
    answered(shell, run, &way, remote.as_ref(), output, verb[0]).await
}

/// What came of it. What the box pushed without reaching the destination is brought there first.
async fn answered(
    shell: &Shell,
    run: &RunRecord,
    way: &WayIn,
    remote: &dyn Remote,
    output: Result<Output, RemoteError>,
    verb: &str,
) -> ActionResult {
    match output {
        Ok(output) if output.success() => match brought(shell, run, way, remote).await {
            Ok(()) => seen(shell, run, way).await,
            Err(error) => failed(true, error),
        },
        Ok(output) => {
            let why = not_pushed(&output).unwrap_or_else(|| output.why());
            failed(true, format!("`gpurun agent {verb}`: {why}"))
        }
        Err(error) => failed(true, error),
    }
}

/// What a push says that couldn't push everything.
fn not_pushed(output: &Output) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Reply {
        not_pushed: Vec<NotPushed>,
    }
    let reply: Reply = serde_json::from_slice(&output.stdout).ok()?;
    let each: Vec<String> = reply
        .not_pushed
        .iter()
        .map(|left| format!("{}: {}", left.file, left.why))
        .collect();
    (!each.is_empty()).then(|| each.join("; "))
}
