//! Writing the heartbeat.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gpurun_protocol::agent_spec::SCHEMA_VERSION;
use gpurun_protocol::heartbeat::{AgentPhase, Heartbeat, TrainingProcess};

use super::files::write_json;
use super::follow::Agent;
use super::progress::{Mark, Progress};
use super::pusher::Pusher;
use super::sampler::{Sampler, SamplerConfig};
use super::training::TrainingRecord;
use super::{clock, process};

/// Beats as often as the spec says, and at once when the agent's phase changes.
pub(crate) struct Heart<'a> {
    agent: &'a Agent<'a>,
    training: TrainingRecord,
    run_dir: PathBuf,
    period: Duration,
    progress: Progress,
    sampler: Option<Sampler>,
    beaten: Option<(Instant, AgentPhase)>,
}

impl<'a> Heart<'a> {
    pub(crate) fn start(agent: &'a Agent<'a>, training: &TrainingRecord) -> Heart<'a> {
        let period = Duration::from_secs(agent.spec.heartbeat_seconds.into());
        let run_dir = agent.layout.resolve(&agent.spec.run_dir);
        let config = SamplerConfig {
            home: agent.layout.home.clone(),
            disk_limit_bytes: agent.spec.disk_limit_bytes,
            leader: training.process.pid,
            period,
        };
        let sampler = Sampler::start(config, Arc::clone(&agent.journal))
            .inspect_err(|error| {
                agent
                    .journal
                    .note(&format!("can't start the sampler: {error}"))
            })
            .ok();
        Heart {
            agent,
            training: training.clone(),
            progress: Progress::new(Mark::of(&run_dir), training.started_at),
            run_dir,
            period,
            sampler,
            beaten: None,
        }
    }

    /// Writes the heartbeat when it is due. A full disk keeps the old one: nothing else may depend on it.
    pub(crate) fn beat(&mut self, phase: AgentPhase, pusher: Option<&Pusher>) {
        let due = self
            .beaten
            .is_none_or(|(at, before)| before != phase || at.elapsed() >= self.period);
        if !due {
            return;
        }
        self.beaten = Some((Instant::now(), phase));
        let now = clock::now();
        let spec = self.agent.spec;
        let samples = self
            .sampler
            .as_ref()
            .map(Sampler::newest)
            .unwrap_or_default();
        let heartbeat = Heartbeat {
            schema_version: SCHEMA_VERSION,
            run_id: spec.run_id.clone(),
            attempt: spec.attempt,
            written_at: now,
            period_seconds: spec.heartbeat_seconds,
            phase,
            agent: self.agent.me.clone(),
            training: Some(TrainingProcess {
                process: self.training.process.clone(),
                started_at: self.training.started_at,
                alive: process::is_alive(&self.training.process),
            }),
            last_progress_at: Some(self.progress.observe(Mark::of(&self.run_dir), now)),
            usage: samples.usage,
            gpus: samples.gpus,
            disk: samples.disk,
            push: pusher.map(Pusher::state).unwrap_or_default(),
        };
        if let Err(error) = write_json(&self.agent.layout.heartbeat(), &heartbeat) {
            self.agent
                .journal
                .note(&format!("can't write the heartbeat: {error}"));
        }
    }
}
