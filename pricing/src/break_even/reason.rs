//! The one line under a verdict: its sum, with the numbers that went in, as one would type it into a calculator.

use rust_decimal::Decimal;

use super::costs::StopCosts;
use super::decide::{Action, Compared};
use super::learned::Trust;
use super::restart::RestartOdds;
use crate::money::Money;
use crate::quantity::{Hours, Probability};

pub(super) fn declared(
    costs: &StopCosts,
    odds: &RestartOdds,
    declared: Hours,
    compared: &Compared,
    action: Action,
) -> String {
    let gap = declared.in_sum();
    let keep_text = format!("keep {gap} x {} = {}", costs.running, compared.keep);
    let keep = Choice {
        name: "keep",
        text: keep_text,
        cost: compared.keep,
    };
    let destroy_text = format!("destroy, then rebuild for {}", compared.destroy);
    let destroy = Choice {
        name: "destroy",
        text: destroy_text,
        cost: compared.destroy,
    };
    let Some(cost) = compared.stop else {
        return format!("there is no stop; {}", between(keep, destroy));
    };
    let comeback = comeback(costs, odds.after(declared));
    let text = format!("stop {gap} x {}{comeback} = {cost}", costs.stopped);
    let stop = Choice {
        name: "stop",
        text,
        cost,
    };
    match action {
        Action::Keep if destroy.cost < stop.cost => between(keep, destroy),
        Action::Keep => between(keep, stop),
        Action::Stop { .. } | Action::Destroy => between(stop, destroy),
    }
}

struct Choice {
    name: &'static str,
    text: String,
    cost: Money,
}

fn between(left: Choice, right: Choice) -> String {
    // Of the amounts as they are shown, so that the line adds up.
    let (here, there) = (left.cost.as_shown(), right.cost.as_shown());
    let (cheaper, saved) = match left.cost < right.cost {
        true => (left.name, there - here),
        false => (right.name, here - there),
    };
    format!("{}; {}: {cheaper} saves {saved}", left.text, right.text)
}

pub(super) fn unknown(costs: &StopCosts, odds: &RestartOdds, action: Action) -> String {
    match action {
        Action::Stop {
            destroy_after: Some(threshold),
        } => format!(
            "no return time given: {}; who never returns loses {} at most",
            paid_off(costs, odds, threshold),
            costs.stopped * threshold
        ),
        Action::Stop {
            destroy_after: None,
        } => "the stopped disk costs nothing: keep it stopped".into(),
        Action::Keep => format!("running costs {}", costs.running),
        Action::Destroy if !costs.stop.exists() => {
            format!(
                "there is no stop here, and running on costs {}; a rebuild costs {}",
                costs.running, costs.rebuild
            )
        }
        Action::Destroy => {
            let chance = odds.after(Hours::ZERO);
            format!(
                "a kept disk is worth {}: nothing to pay for",
                worth_sum(costs, chance)
            )
        }
    }
}

pub(super) fn learned(
    costs: &StopCosts,
    odds: &RestartOdds,
    threshold: Hours,
    gaps: usize,
    trust: Trust,
) -> String {
    let ski_rental = costs
        .break_even(odds)
        .map_or_else(|| "never".into(), |hours| hours.to_string());
    let paid = costs.stopped * threshold;
    let lambda = trust.lambda();
    let worst = Decimal::ONE + Decimal::ONE / lambda.amount();
    format!(
        "your last {gaps} gaps cost least with {} x {} = {paid} of disk; ski rental says {ski_rental}; \
         lambda {lambda}, so never more than {} times the best choice, and {paid} if you never return",
        threshold.in_sum(),
        costs.stopped,
        worst.round_dp(1).normalize()
    )
}

/// "$1.00 / $0.0685/h = 14.6 h", or where it is cut off because a longer gap makes a restart unlikelier.
fn paid_off(costs: &StopCosts, odds: &RestartOdds, threshold: Hours) -> String {
    let chance = odds.after(threshold);
    let meets = costs.worth(chance).lasts_at(costs.stopped);
    if meets.is_none_or(|meets| meets > threshold) {
        let later = odds
            .steps()
            .iter()
            .find(|step| step.until.is_none_or(|until| until > threshold));
        let later = later.map_or(Probability::NEVER, |step| step.chance);
        let paid = costs.stopped * threshold;
        return format!(
            "after {threshold} the disk has cost {paid} and is worth only {}",
            worth_sum(costs, later)
        );
    }
    let (sum, total) = (worth_sum(costs, chance), costs.worth(chance));
    let sum = if sum == total.to_string() {
        String::new()
    } else {
        format!("{sum}; ")
    };
    format!(
        "{sum}{total} / {} = {threshold} of disk, then it has cost what it is worth",
        costs.stopped
    )
}

/// W with its sum, `0.7 x ($1.00 - $0.29) - 0.3 x $0.10 = $0.47`; without one where it is the rebuild cost itself.
pub fn worth_sum(costs: &StopCosts, chance: Probability) -> String {
    let total = costs.worth(chance);
    let (rebuild, resume) = (costs.rebuild, costs.resume);
    let gain = match resume.is_zero() {
        true => rebuild.to_string(),
        false => format!("{rebuild} - {resume}"),
    };
    if chance == Probability::CERTAIN {
        return match resume.is_zero() {
            true => gain,
            false => format!("{gain} = {total}"),
        };
    }
    let gain = match resume.is_zero() {
        true => gain,
        false => format!("({gain})"),
    };
    match costs.retry.is_zero() {
        true => format!("{chance} x {gain} = {total}"),
        false => format!(
            "{chance} x {gain} - {} x {} = {total}",
            chance.complement(),
            costs.retry
        ),
    }
}

/// The terms after the disk money: " + 0.7 x $0.29 + 0.3 x ($1.00 + $0.10)", or nothing for a certain, free restart.
fn comeback(costs: &StopCosts, chance: Probability) -> String {
    let mut text = String::new();
    if chance == Probability::CERTAIN {
        if !costs.resume.is_zero() {
            text.push_str(&format!(" + {}", costs.resume));
        }
        return text;
    }
    if !costs.resume.is_zero() && chance != Probability::NEVER {
        text.push_str(&format!(" + {chance} x {}", costs.resume));
    }
    let failed = if costs.retry.is_zero() {
        costs.rebuild.to_string()
    } else {
        format!("({} + {})", costs.rebuild, costs.retry)
    };
    text.push_str(&format!(" + {} x {failed}", chance.complement()));
    text
}
