//! The plan that would run and what the whole job would cost: what `launch -n` prints and `launch` says
//! before it spends.

use crate::ui::{self, Ui, format};
use chrono::{DateTime, Utc};
use gpurun_lifecycle::{
    Action, CheckpointView, Engine, InstanceView, Observation, Plan, RunRecord, Sighting, decide,
};
use gpurun_pricing::estimate::{Estimate, JobShape, estimate};
use gpurun_pricing::{DiskNeed, HourlyRate, Money};
use serde::Serialize;

/// What would be done, and for how much.
#[derive(Debug, Serialize)]
pub(crate) struct Preview {
    /// The box while it runs, disk included.
    #[serde(serialize_with = "format::rate")]
    running_per_hour: HourlyRate,
    /// The whole job; `estimate` says how it adds up and whether it is a bound.
    #[serde(serialize_with = "format::money")]
    job_cost: Money,
    pub(crate) plan: Plan,
    pub(crate) estimate: Estimate,
    /// What fills the disk, and how large that makes it.
    pub(crate) disk_need: Option<DiskNeed>,
    /// Where the prices come from, and of when.
    pub(crate) prices: String,
    /// For each cloud that can't be asked: where its key goes. Empty where the offer is a real one.
    pub(crate) missing_keys: Vec<String>,
    /// Who couldn't be asked, and which machines are left out for what they did before.
    pub(crate) notes: Vec<String>,
    /// How many offers there are to go on with when this one fails, none dearer than `price_limit`.
    spare_offers: usize,
    #[serde(serialize_with = "format::rate_or_null")]
    price_limit: Option<HourlyRate>,
    #[serde(skip)]
    volume: Option<String>,
    #[serde(skip)]
    offer: String,
    #[serde(skip)]
    cap: String,
}

/// Decides for a run that has no box yet. This is the very value that `launch` executes.
pub(crate) fn preview(
    run: &RunRecord,
    shape: &JobShape,
    prices: String,
    now: DateTime<Utc>,
) -> Preview {
    let seen = Observation {
        now,
        instance: Sighting::Seen {
            value: InstanceView::Absent,
            at: now,
        },
        training: Sighting::Seen {
            value: crate::observe::never_launched(),
            at: now,
        },
        checkpoints: Sighting::Seen {
            value: CheckpointView::default(),
            at: now,
        },
    };
    let offer = &run.spec.offers[0];
    let estimate = estimate(&offer.card, shape);
    Preview {
        running_per_hour: offer.card.running_rate(run.spec.disk),
        job_cost: estimate.total,
        plan: decide(run, &seen),
        estimate,
        disk_need: None,
        prices,
        missing_keys: Vec::new(),
        notes: Vec::new(),
        spare_offers: run.spec.offers.len() - 1,
        price_limit: run.spec.price_limit,
        volume: run.spec.volume.as_ref().map(ui::volume),
        offer: format!(
            "{} {} · {} with {} disk",
            offer.provider,
            offer.gpu.describe(),
            offer.card.running_rate(run.spec.disk),
            run.spec.disk
        ),
        cap: cap(run),
    }
}

fn cap(run: &RunRecord) -> String {
    let stop = &run.spec.stop;
    let mut caps: Vec<String> = Vec::new();
    caps.extend(stop.max_cost.map(|cost| cost.to_string()));
    caps.extend(stop.max_hours.map(|hours| hours.to_string()));
    let caps = if caps.is_empty() {
        "none".to_owned()
    } else {
        caps.join(" / ")
    };
    if run.spec.launch.is_none() {
        return format!("{caps} · lease {}", run.spec.stop.lease);
    }
    format!(
        "{caps} · checkpoints to {}/{}",
        run.spec.checkpoints.to, run.name
    )
}

impl Preview {
    /// For a person, on stderr before spending or on stdout when that is all.
    pub(crate) fn lines(&self) -> Vec<String> {
        let most = if self.estimate.upper_bound {
            "at most "
        } else {
            ""
        };
        let line = |label: &str, text: &str| format!(" {label:<9} {text}");
        let mut lines = vec![line("offer", &self.offer)];
        lines.extend(self.spare().map(|spare| line("else", &spare)));
        lines.extend(
            self.disk_need
                .as_ref()
                .map(|need| line("disk", &format!("needs {}", need.sum()))),
        );
        lines.push(line("prices", &self.prices));
        lines.extend(self.volume.iter().map(|volume| line("volume", volume)));
        lines.extend(self.notes.iter().map(|note| line("note", note)));
        lines.push(line("cap", &self.cap));
        let cost = format!("{most}{} for {}", self.estimate.total, self.estimate.hours);
        lines.push(line("cost", &cost));
        for line in &self.estimate.lines {
            lines.push(format!(
                "           {:<11} {} = {}",
                line.what, line.sum, line.amount
            ));
        }
        for (number, action) in self.plan.actions.iter().enumerate() {
            lines.push(format!(" {}", step(number + 1, action)));
        }
        lines.push(format!(" then      {}", self.plan.verdict.reason));
        lines
    }

    fn spare(&self) -> Option<String> {
        let limit = self
            .price_limit
            .map_or_else(String::new, |limit| format!(", up to {limit}"));
        match self.spare_offers {
            0 => None,
            1 => Some(format!("1 more offer if it fails{limit}")),
            more => Some(format!("{more} more offers if it fails{limit}")),
        }
    }

    pub(crate) fn print(&self, ui: &Ui) {
        if ui.json {
            ui.json(self);
        } else {
            ui.data(&self.lines().join("\n"));
        }
    }
}

fn step(number: usize, action: &Action) -> String {
    let what = action.step().describe();
    let detail = match action {
        Action::Rent { target, offer, .. } => {
            format!("{} {}, label {}", offer.provider, offer.gpu, target.label)
        }
        Action::Install { spec, .. } => {
            let engine = match spec.engine {
                Engine::GpurunTrain => "gpurun-train",
                Engine::Libreyolo => "libreyolo",
                Engine::Command => "gpurun's agent for a plain command",
            };
            match &spec.version {
                Some(version) => format!("{engine} {version}"),
                None => engine.to_owned(),
            }
        }
        Action::Prove { spec, .. } => match spec.device.as_str() {
            number if number.starts_with(|first: char| first.is_ascii_digit()) => {
                format!("GPU {number}")
            }
            word => word.to_owned(),
        },
        Action::Stage { spec, .. } => format!(
            "{} from {} to ~/{}",
            format::bytes(spec.bytes),
            spec.source,
            spec.dest
        ),
        Action::Launch { spec, .. } => spec.argv.join(" "),
        _ => String::new(),
    };
    format!("step {number:<4} {what}: {detail}")
}
