//! What spans cost, summed up the tree.
//!
//! Only finite, positive figures count: an agent writes them.

use super::TreeRow;

/// What a span used, alone or with all below it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Used {
    /// Tokens that were charged for.
    pub tokens_charged: f64,
    /// Time, in milliseconds.
    pub execution_time_ms: f64,
    /// Tokens read.
    pub input_tokens: f64,
    /// Tokens written.
    pub output_tokens: f64,
    /// Price, in US dollars.
    pub cost_usd: f64,
}

impl Used {
    /// The names of the figures, in the order of [`Used::figures`].
    pub const NAMES: [&'static str; 5] = [
        "tokens_charged",
        "execution_time_ms",
        "input_tokens",
        "output_tokens",
        "cost_usd",
    ];

    /// The figures by name; one that is not a finite, positive number counts as none.
    pub fn of(figure: impl Fn(&str) -> Option<f64>) -> Self {
        let [charged, time, input, output, cost] = Self::NAMES
            .map(|name| figure(name).filter(|value| value.is_finite() && *value > 0.0))
            .map(Option::unwrap_or_default);
        Self {
            tokens_charged: charged,
            execution_time_ms: time,
            input_tokens: input,
            output_tokens: output,
            cost_usd: cost,
        }
    }

    /// The figures in the order of [`Used::NAMES`].
    #[must_use]
    pub fn figures(&self) -> [f64; 5] {
        [
            self.tokens_charged,
            self.execution_time_ms,
            self.input_tokens,
            self.output_tokens,
            self.cost_usd,
        ]
    }

    /// Whether nothing was used.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.figures().iter().all(|figure| *figure <= 0.0)
    }

    fn add(&mut self, more: &Self) {
        self.tokens_charged += more.tokens_charged;
        self.execution_time_ms += more.execution_time_ms;
        self.input_tokens += more.input_tokens;
        self.output_tokens += more.output_tokens;
        self.cost_usd += more.cost_usd;
    }
}

/// What each place used with all below it. `own` has a figure for each place.
#[must_use]
pub fn with_below(places: &[TreeRow], own: &[Used]) -> Vec<Used> {
    let mut sums: Vec<Used> = own.to_vec();
    sums.resize(places.len(), Used::default());
    // From the last to the first: all that lies below a place comes after it.
    for at in (0..places.len()).rev() {
        let more = sums[at];
        if let Some(parent) = places[at].parent {
            sums[parent].add(&more);
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(parent: Option<usize>) -> TreeRow {
        TreeRow {
            bar: 0,
            parent,
            depth: 0,
            repairs: Vec::new(),
        }
    }

    fn tokens(count: f64) -> Used {
        Used {
            tokens_charged: count,
            ..Used::default()
        }
    }

    #[test]
    fn what_lies_below_is_added_at_every_level_and_beside_it_is_not() {
        let places = [None, Some(0), Some(1), Some(0), None].map(place);
        let own = [1.0, 10.0, 100.0, 1_000.0, 5.0].map(tokens);
        let sums: Vec<f64> = with_below(&places, &own)
            .iter()
            .map(|used| used.tokens_charged)
            .collect();
        assert_eq!(sums, [1_111.0, 110.0, 100.0, 1_000.0, 5.0]);
    }

    #[test]
    fn a_figure_that_is_no_positive_number_counts_as_none() {
        for figure in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -3.0, 0.0] {
            assert!(Used::of(|_| Some(figure)).is_none(), "{figure}");
        }
        let used = Used::of(|name| (name == "cost_usd").then_some(0.25));
        assert_eq!(used.figures(), [0.0, 0.0, 0.0, 0.0, 0.25]);
    }
}
