//! One line of the list of operators.

use countersign_core::ops::operators::{Listed, Origin};
use countersign_view::OperatorLine;
use countersign_wire::PublicKey;

use countersign_view::window::escape;
use countersign_view::window::key_tail;

/// As the screen shows it; `all` gives the keys of signers their names.
pub(crate) fn operator_line(of: &Origin, all: &[Origin]) -> OperatorLine {
    let line = &of.line;
    let is_own = |signer: &PublicKey| {
        let console = |key: &PublicKey| {
            let found = all.iter().find(|other| other.line.key == *key);
            found.and_then(|found| found.line.console.as_ref())
        };
        *signer == line.key || (line.console.is_some() && console(signer) == line.console.as_ref())
    };
    // The realm began with it: there was nobody to endorse it, nor its console's own key.
    let founder = all.first().map(|first| &first.line.key);
    let by = of
        .by
        .as_ref()
        .map(|key| match Some(key) == founder && *key == line.key {
            true => escape("founder of the realm"),
            false => escape(&named(all.iter().map(|other| &other.line), key.as_str())),
        });
    OperatorLine {
        name: escape(&line.name),
        key: line.key.to_string(),
        role: line.role,
        state: line.state.as_str().to_owned(),
        from_ms: line.from.0,
        until_ms: line.until.map(|until| until.0),
        mine: line.mine,
        workspaces: line
            .workspaces
            .as_ref()
            .map(|all| all.iter().map(ToString::to_string).collect()),
        max_risk: line.max_risk,
        by,
        joined: (of.by.as_ref()).is_some_and(|key| is_own(key) && Some(key) != founder),
        seen_ms: of.last_seen.map(|at| at.0),
    }
}

/// The name that the list has for a key, or the key's last characters.
fn named<'l>(mut lines: impl Iterator<Item = &'l Listed>, key: &str) -> String {
    let line = lines.find(|line| line.key.as_str() == key);
    line.map_or_else(|| format!("…{}", key_tail(key)), |line| line.name.clone())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use countersign_core::domain::Timestamp;
    use countersign_core::ops::operators::ListedState;
    use countersign_wire::{KeyRole, Risk};
    use nkeys::KeyPair;

    use super::*;

    fn key() -> PublicKey {
        PublicKey::of(&KeyPair::new_user()).unwrap()
    }

    fn origin(name: &str, key: &PublicKey, by: Option<&PublicKey>) -> Origin {
        Origin {
            line: Listed {
                key: key.clone(),
                name: name.to_owned(),
                role: KeyRole::Human,
                from: Timestamp(5),
                until: None,
                state: ListedState::InForce,
                mine: false,
                workspaces: Some(vec!["acme".parse().unwrap()]),
                max_risk: Some(Risk::Low),
                console: Some(format!("of {name}")),
            },
            by: by.cloned(),
            last_seen: Some(Timestamp(7)),
        }
    }

    #[test]
    fn who_entered_a_key_is_named_and_one_of_its_own_accord_is_marked() {
        let [maria, lena, gone] = [key(), key(), key()];
        let table = [
            (origin("lena\u{202e}", &lena, None), None, false),
            (
                origin("lena\u{202e}", &lena, Some(&lena)),
                Some("lena⟨U+202E⟩".to_owned()),
                true,
            ),
            (
                origin("lena", &lena, Some(&maria)),
                Some("maria".to_owned()),
                false,
            ),
            (
                origin("lena", &lena, Some(&gone)),
                Some(format!("…{}", key_tail(gone.as_str()))),
                false,
            ),
            // The own key of the founder's console, entered by its operator's.
            (
                origin("maria", &key(), Some(&maria)),
                Some("maria".to_owned()),
                false,
            ),
        ];
        for (of, by, joined) in table {
            let all = [origin("maria", &maria, Some(&maria)), of.clone()];
            let line = operator_line(&of, &all);
            let reported = (line.by.map(|by| by.plain()), line.joined);
            assert_eq!(reported, (by, joined));
            assert_eq!((line.from_ms, line.seen_ms), (5, Some(7)));
            let first = operator_line(&all[0], &all);
            let by = first.by.map(|by| by.plain());
            assert_eq!(
                (by.as_deref(), first.joined),
                (Some("founder of the realm"), false)
            );
        }
    }
}
