//! What came of it.

use std::fmt;

/// The outcome of every case that was looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub results: Vec<CaseResult>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseResult {
    pub provider: &'static str,
    pub case: &'static str,
    pub verdict: Verdict,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Passed,
    /// The provider doesn't claim the ability the case is about.
    DoesNotApply,
    /// This world can't bring about the trouble that the case is about.
    Untried,
    Failed(String),
}

impl Report {
    pub fn failures(&self) -> impl Iterator<Item = &CaseResult> {
        self.results
            .iter()
            .filter(|result| matches!(result.verdict, Verdict::Failed(_)))
    }

    /// Whether something was tried and nothing failed.
    pub fn is_clean(&self) -> bool {
        self.results
            .iter()
            .any(|result| result.verdict == Verdict::Passed)
            && self.failures().next().is_none()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for CaseResult {
            provider,
            case,
            verdict,
        } in &self.results
        {
            match verdict {
                Verdict::Passed => writeln!(f, "pass  {provider}: {case}")?,
                Verdict::DoesNotApply => writeln!(f, "n/a   {provider}: {case}")?,
                Verdict::Untried => writeln!(f, "---   {provider}: {case}")?,
                Verdict::Failed(why) => writeln!(f, "FAIL  {provider}: {case}: {why}")?,
            }
        }
        Ok(())
    }
}
