//! Several operators, each with a folder of their own, on one bus.

use serde_json::{Value, json};
use sqlx::{Connection, SqliteConnection};

use crate::desk::{Agent, Console, Desk};

struct Round {
    ada: Desk,
    grace: Desk,
    agent: Agent,
    _console: Console,
}

/// Ada's console runs; Grace only gives commands, on Ada's bus.
async fn round() -> Round {
    let ada = Desk::new().with("COUNTERSIGN_OPERATOR", "Ada");
    let console = Console::start(&ada);
    let agent = Agent::connect(console.agent_json()).await;
    let login = ada.path().join("keys/login.nk");
    let grace = Desk::new()
        .with("COUNTERSIGN_OPERATOR", "Grace")
        .with("COUNTERSIGN_NATS_URL", console.url())
        .with("COUNTERSIGN_NATS_NKEY", login.display().to_string());
    Round {
        ada,
        grace,
        agent,
        _console: console,
    }
}

impl Round {
    async fn ask(&self, id: &str, required: u8) {
        let request = self
            .agent
            .request(id)
            .set("approvals_required", json!(required));
        self.agent.ask(&request).await;
        self.ada.show_in_state(id, "pending");
    }
}

fn approvals(required: u8, given: u8, mine: bool) -> Value {
    json!({ "required": required, "given": given, "apart": 0, "mine": mine })
}

#[tokio::test]
async fn the_first_vote_is_stored_and_the_last_one_decides() {
    let round = round().await;
    round.ask("r1", 2).await;
    assert_eq!(
        round.ada.json(&["inbox", "--json"])["approvals"],
        approvals(2, 0, false)
    );

    let voted = round
        .grace
        .json(&["approve", "r1", "--message", "fine", "--json"]);
    assert_eq!(
        (&voted["state"], &voted["verdict"]),
        (&json!("pending"), &Value::Null)
    );
    assert_eq!(voted["approvals"], approvals(2, 1, true));
    assert_eq!(voted["vote"]["verdict"], "approve");
    assert!(voted["vote"]["stream_seq"].is_u64() && voted["vote"]["vote_id"].is_string());

    let shown = round
        .ada
        .show_when("r1", |shown| shown["approvals"]["given"] == 1);
    assert_eq!(shown["approvals"], approvals(2, 1, false));
    let hidden = json!({
        "vote_id": null, "key": null, "name": null, "verdict": null, "args_digest": null,
        "stored_at": null, "stream_seq": null, "mine": false,
    });
    assert_eq!(
        shown["votes"],
        json!([hidden]),
        "the second must not see the first verdict"
    );
    let text = round.ada.run(&["show", "r1"]).success().out;
    assert!(
        text.contains("1 of 2, you have not voted") && !text.contains("Grace"),
        "{text}"
    );

    let again = round.grace.run(&["approve", "r1"]);
    assert_eq!(again.code, 4, "{again:?}");
    assert!(again.err.contains("voted"), "{again:?}");

    let decided = round.ada.json(&["approve", "r1", "--json"]);
    assert_eq!(
        (&decided["state"], &decided["verdict"]),
        (&json!("decided"), &json!("approve"))
    );
    let decision = round.agent.decision("r1").await.unwrap();
    assert_eq!(decision["message"], "fine");
    assert_eq!(decision["votes"].as_array().unwrap().len(), 2);
    let votes = round.ada.json(&["show", "r1", "--json"])["votes"].clone();
    let names: Vec<&Value> = votes
        .as_array()
        .unwrap()
        .iter()
        .map(|vote| &vote["name"])
        .collect();
    assert_eq!(names, ["Grace", "Ada"]);
    let reported = round.ada.json(&["audit", "verify", "--json"]);
    assert_eq!(reported["ok"], true, "{reported}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_vote_whose_bytes_were_changed_removed_or_slipped_in_is_named() {
    let round = round().await;
    round.ask("r1", 3).await;
    for desk in [&round.ada, &round.grace] {
        desk.run(&["approve", "r1"]).success();
    }
    let shown = round
        .ada
        .show_when("r1", |shown| shown["approvals"]["given"] == 2);
    let verified = round.ada.json(&["audit", "verify", "--json"]);
    assert_eq!(verified["ok"], true, "{verified}");
    let key = shown["votes"][0]["key"].as_str().unwrap();
    let file = format!(
        "sqlite://{}",
        round.ada.path().join("countersign.db").display()
    );
    let mut store = SqliteConnection::connect(&file).await.unwrap();
    // Each with what takes it back; the last one stays.
    for (change, back, reason) in [
        (
            "INSERT INTO votes(ws, agent, request_id, key, payload, stream_epoch, stream_seq, at, mine)
             VALUES ('default', 'local', 'r9', ?, x'7b7d', 'e', 1, 1, 0)",
            "DELETE FROM votes WHERE request_id = 'r9' AND key = ?",
            "no audit row",
        ),
        (
            "UPDATE votes SET payload = CAST(payload || ' ' AS BLOB) WHERE key = ?",
            "UPDATE votes SET payload = substr(payload, 1, length(payload) - 1) WHERE key = ?",
            "bytes",
        ),
        ("DELETE FROM votes WHERE key = ?", "SELECT ?", "gone"),
    ] {
        sqlx::query(change).bind(key).execute(&mut store).await.unwrap();
        let found = round.ada.run(&["audit", "verify", "--json"]);
        assert_eq!(found.code, 1, "{change}: {found:?}");
        let bad = found.lines().remove(0)["first_bad"].clone();
        assert_eq!(bad["table"], "votes", "{change}: {bad}");
        assert!(bad["reason"].as_str().unwrap().contains(reason), "{bad}");
        let request = if reason == "no audit row" { "r9" } else { "r1" };
        assert_eq!(bad["id"], format!("default/local/{request}/{key}"));
        sqlx::query(back).bind(key).execute(&mut store).await.unwrap();
    }
}

#[tokio::test]
async fn a_person_reads_how_many_votes_there_are_and_one_deny_ends_it() {
    let round = round().await;
    round.ask("r1", 3).await;
    let text = round.ada.run(&["approve", "r1"]).success().out;
    assert!(
        text.contains("your vote to approve default/local/r1") && text.contains("1 of 3"),
        "{text}"
    );
    let inbox = round.ada.run(&["inbox"]).success().out;
    assert!(inbox.contains("[1 of 3 votes, yours too]"), "{inbox}");
    let denied = round
        .grace
        .json(&["deny", "r1", "--message", "no", "--json"]);
    assert_eq!(
        (&denied["state"], &denied["verdict"]),
        (&json!("decided"), &json!("deny"))
    );
    assert_eq!(round.agent.decision("r1").await.unwrap()["verdict"], "deny");
}
