//! The critical way: what must be typed before anything runs.

use countersign_wire::hello_subject;
use serde_json::{Value, json};

use super::{Agent, Page};

impl Agent {
    async fn introduce(&self, tools: Value) {
        let hello = json!({"v": 1, "instance_id": "i1", "agent": {"name": self.name.agent}, "tools": tools});
        let subject = hello_subject(&self.name);
        let sent = self.client.request(subject, hello.to_string().into());
        let stored: Value = serde_json::from_slice(&sent.await.unwrap().payload).unwrap();
        assert!(stored["seq"].is_u64(), "{stored}");
    }
}

async fn tool(page: &Page) -> Option<Value> {
    let agents = page.call("agents_list", json!({})).await;
    let tool = &agents["agents"][0]["tools"][0];
    (!tool.is_null()).then(|| tool["typed"].clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_value_that_an_operator_chose_lets_a_critical_call_run_and_of_an_edit_its_own() {
    let page = Page::open().await;
    let bot = page.agent("acme/bot").await;
    let schema = json!({"type": "object", "properties": {"invoice": {"type": "string"}, "note": {"type": "string"}}});
    bot.introduce(json!([{"name": "drop", "risk": "critical", "args_schema": schema}]))
        .await;
    let shown = async |_: &_| tool(&page).await;
    let first = page.until("the tool of the hello", shown).await;
    let offered = json!(["/invoice", "/note"]);
    assert_eq!(first, json!({"pointer": null, "offered": offered}));

    let verdicts = json!({"allowed_verdicts": ["approve", "modify", "deny"]});
    bot.ask("r1", ("drop", "critical"), verdicts).await;
    page.in_state("r1", "pending").await;
    let key = json!({"key": "acme/bot/r1"});
    let card = page.call("card", key.clone()).await;
    assert_eq!(card["target"], json!({"text": "drop", "pointer": null}));

    let choose = |pointer: Value| json!({"agent": "acme/bot", "tool": "drop", "pointer": pointer});
    for (args, code) in [
        (choose(json!("invoice")), "invalid_args"),
        (choose(json!("")), "invalid_args"),
        (
            choose(json!(format!("/{}", "x".repeat(256)))),
            "invalid_args",
        ),
        (
            json!({"agent": "acme/bot", "tool": "other", "pointer": "/invoice"}),
            "invalid_args",
        ),
    ] {
        assert_eq!(
            page.code("choose_target", args.clone()).await,
            code,
            "{args}"
        );
    }
    page.call("choose_target", choose(json!("/invoice"))).await;
    assert_eq!(tool(&page).await.unwrap()["pointer"], "/invoice");
    let card = page.call("card", key.clone()).await;
    assert_eq!(card["target"]["text"], "r1");

    let give = |verdict: &str, typed: &str, more: Value| {
        let mut args = json!({"key": "acme/bot/r1", "verdict": verdict, "seenRequestDigest": card["origin"]["requestDigest"],
            "seenArgsDigest": card["origin"]["argsDigest"], "edited": null, "seenEditDigest": null, "message": null, "answer": null,
            "typed": typed, "revealed": []});
        let fields = args.as_object_mut().unwrap();
        fields.extend(more.as_object().cloned().unwrap());
        args
    };
    for typed in ["drop", "r", "r1 ", ""] {
        let args = give("approve", typed, json!({}));
        assert_eq!(page.code("decide", args).await, "not_armed", "{typed}");
    }
    let edited = json!({"invoice": "r2", "note": "another one"}).to_string();
    let check = json!({"key": "acme/bot/r1", "json": edited});
    let check = page.call("check_edit", check).await;
    assert_eq!(check["target"]["text"], "r2");
    let edit = json!({"edited": edited, "seenEditDigest": check["argsDigest"]});
    let old = give("modify", "r1", edit.clone());
    assert_eq!(page.code("decide", old).await, "not_armed");
    let outcome = page.call("decide", give("modify", "r2", edit)).await;
    assert_eq!(outcome["verdict"], "modify");

    let rows = page.desk.app.audit_after(0, 1_000).await.unwrap();
    let chosen = rows.iter().filter(|row| row.action == "typed_target");
    let reported: Vec<Value> = chosen
        .map(|row| serde_json::from_str(&row.detail).unwrap())
        .collect();
    assert_eq!(reported, [json!({"tool": "drop", "pointer": "/invoice"})]);
    let data = page.close().await;
    let again = Page::on(data).await;
    assert_eq!(tool(&again).await.unwrap()["pointer"], "/invoice");
    again.call("choose_target", choose(Value::Null)).await;
    assert_eq!(tool(&again).await.unwrap()["pointer"], Value::Null);
    again.close().await;
}
