use std::time::Duration;

use countersign_wire::Verdict;

use crate::agent::{Desk, in_state, listed, verdict};
use crate::policy::{INVOICES, acme, apply};

const ROGUE: &str = r#"
[[rule]]
id = "rogue"
effect = "deny"
agent = ["rogue"]
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_console_whose_watch_over_the_policy_is_gone_decides_nothing_by_itself() {
    let desk = Desk::open().await;
    let (bot, rogue) = (desk.agent("bot").await, desk.agent("rogue").await);
    apply(&desk.app, &format!("{INVOICES}{ROGUE}")).await;
    bot.ask(&bot.request("before")).await;
    assert_eq!(bot.decision("before").await["origin"], "rule");

    let seed = desk.app.identity().login.seed().unwrap();
    let admin = async_nats::ConnectOptions::with_nkey(seed)
        .connect(desk.app.embedded_server().unwrap().url())
        .await
        .unwrap();
    let gone = admin
        .request("$JS.API.STREAM.DELETE.KV_CS_POLICY", "".into())
        .await
        .unwrap();
    let gone: serde_json::Value = serde_json::from_slice(&gone.payload).unwrap();
    assert_eq!(gone["success"], true, "{gone}");
    // Word from the bus that is older than three seconds does not count.
    tokio::time::sleep(Duration::from_millis(3_500)).await;
    let key = bot.ask(&bot.request("after")).await;
    rogue.ask(&rogue.request("denied")).await;
    for id in ["after", "denied"] {
        listed(&desk.app, id).await;
    }
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    for id in ["after", "denied"] {
        assert_eq!(listed(&desk.app, id).await.state, "pending", "{id}");
    }
    desk.app
        .decide(verdict(&key, Verdict::Approve))
        .await
        .unwrap();
    let row = in_state(&desk.app, "after", "decided").await;
    assert_eq!(
        row.origin.as_deref(),
        Some("operator"),
        "people still decide"
    );
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_in_the_shadow_writes_down_what_it_would_have_done_and_does_nothing() {
    let desk = Desk::open().await;
    let bot = desk.agent("bot").await;
    apply(
        &desk.app,
        &INVOICES.replace("tool =", "enabled = \"shadow\"\ntool ="),
    )
    .await;
    bot.ask(&bot.request("r1")).await;
    listed(&desk.app, "r1").await;
    crate::agent::until("it is written down", async || {
        let record = desk.app.rule_record(&acme(), "invoices").await.unwrap();
        (record.uses, record.shadows) == (0, 1)
    })
    .await;
    assert_eq!(listed(&desk.app, "r1").await.state, "pending");
    let rows = desk.app.audit_after(0, 1_000).await.unwrap();
    let reported: Vec<_> = rows.iter().filter(|row| row.action == "shadow").collect();
    assert_eq!(reported.len(), 1);
    assert!(
        reported[0].detail.contains("\"would\":\"approve\""),
        "{}",
        reported[0].detail
    );
    assert_eq!(desk.app.audit_verify(None).await.unwrap().first_bad, None);
    desk.app.shutdown().await;
}
