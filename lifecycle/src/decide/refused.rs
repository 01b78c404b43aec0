//! A provider that doesn't do what it was told. The order is repeated at every look; a person should know.

use chrono::{DateTime, Utc};

use super::case::{Case, later, seconds};
use super::explain;
use crate::observation::InstanceView;
use crate::plan::{Attention, AttentionKind, Plan};

/// Alarms when a stop or a destroy was ordered long ago and the box is still there.
pub(super) fn announce(case: &Case<'_>, plan: &mut Plan) {
    let run = case.run;
    let Some(view) = case.seen.instance.value() else {
        return;
    };
    if view.id().is_none() {
        return;
    }
    if let Some(ordered) = run.destroy_ordered_at {
        alarm(case, plan, "destroy", ordered);
    } else if let (Some(ordered), false) = (
        run.stop_ordered_at,
        matches!(view, InstanceView::Stopped { .. }),
    ) {
        alarm(case, plan, "stop", ordered);
    }
}

fn alarm(case: &Case<'_>, plan: &mut Plan, verb: &str, ordered: DateTime<Utc>) {
    if case.now < later(ordered, seconds(case.run.spec.timing.boot_seconds)) {
        return;
    }
    let ago = explain::since(case, ordered);
    plan.attention.push(Attention {
        kind: AttentionKind::Refused,
        message: format!(
            "{verb} was ordered {ago} ago and the box is still there, {}",
            explain::burns(case)
        ),
        remedy: format!("it is ordered again at every look; {verb} it in the provider's console"),
    });
}
