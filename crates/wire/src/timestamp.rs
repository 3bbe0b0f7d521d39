//! Time stamps on the wire: RFC 3339, written in UTC with milliseconds.
//!
//! It reads no clock: the time of a deadline is the server's, handed in.

use std::{fmt, ops::RangeInclusive, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use time::{
    OffsetDateTime, UtcOffset, format_description::well_known::Rfc3339, macros::format_description,
};

/// Not an RFC 3339 time stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an RFC 3339 time stamp such as 2026-11-21T12:00:00.000Z")]
pub struct TimestampError;

/// A moment, always in UTC and of the years 1 to 9999. Read from any RFC 3339 text, written with milliseconds and
/// `Z`. A leap second, which RFC 3339 has at the end of a month in UTC, reads as the last moment before it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(OffsetDateTime);

impl Timestamp {
    /// The moment, turned to UTC.
    pub fn new(at: OffsetDateTime) -> Self {
        Self(at.to_offset(UtcOffset::UTC))
    }

    /// The moment of so many milliseconds since 1970-01-01T00:00:00Z; `None` outside the years 1 to 9999.
    pub fn from_unix_millis(millis: i64) -> Option<Self> {
        OffsetDateTime::from_unix_timestamp_nanos(i128::from(millis) * 1_000_000)
            .ok()
            .filter(|at| YEARS.contains(&at.year()))
            .map(Self)
    }

    /// Milliseconds since 1970-01-01T00:00:00Z, rounded down.
    pub fn unix_millis(self) -> i64 {
        let millis = self.0.unix_timestamp_nanos().div_euclid(1_000_000);
        i64::try_from(millis).unwrap_or(i64::MAX)
    }

    /// The moment in UTC.
    pub fn get(self) -> OffsetDateTime {
        self.0
    }

    /// Whether the text is RFC 3339 and already in UTC, as `requested_at` must be (protocol, section 2).
    pub(crate) fn parse_utc(text: &str) -> Result<Self, TimestampError> {
        let (at, offset) = parse(text)?;
        if offset.is_utc() {
            Ok(at)
        } else {
            Err(TimestampError)
        }
    }
}

/// Years that every reader has: some begin at 1, and none writes 10000.
const YEARS: RangeInclusive<i32> = 1..=9999;

fn parse(text: &str) -> Result<(Timestamp, UtcOffset), TimestampError> {
    // The parser takes any byte between date and time, as a note in RFC 3339 lets an application do;
    // its grammar, and so the protocol, has `T`.
    if !matches!(text.as_bytes().get(10), Some(b'T' | b't')) {
        return Err(TimestampError);
    }
    let at = OffsetDateTime::parse(text, &Rfc3339).map_err(|_| TimestampError)?;
    let utc = at
        .checked_to_offset(UtcOffset::UTC)
        .filter(|utc| YEARS.contains(&utc.year()) && YEARS.contains(&at.year()));
    utc.map(|utc| (Timestamp(utc), at.offset()))
        .ok_or(TimestampError)
}

impl From<OffsetDateTime> for Timestamp {
    fn from(at: OffsetDateTime) -> Self {
        Self::new(at)
    }
}

impl From<Timestamp> for OffsetDateTime {
    fn from(at: Timestamp) -> Self {
        at.0
    }
}

impl FromStr for Timestamp {
    type Err = TimestampError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text).map(|(at, _)| at)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let form = format_description!(
            "[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z"
        );
        f.write_str(&self.0.format(form).map_err(|_| fmt::Error)?)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(from)?;
        text.parse().map_err(D::Error::custom)
    }
}

impl schemars::JsonSchema for Timestamp {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Timestamp".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "RFC 3339, written in UTC with milliseconds",
            "type": "string",
            "format": "date-time",
        })
    }
}

crate::text_newtype::ts_as_string!(Timestamp);
