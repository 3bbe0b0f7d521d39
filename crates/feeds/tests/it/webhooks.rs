use std::collections::HashSet;

use countersign_feeds::Desk as _;
use countersign_feeds::{Backlog, begin, events_of, secret, send_test};
use countersign_post::signature;
use serde_json::json;
use tokio::net::TcpSocket;

use crate::desk::{BEGIN, TestDesk, until};
use crate::receiver::Receiver;

fn settings(to: &Receiver, more: &str) -> String {
    format!(
        "[[feed]]\nname = \"soc\"\nkind = \"webhook\"\nurl = \"{}\"\nevents = [\"audit.alarm\"]\nretry_s = [0.05, 0.05]\nrest_s = [0.05, 0.1]\n{more}",
        to.url
    )
}

async fn alarms(desk: &TestDesk, subjects: impl IntoIterator<Item = String>) {
    let rows = subjects
        .into_iter()
        .map(|subject| ("alarm", subject, json!({ "code": "gate_open" })));
    desk.log_all(rows.collect()).await;
}

/// The clock goes on while something is waited for.
async fn until_in(desk: &TestDesk, mut holds: impl AsyncFnMut() -> bool) {
    until(async || {
        desk.pass(20);
        holds().await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_is_signed_and_its_cursor_is_kept() {
    let (desk, to) = (TestDesk::new().await, Receiver::start().await);
    let running = desk.start(&settings(&to, "")).await;
    alarms(&desk, ["acme/bot".to_owned()]).await;
    until_in(&desk, async || to.taken().len() == 1).await;
    let call = to.taken().remove(0);
    let secrets = [secret::current(desk.path(), "soc").unwrap()];
    let stamp: i64 = call.headers["webhook-timestamp"].parse().unwrap();
    assert_eq!(
        call.headers["webhook-signature"],
        signature(&secrets, call.id(), stamp, call.body.as_bytes())
    );
    assert!((BEGIN / 1_000..=desk.now() / 1_000).contains(&stamp));
    assert_eq!(call.headers["content-type"], "application/json");
    assert!(call.headers["user-agent"].starts_with("countersign/"));
    // While both count, both sign.
    let (new, _) = secret::rotate(desk.path(), "soc", desk.now()).unwrap();
    alarms(&desk, ["acme/bot".to_owned()]).await;
    until_in(&desk, async || to.taken().len() == 2).await;
    let call = to.taken().remove(1);
    let stamp: i64 = call.headers["webhook-timestamp"].parse().unwrap();
    let both = signature(
        &[new, secrets[0].clone()],
        call.id(),
        stamp,
        call.body.as_bytes(),
    );
    assert_eq!(call.headers["webhook-signature"], both);
    until_in(&desk, async || desk.row("soc").await.cursor == call.seq()).await;
    running.stop().await;
    // Nothing is sent twice by a start.
    let running = desk.start(&settings(&to, "")).await;
    alarms(&desk, ["acme/other".to_owned()]).await;
    until_in(&desk, async || to.taken().len() >= 3).await;
    assert_eq!(to.calls().len(), 3);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_event_is_dead_in_the_end_and_holds_up_no_other() {
    for status in [302, 400, 404, 422] {
        let (desk, to) = (TestDesk::new().await, Receiver::start().await);
        to.answers(move |call| match call.body.contains("acme/bad") {
            true => (status, None),
            false => (200, None),
        });
        let running = desk.start(&settings(&to, "")).await;
        alarms(
            &desk,
            ["acme/bad", "acme/bad", "acme/good"].map(str::to_owned),
        )
        .await;
        until_in(&desk, async || {
            let kept = desk.kept("soc").await;
            kept.iter().filter(|kept| kept.state == "dead").count() == 2
        })
        .await;
        until_in(&desk, async || to.taken().len() == 1).await;
        let kept = desk.kept("soc").await;
        assert!(
            kept.iter()
                .all(|kept| kept.tries == 3 && kept.last_error == Some(status.to_string())),
            "{kept:?}"
        );
        let tries: Vec<i64> = to
            .calls()
            .iter()
            .filter(|call| call.status == status)
            .map(|call| call.seq())
            .collect();
        assert_eq!(
            (tries.len(), tries.is_sorted()),
            (6, true),
            "in their order: {tries:?}"
        );
        running.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_is_away_loses_nothing_and_gets_one_try_at_a_time() {
    let (desk, to) = (TestDesk::new().await, Receiver::start().await);
    let running = desk.start(&settings(&to, "")).await;
    let mut seen = 0;
    for status in [408, 425, 429, 500, 503] {
        to.says(status);
        alarms(&desk, (0..5).map(|n| format!("acme/a{n}"))).await;
        until_in(&desk, async || desk.failing().await == Some(true)).await;
        assert_eq!(desk.row("soc").await.state, "resting");
        to.says(200);
        seen += 5;
        until_in(&desk, async || to.taken().len() == seen).await;
        until_in(&desk, async || desk.failing().await == Some(false)).await;
        assert!(desk.kept("soc").await.is_empty());
    }
    running.stop().await;
    let ids: HashSet<String> = to.taken().iter().map(|call| call.id().to_owned()).collect();
    assert_eq!(ids.len(), seen);
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_four_hours_away_are_tried_as_often_as_the_pauses_say() {
    let (desk, to) = (TestDesk::new().await, Receiver::start().await);
    to.says(503);
    let day = settings(&to, "").replace("rest_s = [0.05, 0.1]", "rest_s = [60, 21600]");
    let running = desk.start(&day).await;
    alarms(&desk, ["acme/bot".to_owned()]).await;
    until(async || to.calls().len() == 1).await;
    let begun = desk.now();
    until(async || {
        desk.pass(3_600_000);
        to.calls().len() >= 7
    })
    .await;
    let hours = (desk.now() - begun) / 3_600_000;
    assert!(hours >= 24, "seven tries in {hours} h");
    to.says(200);
    until(async || {
        desk.pass(3_600_000);
        to.taken().len() == 1
    })
    .await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_thousand_events_wait_for_a_receiver_that_is_away() {
    const ALL: i64 = 100_000;
    let (desk, to) = (TestDesk::new().await, Receiver::start().await);
    to.says(503);
    let settings = settings(&to, "");
    let feed = desk.feeds(&settings).remove(0);
    let running = desk.start(&settings).await;
    for piece in 0..100 {
        let rows = (0..1_000).map(|n| ("alarm", format!("acme/a{piece}-{n}"), json!({})));
        desk.log_all(rows.collect()).await;
    }
    until_in(&desk, async || desk.failing().await == Some(true)).await;
    let waiting = async || {
        let (mut backlog, mut rows) = (Backlog::default(), usize::MAX);
        let counted = backlog.count(desk.store(), &feed, &mut rows).await;
        i64::try_from(counted.unwrap().0).unwrap()
    };
    assert_eq!(waiting().await, ALL);
    to.says(200);
    let taken = async |most: usize| until_in(&desk, async || to.taken().len() >= most).await;
    taken(1_000).await;
    running.kill().await;
    let running = desk.start(&settings).await;
    taken(2_000).await;
    running.stop().await;
    // The row of the start is not sent.
    let settled = desk.row("soc").await.cursor - 1;
    let seqs: HashSet<i64> = to.taken().iter().map(|call| call.seq()).collect();
    assert!((2..=settled + 1).all(|seq| seqs.contains(&seq)));
    assert!(settled >= 500);
    assert_eq!(waiting().await, ALL - settled);
}

#[tokio::test(flavor = "multi_thread")]
async fn status_410_disables_it_until_a_person_enables_it() {
    let (desk, to) = (TestDesk::new().await, Receiver::start().await);
    to.says(410);
    let running = desk.start(&settings(&to, "")).await;
    alarms(&desk, ["acme/bot".to_owned()]).await;
    until_in(&desk, async || desk.row("soc").await.state == "disabled").await;
    assert_eq!(
        (desk.failing().await, desk.audited().await),
        (Some(true), vec!["added".into(), "disabled".into()])
    );
    running.stop().await;
    to.says(200);
    let running = desk.start(&settings(&to, "")).await;
    alarms(&desk, ["acme/bot".to_owned()]).await;
    desk.change("soc", |row| "ok".clone_into(&mut row.state))
        .await;
    until_in(&desk, async || to.taken().len() == 2).await;
    until_in(&desk, async || desk.failing().await == Some(false)).await;
    assert_eq!(
        to.calls().len(),
        3,
        "nothing was sent while it was disabled"
    );
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whenever_it_is_killed_nothing_is_lost_and_order_holds() {
    let (desk, to) = (TestDesk::new().await, Receiver::start().await);
    let mut turn = 0_u32;
    to.answers(move |_| {
        turn = turn.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        match (turn >> 16) % 10 {
            0 => (400, None),
            1 => (503, None),
            _ => (200, None),
        }
    });
    let settings = settings(&to, "").replace(
        "retry_s = [0.05, 0.05]",
        "retry_s = [0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05]",
    );
    let mut wanted = 0;
    for round in 0..25 {
        let running = desk.start(&settings).await;
        alarms(&desk, (0..20).map(|n| format!("acme/a{}", n % 7))).await;
        wanted += 20;
        // At any moment: of a row, a call, an answer or a cursor.
        let calls = to.calls().len();
        until_in(&desk, async || to.calls().len() >= calls + round % 13).await;
        running.kill().await;
    }
    let running = desk.start(&settings).await;
    let head = 1 + wanted;
    until_in(&desk, async || {
        let open = desk
            .kept("soc")
            .await
            .iter()
            .any(|kept| kept.state == "retrying");
        !open && desk.row("soc").await.cursor == head
    })
    .await;
    running.stop().await;
    let dead: HashSet<i64> = desk.kept("soc").await.iter().map(|kept| kept.seq).collect();
    let taken = to.taken();
    let seqs: HashSet<i64> = taken.iter().map(|call| call.seq()).collect();
    for seq in 2..=head {
        assert!(seqs.contains(&seq) || dead.contains(&seq), "{seq} is lost");
    }
    for subject in (0..7).map(|n| format!("acme/a{n}")) {
        let of = taken
            .iter()
            .filter(|call| call.json()["data"]["subject"] == json!(subject));
        let mut first: Vec<i64> = Vec::new();
        of.map(|call| call.seq()).for_each(|seq| {
            if !first.contains(&seq) {
                first.push(seq);
            }
        });
        assert!(first.is_sorted(), "{subject}: {first:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_sent_again_is_the_same_and_then_it_goes_on() {
    let (desk, to) = (TestDesk::new().await, Receiver::start().await);
    let running = desk.start(&settings(&to, "")).await;
    alarms(&desk, (0..10).map(|n| format!("acme/a{n}"))).await;
    until_in(&desk, async || desk.row("soc").await.cursor == 11).await;
    let first = to.taken();
    desk.change("soc", |row| {
        (row.cursor, row.replay_to, row.resume_at) = (3, Some(6), Some(row.cursor));
    })
    .await;
    until_in(&desk, async || {
        to.taken().len() == 13 && desk.row("soc").await.cursor == 11
    })
    .await;
    assert_eq!(desk.row("soc").await.replay_to, None);
    for again in &to.taken()[10..] {
        let before = first.iter().find(|call| call.id() == again.id()).unwrap();
        assert_eq!(before.body, again.body);
        assert!((4..=6).contains(&again.seq()));
    }
    alarms(&desk, ["acme/new".to_owned()]).await;
    until_in(&desk, async || to.taken().len() == 14).await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_feed_whose_cursor_cannot_be_written_rests() {
    let (desk, to) = (TestDesk::new().await, Receiver::start().await);
    let running = desk.start(&settings(&to, "")).await;
    desk.takes_no_writes(true);
    to.says(400);
    alarms(&desk, ["acme/a".to_owned()]).await;
    until(async || to.calls().len() == 1).await;
    alarms(&desk, ["acme/b".to_owned()]).await;
    desk.takes_no_writes(false);
    to.says(200);
    until_in(&desk, async || to.taken().len() == 2).await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_says_what_is_wrong() {
    let (desk, to) = (TestDesk::new().await, Receiver::start().await);
    let feed = desk.feeds(&settings(&to, "")).remove(0);
    let event = countersign_feeds::event::test(desk.sender(), "2026-11-28T12:00:00.000Z", "r");
    let tried = async |feed| send_test(desk.path(), feed, &event, "c", desk.now()).await;
    let good = tried(&feed).await;
    assert_eq!((good.status, good.error), (Some(204), None));
    assert_eq!(to.calls()[0].json()["type"], "feed.test");
    to.says(500);
    let bad = tried(&feed).await;
    assert_eq!((bad.status, bad.error), (Some(500), Some("status")));
    // Bound, so that nobody else has it; nobody listens.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let closed = format!("http://{}/", socket.local_addr().unwrap());
    let nobody = desk
        .feeds(&settings(&to, "").replace(&to.url, &closed))
        .remove(0);
    assert_eq!(tried(&nobody).await.error, Some("connect"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_backlog_is_counted_on_from_page_to_page() {
    let (desk, to) = (TestDesk::new().await, Receiver::start().await);
    let text = settings(&to, "").replace("audit.alarm", "alarm.*\", \"audit.*");
    let feed = desk.feeds(&text).remove(0);
    assert!(begin(&desk, std::slice::from_ref(&feed)).await.unwrap());
    alarms(&desk, (0..1_300).map(|n| format!("acme/a{n}"))).await;
    let mut backlog = Backlog::default();
    let mut counts = Vec::new();
    for _ in 0..4 {
        let mut rows = 500;
        let counted = backlog.count(desk.store(), &feed, &mut rows).await.unwrap();
        counts.push(counted.0);
    }
    // Two events of each alarm, and the row of the start.
    assert_eq!(counts, [999, 1_999, 2_601, 2_601]);
    // What is settled, and what is sent again.
    for (cursor, replay_to, resume_at) in [
        (0, None, None),
        (1, None, None),
        (700, None, None),
        (100, Some(300), Some(1_000)),
        (250, Some(300), Some(1_000)),
        (1_000, None, None),
        (1_301, None, None),
        (2, None, None),
    ] {
        desk.change("soc", |row| {
            (row.cursor, row.replay_to, row.resume_at) = (cursor, replay_to, resume_at);
        })
        .await;
        let mut rows = usize::MAX;
        let counted = backlog.count(desk.store(), &feed, &mut rows).await.unwrap();
        let again = replay_to.map(|last| (cursor, last));
        let rest = (resume_at.unwrap_or(cursor), i64::MAX);
        let mut open = Vec::new();
        for range in again.into_iter().chain([rest]) {
            let each = events_of(desk.store(), (desk.sender(), &feed), range, |event| {
                open.push(event.at.clone());
                true
            });
            each.await.unwrap();
        }
        let all = (open.len() as u64, open.into_iter().min());
        assert_eq!(counted, all, "{cursor} {replay_to:?}");
    }
}
