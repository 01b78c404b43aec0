//! Which rule a sighting falls under.

use super::case::Case;
use super::{absent, caps, refused, running, several, stopped, transit, unseen};
use crate::action::Action;
use crate::observation::{InstanceView, Observation, Sighting};
use crate::plan::{AttentionKind, Plan, VerdictKind};
use crate::run::{Phase, RunRecord};

/// Decides what is done next about `run`, into which `seen` was [`absorbed`](crate::absorb) before.
/// Total: every record and every sighting has a plan.
#[must_use]
pub fn decide(run: &RunRecord, seen: &Observation) -> Plan {
    let case = Case {
        run,
        seen,
        now: seen.now,
    };
    if run.phase == Phase::Ended {
        return closed(&case);
    }
    let mut plan = match &seen.instance {
        Sighting::Unknown { why, since } => unseen::decide(&case, why, *since),
        Sighting::Seen { value, .. } => match value {
            InstanceView::Absent => absent::decide(&case),
            InstanceView::Several { ids } => several::decide(&case, ids),
            view => one_box(&case, view),
        },
    };
    caps::announce(&case, &mut plan);
    refused::announce(&case, &mut plan);
    plan
}

fn one_box(case: &Case<'_>, view: &InstanceView) -> Plan {
    let Some(id) = view.id() else {
        return absent::decide(case);
    };
    let known = case
        .run
        .instance
        .as_ref()
        .map(|instance| instance.id.as_str());
    // With our label, and nothing of this run was ever put on another one: it is the box of a create
    // call whose reply got lost.
    if known != Some(id) && case.run.launches > 0 && known.is_some() {
        return several::stranger(case, id);
    }
    if known != Some(id)
        && !matches!(
            view,
            InstanceView::Running { .. }
                | InstanceView::Creating { .. }
                | InstanceView::Locked { .. }
        )
    {
        let why = "a box with our label is there and the ledger doesn't know it yet";
        return case
            .draft(VerdictKind::SetUp, why)
            .action(Action::Adopt {
                target: case.target(id),
            })
            .plan();
    }
    match view {
        InstanceView::Running { zero_gpus, .. } => running::decide(case, id, *zero_gpus),
        InstanceView::Stopped { .. } => stopped::decide(case, id),
        view => transit::decide(case, id, view),
    }
}

fn closed(case: &Case<'_>) -> Plan {
    let draft = case.draft(VerdictKind::Close, "closed: no box, nothing is billed");
    match case.seen.instance.value() {
        None | Some(InstanceView::Absent) => draft.plan(),
        Some(_) => draft
            .attention(
                AttentionKind::Boxes,
                format!(
                    "a box with the label {} is there although the run is closed",
                    case.run.label
                ),
                "see `gpurun orphans`",
            )
            .plan(),
    }
}
