//! A plan in the making.

use chrono::{DateTime, Utc};

use super::case::Case;
use crate::action::Action;
use crate::plan::{Attention, AttentionKind, Plan, Verdict, VerdictKind, Wait};

pub(super) struct Draft(Plan);

impl Draft {
    pub(super) fn new(case: &Case<'_>, kind: VerdictKind, reason: String) -> Self {
        Self(Plan {
            run: case.run.id.clone(),
            at: case.now,
            verdict: Verdict { kind, reason },
            actions: Vec::new(),
            waits: Vec::new(),
            attention: Vec::new(),
        })
    }

    pub(super) fn action(mut self, action: Action) -> Self {
        self.0.actions.push(action);
        self
    }

    pub(super) fn actions(mut self, actions: impl IntoIterator<Item = Action>) -> Self {
        self.0.actions.extend(actions);
        self
    }

    pub(super) fn wait(
        mut self,
        on: &str,
        until: Option<DateTime<Utc>>,
        why: impl Into<String>,
    ) -> Self {
        self.0.waits.push(Wait {
            on: on.to_owned(),
            until,
            why: why.into(),
        });
        self
    }

    pub(super) fn attention(
        mut self,
        kind: AttentionKind,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        self.0.attention.push(Attention {
            kind,
            message: message.into(),
            remedy: remedy.into(),
        });
        self
    }

    pub(super) fn plan(self) -> Plan {
        self.0
    }
}
