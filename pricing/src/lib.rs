//! The arithmetic of renting, pure: no file, no socket, no clock. Data and a `now` go in, a value comes out.
//!
//! Money and rates are exact decimals; they are rounded only to be shown, and running time only up to a provider's
//! own quantum. `f64` arithmetic doesn't compile here.
//!
//! ```
//! use gpurun_pricing::{Probability, Question, RebuildTerms, forecast, measured_box};
//!
//! let card = measured_box().card;
//! let terms = RebuildTerms {
//!     setup: "15min".parse()?,
//!     resume: "0h".parse()?,
//!     retry: "$0".parse()?,
//!     inbound: "43 GB".parse()?,
//! };
//! let disk = "250 GB".parse()?;
//! let restart = Probability::CERTAIN;
//! let answer = forecast(&Question { card: &card, disk, terms: &terms, restart, gap: None });
//! assert_eq!(answer.sums.break_even.as_deref(), Some("$1.00 / $0.0694/h = 14.4 h"));
//! # Ok::<(), gpurun_pricing::QuantityError>(())
//! ```

#![deny(clippy::float_arithmetic, clippy::disallowed_methods)]

pub mod billing;
pub mod break_even;
pub mod budget;
mod decimal_unit;
pub mod disk;
pub mod estimate;
pub mod forecast;
pub mod gpu;
pub mod money;
pub mod offer;
pub mod price_book;
pub mod quantity;
pub mod rate_card;

pub use billing::{BillLine, BilledState, RunCost, StateInterval, Usage, run_cost};
pub use break_even::{Action, Gap, RebuildTerms, RestartOdds, StopCosts, Verdict, decide};
pub use budget::{Cap, Caps, Spent, Standing};
pub use decimal_unit::QuantityError;
pub use disk::{DiskNeed, DiskPart};
pub use estimate::{Estimate, EstimateLine, JobShape, TrainingTime, estimate};
pub use forecast::{Forecast, Question, Sums, forecast};
pub use gpu::{CudaVersion, GpuError, GpuModel, GpuRequest, GpuSelection};
pub use money::{GigabyteMonthRate, GigabyteRate, HourlyRate, Money};
pub use offer::{Market, Offer, OfferFilter, RankedOffer, Rejection, Selection, select};
pub use price_book::{PriceBook, ProviderKind, Quote, measured_box};
pub use quantity::{Gigabytes, Hours, HoursPerMonth, Probability};
pub use rate_card::{RateCard, StopSupport};
