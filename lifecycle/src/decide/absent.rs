//! No box carries our label, proven by a list that could be read: rent one, or close the account.

use super::case::{Case, later, retry_at, seconds};
use super::{caps, explain, set_up};
use crate::action::{Action, Step};
use crate::plan::{AttentionKind, Plan, VerdictKind};
use crate::run::{Intent, Outcome};

pub(super) fn decide(case: &Case<'_>) -> Plan {
    let run = case.run;
    let created = run.instance.as_ref().map(|instance| instance.rented_at);
    if let Some(sent) = run.rent_pending_since.or(created) {
        // A box that was just created may not be listed yet: a second one must not be.
        let settled = later(sent, seconds(run.spec.timing.list_lag_seconds));
        if case.now < settled {
            let why = "a box was just created: it may be missing from the list for a while";
            return case
                .draft(VerdictKind::Wait, why)
                .wait("provider's list", Some(settled), why)
                .plan();
        }
    }
    if let Some(ended) = &run.ended {
        return close(case, ended.outcome, None);
    }
    if let (Some(order), true) = (&run.end_ordered, run.launches > 0) {
        return close(case, order.outcome, None);
    }
    match run.intent {
        Intent::Stop | Intent::Destroy if run.launches == 0 => {
            close(case, Outcome::NeverStarted, None)
        }
        Intent::Stop | Intent::Destroy => close(case, Outcome::Abandoned, None),
        Intent::Run if caps::reached(case).is_some() => close(case, Outcome::Capped, None),
        Intent::Run if run.launches > 0 && !case.may_relaunch() => vanished(case),
        Intent::Run => rent(case),
    }
}

fn rent(case: &Case<'_>) -> Plan {
    let run = case.run;
    let Some(offer) = run.next_offer() else {
        return no_capacity(case);
    };
    if let Some(failure) = case.failure(Step::Rent) {
        match retry_at(run, failure) {
            Some(at) if case.now < at => {
                let why = format!("renting failed: {}", failure.message);
                return case
                    .draft(
                        VerdictKind::Wait,
                        format!("{why}; tried again at {}", explain::clock(at)),
                    )
                    .wait("provider", Some(at), why)
                    .plan();
            }
            None if failure.temporary => return no_capacity(case),
            _ => {}
        }
    }
    let rent = Action::Rent {
        target: case.target_of(None),
        offer: Box::new(offer.clone()),
        disk: run.spec.disk,
        image: run.spec.image.clone(),
        price_limit: run.spec.price_limit,
        volume: run.spec.volume.clone(),
    };
    let lead = if run.launches > 0 {
        "goes on on a new box"
    } else {
        "no box yet"
    };
    case.draft(VerdictKind::SetUp, explain::rent(case, lead, offer))
        .action(rent)
        .actions(set_up::remaining(case, &case.target_of(None), true))
        .plan()
}

fn no_capacity(case: &Case<'_>) -> Plan {
    let mut tried: Vec<String> = case
        .run
        .tried
        .iter()
        .map(|tried| match tried.lost {
            Some(lost) => format!("{}: {}, {lost} lost", tried.offer, tried.why),
            None => format!("{}: {}", tried.offer, tried.why),
        })
        .collect();
    tried.extend(
        case.failure(Step::Rent)
            .map(|failure| failure.message.clone()),
    );
    let message = format!("no offer became a working box ({})", tried.join("; "));
    let outcome = if case.run.launches == 0 {
        Outcome::NeverStarted
    } else {
        Outcome::Vanished
    };
    let remedy = "look at `gpurun offers`, allow another GPU or a higher price, and launch again";
    close(
        case,
        outcome,
        Some((AttentionKind::NoCapacity, message, remedy)),
    )
}

fn vanished(case: &Case<'_>) -> Plan {
    let message = match case
        .run
        .last_checkpoints
        .as_ref()
        .and_then(|last| last.value.newest_verified.as_ref())
    {
        Some(verified) => format!(
            "the box is gone and nobody here ended it; {} is safe at {}",
            verified.file, verified.location
        ),
        None => {
            "the box is gone and nobody here ended it; no checkpoint was verified off it".to_owned()
        }
    };
    let remedy = "`gpurun start` goes on from the newest verified checkpoint on a new box";
    close(
        case,
        Outcome::Vanished,
        Some((AttentionKind::Vanished, message, remedy)),
    )
}

fn close(
    case: &Case<'_>,
    outcome: Outcome,
    attention: Option<(AttentionKind, String, &str)>,
) -> Plan {
    let mut draft = case.draft(VerdictKind::Close, explain::closing(case, outcome));
    if let Some((kind, message, remedy)) = attention {
        draft = draft.attention(kind, message, remedy);
    }
    draft.action(Action::Close { outcome }).plan()
}
