//! How well a person sees changes, as the theory of signal detection counts it.

use std::collections::BTreeMap;

use statrs::distribution::{Continuous, ContinuousCDF, Normal};

use crate::kind::ChangeKind;
use crate::outcome::Outcome;

/// With fewer cards the sensitivity is unknown.
pub const TOO_FEW: u32 = 20;
/// Quantile of the normal distribution for a two-sided interval of 95 %.
const Z_95: f64 = 1.959_963_984_540_054;

/// Cards of one kind of change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KindFigures {
    /// Answered cards with the change.
    pub shown: u32,
    /// Of them caught.
    pub caught: u32,
    /// Of them missed.
    pub missed: u32,
}

/// The answered cards of one person.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Figures {
    /// Answered cards, unchanged ones too.
    pub shown: u32,
    /// Changes that were caught.
    pub caught: u32,
    /// Changes that were missed.
    pub missed: u32,
    /// Unchanged cards that were refused.
    pub false_alarms: u32,
    /// By kind of change.
    pub kinds: BTreeMap<ChangeKind, KindFigures>,
}

/// d′ with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sensitivity {
    /// d′: 0 is chance.
    pub d_prime: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Figures {
    /// Counts one answered card; `kind` is none for an unchanged one.
    pub fn count(&mut self, kind: Option<ChangeKind>, outcome: Outcome) {
        let (caught, missed) = (outcome == Outcome::Caught, outcome == Outcome::Missed);
        self.shown += 1;
        self.caught += u32::from(caught);
        self.missed += u32::from(missed);
        self.false_alarms += u32::from(outcome == Outcome::FalseAlarm);
        if let Some(kind) = kind {
            let of = self.kinds.entry(kind).or_default();
            of.shown += 1;
            of.caught += u32::from(caught);
            of.missed += u32::from(missed);
        }
    }

    /// z((caught + ½) / (changed + 1)) − z((false alarms + ½) / (unchanged + 1)), with its interval; none under
    /// [`TOO_FEW`] cards.
    ///
    /// The correction is Hautus's (1995), the variance Gourevitch and Galanter's (1967) of the corrected counts.
    #[must_use]
    pub fn sensitivity(&self) -> Option<Sensitivity> {
        let changed = self.caught + self.missed;
        let unchanged = self.shown.checked_sub(changed)?;
        if self.shown < TOO_FEW {
            return None;
        }
        let (hits, of_hits) = z(self.caught, changed)?;
        let (alarms, of_alarms) = z(self.false_alarms, unchanged)?;
        let d_prime = hits - alarms;
        let half = Z_95 * (of_hits + of_alarms).sqrt();
        Some(Sensitivity {
            d_prime,
            low: d_prime - half,
            high: d_prime + half,
        })
    }
}

/// The quantile of a corrected rate, and its variance.
fn z(found: u32, all: u32) -> Option<(f64, f64)> {
    let normal = Normal::new(0.0, 1.0).ok()?;
    let all = f64::from(all) + 1.0;
    let rate = (f64::from(found) + 0.5) / all;
    let z = normal.inverse_cdf(rate);
    Some((z, rate * (1.0 - rate) / (all * normal.pdf(z).powi(2))))
}
