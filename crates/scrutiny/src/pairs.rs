//! A payee and the account that it comes with.

use std::collections::BTreeMap;

use crate::call::Call;
use crate::facts::Kind;
use crate::finding::{Code, Finding, Weight};
use crate::leaf::Leaf;
use crate::past::Past;
use crate::role::{Role, role};

/// How often a payee must have come with one account.
const ENOUGH: u32 = 3;

pub(crate) struct Pair<'a> {
    pub(crate) place: String,
    pub(crate) at: &'a str,
    payee: String,
    /// The payee as the call has it.
    written: &'a str,
    account: String,
}

impl Pair<'_> {
    pub(crate) fn key(&self) -> String {
        format!("{}\u{1f}{}", self.payee, self.account)
    }
}

/// The pairs of a call: the nearest payee of each account.
pub(crate) fn of<'a>(call: &'a Call<'_>) -> Vec<Pair<'a>> {
    let payees: Vec<(&Leaf<'_>, String)> = call
        .leaves
        .iter()
        .filter_map(|leaf| match role(leaf, call) {
            Some(Role::Payee(payee)) => Some((leaf, payee)),
            _ => None,
        })
        .collect();
    let mut found = Vec::new();
    for leaf in &call.leaves {
        let account = match role(leaf, call) {
            Some(Role::Account(account)) => account,
            // Anybody of a company may be written to: its domain is what stays.
            Some(Role::Mails(mails))
                if mails.len() == 1 && leaf.place.matches('*').count() == 0 =>
            {
                mails[0].host.clone()
            }
            _ => continue,
        };
        let same = |other: &&Leaf<'_>| matches!((other.inside, leaf.inside), (Some(one), Some(two)) if std::ptr::eq(one, two));
        let beside = payees.iter().find(|(other, _)| same(other));
        let only = payees.first().filter(|_| payees.len() == 1);
        if let Some((of, payee)) = beside.or(only) {
            found.push(Pair {
                place: format!("{} {}", of.place, leaf.place),
                at: &leaf.at,
                payee: payee.clone(),
                written: of.text().unwrap_or_default(),
                account,
            });
        }
    }
    found
}

/// Payees that always had one account and now have another.
pub(crate) fn broken(call: &Call<'_>, past: &Past) -> Vec<Finding> {
    let mut found = Vec::new();
    for pair in of(call) {
        let start = format!("{}\u{1f}", pair.payee);
        let known: BTreeMap<&str, u32> = past
            .at(Kind::Pair, &pair.place)
            .filter_map(|(value, habit)| Some((value.strip_prefix(&start)?, habit.approved)))
            .collect();
        let (1, Some((account, calls))) = (known.len(), known.iter().next()) else {
            continue;
        };
        if *calls >= ENOUGH && *account != pair.account {
            found.push(Finding {
                code: Code::PairBroken,
                weight: Weight::Stop,
                at: pair.at.to_owned(),
                message: format!(
                    "{} had {} in all {calls} earlier calls; this call has {}.",
                    past.shown(pair.written),
                    past.shown(account),
                    past.shown(&pair.account)
                ),
            });
        }
    }
    found
}
