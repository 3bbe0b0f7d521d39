//! An amount far above the largest so far.

use crate::amounts;
use crate::call::Call;
use crate::facts::Kind;
use crate::finding::{Code, Finding, Weight};
use crate::past::{Habit, Past};
use crate::role::{Role, role};

/// Calls of one payee, and of all, after which there is a largest.
const OF_PAYEE: u32 = 3;
const OF_ALL: u32 = 6;
/// Times the largest.
const LOOK: f64 = 4.0;
const STOP: f64 = 5.0;

pub(crate) fn found(call: &Call<'_>, past: &Past) -> Vec<Finding> {
    let mut found = Vec::new();
    for leaf in &call.leaves {
        let Some(Role::Amount(amount)) = role(leaf, call) else {
            continue;
        };
        let amount = amount.abs();
        let keys = amounts::keys(leaf, call);
        let enough = |habit: &&Habit, calls: u32| {
            habit.approved >= calls && habit.most.is_some_and(|most| most > 0.0)
        };
        let of = |key: Option<&String>, calls| {
            past.get(Kind::Amount, &leaf.place, key?)
                .filter(|habit| enough(habit, calls))
        };
        let same = of(keys.get(1), OF_PAYEE);
        let Some((habit, payee)) = same
            .map(|habit| (habit, true))
            .or_else(|| Some((of(keys.first(), OF_ALL)?, false)))
        else {
            continue;
        };
        let Some(most) = habit.most else {
            continue;
        };
        if amount <= LOOK * most {
            continue;
        }
        let unit = amounts::unit(leaf, call).unwrap_or_default();
        let who = match amounts::payee(leaf, call).filter(|_| payee) {
            Some(payee) => format!(" for {}", past.shown(payee.text().unwrap_or_default())),
            None => String::new(),
        };
        found.push(Finding {
            code: Code::Beyond,
            weight: if amount >= STOP * most {
                Weight::Stop
            } else {
                Weight::Look
            },
            at: leaf.at.clone(),
            message: format!(
                "{} is {} times the largest of {} earlier calls{who}, {}.",
                past.shown(&amounts::with_unit(amount, &unit)),
                amounts::written((amount / most * 10.0).floor() / 10.0, false),
                habit.approved,
                past.shown(&amounts::with_unit(most, &unit))
            ),
        });
    }
    found
}
