//! Running the cases, each in a fresh world.

use std::time::Duration;

use async_trait::async_trait;

use super::case::Failure;
use super::cases::CASES;
use super::report::{CaseResult, Report, Verdict};
use crate::provider::{OfferRequest, Provider};

/// How to try one provider out: against a simulator of its wire, or for real where that costs nothing.
#[async_trait]
pub trait Harness: Send + Sync {
    /// The provider's name in the registry.
    fn provider(&self) -> &'static str;

    /// An account with nothing in it, apart from all other worlds.
    ///
    /// # Errors
    /// In words, when it can't be set up.
    async fn world(&self) -> Result<Box<dyn World>, String>;
}

/// One account at one provider.
pub trait World: Send + Sync {
    /// A client of this account, with nothing in common with earlier ones: as another process would have it.
    fn client(&self) -> Box<dyn Provider>;

    /// A search that finds at least one offer here.
    fn request(&self) -> OfferRequest;

    /// How long the provider may take to show what it accepted.
    fn patience(&self) -> Duration {
        Duration::from_secs(60)
    }

    /// Lets this go wrong from now on; `false` where it can't be brought about.
    fn trouble(&self, _trouble: Trouble) -> bool {
        false
    }

    /// Nothing goes wrong any more.
    fn calm(&self) {}
}

/// What can go wrong at a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The next `rent` is carried out, and its answer never comes.
    RentAnswerLost,
    /// The next `rent` is carried out, and answered by a server error.
    RentAnswersError,
    /// Somebody else takes what the next `rent` asks for.
    OfferTaken,
    /// The next `rent` is refused for coming too soon.
    RentTooSoon,
    /// The next look at a box is refused for coming too soon; in as many forms as the provider has, this one of them.
    LookTooSoon(u8),
    /// Looks and lists are answered 200, with nothing.
    EmptyAnswers,
    /// Looks and lists are answered by somebody's web page.
    WebPages,
    /// Looks and lists are answered by half of what was to come.
    TornAnswers,
    /// The key is refused, whatever is asked.
    KeyRefused,
    /// A `destroy` is refused.
    DestroyRefused,
    /// A `destroy` is accepted, and nothing comes of it.
    DestroyIgnored,
    /// The next `start` gives back a box without its GPUs.
    StartWithoutGpus,
}

/// Tries one provider.
pub async fn run(harness: &dyn Harness) -> Report {
    let mut report = Report::default();
    for case in CASES {
        let verdict = match harness.world().await {
            Err(why) => Verdict::Failed(format!("no world to try it in: {why}")),
            Ok(world) if !(case.applies)(&world.client().capabilities()) => Verdict::DoesNotApply,
            Ok(world) => match (case.run)(world.as_ref()).await {
                Ok(()) => Verdict::Passed,
                Err(Failure::NotHere) => Verdict::Untried,
                Err(Failure::Failed(why)) => Verdict::Failed(why),
            },
        };
        report.results.push(CaseResult {
            provider: harness.provider(),
            case: case.name,
            verdict,
        });
    }
    report
}

/// Tries every provider of the registry; one without a harness fails, as does a harness without a provider.
pub async fn run_all(registry: &[Box<dyn Provider>], harnesses: &[Box<dyn Harness>]) -> Report {
    let mut report = Report::default();
    let mut fail = |provider, why: &str| {
        report.results.push(CaseResult {
            provider,
            case: "has a harness",
            verdict: Verdict::Failed(why.to_owned()),
        });
    };
    for harness in harnesses {
        if registry
            .iter()
            .all(|provider| provider.name() != harness.provider())
        {
            fail(harness.provider(), "no such provider is registered");
        }
    }
    for provider in registry {
        if harnesses
            .iter()
            .all(|harness| harness.provider() != provider.name())
        {
            fail(
                provider.name(),
                "nothing can try this provider out: add a harness for it",
            );
        }
    }
    for harness in harnesses {
        report.results.extend(run(harness.as_ref()).await.results);
    }
    report
}
