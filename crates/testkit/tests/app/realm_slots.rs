//! What somebody with a console's login alone stores in slots (protocol, section 8): none of it counts, and none stops
//! an honest reader.

use countersign_core::App;
use countersign_core::ops::realm::Change;
use countersign_sdk::DecisionVerdict;
use countersign_wire::realm::Word;
use countersign_wire::realm_subject;
use nkeys::KeyPair;
use serde_json::{Value, json};

use crate::agent::{caught_up, options, until};
use crate::realm_hand::{Hand, neutral};
use crate::realm_log::has_alarm;
use crate::realm_scene::{Attempt, Scene, text, words_of};

const LIES: [&str; 6] = [
    "Status: 404\r\n",
    "Nats-Sequence: 1\r\n",
    "Nats-Subject: countersign.v1.realm.1\r\n",
    "Nats-Stream: ELSEWHERE\r\n",
    "Nats-Time-Stamp: 2020-01-01T00:00:00Z\r\n",
    "Description: Message Not Found\r\nNats-Sequence: 5\r\nStatus: 404\r\nNats-Num-Pending: 0\r\n",
];

/// Header blocks that libraries read differently, or not at all.
const BROKEN: [&[u8]; 9] = [
    b"NATS/1.0 404 Message Not Found\r\n\r\n",
    b"NATS/1.0 503\r\n\r\n",
    b"NATS/1.0 404 \xff\xfe\r\n\r\n",
    b"NATS/1.0\r\n\r\n",
    b"NATS/1.0\r\nno header at all\r\n:\r\n: x\r\n\r\n",
    b"NATS/1.0\r\n\xff\xfe: \xfd\r\nA B: c\r\n\r\n",
    b"NATS/1.0\r\nA: b\r\n\r\nNats-Sequence: 9\r\n\r\n",
    b"HTTP/9.9 nothing\r\n\r\n",
    b"NATS/1.0\r\nA: bc",
];

fn block(lines: &str) -> Vec<u8> {
    format!("NATS/1.0\r\n{lines}\r\n").into_bytes()
}

fn end_of(pair: &KeyPair) -> Value {
    json!({"operators": [{"id": text(pair), "keys": []}]})
}

/// With another member of its envelope.
fn with(entry: &[u8], member: &str, value: &str) -> Vec<u8> {
    let mut envelope: Value = serde_json::from_slice(entry).unwrap();
    envelope[member] = json!(value);
    serde_json::to_vec(&envelope).unwrap()
}

