//! The figures beside their goals.

use std::fmt::Write;

use serde_json::{Value, json};

use super::Figures;
use super::rows::ROWS;

/// What a figure should reach.
#[derive(Debug, Clone, Copy)]
pub(super) enum Goal {
    /// Half of the floor, and this many a second.
    PerSecond(Option<f64>),
    /// Twice the floor, and this many ms.
    Within(Option<f64>),
    /// This many, whatever the floor does.
    AtLeast(f64),
    /// No more than this, whatever the floor does.
    AtMost(f64),
    /// Nothing was promised.
    None,
}

/// Everything that one run measured.
pub(super) struct Report {
    pub(super) floor: Figures,
    /// The floor with the product's rows: what is lost to the agreed tables alone. No goal hangs on it.
    pub(super) rows: Figures,
    pub(super) product: Figures,
    pub(super) machine: String,
    pub(super) missing: Vec<String>,
}

impl Goal {
    fn text(self) -> String {
        match self {
            Self::PerSecond(None) => "half".to_owned(),
            Self::PerSecond(Some(least)) => format!("half, {least:.0}"),
            Self::Within(None) => "twice".to_owned(),
            Self::Within(Some(most)) => format!("twice, {most:.0}"),
            Self::AtLeast(value) | Self::AtMost(value) => format!("{value:.0}"),
            Self::None => String::new(),
        }
    }

    fn is_met(self, floor: Option<f64>, product: f64) -> Option<bool> {
        match self {
            Self::PerSecond(least) => {
                Some(product >= floor? / 2.0 && product >= least.unwrap_or(0.0))
            }
            Self::Within(most) => {
                Some(product <= floor? * 2.0 && product <= most.unwrap_or(f64::INFINITY))
            }
            Self::AtLeast(least) => Some(product >= least),
            Self::AtMost(most) => Some(product <= most),
            Self::None => None,
        }
    }
}

impl Report {
    pub(super) fn text(&self) -> String {
        let mut out = format!("{}\n\n", self.machine);
        let _ = writeln!(
            out,
            "{:<38} {:>10} {:>10} {:>10} {:>6}  {:<12} reached",
            "figure", "floor", "its rows", "product", "ratio", "goal"
        );
        for (name, label, goal) in ROWS {
            let Some(product) = self.product.get(name).copied() else {
                continue;
            };
            let floor = self.floor.get(name).copied();
            let reached = match goal.is_met(floor, product) {
                Some(true) => "yes",
                Some(false) => "no",
                None => "",
            };
            let beside = |figure: Option<f64>| figure.map_or(String::new(), number);
            let (floor_text, rows) = (beside(floor), beside(self.rows.get(name).copied()));
            let ratio = floor.map_or(String::new(), |floor| format!("{:.2}", product / floor));
            let line = format!(
                "{label:<38} {floor_text:>10} {rows:>10} {:>10} {ratio:>6}  {:<12} {reached}",
                number(product),
                goal.text()
            );
            let _ = writeln!(out, "{}", line.trim_end());
        }
        for sentence in &self.missing {
            let _ = writeln!(out, "{sentence}");
        }
        out
    }

    pub(super) fn json(&self) -> Value {
        let reached = |name: &str| {
            let (_, _, goal) = ROWS.iter().find(|(known, _, _)| *known == name)?;
            goal.is_met(self.floor.get(name).copied(), *self.product.get(name)?)
        };
        let figures: Vec<Value> = self
            .product
            .iter()
            .map(|(name, product)| {
                let floor = self.floor.get(name);
                json!({
                    "figure": name, "floor": floor, "rows": self.rows.get(name), "product": product,
                    "ratio": floor.map(|floor| product / floor), "reached": reached(name),
                })
            })
            .collect();
        json!({ "machine": self.machine, "figures": figures, "missing": self.missing })
    }
}

fn number(value: f64) -> String {
    if value < 100.0 {
        format!("{value:.2}")
    } else {
        format!("{value:.0}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_asks_for_the_ratio_and_for_the_number() {
        for (goal, floor, product, met) in [
            (Goal::PerSecond(Some(2_500.0)), 6_000.0, 3_000.0, true),
            (Goal::PerSecond(Some(2_500.0)), 6_000.0, 2_900.0, false),
            (Goal::PerSecond(Some(2_500.0)), 4_000.0, 2_400.0, false),
            (Goal::Within(Some(10.0)), 1.0, 2.0, true),
            (Goal::Within(Some(10.0)), 1.0, 2.1, false),
            (Goal::Within(Some(10.0)), 9.0, 11.0, false),
            (Goal::AtLeast(20.0), 0.0, 20.0, true),
            (Goal::AtLeast(20.0), 0.0, 19.9, false),
            (Goal::AtMost(50.0), 0.0, 50.0, true),
            (Goal::AtMost(50.0), 0.0, 50.1, false),
        ] {
            assert_eq!(
                goal.is_met(Some(floor), product),
                Some(met),
                "{goal:?} {floor} {product}"
            );
        }
    }

    #[test]
    fn what_was_not_measured_is_said_and_never_shown_as_a_figure() {
        let report = Report {
            floor: Figures::new(),
            rows: Figures::new(),
            product: Figures::from([("start_up_ms".to_owned(), 250.0)]),
            machine: "a machine".to_owned(),
            missing: vec!["the window was not measured".to_owned()],
        };
        let text = report.text();
        assert!(text.contains("start-up, ms") && text.contains("250"));
        assert!(text.contains("the window was not measured") && !text.contains("page"));
    }
}
