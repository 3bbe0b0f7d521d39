//! Amounts: what they are compared with, and how they are written.

use crate::call::Call;
use crate::inner;
use crate::leaf::Leaf;
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
    let is_unit = |other: &&Leaf<'_>| other.named(names);
    let here = inner::beside(call, leaf).find(is_unit);
    let top = || {
        call.leaves
            .iter()
            .find(|other| other.object.is_empty() && other.named(names))
    };
    here.or_else(top)?.text().map(str::to_uppercase)
}

/// Whom the call is for: beside the amount, else in the call.
pub(crate) fn payee<'c>(leaf: &Leaf<'_>, call: &'c Call<'_>) -> Option<&'c Leaf<'c>> {
    let is_payee = |other: &&'c Leaf<'_>| matches!(role(other, call), Some(Role::Payee(_)));
    let beside = |other: &&'c Leaf<'_>| other.object == leaf.object;
    let near = inner::values(call).filter(beside).find(is_payee);
    near.or_else(|| inner::values(call).find(is_payee))
}
