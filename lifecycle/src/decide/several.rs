//! More boxes with our label than one, or another one than ours.

use super::case::Case;
use super::explain;
use crate::action::Action;
use crate::plan::{AttentionKind, Plan, VerdictKind};

/// Work is only ever put on the box the ledger knows: the others are children of lost replies, hold nothing, and go.
/// Where the ledger knows none, the oldest stays.
pub(super) fn decide(case: &Case<'_>, ids: &[String]) -> Plan {
    let run = case.run;
    let known = run.instance.as_ref().map(|instance| &instance.id);
    let kept = match known {
        Some(known) => ids.iter().find(|id| *id == known),
        None => ids.first(),
    };
    let Some(kept) = kept else {
        return unclear(case, &ids.join(", "));
    };
    let spares: Vec<&String> = ids.iter().filter(|id| *id != kept).collect();
    if spares
        .iter()
        .any(|id| run.launched_on.as_ref() == Some(*id))
    {
        // One that was thought to be gone has come back, with what was trained on it.
        return unclear(case, &ids.join(", "));
    }
    let reason = format!(
        "{} boxes carry the label {}: {kept} is kept, the others hold no work",
        ids.len(),
        run.label
    );
    let adopt = known.is_none().then(|| Action::Adopt {
        target: case.target(kept),
    });
    let destroy = spares.iter().map(|id| Action::DestroyInstance {
        target: case.target(id),
        outcome: None,
    });
    case.draft(VerdictKind::Destroy, reason.clone())
        .actions(adopt)
        .actions(destroy)
        .attention(
            AttentionKind::Boxes,
            reason,
            "nothing to do: only one is left after this",
        )
        .plan()
}

/// One box carries our label, and it isn't the one that trained.
pub(super) fn stranger(case: &Case<'_>, id: &str) -> Plan {
    unclear(case, id)
}

fn unclear(case: &Case<'_>, ids: &str) -> Plan {
    let known = case
        .run
        .instance
        .as_ref()
        .map_or("none", |instance| instance.id.as_str());
    let message = format!(
        "{ids} carries the label {}, the ledger knows {known}: nothing is ended blindly",
        case.run.label
    );
    case.draft(
        VerdictKind::Wait,
        format!("{message}; {}", explain::burns(case)),
    )
    .attention(
        AttentionKind::Boxes,
        message,
        "look at the provider's console: which one holds the work?",
    )
    .plan()
}
