//! Earlier calls of its tool on a card, and what follows for an approval.

use countersign_core::ops::rules::RulesChange;
use countersign_core::policy::read_file;
use countersign_wire::{Verdict, args_digest};
use serde_json::{Value, json};

use super::Page;
use super::history::decide;

const RULES: &str = r#"
schema = 1
[[rule]]
id = "auto-pay"
effect = "approve"
expires_at = "2999-01-01T00:00:00Z"
tool = ["pay"]
agent = ["evil"]
"#;

/// Who approved the call that a card compares with; none where it has none.
async fn compared(page: &Page, id: &str) -> Option<String> {
    page.in_state(id, "pending").await;
    let card = page
        .call("card", json!({"key": format!("acme/good/{id}")}))
        .await;
    let compared = &card["compared"];
    (!compared.is_null()).then(|| text(&compared["by"]))
}

/// How many calls a card counts as approved.
async fn approved(page: &Page, id: &str) -> Value {
    let key = json!({"key": format!("acme/good/{id}")});
    page.call("tool_record", key).await["approved"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_counts_no_call_of_another_agent_and_compares_with_what_a_person_approved_alone() {
    let page = Page::open().await;
    let acme = "acme".parse().unwrap();
    let rules = read_file(RULES).unwrap();
    let change = RulesChange::Replace { rules, seen: None };
    page.desk.app.change_rules(&acme, &change).await.unwrap();
    let (evil, good) = (page.agent("acme/evil").await, page.agent("acme/good").await);
    let low = ("pay", "low");
    evil.ask("e1", low, json!({})).await;
    page.in_state("e1", "decided").await;
    good.ask("g1", low, json!({})).await;
    assert_eq!(compared(&page, "g1").await, None);
    assert_eq!(approved(&page, "g1").await, 0);
    decide(&page, "g1", Verdict::Approve, "looked at it").await;
    evil.ask("e2", low, json!({})).await;
    page.in_state("e2", "decided").await;
    good.ask("g2", low, json!({})).await;
    assert_eq!(compared(&page, "g2").await.as_deref(), Some("Ada"));
    assert_eq!(approved(&page, "g2").await, 1);
    page.close().await;
}

fn paying(payee: &str, iban: &str, body: &str) -> Value {
    let args = json!({"payee": payee, "iban": iban, "body": body});
    json!({"args_digest": args_digest(&args).unwrap().to_string(), "args": args})
}

/// It waits, and few others do: the first page has it too.
async fn row_of(page: &Page, key: &str) -> Value {
    let first = page.call("inbox_first", json!({})).await;
    let mut rows = first["rows"].as_array().unwrap().iter();
    assert!(rows.any(|row| row["key"] == key), "{first}");
    let list = page.call("inbox_snapshot", json!({})).await;
    let mut rows = list["rows"].as_array().unwrap().iter();
    rows.find(|row| row["key"] == key).unwrap().clone()
}

fn text(shown: &Value) -> String {
    let parts = shown.as_array().unwrap().iter();
    parts.map(|part| part["text"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_person_denied_is_compared_with_never_and_takes_the_way_of_high_risk_when_it_is_asked_again()
 {
    let page = Page::open().await;
    let good = page.agent("acme/good").await;
    let low = ("pay", "low");
    let bad = paying("Hallberg", "DE666", "Dear Ann\npay\nBye");
    good.ask("own", low, paying("Hallberg", "DE1", "Dear Ann\nsend\nBye"))
        .await;
    decide(&page, "own", Verdict::Approve, "").await;
    good.ask("other", low, paying("Nordwind", "DE2", "")).await;
    decide(&page, "other", Verdict::Approve, "").await;
    good.ask("bad", low, bad.clone()).await;
    page.in_state("bad", "pending").await;
    assert_eq!(row_of(&page, "acme/good/bad").await["deniedBefore"], false);
    decide(&page, "bad", Verdict::Deny, "wrong account").await;
    good.ask("again", low, bad).await;
    page.in_state("again", "pending").await;
    let key = json!({"key": "acme/good/again"});
    let card = page.call("card", key.clone()).await;
    let compared = &card["compared"];
    let differs = compared["differs"].as_array().unwrap().iter();
    let reported: Vec<_> = differs
        .map(|one| {
            let lines = one["lines"].as_array().unwrap().iter();
            let lines: Vec<_> = lines.map(|line| text(&line["text"])).collect();
            (text(&one["place"]), lines)
        })
        .collect();
    let lines = ["Dear Ann", "send", "pay", "Bye"].map(str::to_owned);
    let expected = [
        ("iban".to_owned(), vec![]),
        ("body".to_owned(), lines.to_vec()),
    ];
    assert_eq!(reported, expected);
    assert_eq!(
        (&compared["key"], &compared["same"]),
        (&json!("acme/good/own"), &json!(1))
    );
    // Told once.
    assert_eq!(card["warnings"], json!([]));
    let denied = &card["denied"];
    assert_eq!(denied["key"], "acme/good/bad");
    assert_eq!(
        (text(&denied["by"]), text(&denied["why"])),
        ("Ada".to_owned(), "wrong account".to_owned())
    );
    let found = &card["findings"][0];
    assert_eq!(
        (&found["code"], &found["weight"], text(&found["at"])),
        (&json!("denied_before"), &json!("stop"), "/iban".to_owned())
    );
    // The value of it is marked.
    let part = &card["args"][1]["value"][0];
    assert_eq!(part["mark"]["findings"][0], 0, "{card}");
    assert_eq!(
        (&card["reAsk"], &card["path"]),
        (&json!(null), &json!("high"))
    );
    let row = row_of(&page, "acme/good/again").await;
    assert_eq!(
        (&row["path"], &row["warned"], &row["deniedBefore"]),
        (&json!("high"), &json!(true), &json!(true))
    );
    // It is not held, as nothing of high risk is.
    let approval = json!({
        "key": "acme/good/again", "verdict": "approve", "seenRequestDigest": card["origin"]["requestDigest"],
        "seenArgsDigest": card["origin"]["argsDigest"], "edited": null, "seenEditDigest": null, "message": null,
        "answer": null, "typed": null, "revealed": [], "frontMs": 1_234,
    });
    assert_eq!(page.call("decide", approval).await["state"], "decided");
    page.in_state("again", "decided").await;
    let today = page.call("today", json!({"sinceMs": 0})).await;
    assert_eq!(
        (&today["decided"], &today["frontMs"]),
        (&json!(4), &json!(1_234))
    );
    let log = page.desk.app.audit_after(0, 10_000).await.unwrap();
    let looked = log
        .iter()
        .filter(|row| row.detail.contains("\"front_ms\":1234"));
    let looked: Vec<_> = looked.map(|row| row.subject.as_str()).collect();
    assert_eq!(looked, ["acme/good/again"]);
    page.close().await;
}
