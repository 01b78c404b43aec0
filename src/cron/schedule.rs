//! From "every 10m" to the five fields of a crontab.

use super::CronError;
use crate::job;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// The time fields for a pass every so often.
///
/// # Errors
/// A period that doesn't divide an hour or a day: cron would make gaps of different lengths of it.
pub(crate) fn schedule(every: &str) -> Result<String, CronError> {
    let help =
        "minutes that divide an hour (1m to 30m), hours that divide a day (1h to 12h), or 1d";
    let seconds = job::duration(every, None)
        .map_err(|wrong| CronError::new(format!("--every: {}", wrong.message), wrong.expected))?;
    match seconds {
        MINUTE => Ok("* * * * *".to_owned()),
        HOUR => Ok("0 * * * *".to_owned()),
        DAY => Ok("0 0 * * *".to_owned()),
        _ if seconds % MINUTE == 0 && seconds < HOUR && HOUR.is_multiple_of(seconds) => {
            Ok(format!("*/{} * * * *", seconds / MINUTE))
        }
        _ if seconds % HOUR == 0 && seconds < DAY && DAY.is_multiple_of(seconds) => {
            Ok(format!("0 */{} * * *", seconds / HOUR))
        }
        _ => Err(CronError::new(
            format!("--every: cron can't do '{every}' evenly"),
            help,
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_that_cron_can_keep() {
        for (every, fields) in [
            ("1m", "* * * * *"),
            ("10m", "*/10 * * * *"),
            ("30m", "*/30 * * * *"),
            ("60m", "0 * * * *"),
            ("1h", "0 * * * *"),
            ("6h", "0 */6 * * *"),
            ("1d", "0 0 * * *"),
        ] {
            assert_eq!(schedule(every).expect(every), fields);
        }
        for every in ["7m", "45m", "90m", "5h", "2d", "30s", "often", "10"] {
            assert!(schedule(every).is_err(), "{every}");
        }
    }
}
