//! One sentence about what will happen, made of the arguments.

use std::collections::BTreeMap;

use crate::amounts::with_unit;
use crate::call::Call;
use crate::command::{Line, scripts};
use crate::leaf::Leaf;
use crate::past::shown;
use crate::role::{Role, role};

/// The console's own sentence; none where it cannot be sure.
#[must_use]
pub fn effect(call: &Call<'_>) -> Option<String> {
    mail(call)
        .or_else(|| payment(call))
        .or_else(|| crate::sql::effect(call))
        .or_else(|| command(call))
}

/// "Sends 1 mail to 1 address at hallberg.example, with a hidden copy to freemail.example".
fn mail(call: &Call<'_>) -> Option<String> {
    if !call.tool_is("mail email gmail") || !call.tool_is("send") {
        return None;
    }
    let hosts = |hidden: bool| {
        let mut found: BTreeMap<String, usize> = BTreeMap::new();
        let here = |leaf: &&Leaf<'_>| match hidden {
            true => leaf.named("bcc"),
            false => leaf.named("to cc recipient recipients"),
        };
        for leaf in call.leaves.iter().filter(here) {
            if let Some(Role::Mails(mails)) = role(leaf, call) {
                mails
                    .iter()
                    .for_each(|mail| *found.entry(mail.host.clone()).or_default() += 1);
            }
        }
        found
    };
    let (open, hidden) = (hosts(false), hosts(true));
    let count: usize = open.values().sum();
    let addresses = if count == 1 {
        "1 address".to_owned()
    } else {
        format!("{count} addresses")
    };
    let names = |hosts: &BTreeMap<String, usize>| {
        hosts
            .keys()
            .take(3)
            .map(|host| shown(host))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let copy = match hidden.is_empty() {
        true => String::new(),
        false => format!(", with a hidden copy to {}", names(&hidden)),
    };
    (count > 0).then(|| format!("Sends 1 mail to {addresses} at {}{copy}", names(&open)))
}

/// "Pays 12,490.00 EUR to Hallberg Maschinen GmbH".
fn payment(call: &Call<'_>) -> Option<String> {
    if !call.tool_is("pay payment transfer payout") {
        return None;
    }
    let mut amounts = call
        .leaves
        .iter()
        .filter_map(|leaf| match role(leaf, call) {
            Some(Role::Amount(amount)) => Some((leaf, amount)),
            _ => None,
        });
    let (Some((leaf, amount)), None) = (amounts.next(), amounts.next()) else {
        return None;
    };
    let payee = call
        .leaves
        .iter()
        .find(|leaf| matches!(role(leaf, call), Some(Role::Payee(_))));
    let unit = crate::amounts::unit(leaf, call)?;
    Some(format!(
        "Pays {} to {}",
        shown(&with_unit(amount, &unit)),
        shown(payee?.text()?)
    ))
}

/// "Runs npm, find -delete, rm".
fn command(call: &Call<'_>) -> Option<String> {
    let scripts = scripts(call);
    let [(_, _, script)] = scripts.as_slice() else {
        return None;
    };
    if script.unreadable.is_some() {
        return None;
    }
    let mut names: Vec<String> = Vec::new();
    for line in crate::command::lines(script) {
        let known = line.command.words.first().is_none_or(|word| !word.dynamic);
        if !known {
            return None;
        }
        let name = named(&line);
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    (!names.is_empty()).then(|| {
        format!(
            "Runs {}",
            names
                .iter()
                .map(|name| shown(name))
                .collect::<Vec<_>>()
                .join(", ")
        )
    })
}

fn named(line: &Line<'_>) -> String {
    let deletes = line.name == "find" && line.words.iter().any(|word| word.text == "-delete");
    if deletes {
        "find -delete".to_owned()
    } else {
        line.name.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::effect;
    use crate::call::Call;
    use serde_json::json;

    #[test]
    fn what_will_happen_is_one_sentence() {
        for (tool, args, sentence) in [
            (
                "send_mail",
                json!({"to": "a@hallberg.example", "bcc": "x@freemail.example"}),
                "Sends 1 mail to 1 address at hallberg.example, with a hidden copy to freemail.example",
            ),
            (
                "pay_invoice",
                json!({"payee": "Hallberg Maschinen GmbH", "amount": 12490, "currency": "EUR"}),
                "Pays 12,490.00 EUR to Hallberg Maschinen GmbH",
            ),
            (
                "db.migrate",
                json!({"migration": "ALTER TABLE o ADD COLUMN n text; DROP TABLE order_events_v1; CREATE TABLE e (id bigint)"}),
                "Creates 1 table, alters 1, drops 1: order_events_v1",
            ),
            (
                "query",
                json!({"sql": "UPDATE orders SET paid = true WHERE id = 4; SELECT 1"}),
                "Changes rows of orders, reads",
            ),
            (
                "bash",
                json!({"command": "npm ci && find . -name x -delete; rm a"}),
                "Runs npm, find -delete, rm",
            ),
        ] {
            assert_eq!(effect(&Call::new(tool, &args)).as_deref(), Some(sentence));
        }
        for (tool, args) in [
            ("bash", json!({"command": "$X a"})),
            ("pay", json!({"amount": 1, "fee": 2})),
            (
                "query",
                json!({"sql": "SELECT 1; GRANT ALL ON t TO PUBLIC"}),
            ),
            ("query", json!({"sql": "SELEC T FRM"})),
            ("think", json!({})),
        ] {
            assert_eq!(effect(&Call::new(tool, &args)), None);
        }
    }
}
