//! Times of entries. The crate reads no clock: callers pass the time.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A time in UTC with a resolution of one second, written as in RFC 3339: `2026-01-31T23:59:59Z`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Timestamp(i64);

/// Error of a text that is not a time in the notation of [`Timestamp`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a time is written `YYYY-MM-DDTHH:MM:SSZ`")]
pub struct TimeError;

/// The first second after the year 9999.
const END: i64 = 253_402_300_800;

impl Timestamp {
    /// A time in seconds of the Unix epoch, limited to the years 1970 to 9999.
    #[must_use]
    pub fn from_unix(seconds: i64) -> Self {
        Self(seconds.clamp(0, END - 1))
    }

    /// The seconds of the Unix epoch.
    #[must_use]
    pub fn unix(self) -> i64 {
        self.0
    }
}

/// Days from the Unix epoch to a date of the Gregorian calendar, by the algorithm `days_from_civil` of
/// Hinnant (*chrono-Compatible Low-Level Date Algorithms*, 2021).
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let (of_era, of_year) = (year - era * 400, (153 * ((month + 9) % 12) + 2) / 5 + day - 1);
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The date of a number of days from the Unix epoch: the inverse of [`days`].
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = date(self.0.div_euclid(86_400));
        let second = self.0.rem_euclid(86_400);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }
}

impl FromStr for Timestamp {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<Self, TimeError> {
        let number = |from: usize, to: usize| -> Result<i64, TimeError> {
            let digits = text.get(from..to).filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
            digits.and_then(|part| part.parse().ok()).ok_or(TimeError)
        };
        let day = days(number(0, 4)?, number(5, 7)?, number(8, 10)?);
        let time = Self(day * 86_400 + number(11, 13)? * 3600 + number(14, 16)? * 60 + number(17, 19)?);
        // Fields out of range and wrong separators do not survive the way back.
        let is_in_range = (0..END).contains(&time.0);
        if is_in_range && time.to_string() == text { Ok(time) } else { Err(TimeError) }
    }
}

impl From<Timestamp> for String {
    fn from(time: Timestamp) -> Self {
        time.to_string()
    }
}

impl TryFrom<String> for Timestamp {
    type Error = TimeError;

    fn try_from(text: String) -> Result<Self, TimeError> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_in_rfc_3339() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_767_225_599, "2025-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (END - 1, "9999-12-31T23:59:59Z"),
        ] {
            assert_eq!(Timestamp::from_unix(seconds).to_string(), text);
            assert_eq!(text.parse(), Ok(Timestamp::from_unix(seconds)));
        }
    }

    #[test]
    fn other_notations_are_errors() {
        for text in [
            "",
            "2026-01-31",
            "2026-02-29T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01 00:00:00Z",
            "2026-01-01T00:00:00z",
            "2026-01-01T00:00:00.0Z",
            "2026-01-01T00:00:00+00:00",
            "1969-12-31T23:59:59Z",
            "+026-01-01T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-01-01T00:00:0éZ",
        ] {
            assert_eq!(text.parse::<Timestamp>(), Err(TimeError), "{text}");
        }
    }
}
