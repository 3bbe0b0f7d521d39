//! The commands as the page calls them, names and JSON in and JSON out, with a whole console below.

#![allow(clippy::unwrap_used, clippy::panic)]

mod critical;
mod earlier;
mod exports;
mod history;
mod kept;
mod overview;
mod practice;
mod rules;
mod searches;
mod traces;

use std::time::Duration;

use countersign_core::{App, Options};
use countersign_testkit::TempData;
use countersign_view::OtlpView;
use countersign_wire::{AgentKey, args_digest};
use serde_json::json;

use super::*;
use countersign_view::Production;

const LIMIT: Duration = Duration::from_secs(15);

/// The page's side of a console.
struct Page {
    desk: Desk,
    data: TempData,
}

impl Page {
    async fn open() -> Self {
        Self::on(TempData::new()).await
    }

    async fn on(data: TempData) -> Self {
        let options = Options::embedded(data.path().to_owned(), "Ada", "acme".parse().unwrap());
        let app = App::start(options).await.unwrap();
        let mut done = app.caught_up();
        let caught_up = tokio::time::timeout(LIMIT, done.wait_for(|done| *done)).await;
        caught_up.unwrap().unwrap();
        let otlp = OtlpView {
            http: None,
            grpc: None,
            allow_remote: false,
            require_token: false,
            export: None,
        };
        Self {
            desk: Desk::new(app, None, (otlp, None), Production::ByName),
            data,
        }
    }

    async fn close(self) -> TempData {
        self.desk.app.shutdown().await;
        self.data
    }

    async fn raw(&self, name: &str, args: Value) -> Result<Value, IpcError> {
        let name = serde_json::from_value(json!(name)).unwrap();
        let answer = dispatch(&self.desk, name, args).await?;
        Ok(serde_json::from_str(&answer).unwrap())
    }

    async fn call(&self, name: &str, args: Value) -> Value {
        let answer = self.raw(name, args.clone()).await;
        answer.unwrap_or_else(|error| panic!("{name} {args}: {error:?}"))
    }

    /// The code of the error that the page must get.
    async fn code(&self, name: &str, args: Value) -> String {
        match self.raw(name, args.clone()).await {
            Ok(answer) => panic!("{name} {args} was answered: {answer}"),
            Err(error) => serde_json::to_value(error.code)
                .unwrap()
                .as_str()
                .unwrap()
                .to_owned(),
        }
    }

    async fn agent(&self, name: &str) -> Agent {
        let name: AgentKey = name.parse().unwrap();
        let enrolment = self.desk.app.enroll(&name).await.unwrap();
        let seed = enrolment.nkey_seed.reveal().to_owned();
        let client = async_nats::ConnectOptions::with_nkey(seed)
            .custom_inbox_prefix(&enrolment.inbox_prefix)
            .connect(&enrolment.nats_url)
            .await
            .unwrap();
        Agent { name, client }
    }

    /// Waits until `look` gives something.
    async fn until<T>(&self, what: &str, look: impl AsyncFn(&App) -> Option<T>) -> T {
        let wait = async {
            loop {
                if let Some(seen) = look(&self.desk.app).await {
                    return seen;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let seen = tokio::time::timeout(LIMIT, wait).await;
        seen.unwrap_or_else(|_| panic!("not in time: {what}"))
    }

    async fn in_state(&self, id: &str, state: &str) {
        let what = format!("{id} {state}");
        self.until(&what, async |app| {
            let line = app.find(id).await.ok()?;
            (line.state == state).then_some(())
        })
        .await;
    }
}

/// An agent that speaks the protocol by hand.
struct Agent {
    name: AgentKey,
    client: async_nats::Client,
}

impl Agent {
    async fn publish(&self, word: &str, id: &str, payload: Vec<u8>) {
        let AgentKey { workspace, agent } = &self.name;
        let subject = format!("countersign.v1.{word}.{workspace}.{agent}.{id}");
        let reply = self.client.request(subject, payload.into()).await.unwrap();
        let reply: Value = serde_json::from_slice(&reply.payload).unwrap();
        assert!(reply["seq"].is_u64(), "{reply}");
    }

    /// A call of a minute; `change` writes over its fields.
    async fn ask(&self, id: &str, (tool, risk): (&str, &str), change: Value) {
        let args = json!({"invoice": id, "note": format!("about {id}")});
        let mut request = json!({
            "v": 1, "kind": "tool_call", "request_id": id, "workspace": self.name.workspace,
            "agent": {"name": self.name.agent}, "tool": {"name": tool}, "args": args,
            "args_digest": args_digest(&args).unwrap().to_string(), "risk": risk,
            "allowed_verdicts": ["approve", "deny"], "requested_at": "2026-11-21T12:00:00.000Z",
            "expires_at": "2026-11-21T12:01:00.000Z",
        });
        let fields = request.as_object_mut().unwrap();
        fields.extend(change.as_object().cloned().unwrap_or_default());
        self.publish("request", id, request.to_string().into_bytes())
            .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_of_another_shape_are_refused_and_say_so() {
    let page = Page::open().await;
    for (name, args) in [
        ("history_page", json!({"filter": {"risk": "enormous"}})),
        ("history_page", json!({"filter": {"state": "gone"}})),
        ("history_page", json!({"after": "the first"})),
        ("history_page", json!(null)),
        ("save_search", json!({"name": "no filter"})),
        ("forget_search", json!({})),
        (
            "overview",
            json!({"sinceMs": 0, "untilMs": 1, "pieces": -1, "workspace": null}),
        ),
        ("traces_page", json!({"before": "0"})),
        ("trace_tree", json!({"key": 1})),
        ("span", json!({"span": "1"})),
        ("span_raw", json!({"key": "span:1", "offset": -1})),
    ] {
        assert_eq!(
            page.code(name, args.clone()).await,
            "usage",
            "{name} {args}"
        );
    }
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_slowdown_of_haste_is_on_until_it_is_turned_off_and_the_log_says_so() {
    let page = Page::open().await;
    let control =
        async |on: Value| page.call("haste_brake", json!({ "on": on })).await["on"].clone();
    assert_eq!(control(json!(null)).await, true);
    assert_eq!(control(json!(false)).await, false);
    assert_eq!(control(json!(false)).await, false);
    assert_eq!(control(json!(null)).await, false);
    let log = page.desk.app.audit_after(0, 1_000).await.unwrap();
    let rows = log.iter().filter(|row| row.action == "haste_brake");
    let rows: Vec<_> = rows.map(|row| row.detail.as_str()).collect();
    assert_eq!(rows, [r#"{"on":false}"#]);
    page.close().await;
}
