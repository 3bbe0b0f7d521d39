#![allow(clippy::unwrap_used)]

use super::*;

/// Fixed keys, so that the text is the same at each run.
fn key(byte: u8) -> String {
    nkeys::KeyPair::new_from_raw(nkeys::KeyPairType::User, [byte; 32])
        .unwrap()
        .public_key()
}

fn agent(workspace: &str, agent: &str, nkey: &str) -> AgentAccess {
    AgentAccess {
        workspace: workspace.into(),
        agent: agent.into(),
        nkey: nkey.into(),
    }
}

#[test]
fn an_agent_may_do_exactly_what_the_protocol_lists() {
    let permissions = agent("acme", "billing-bot", &key(1)).permissions().unwrap();
    assert_eq!(
        permissions.publish,
        [
            "countersign.v1.request.acme.billing-bot.*",
            "countersign.v1.withdraw.acme.billing-bot.*",
            "countersign.v1.tighten.acme.billing-bot.*",
            "countersign.v1.receipt.acme.billing-bot.*",
            "countersign.v1.event.acme.billing-bot",
            "countersign.v1.hello.acme.billing-bot",
            "countersign.v1.alive.acme.billing-bot",
            "$JS.API.DIRECT.GET.CS_DECISIONS.countersign.v1.decision.acme.billing-bot.*",
            "$JS.API.DIRECT.GET.CS_DECISIONS.countersign.v1.realm.*",
        ]
    );
    assert_eq!(
        permissions.subscribe,
        [
            "countersign.v1.decided.acme.billing-bot.*".to_owned(),
            format!("_INBOX_{}.>", key(1))
        ]
    );
}

#[test]
fn names_and_keys_outside_their_grammar_never_reach_the_configuration() {
    let key = key(1);
    let key = key.as_str();
    let damaged = format!("{}A", &key[..55]);
    for (workspace, name, key) in [
        ("", "a", key),
        ("*", "a", key),
        ("acme", ">", key),
        ("acme.x", "a", key),
        ("acme", "a b", key),
        ("acme", "a\"", key),
        ("Acme", "a", key),
        ("-acme", "a", key),
        ("acme", &"a".repeat(64), key),
        ("acme", "a", "U"),
        ("acme", "a", "*"),
        ("acme", "a", damaged.as_str()),
    ] {
        let error = agent(workspace, name, key).permissions().unwrap_err();
        assert_eq!(error.code(), "bus_bad_name", "{workspace} {name} {key}");
        assert!(permissions_block(&[], &[agent(workspace, name, key)]).is_err());
    }
    assert!(permissions_block(&["} }".to_owned().into()], &[]).is_err());
}

#[test]
fn the_block_for_an_outside_server_has_both_accounts() {
    let console = ConsoleAccess {
        nkey: key(2),
        whose: Some("console of ann\n{ nkey: no line of its own".to_owned()),
    };
    let block = permissions_block(&[console], &[agent("acme", "bot", &key(1))]).unwrap();
    let shown = block
        .replace(&key(1), "AGENT_KEY")
        .replace(&key(2), "CONSOLE_KEY");
    assert_eq!(shown, include_str!("permissions.conf"));
}
