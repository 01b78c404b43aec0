//! From flags and the price book to one question.

use super::flags::Flags;
use crate::{
    error::{Failure, Result},
    exit_code::ExitCode,
};
use chrono::{DateTime, Local, NaiveDate, NaiveDateTime, TimeZone, Utc};
use gpurun_pricing::{
    Gigabytes, GpuRequest, Hours, HoursPerMonth, PriceBook, Probability, QuantityError, Question,
    Quote, RateCard, RebuildTerms, measured_box,
};
use rust_decimal::Decimal;

/// Everything an answer depends on.
#[derive(Debug, Clone)]
pub(crate) struct Inputs {
    /// Where the prices come from; a flag overrides any of them in `card`.
    pub(crate) quote: Quote,
    pub(crate) rates: Rates,
    pub(crate) card: RateCard,
    pub(crate) disk: Gigabytes,
    pub(crate) terms: RebuildTerms,
    pub(crate) restart: Probability,
    pub(crate) gap: Option<Hours>,
    pub(crate) today: NaiveDate,
}

/// Whose running rate it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Rates {
    /// Billed on a real box.
    Measured,
    /// Read from the price book.
    Listed,
    /// Given by `--running`, for this box if one was named.
    Given(Option<GpuRequest>),
}

impl Inputs {
    /// # Errors
    /// Where the book has no price for the box and none was given, or the return lies in the past.
    pub(super) fn resolve(flags: Flags, now: &DateTime<Local>) -> Result<Self> {
        let quote = quote(&flags)?;
        let gap = match flags.back_at {
            Some(at) => Some(at.gap_from(now)?),
            None => flags.away,
        };
        let rates = match flags.running {
            Some(_) => Rates::Given(flags.gpu),
            None if quote.measured => Rates::Measured,
            None => Rates::Listed,
        };
        let mut card = quote.card.clone();
        if let Some(running) = flags.running {
            card.running = running;
            card.disk_running = gpurun_pricing::GigabyteMonthRate::ZERO;
        }
        // A month is the formula's constant until a provider is named: its own is shown beside it.
        if flags.provider.is_none() {
            card.hours_per_month = HoursPerMonth::TWELFTH_OF_A_YEAR;
        }
        card.hours_per_month = flags.hours_per_month.unwrap_or(card.hours_per_month);
        card.disk_stopped = flags.storage_price.unwrap_or(card.disk_stopped);
        card.inbound = flags.inbound_price.unwrap_or(card.inbound);
        let terms = RebuildTerms {
            setup: flags.setup_minutes,
            resume: flags.resume_minutes,
            retry: flags.retry_cost,
            inbound: flags.inbound,
        };
        Ok(Self {
            quote,
            rates,
            card,
            disk: flags.disk,
            terms,
            restart: flags.restart_probability,
            gap,
            today: now.date_naive(),
        })
    }

    pub(crate) fn question(&self) -> Question<'_> {
        Question {
            card: &self.card,
            disk: self.disk,
            terms: &self.terms,
            restart: self.restart,
            gap: self.gap,
        }
    }

    /// The box, where one was named or measured.
    pub(crate) fn gpu(&self) -> Option<&GpuRequest> {
        match &self.rates {
            Rates::Given(gpu) => gpu.as_ref(),
            Rates::Measured | Rates::Listed => Some(&self.quote.gpu),
        }
    }

    /// The prices are from a list and older than a month.
    pub(crate) fn is_stale(&self) -> bool {
        self.rates == Rates::Listed && self.card.is_stale(self.today)
    }
}

fn quote(flags: &Flags) -> Result<Quote> {
    let book = PriceBook::embedded();
    if let Some(provider) = &flags.provider {
        let known: Vec<&str> = book.providers().collect();
        if !known.contains(&provider.as_str()) {
            return Err(Failure::new(
                ExitCode::Usage,
                format!("the built-in price book knows no provider `{provider}`"),
                format!("it has {}", known.join(", ")),
            ));
        }
    }
    let measured = measured_box();
    let gpu = match &flags.gpu {
        Some(gpu) => gpu,
        None if flags.provider.is_none() => return Ok(measured),
        None => &measured.gpu,
    };
    match book.quote(gpu, flags.provider.as_deref()) {
        Some(quote) => Ok(quote),
        // The rate is what the book was needed for; the other terms are then the measured box's.
        None if flags.running.is_some() && flags.provider.is_none() => Ok(measured),
        None => Err(no_price(book, gpu, flags.provider.as_deref())),
    }
}

