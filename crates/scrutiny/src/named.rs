//! What the values of a call name, by the same reading as the findings.

use crate::call::Call;
use crate::role::{Role, is_command, is_sql_name, role};
use crate::{net, safeguard};

/// What a value names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    /// One mail address, or several in one text.
    Mail,
    /// A host, by itself or of a URL.
    Host,
    /// A bank account, VAT id or wallet.
    Account,
    /// Whom a payment is for.
    Payee,
    /// Environment, context, cluster, branch, database, namespace.
    Where,
    /// A path, a pattern of paths or a range of addresses.
    Path,
    /// How much.
    Amount,
    /// A check that is on.
    CheckOn,
    /// A shell command.
    Command,
    /// A statement of SQL.
    Sql,
}

/// The values that name something, as JSON pointers, in the order of the arguments.
#[must_use]
pub fn named(call: &Call<'_>) -> Vec<(String, Names)> {
    let found = call.leaves.iter().filter_map(|leaf| {
        let names = match role(leaf, call) {
            Some(Role::Mails(_)) => Names::Mail,
            Some(Role::Host(host)) if net::is_loopback(&host) => return None,
            Some(Role::Host(_)) => Names::Host,
            Some(Role::Account(_)) => Names::Account,
            Some(Role::Payee(_)) => Names::Payee,
            Some(Role::Where(_)) => Names::Where,
            Some(Role::Path(_)) => Names::Path,
            Some(Role::Amount(_)) => Names::Amount,
            None if safeguard::is_off(leaf) == Some(false) => Names::CheckOn,
            None if is_command(leaf, call) && leaf.text().is_some() => Names::Command,
            None if is_sql_name(leaf) && leaf.text().is_some() => Names::Sql,
            None => return None,
        };
        Some((leaf.at.clone(), names))
    });
    found.collect()
}
