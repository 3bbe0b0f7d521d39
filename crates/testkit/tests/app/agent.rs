//! An agent and a console for tests: the protocol by hand, independent of the code under test.

use std::time::Duration;

use async_nats::HeaderMap;
use countersign_core::bus::Credentials;
use countersign_core::domain::facts::{Alarm, RequestSummary};
use countersign_core::ops::DecideCommand;
use countersign_core::store::request_list::Filter;
use countersign_core::{App, Options};
use countersign_testkit::TempData;
use countersign_wire::{AgentKey, Enrolment, RequestKey, Verdict, args_digest};
use serde_json::{Value, json};

pub(crate) const LIMIT: Duration = Duration::from_secs(10);

pub(crate) struct Desk {
    pub(crate) data: TempData,
    pub(crate) app: App,
}

pub(crate) fn options(data: &TempData) -> Options {
    Options::embedded(data.path().to_owned(), "Ada", "acme".parse().unwrap())
}

impl Desk {
    pub(crate) async fn open() -> Self {
        Self::open_with(|_| {}).await
    }

    pub(crate) async fn open_with(change: impl FnOnce(&mut Options)) -> Self {
        let data = TempData::new();
        let mut options = options(&data);
        change(&mut options);
        let app = App::start(options).await.unwrap();
        caught_up(&app).await;
        Self { data, app }
    }

    pub(crate) async fn agent(&self, name: &str) -> Agent {
        let key: AgentKey = AgentKey {
            workspace: "acme".parse().unwrap(),
            agent: name.parse().unwrap(),
        };
        Agent::connect(self.app.enroll(&key).await.unwrap()).await
    }
}

/// Another console on the first one's bus, with the first one's login.
pub(crate) async fn colleague(desk: &Desk, data: &TempData, operator: &str) -> App {
    colleague_with(desk, data, operator, |_| {}).await
}

pub(crate) fn colleague_options(desk: &Desk, data: &TempData, operator: &str) -> Options {
    Options {
        nats_url: Some(desk.app.embedded_server().unwrap().url()),
        credentials: Credentials::NkeySeed(desk.app.identity().login.seed().unwrap()),
        operator: operator.into(),
        ..options(data)
    }
}

pub(crate) async fn colleague_with(
    desk: &Desk,
    data: &TempData,
    operator: &str,
    change: impl FnOnce(&mut Options),
) -> App {
    let mut options = colleague_options(desk, data, operator);
    change(&mut options);
    let app = App::start(options).await.unwrap();
    // Until it was let in.
    app.ready(LIMIT).await;
    caught_up(&app).await;
    app
}

/// The alarms that nobody has seen, but for those that say that a colleague joined.
pub(crate) async fn troubles(app: &App) -> Vec<Alarm> {
    let mut alarms = app.status().await.unwrap().alarms;
    alarms.retain(|alarm| alarm.code != "operator_joined");
    alarms
}

/// Waits until `holds` is true.
pub(crate) async fn until<F: Future<Output = bool>>(what: &str, holds: impl Fn() -> F) {
    let wait = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    assert!(
        tokio::time::timeout(LIMIT, wait).await.is_ok(),
        "not in time: {what}"
    );
}

pub(crate) async fn caught_up(app: &App) {
    let mut done = app.caught_up();
    tokio::time::timeout(LIMIT, done.wait_for(|done| *done))
        .await
        .unwrap()
        .unwrap();
}

pub(crate) struct Agent {
    pub(crate) enrolment: Enrolment,
    pub(crate) client: async_nats::Client,
}

impl Agent {
    pub(crate) async fn connect(enrolment: Enrolment) -> Self {
        let client = async_nats::ConnectOptions::with_nkey(enrolment.nkey_seed.reveal().to_owned())
            .custom_inbox_prefix(&enrolment.inbox_prefix)
            .connect(enrolment.nats_url.split(',').collect::<Vec<_>>())
            .await
            .unwrap();
        Self { enrolment, client }
    }

    pub(crate) fn key(&self, id: &str) -> RequestKey {
        self.enrolment
            .agent_key()
            .to_string()
            .parse::<AgentKey>()
            .map(|agent| RequestKey {
                workspace: agent.workspace,
                agent: agent.agent,
                request_id: id.parse().unwrap(),
            })
            .unwrap()
    }

    pub(crate) fn subject(&self, word: &str, id: &str) -> String {
        format!(
            "countersign.v1.{word}.{}.{}.{id}",
            self.enrolment.workspace, self.enrolment.agent
        )
    }