fn no_price(book: &PriceBook, gpu: &GpuRequest, provider: Option<&str>) -> Failure {
    let of_whom = provider
        .map(|name| format!(" from {name}"))
        .unwrap_or_default();
    let quotes = book.quotes(gpu);
    let mut others: Vec<&str> = quotes.iter().map(|quote| quote.provider.as_str()).collect();
    others.dedup();
    let help = if others.is_empty() {
        "give the rate of the whole box yourself: --running 1.20".to_owned()
    } else {
        format!("it has one from {}", others.join(", "))
    };
    Failure::new(
        ExitCode::Usage,
        format!("the built-in price book has no dated price for `{gpu}`{of_whom}"),
        help,
    )
}

/// A bare number of minutes, or a time with its unit.
pub(super) fn minutes(text: &str) -> std::result::Result<Hours, String> {
    let hours: Hours = text.parse().map_err(|error| match error {
        QuantityError::NotANumber { .. } => {
            format!("`{text}` is not a number of minutes: write it like `15`, or `1.5h`")
        }
        QuantityError::Negative { .. } | QuantityError::OutOfRange { .. } => {
            error.to_string().replace("hours", "minutes")
        }
    })?;
    let has_unit = text.contains(char::is_alphabetic);
    Ok(if has_unit {
        hours
    } else {
        Hours::from_minutes(hours.amount())
    })
}

/// A moment, or a wall-clock time in the zone of whoever typed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BackAt {
    Moment(DateTime<Utc>),
    WallClock(NaiveDateTime),
}

impl BackAt {
    fn gap_from(self, now: &DateTime<Local>) -> Result<Hours> {
        let at = match self {
            Self::Moment(at) => at,
            // In the hour that clocks are set back, the earlier one; in the one they skip, there is none.
            Self::WallClock(time) => Local
                .from_local_datetime(&time)
                .earliest()
                .ok_or_else(|| skipped(time))?
                .to_utc(),
        };
        let gap = at - now.to_utc();
        if gap < chrono::TimeDelta::zero() {
            return Err(Failure::new(
                ExitCode::Usage,
                format!(
                    "--back-at lies in the past: {}",
                    at.with_timezone(&Local).format("%F %H:%M %:z")
                ),
                "give a time to come, or how long you will be away: --away 10h",
            ));
        }
        let minutes = Decimal::from(gap.num_minutes());
        Ok(Hours::from_minutes(minutes))
    }
}

fn skipped(time: NaiveDateTime) -> Failure {
    Failure::new(
        ExitCode::Usage,
        format!("--back-at {time} does not exist here: the clocks skip that hour"),
        "add an offset, such as +02:00",
    )
}

impl std::str::FromStr for BackAt {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        // RFC 3339, and the same without seconds, which people leave out.
        let offset = text
            .strip_suffix(['Z', 'z'])
            .map(|time| format!("{time}+00:00"));
        let with_offset = offset.as_deref().unwrap_or(text);
        let moment = DateTime::parse_from_rfc3339(with_offset)
            .or_else(|_| DateTime::parse_from_str(with_offset, "%FT%H:%M%:z"));
        if let Ok(moment) = moment {
            return Ok(Self::Moment(moment.to_utc()));
        }
        let forms = ["%FT%H:%M", "%FT%H:%M:%S", "%F %H:%M", "%F %H:%M:%S"];
        let wall_clock = forms
            .iter()
            .find_map(|form| NaiveDateTime::parse_from_str(text, form).ok());
        wall_clock.map(Self::WallClock).ok_or_else(|| {
            format!("`{text}` is not a time: write it like `2026-12-05T08:00` or `2026-12-05T08:00+01:00`")
        })
    }
}
