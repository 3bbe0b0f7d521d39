//! An enrolled agent sends what the client library cannot read: it stops nobody, and a person sees who does that.

use countersign_testkit::{AgentCredentials, RawAgent, UserKey};
use countersign_wire::Verdict;
use serde_json::json;

use crate::agent::{Agent, Desk, in_state, listed, until, verdict};

const HEADERS: &[u8] = b"NATS/1.0\r\nX: \xff\xfe\r\n\r\n";

async fn raw(agent: &Agent) -> RawAgent {
    let credentials = AgentCredentials {
        url: agent.enrolment.nats_url.clone(),
        workspace: agent.enrolment.workspace.to_string(),
        agent: agent.enrolment.agent.to_string(),
        key: UserKey {
            public: agent.enrolment.inbox_prefix.replacen("_INBOX_", "", 1),
            seed: agent.enrolment.nkey_seed.reveal().to_owned(),
        },
    };
    credentials.connect_raw().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_the_client_cannot_read_is_judged_like_any_other_and_its_agent_is_named() {
    let desk = Desk::open().await;
    let (agent, other) = (desk.agent("bot").await, desk.agent("other").await);
    let mut raw = raw(&agent).await;
    let request = serde_json::to_vec(&agent.request("odd")).unwrap();
    raw.store(
        agent.subject("request", "odd").as_bytes(),
        HEADERS,
        &request,
    )
    .await;
    let nameless = [agent.subject("request", "").as_bytes(), b"\xff\xfe"].concat();
    let seq = raw.store(&nameless, b"", &request).await;
    let key = other.ask(&other.request("plain")).await;
    listed(&desk.app, "plain").await;
    in_state(&desk.app, "odd", "pending").await;
    let row = in_state(&desk.app, &format!("rejected:{seq}"), "rejected").await;
    assert_eq!(row.error_code.as_deref(), Some("bad_subject"));
    for key in [key, agent.key("odd")] {
        let given = desk.app.decide(verdict(&key, Verdict::Approve)).await;
        assert!(given.is_ok(), "{key}: {given:?}");
    }
    let decision = agent.decision("odd").await;
    assert_eq!(decision["verdict"], "approve");

    // What agents report goes on too: a receipt, a hello and a span with such headers, and one after each.
    let receipt = json!({
        "v": 1, "decision_id": decision["decision_id"], "stage": "received", "at": "2026-11-21T12:00:01.000Z",
    });
    let subject = agent.subject("receipt", "odd");
    raw.store(subject.as_bytes(), HEADERS, receipt.to_string().as_bytes())
        .await;
    for word in ["hello", "event"] {
        let subject = format!("countersign.v1.{word}.acme.bot");
        raw.store(subject.as_bytes(), HEADERS, b"{").await;
    }
    let given = other.decision("plain").await;
    let id = given["decision_id"].as_str().unwrap();
    other.receipt("plain", id, "received").await;
    for id in ["odd", "plain"] {
        until(id, async || {
            !desk.app.show(id).await.unwrap().receipts.is_empty()
        })
        .await;
    }
    until("every stream is read", async || {
        let streams = desk.app.status().await.unwrap().streams;
        let mut all = streams.values();
        all.all(|at| at.projected_seq == at.last_seq.unwrap_or_default())
    })
    .await;
    let status = desk.app.status().await.unwrap();
    let reported: Vec<_> = status
        .alarms
        .iter()
        .map(|alarm| (&*alarm.code, &*alarm.subject))
        .collect();
    assert_eq!(reported, [("unreadable_message", "acme/bot")]);
    assert!(status.caught_up && status.connected);
    desk.app.shutdown().await;
}
