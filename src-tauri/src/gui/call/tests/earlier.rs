//! What a card tells of earlier calls of its tool.

use countersign_core::ops::rules::RulesChange;
use countersign_core::policy::read_file;
use countersign_wire::Verdict;
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

/// Whose earlier call a card compares with, who decided it, and whether that was this operator.
async fn compared(page: &Page, id: &str) -> (Value, String, Value) {
    page.in_state(id, "pending").await;
    let card = page
        .call("card", json!({"key": format!("acme/good/{id}")}))
        .await;
    let previous = &card["previous"];
    let by = previous["by"].as_array().unwrap().iter();
    let by: String = by.map(|part| part["text"].as_str().unwrap()).collect();
    (previous["agent"].clone(), by, previous["mine"].clone())
}

/// How many calls a card counts as approved.
async fn approved(page: &Page, id: &str) -> Value {
    let key = json!({"key": format!("acme/good/{id}")});
    page.call("tool_record", key).await["approved"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_counts_no_call_of_another_agent_and_compares_with_one_by_its_name_alone() {
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
    let other = (json!("acme/evil"), "rule auto-pay".to_owned(), json!(false));
    assert_eq!(compared(&page, "g1").await, other);
    assert_eq!(approved(&page, "g1").await, 0);
    decide(&page, "g1", Verdict::Approve, "looked at it").await;
    evil.ask("e2", low, json!({})).await;
    page.in_state("e2", "decided").await;
    good.ask("g2", low, json!({})).await;
    let own = (json!(null), "Ada".to_owned(), json!(true));
    assert_eq!(compared(&page, "g2").await, own);
    assert_eq!(approved(&page, "g2").await, 1);
    page.close().await;
}
