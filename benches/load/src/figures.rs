//! Figures of one round.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Figures by name; the name ends with its unit: `_per_s`, `_ms` or `_mib`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Figures(pub BTreeMap<String, f64>);

impl Figures {
    /// Sets a figure.
    pub fn set(&mut self, name: &str, value: f64) {
        self.0.insert(name.to_owned(), value);
    }

    /// Sets `{name}_p50_ms` and `{name}_p99_ms` from nanoseconds.
    pub fn percentiles(&mut self, name: &str, mut ns: Vec<i64>) {
        ns.sort_unstable();
        for (label, per_cent) in [("p50", 50), ("p99", 99)] {
            // The smallest value that this share of all does not exceed.
            let rank = (ns.len() * per_cent).div_ceil(100).max(1) - 1;
            if let Some(value) = ns.get(rank) {
                #[expect(
                    clippy::cast_precision_loss,
                    reason = "durations are far below 2^52 ns"
                )]
                self.set(&format!("{name}_{label}_ms"), *value as f64 / 1e6);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_smallest_value_that_the_share_does_not_exceed() {
        let mut figures = Figures::default();
        figures.percentiles("x", (1..=200).rev().map(|ms| ms * 1_000_000).collect());
        assert_eq!(figures.0["x_p50_ms"], 100.0);
        assert_eq!(figures.0["x_p99_ms"], 198.0);
    }
}
