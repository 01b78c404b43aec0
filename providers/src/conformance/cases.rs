//! The cases, in the order in which a newcomer should make them pass.

use super::case::{Case, case};
use super::{labels, life, market, stops, trouble};
use crate::capabilities::Labels;

pub(super) const CASES: &[Case] = &[
    case!("a new account is empty", market::new_account_is_empty),
    case!(
        "offers are priced, dated, and cheapest first",
        market::offers_are_priced
    ),
    case!("a price limit is kept", market::price_limit_is_kept),
    case!(
        "what is rented runs and is listed",
        life::rented_runs_and_is_listed
    ),
    case!(
        "another client sees the same",
        life::another_client_sees_the_same
    ),
    case!(
        "a box whose reply was lost is found by its label",
        labels::lost_reply_is_found
    ),
    case!(
        "a label in use is refused",
        labels::used_label_is_refused,
        |can| can.labels == Labels::Unique
    ),
    case!(
        "a label in use makes a second box, and both are listed",
        labels::used_label_makes_a_second,
        |can| can.labels == Labels::Repeatable
    ),
    case!(
        "of two who rent one label at once, one gets it",
        labels::race_for_a_label,
        |can| can.labels == Labels::Unique
    ),
    case!("what is destroyed is gone", life::destroyed_is_gone),
    case!(
        "destroying twice is success",
        life::destroying_twice_is_success
    ),
    case!("an id is never used again", life::id_is_never_used_again),
    case!(
        "what is gone neither starts nor stops",
        stops::gone_neither_starts_nor_stops,
        |can| can.can_stop()
    ),
    case!(
        "one box's end leaves the other alone",
        life::neighbours_are_left_alone
    ),
    case!(
        "a stopped box is kept, cheaper, and starts again",
        stops::stopped_is_kept,
        |can| can.can_stop()
    ),
    case!(
        "stopping and starting twice is success",
        stops::stopping_twice_is_success,
        |can| can.can_stop()
    ),
    case!(
        "a stopped box can be destroyed",
        stops::stopped_can_be_destroyed,
        |can| can.can_stop()
    ),
    case!(
        "stop is refused where there is none",
        stops::stop_is_refused,
        |can| !can.can_stop()
    ),
    case!(
        "a rent that was done and answered by nothing, or by an error, made one box",
        trouble::rent_without_an_answer
    ),
    case!(
        "an offer that is taken is no capacity, and makes nothing",
        trouble::taken_offer
    ),
    case!(
        "a rent that came too soon makes nothing",
        trouble::rent_too_soon
    ),
    case!(
        "too many requests after the rent lose nothing",
        trouble::too_many_requests
    ),
    case!(
        "a garbled answer is neither an empty list nor a box that is gone",
        trouble::garbled_answers
    ),
    case!(
        "a refused key is neither an empty list nor a box that is gone",
        trouble::refused_key
    ),
    case!("a refused destroy is told", trouble::refused_destroy),
    case!(
        "a destroy that is accepted and not done leaves the box in sight",
        trouble::ignored_destroy
    ),
    case!(
        "a start without GPUs is seen",
        trouble::start_without_gpus,
        |can| can.can_stop()
    ),
];
