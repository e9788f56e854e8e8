//! Times of entries. The crate reads no clock: callers pass the time.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, SecondsFormat};
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

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = DateTime::from_timestamp(self.0, 0).ok_or(fmt::Error)?;
        f.write_str(&time.to_rfc3339_opts(SecondsFormat::Secs, true))
    }
}

impl FromStr for Timestamp {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<Self, TimeError> {
        let time = DateTime::parse_from_rfc3339(text).map_err(|_| TimeError)?;
        let time = Self::from_unix(time.timestamp());
        // RFC 3339 has other notations of a time.
        if time.to_string() == text { Ok(time) } else { Err(TimeError) }
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
