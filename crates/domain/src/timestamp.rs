//! Points in time as the store keeps them.

use std::fmt;

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Milliseconds since the Unix epoch, UTC.
///
/// The protocol's stamps have millisecond resolution; a server stamp's finer part is cut off, for
/// requests and decisions alike, so that both sides of a deadline are rounded the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// Milliseconds of a day of 24 hours.
    pub const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

    /// The moment `milliseconds` after this one; saturates.
    #[must_use]
    pub fn plus_ms(self, milliseconds: i64) -> Self {
        Self(self.0.saturating_add(milliseconds))
    }

    /// Milliseconds from `earlier` to this moment, negative when it is later.
    #[must_use]
    pub fn since_ms(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// As RFC 3339 in UTC with exactly three fractional digits.
    #[must_use]
    pub fn rfc3339(self) -> String {
        let Ok(at) = OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0) * 1_000_000)
        else {
            return String::from("9999-12-31T23:59:59.999Z");
        };
        let (date, hour, minute, second) = (at.date(), at.hour(), at.minute(), at.second());
        let millisecond = at.millisecond();
        format!("{date}T{hour:02}:{minute:02}:{second:02}.{millisecond:03}Z")
    }

    /// Reads an RFC 3339 time stamp of any offset.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        OffsetDateTime::parse(text, &Rfc3339).ok().map(Self::from)
    }
}

impl From<OffsetDateTime> for Timestamp {
    fn from(at: OffsetDateTime) -> Self {
        let milliseconds = at.unix_timestamp_nanos().div_euclid(1_000_000);
        Self(i64::try_from(milliseconds).unwrap_or(i64::MAX))
    }
}

impl From<Timestamp> for OffsetDateTime {
    fn from(at: Timestamp) -> Self {
        OffsetDateTime::from_unix_timestamp_nanos(i128::from(at.0) * 1_000_000)
            .unwrap_or(OffsetDateTime::UNIX_EPOCH)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.rfc3339())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_stamp_reads_back_what_it_writes() {
        for ms in [0, 1, 999, 1_795_262_400_000, 4_102_444_800_123] {
            assert_eq!(
                Timestamp::parse(&Timestamp(ms).rfc3339()),
                Some(Timestamp(ms))
            );
        }
        assert_eq!(
            Timestamp::parse("2026-11-21T12:00:00.000Z").map(Timestamp::rfc3339),
            Some("2026-11-21T12:00:00.000Z".to_owned())
        );
    }

    #[test]
    fn the_finer_part_of_a_server_stamp_is_cut_off() {
        let at = OffsetDateTime::from_unix_timestamp_nanos(1_000_999_999).unwrap();
        assert_eq!(Timestamp::from(at), Timestamp(1_000));
    }
}
