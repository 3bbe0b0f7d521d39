//! Amounts: what they are compared with, and how they are written.

use serde_json::{Map, Value};

use crate::call::Call;
use crate::leaf::{Leaf, among, snake};
use crate::role::{Role, role};

/// Unit, then unit with payee: an amount is compared within both.
pub(crate) fn keys(leaf: &Leaf<'_>, call: &Call<'_>) -> Vec<String> {
    let unit = unit(leaf, call).unwrap_or_default();
    let mut keys = vec![format!("{unit}\u{1f}")];
    if let Some(Role::Payee(payee)) = payee(leaf, call).and_then(|payee| role(payee, call)) {
        keys.push(format!("{unit}\u{1f}{payee}"));
    }
    keys
}

/// Currency or unit beside it, or of the call.
pub(crate) fn unit(leaf: &Leaf<'_>, call: &Call<'_>) -> Option<String> {
    // Pieces have no currency, also beside a price.
    let names = match leaf
        .has_word("quantity qty count replicas nodes instances seats copies shares size")
    {
        true => "unit uom units",
        false => "currency currency_code unit uom units",
    };
    let here = leaf.inside.and_then(|fields| unit_in(fields, names));
    here.or_else(|| unit_in(call.args.as_object()?, names))
}

fn unit_in(fields: &Map<String, Value>, names: &str) -> Option<String> {
    let named = |(name, _): &(&String, &Value)| among(names, &snake(name));
    let (_, value) = fields.iter().find(named)?;
    value.as_str().map(str::to_uppercase)
}

/// Whom the call is for: beside the amount, else in the call.
pub(crate) fn payee<'c>(leaf: &Leaf<'_>, call: &'c Call<'_>) -> Option<&'c Leaf<'c>> {
    let is_payee = |other: &&'c Leaf<'_>| matches!(role(other, call), Some(Role::Payee(_)));
    let beside = |other: &&'c Leaf<'_>| match (other.inside, leaf.inside) {
        (Some(one), Some(two)) => std::ptr::eq(one, two),
        _ => false,
    };
    let near = call.leaves.iter().filter(beside).find(is_payee);
    near.or_else(|| call.leaves.iter().find(is_payee))
}

/// 12,490.00 for money and fractions, 1,200 for other whole numbers.
pub(crate) fn written(amount: f64, money: bool) -> String {
    let text = if money || amount.fract() != 0.0 {
        format!("{amount:.2}")
    } else {
        format!("{amount:.0}")
    };
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let (sign, digits) = whole
        .strip_prefix('-')
        .map_or(("", whole), |digits| ("-", digits));
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{sign}{grouped}{rest}")
}

/// The amount with its unit.
pub(crate) fn with_unit(amount: f64, unit: &str) -> String {
    let money = unit.len() == 3 && unit.chars().all(|at| at.is_ascii_uppercase());
    let number = written(amount, money);
    if unit.is_empty() {
        number
    } else {
        format!("{number} {unit}")
    }
}
