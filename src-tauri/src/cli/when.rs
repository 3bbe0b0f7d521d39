//! Points in time: as a person names them, and as a person reads them.
//!
//! A time that must be guessed is refused: one in a local time zone, or a word such as "yesterday".

use std::time::Duration;

use countersign_core::domain::Timestamp;

use super::failure::Failure;

const MS: i64 = 1_000;

/// Reads RFC 3339, a UTC date, or an age such as `30m`, counted back from `now`.
pub(crate) fn parse(flag: &str, text: &str, now: Timestamp) -> Result<Timestamp, Failure> {
    Timestamp::parse(text)
        .or_else(|| Timestamp::parse(&format!("{text}T00:00:00Z")))
        .or_else(|| age(text).map(|ms| now.plus_ms(-ms)))
        .ok_or_else(|| {
            Failure::usage(format!(
                "{flag}: {text:?} is not a time; write 2026-11-21T12:00:00Z, 2026-11-21, or an age such as 90s, 30m, 12h, 7d"
            ))
        })
}

/// Reads a length of time such as `90s`, `30m`, `1h`.
pub(crate) fn lasting(flag: &str, text: &str) -> Result<Duration, Failure> {
    let ms = age(text).and_then(|ms| u64::try_from(ms).ok());
    ms.map(Duration::from_millis).ok_or_else(|| {
        Failure::usage(format!(
            "{flag}: {text:?} is not a length of time; write 90s, 30m or 1h"
        ))
    })
}

fn age(text: &str) -> Option<i64> {
    let unit = match text.chars().last()? {
        's' => MS,
        'm' => 60 * MS,
        'h' => 3_600 * MS,
        'd' => 86_400 * MS,
        _ => return None,
    };
    let number = text.get(..text.len() - 1)?;
    let digits = number.bytes().all(|byte| byte.is_ascii_digit());
    digits
        .then(|| number.parse::<i64>().ok()?.checked_mul(unit))
        .flatten()
}

/// The time left until `deadline`, in its two largest units.
pub(crate) fn left(deadline: Timestamp, now: Timestamp) -> String {
    let seconds = deadline.since_ms(now).max(0) / MS;
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{minutes}m {}s", seconds % 60),
        3_600..86_400 => format!("{hours}h {}m", minutes % 60),
        _ => format!("{days}d {}h", hours % 24),
    }
}

/// A time for a person: UTC to the second.
pub(crate) fn shown(at: Timestamp) -> String {
    let text = at.rfc3339();
    let to_the_second = text.get(..19).unwrap_or(&text);
    format!("{}Z", to_the_second.replace('T', " "))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_time_is_a_stamp_a_date_or_an_age_and_nothing_else() {
        let now = Timestamp::parse("2026-11-21T12:00:00.000Z").unwrap();
        for (text, read) in [
            ("2026-11-20T08:00:00Z", Some("2026-11-20T08:00:00.000Z")),
            (
                "2026-11-20T09:00:00+01:00",
                Some("2026-11-20T08:00:00.000Z"),
            ),
            ("2026-11-20", Some("2026-11-20T00:00:00.000Z")),
            ("90s", Some("2026-11-21T11:58:30.000Z")),
            ("12h", Some("2026-11-21T00:00:00.000Z")),
            ("7d", Some("2026-11-14T12:00:00.000Z")),
            ("7", None),
            ("d", None),
            ("-1h", None),
            ("yesterday", None),
            ("99999999999999999999d", None),
            ("é", None),
            ("", None),
        ] {
            let found = parse("--since", text, now).ok().map(Timestamp::rfc3339);
            assert_eq!(found.as_deref(), read, "{text}");
        }
    }

    #[test]
    fn time_left_reads_in_its_two_largest_units_and_never_negative() {
        let now = Timestamp(0);
        for (seconds, text) in [
            (-5, "0s"),
            (59, "59s"),
            (61, "1m 1s"),
            (3_660, "1h 1m"),
            (90_000, "1d 1h"),
        ] {
            assert_eq!(left(Timestamp(seconds * MS), now), text);
        }
        assert_eq!(shown(now), "1970-01-01 00:00:00Z");
    }
}
