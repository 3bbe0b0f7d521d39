//! Payments.

use crate::amounts;
use crate::call::Call;
use crate::facts::Kind;
use crate::past::Past;
use crate::role::{Role, role};
use crate::shown::shown;
use crate::written::{with_unit, written};

/// "Pays 12,490.00 EUR to Hallberg Maschinen GmbH; the largest before was 2,310.00": to the same payee, else to all.
pub(super) fn payment(call: &Call<'_>, past: &Past) -> Option<String> {
    const PAYS: &str =
        "pay pays payment payments transfer transfers payout payouts remit remittance";
    const NOT: &str = "refund cancel void reverse update delete schedule approve";
    if !call.tool_is(PAYS) || call.tool_is(NOT) || call.only_reads() {
        return None;
    }
    let mut found = call
        .leaves
        .iter()
        .filter_map(|leaf| match role(leaf, call) {
            Some(Role::Amount(amount)) => Some((leaf, amount)),
            _ => None,
        });
    let (Some((leaf, amount)), None) = (found.next(), found.next()) else {
        return None;
    };
    let payee = amounts::payee(leaf, call)?.text()?;
    let unit = amounts::unit(leaf, call)?;
    let parts = if leaf.has_word("cents cent minor pence") {
        100.0
    } else {
        1.0
    };
    let keys = amounts::keys(leaf, call);
    let largest = |key: &String| past.get(Kind::Amount, &leaf.place, key)?.most;
    let before = match keys.iter().rev().find_map(largest) {
        Some(most) => format!("; the largest before was {}", written(most / parts, true)),
        None => String::new(),
    };
    let amount = shown(&with_unit(amount / parts, &unit));
    Some(format!("Pays {amount} to {}{before}", shown(payee)))
}
