//! One agent's flood of requests that are none, and the way out of it.

use countersign_core::{App, Options};
use countersign_testkit::{PlainServer, TempData};
use countersign_wire::Verdict;

use crate::agent::{
    Agent, Desk, caught_up, colleague_options, in_state, listed, options, until, verdict,
};

const FLOOD: u64 = 4_000;
const STREAM: &str = "CS_REQUESTS";

async fn flood(desk: &Desk, evil: &Agent) {
    let bus = desk.app.bus().unwrap();
    let before = bus.last_sequence(STREAM).await.unwrap();
    for number in 0..FLOOD {
        let subject = evil.subject("request", &format!("f{number}"));
        evil.client.publish(subject, "{}".into()).await.unwrap();
    }
    until("the bus has it", || async {
        bus.last_sequence(STREAM).await.unwrap() == before + FLOOD
    })
    .await;
}

async fn purges(app: &App) -> usize {
    let rows = app.audit_after(0, i64::MAX).await.unwrap();
    rows.iter().filter(|row| row.action == "purge").count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_purge_ends_a_flood_everywhere_and_costs_nobody_else_a_request() {
    let desk = Desk::open().await;
    let (evil, good) = (desk.agent("evil").await, desk.agent("good").await);
    let before = good.ask(&good.request("before")).await;
    evil.ask(&evil.request("waits")).await;
    listed(&desk.app, "waits").await;
    flood(&desk, &evil).await;
    let bus = desk.app.bus().unwrap();
    let last = bus.last_sequence(STREAM).await.unwrap();
    let sampled = bus.sampled(STREAM, 3, last, 16).await.unwrap();
    assert_eq!(sampled.len(), 16);
    assert!(
        sampled
            .values()
            .all(|subject| subject.contains("acme.evil"))
    );

    let data = TempData::new();
    // What it waits for before it says that it knows the past is removed.
    let joining = App::start(colleague_options(&desk, &data, "Bob"))
        .await
        .unwrap();
    let purged = desk.app.purge(&evil.enrolment.agent_key()).await.unwrap();
    assert_eq!((purged.removed, purged.revoked), (FLOOD + 1, true));
    caught_up(&joining).await;
    let ended = in_state(&desk.app, "waits", "decided").await;
    assert_ne!(ended.verdict.as_deref(), Some("approve"));
    assert_eq!(purges(&desk.app).await, 1);

    let sampled = bus.sampled(STREAM, 1, last, 16).await.unwrap();
    assert_eq!(
        sampled.into_values().collect::<Vec<_>>(),
        [good.subject("request", "before")]
    );
    let after = good.ask(&good.request("after")).await;
    for key in [&before, &after] {
        listed(&joining, &key.to_string()).await;
        match joining.decide(verdict(key, Verdict::Deny)).await {
            // Everything that the flood cost is still being written: it is sent automatically.
            Ok(_) => {}
            Err(error) if error.is_queued() => {}
            Err(error) => panic!("{error}"),
        }
        in_state(&desk.app, &key.to_string(), "decided").await;
    }
    joining.shutdown().await;
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_purge_that_the_bus_does_not_carry_out_is_in_the_audit_log_too() {
    let server = PlainServer::start_with(
        "accounts { HOUSE { jetstream: enabled, users: [{ user: all, password: all, permissions: {\n\
         publish: { allow: \">\", deny: \"$JS.API.STREAM.PURGE.>\" } } }] } }\n\
         no_auth_user: all",
    )
    .await;
    let data = TempData::new();
    let outside = Options {
        nats_url: Some(server.url().to_owned()),
        allow_single_account: true,
        ..options(&data)
    };
    let app = App::start(outside).await.unwrap();
    caught_up(&app).await;
    let client = async_nats::connect(server.url()).await.unwrap();
    let subject = "countersign.v1.request.acme.evil.r1";
    client.request(subject, "{}".into()).await.unwrap();
    let refused = app.purge(&"acme/evil".parse().unwrap()).await;
    assert!(refused.is_err(), "{refused:?}");
    assert_eq!(purges(&app).await, 1);
    app.shutdown().await;
}
