//! One line of the operators.

use countersign_core::ops::presence::LiveConsole;
use countersign_core::ops::realm::Listed;
use countersign_view::OperatorLine;

use countersign_view::window::escape;
use countersign_view::window::key_tail;

/// As the screen shows it; `consoles` are those that are there now.
pub(crate) fn operator_line(line: &Listed, consoles: &[LiveConsole]) -> OperatorLine {
    let founded = line.since == Some(1) && line.by.is_some();
    let by = line.by.as_ref().map(|key| match (founded, &line.by_name) {
        (true, _) => escape("founder of the realm"),
        (false, Some(name)) => escape(name),
        (false, None) => escape(&format!("…{}", key_tail(key))),
    });
    let mut live = consoles.iter();
    let live = live.find(|console| line.console.as_deref() == Some(console.id.as_str()));
    OperatorLine {
        name: escape(line.name.as_deref().unwrap_or_default()),
        key: line.key.clone(),
        role: line.role,
        state: line.state.as_str().to_owned(),
        admin: line.admin,
        from_ms: line.at.map(|at| at.0),
        until_ms: line.ended_at.map(|at| at.0),
        mine: line.mine,
        workspaces: line
            .workspaces
            .as_ref()
            .map(|all| all.iter().cloned().collect()),
        max_risk: line.max_risk,
        by,
        joined: line.by_itself,
        seen_ms: live.map(|console| console.heard_at.0),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use countersign_core::domain::Timestamp;
    use countersign_core::ops::realm::ListedState;
    use countersign_wire::{KeyRole, Risk};

    use super::*;

    fn listed(by: Option<(&str, Option<&str>)>, since: u64) -> Listed {
        Listed {
            key: "UAAAAABCDE".to_owned(),
            operator: "UAAAAABCDE".to_owned(),
            name: Some("lena\u{202e}".to_owned()),
            role: KeyRole::Human,
            state: ListedState::InForce,
            admin: false,
            workspaces: Some(["acme".to_owned()].into()),
            max_risk: Some(Risk::Low),
            device: None,
            since: Some(since),
            ended: None,
            by: by.map(|(key, _)| key.to_owned()),
            by_name: by.and_then(|(_, name)| name.map(str::to_owned)),
            by_itself: since == 3,
            ended_at: None,
            at: Some(Timestamp(5)),
            mine: false,
            console: Some("c1".to_owned()),
        }
    }

    #[test]
    fn who_let_a_key_in_is_named_and_whether_a_person_did() {
        let console = LiveConsole {
            id: "c1".parse().unwrap(),
            operator: "lena".to_owned(),
            heard_at: Timestamp(7),
            is_this: false,
        };
        let table = [
            (listed(None, 2), None, false),
            (
                listed(Some(("UKEY", Some("ada\u{202e}"))), 2),
                Some("ada⟨U+202E⟩"),
                false,
            ),
            (listed(Some(("UKEY", Some("ada"))), 3), Some("ada"), true),
            (listed(Some(("U7654321", None)), 2), Some("…4321"), false),
            (
                listed(Some(("UKEY", Some("ada"))), 1),
                Some("founder of the realm"),
                false,
            ),
        ];
        for (line, by, joined) in table {
            let shown = operator_line(&line, std::slice::from_ref(&console));
            assert_eq!(shown.by.map(|by| by.plain()).as_deref(), by);
            assert_eq!(shown.joined, joined);
            assert_eq!((shown.from_ms, shown.seen_ms), (Some(5), Some(7)));
            assert_eq!(shown.name.plain(), "lena⟨U+202E⟩");
        }
    }
}