fn junk() -> Vec<Vec<u8>> {
    let texts = [
        "",
        "{}",
        "[]",
        "null",
        "1",
        "junk",
        r#"{"payload":"","key":"U","sig":""}"#,
        r#"{"payload":"e30","payload":"e30","key":"U","sig":""}"#,
    ];
    let mut all: Vec<Vec<u8>> = texts.map(|text| text.as_bytes().to_vec()).to_vec();
    all.extend([
        b"\xff\x00".to_vec(),
        vec![b'['; 5_000],
        vec![b'x'; 900_000],
        vec![b' '; 32_769],
    ]);
    all.extend((0..60).map(|n: u8| vec![n]));
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_of_any_kind_and_entries_that_are_not_next_change_nothing() {
    let mut scene = Scene::open().await;
    let (ada, stranger) = (scene.ada(), KeyPair::new_user());
    let (heidi, kay) = (
        scene.let_in("Heidi", json!({})).await,
        scene.let_in("Kay", json!({})).await,
    );
    // Signed before another entry, and stored after it.
    let late = scene.entry(&ada, &end_of(&heidi));
    scene.end(&kay).await;
    let mut mine = scene.newcomer(&stranger, "Ada");
    mine["operators"][0]["admin"] = json!(true);
    let (theirs, ours) = (scene.entry(&stranger, &mine), scene.entry(&ada, &mine));
    let bus = scene.desk.app.bus().unwrap();
    let mut again = Vec::new();
    for slot in 1..scene.log.next_slot {
        let stored = bus.read_last("CS_DECISIONS", &realm_subject(slot)).await;
        again.push(stored.unwrap().unwrap().payload.to_vec());
    }
    let first: Value = serde_json::from_slice(&again[0]).unwrap();
    let second_founding = {
        let realm = *scene.log.realm();
        let by = countersign_wire::PublicKey::of(&stranger).unwrap();
        let mut payload = countersign_wire::realm::Entry::frame(1, None, "x", &by);
        payload["operators"] = mine["operators"].clone();
        countersign_wire::realm::Entry::seal(&stranger, &realm, &payload).unwrap()
    };
    let junk = junk().into_iter().map(|bytes| (bytes, Word::Unreadable));
    let signed = [
        (theirs.clone(), Word::UnknownKey),
        // In the founder's name, with a signature of the founder's, and with one that holds for laxer libraries.
        (with(&theirs, "key", &text(&ada)), Word::BadSignature),
        (with(&ours, "key", &text(&stranger)), Word::BadSignature),
        (
            with(&ours, "sig", first["sig"].as_str().unwrap()),
            Word::BadSignature,
        ),
        (with(&ours, "sig", &neutral()), Word::BadSignature),
        (second_founding, Word::NotNext),
        (late, Word::NotNext),
    ];
    let again = again.into_iter().map(|bytes| (bytes, Word::NotNext));
    let (before, slots) = (scene.log.chain.len(), scene.log.next_slot);
    let mut right = Vec::new();
    for (bytes, word) in junk.chain(signed).chain(again) {
        let start = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
        assert_eq!(scene.store(b"", &bytes).await, word, "{start}");
        right.push(word.as_str().to_owned());
    }
    assert_eq!(scene.log.chain.len(), before);
    for (hand, outcome) in [(&heidi, "runs"), (&stranger, "unknown_key")] {
        assert_eq!(scene.outcome(&Attempt::of(Hand::Key(hand))).await, outcome);
    }
    scene.goes_on().await;
    let kept = words_of(&scene.desk.data).await;
    let kept = kept.into_iter().skip(usize::try_from(slots - 1).unwrap());
    assert_eq!(kept.map(|(.., word)| word).collect::<Vec<_>>(), right);
    for app in [&scene.desk.app, &scene.grace] {
        until("an alarm", || has_alarm(app, "log_junk", "CS_DECISIONS")).await;
    }
    // The next change lands behind it, and a console that starts reads the same.
    let rename = Change::Rename(text(&heidi), "Heidi B.".into());
    assert!(scene.grace.change_operators(&rename).await.unwrap().changed);
    scene.goes_on().await;
    scene.desk.app.shutdown().await;
    let again = App::start(options(&scene.desk.data)).await.unwrap();
    caught_up(&again).await;
    scene.desk.app = again;
    scene.agree().await;
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signed_entry_that_comes_too_early_never_counts() {
    let mut scene = Scene::open().await;
    let heidi = scene.let_in("Heidi", json!({})).await;
    let early = scene.entry(&scene.ada(), &end_of(&heidi));
    let free = scene.log.next_slot;
    assert_eq!(scene.store_in(free + 2, b"", &early).await, Word::Gap);
    let by_heidi = Attempt::of(Hand::Key(&heidi));
    assert_eq!(scene.outcome(&by_heidi).await, "runs");
    for _ in 0..2 {
        assert_eq!(scene.store(b"", b"junk").await, Word::Unreadable);
    }
    assert_eq!(scene.log.next_slot, free + 3);
    assert_eq!(scene.outcome(&by_heidi).await, "runs");
    scene.goes_on().await;
    // In a slot of its own it ends her.
    assert_eq!(scene.store(b"", &early).await, Word::Ok);
    assert_eq!(scene.outcome(&by_heidi).await, "unknown_key");
    scene.goes_on().await;
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_that_speak_as_the_server_does_hide_no_end() {
    let mut scene = Scene::open().await;
    let heidi = scene.let_in("Heidi", json!({})).await;
    for lines in LIES {
        assert_eq!(
            scene.store(&block(lines), b"junk").await,
            Word::Unreadable,
            "{lines}"
        );
    }
    let by_heidi = Attempt::of(Hand::Key(&heidi));
    assert_eq!(scene.outcome(&by_heidi).await, "runs");
    // The end itself says that it is none.
    let end = scene.entry(&scene.ada(), &end_of(&heidi));
    assert_eq!(scene.store(&block(&LIES.concat()), &end).await, Word::Ok);
    assert_eq!(scene.outcome(&by_heidi).await, "unknown_key");
    // And a decision says that it was stored before.
    let early = Attempt {
        headers: "Nats-Sequence: 3\r\nNats-Time-Stamp: 2020-01-01T00:00:00Z\r\n",
        ..by_heidi
    };
    assert_eq!(scene.outcome(&early).await, "unknown_key");
    scene.goes_on().await;
    scene.close().await;
}

/// Consoles read the end behind it. The agent does, too, or says why it believes nobody.
#[tokio::test(flavor = "multi_thread")]
async fn header_lines_that_nobody_can_parse_stop_no_console() {
    let mut scene = Scene::open().await;
    let heidi = scene.let_in("Heidi", json!({})).await;
    for (number, headers) in BROKEN.into_iter().enumerate() {
        assert_eq!(
            scene.store(headers, b"junk").await,
            Word::Unreadable,
            "{number}"
        );
    }
    let rename = Change::Rename(text(&heidi), "Heidi B.".into());
    assert!(
        scene
            .desk
            .app
            .change_operators(&rename)
            .await
            .unwrap()
            .changed
    );
    scene.agree().await;
    let id = uuid::Uuid::now_v7().to_string();
    let call = crate::realm_scene::call()
        .request_id(id.parse().unwrap())
        .timeout(std::time::Duration::from_secs(3));
    let asking = tokio::spawn(scene.gate.ask(call));
    let by_ada = scene.ada();
    scene
        .decide(&scene.key_of(&id), &Attempt::of(Hand::Key(&by_ada)))
        .await;
    let decision = asking.await.unwrap().unwrap();
    if !decision.allowed() {
        assert_eq!(*decision.verdict(), DecisionVerdict::Expired);
        assert!(decision.unread().is_some());
    }
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_mirrors_the_log_is_an_alarm_at_the_next_start() {
    let scene = Scene::open().await;
    let login = scene.desk.app.identity().login.seed().unwrap();
    let url = scene.desk.app.embedded_server().unwrap().url();
    let client = async_nats::ConnectOptions::with_nkey(login)
        .connect(url)
        .await
        .unwrap();
    let streams = async_nats::jetstream::new(client);
    let source = || async_nats::jetstream::stream::Source {
        name: "CS_DECISIONS".into(),
        ..Default::default()
    };
    let mirror = async_nats::jetstream::stream::Config {
        name: "MIRROR".into(),
        mirror: Some(source()),
        mirror_direct: true,
        ..Default::default()
    };
    streams.create_stream(mirror).await.unwrap();
    let copies = async_nats::jetstream::stream::Config {
        name: "COPIES".into(),
        sources: Some(vec![source()]),
        ..Default::default()
    };
    streams.create_stream(copies).await.unwrap();
    let Scene { desk, grace, .. } = scene;
    grace.shutdown().await;
    desk.app.shutdown().await;
    let app = App::start(options(&desk.data)).await.unwrap();
    for name in ["MIRROR", "COPIES"] {
        until("an alarm", || has_alarm(&app, "log_hidden", name)).await;
    }
    app.shutdown().await;
}
