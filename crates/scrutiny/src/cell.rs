//! Values as they are compared with those of earlier calls: read once, numbers with their unit, dates as days.

use std::sync::Arc;

use jiff::civil::{Date, DateTime};
use jiff::{Timestamp, tz::TimeZone};

use crate::leaf::among;
use crate::written;

/// The longest value that names something.
pub(crate) const SHORT: usize = 80;
/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum What {
    /// How much; what is written with a unit is converted.
    Number(f64),
    /// Minutes since 1970; whether it has a time of day.
    When(i64, bool),
    /// A mail address.
    Mail,
    /// A host, by itself or of a URL.
    Host,
    /// An account.
    Account,
    /// A short text that names something.
    Name,
    /// A text that people read, a command, SQL.
    Prose,
    Flag(bool),
    /// Null, or an empty text, list or object.
    Empty,
}

/// One value with its place.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    pub(crate) at: String,
    pub(crate) place: String,
    pub(crate) name: String,
    pub(crate) words: Vec<String>,
    pub(crate) object: Arc<str>,
    /// As it is written.
    pub(crate) text: String,
    /// As it is compared.
    pub(crate) form: String,
    /// In capitals; of lists `entries`.
    pub(crate) unit: String,
    pub(crate) what: What,
}

impl Cell {
    pub(crate) fn number(&self) -> Option<f64> {
        match self.what {
            What::Number(number) => Some(number),
            _ => None,
        }
    }

    /// A short value that names something.
    pub(crate) fn names(&self) -> bool {
        matches!(self.what, What::Name | What::Mail | What::Account)
    }

    pub(crate) fn has_word(&self, words: &str) -> bool {
        self.words.iter().any(|word| among(words, word))
    }

    /// A number as the sentence has it.
    pub(crate) fn shown(&self) -> String {
        match self.what {
            What::Number(number) if self.text.parse::<f64>().is_ok() => {
                written::plain(number, &self.unit)
            }
            _ => crate::shown::shown(&self.text),
        }
    }
}

/// Minutes since 1970 of a date or a moment, and whether it has a time of day.
pub(crate) fn when(text: &str) -> Option<(i64, bool)> {
    if text.as_bytes().get(4) != Some(&b'-') || text.len() < 10 || text.len() > 40 {
        return None;
    }
    let of = |at: DateTime| {
        let zoned = at.to_zoned_datetime(TimeZone::UTC).ok()?;
        Some(zoned.timestamp().as_second().div_euclid(60))
    };
    if text.len() == 10 {
        return Some((of(text.parse::<Date>().ok()?.at(0, 0, 0, 0))?, false));
    }
    match text.parse::<Timestamp>() {
        Ok(at) => Some((at.as_second().div_euclid(60), true)),
        Err(_) => Some((of(text.parse::<DateTime>().ok()?)?, true)),
    }
}
