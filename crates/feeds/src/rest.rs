//! Pauses: while a receiver is away, and before an event that was refused is tried again. Time is an argument.

use sha2::{Digest, Sha256};

/// What a receiver may ask for at most, ms.
const LONGEST_ASKED: i64 = 3_600_000;

/// A pause of so many seconds, varied by up to a fifth, ms. What it is varied by is known before.
pub(crate) fn pause(seconds: f64, seed: &str) -> i64 {
    let hash = Sha256::digest(seed);
    let share = f64::from(u16::from_be_bytes([hash[0], hash[1]])) / f64::from(u16::MAX);
    let ms = (seconds * 1_000. * (0.8 + 0.4 * share)).ceil();
    // Of a float `as` is the nearest.
    ms as i64
}

/// Rests after failures; the last pause repeats.
#[derive(Debug)]
pub(crate) struct Rest {
    seconds: Vec<f64>,
    name: String,
    step: usize,
    /// Until when, and how long that was at its begin.
    until: Option<(i64, i64)>,
}

impl Rest {
    pub(crate) fn new(name: &str, seconds: &[f64]) -> Self {
        let (seconds, name) = (seconds.to_vec(), name.to_owned());
        Self {
            seconds,
            name,
            step: 0,
            until: None,
        }
    }

    /// Until when nothing is tried, ms; also in the past, while nothing was taken since.
    pub(crate) fn until(&self) -> Option<i64> {
        self.until.map(|(until, _)| until)
    }

    /// A clock that went back makes no rest longer.
    pub(crate) fn cap(&mut self, now: i64) {
        self.until = self.until.map(|(until, ms)| (until.min(now + ms), ms));
    }

    /// The receiver is away. Returns whether this is the last pause.
    pub(crate) fn begin(&mut self, now: i64, asked_ms: Option<i64>) -> bool {
        let last = self.seconds.len().saturating_sub(1);
        let step = self.step.min(last);
        let seconds = self.seconds.get(step).copied().unwrap_or(1.);
        let usual = pause(seconds, &format!("{} {now}", self.name));
        let ms = usual.max(asked_ms.unwrap_or(0).min(LONGEST_ASKED));
        self.until = Some((now + ms, ms));
        self.step += 1;
        step == last
    }

    /// Something was taken.
    pub(crate) fn end(&mut self) {
        (self.step, self.until) = (0, None);
    }
}