    /// A tool call of 60 s that honours every verdict.
    pub(crate) fn request(&self, id: &str) -> Value {
        let args = json!({"invoice_id": "INV-42"});
        json!({
            "v": 1, "kind": "tool_call", "request_id": id,
            "workspace": self.enrolment.workspace, "agent": {"name": self.enrolment.agent},
            "tool": {"name": "delete_invoice"}, "args": args,
            "args_digest": args_digest(&args).unwrap().to_string(), "risk": "medium",
            "allowed_verdicts": ["approve", "modify", "deny", "skip", "respond", "escalate", "terminate"],
            "requested_at": "2026-11-21T12:00:00.000Z", "expires_at": "2026-11-21T12:01:00.000Z",
        })
    }

    /// Publishes once; the sequence, or JetStream's error code.
    pub(crate) async fn publish(&self, subject: String, payload: Vec<u8>) -> Result<u64, u64> {
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Expected-Last-Subject-Sequence", "0");
        let reply = self
            .client
            .request_with_headers(subject, headers, payload.into())
            .await
            .unwrap();
        let reply: Value = serde_json::from_slice(&reply.payload).unwrap();
        // A refusal may have a sequence as well: 0.
        match reply["error"]["err_code"].as_u64() {
            Some(code) => Err(code),
            None => Ok(reply["seq"].as_u64().unwrap()),
        }
    }

    pub(crate) async fn ask(&self, request: &Value) -> RequestKey {
        let id = request["request_id"].as_str().unwrap();
        let payload = serde_json::to_vec(request).unwrap();
        self.publish(self.subject("request", id), payload)
            .await
            .unwrap();
        self.key(id)
    }

    /// The stored decision, by direct get, as soon as there is one.
    pub(crate) async fn decision(&self, id: &str) -> Value {
        let subject = format!(
            "$JS.API.DIRECT.GET.CS_DECISIONS.{}",
            self.subject("decision", id)
        );
        let wait = async {
            loop {
                let reply = self
                    .client
                    .request(subject.clone(), "".into())
                    .await
                    .unwrap();
                if reply.status.is_none() {
                    return serde_json::from_slice(&reply.payload).unwrap();
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(LIMIT, wait)
            .await
            .expect("a decision in time")
    }

    pub(crate) async fn receipt(&self, id: &str, decision_id: &str, stage: &str) {
        self.receipt_of(id, decision_id, stage, None).await;
    }

    pub(crate) async fn receipt_of(
        &self,
        id: &str,
        decision_id: &str,
        stage: &str,
        ran: Option<&str>,
    ) {
        let mut receipt = json!({
            "v": 1, "decision_id": decision_id, "stage": stage, "at": "2026-11-21T12:00:01.000Z",
        });
        if let Some(ran) = ran {
            receipt["executed_args_digest"] = json!(ran);
        }
        let payload = serde_json::to_vec(&receipt).unwrap();
        let reply = self
            .client
            .request(self.subject("receipt", id), payload.into())
            .await
            .unwrap();
        let reply: Value = serde_json::from_slice(&reply.payload).unwrap();
        assert!(reply["seq"].is_u64(), "{reply}");
    }
}

/// The request's line as soon as `holds` is true of it.
pub(crate) async fn line_when(
    app: &App,
    id: &str,
    holds: impl Fn(&RequestSummary) -> bool,
) -> RequestSummary {
    let wait = async {
        loop {
            if let Ok(row) = app.find(id).await
                && holds(&row)
            {
                return row;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    match tokio::time::timeout(LIMIT, wait).await {
        Ok(row) => row,
        Err(_) => panic!("not in time: {:?}", app.find(id).await),
    }
}

pub(crate) async fn listed(app: &App, id: &str) -> RequestSummary {
    line_when(app, id, |_| true).await
}

pub(crate) async fn in_state(app: &App, id: &str, state: &str) -> RequestSummary {
    line_when(app, id, |row| row.state == state).await
}

pub(crate) async fn inbox_ids(app: &App) -> Vec<String> {
    let rows = app.inbox(&Filter::default()).await.unwrap();
    rows.into_iter().map(|row| row.request_id).collect()
}

pub(crate) fn verdict(key: &RequestKey, verdict: Verdict) -> DecideCommand {
    DecideCommand::by_operator(key.clone(), verdict)
}
