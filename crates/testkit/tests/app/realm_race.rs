//! Two consoles that change the operators at the same time: each change is made once, whoever was faster.

use std::collections::BTreeSet;

use countersign_core::App;
use countersign_core::ops::realm::Change;
use countersign_wire::realm::{Entry, Word};
use countersign_wire::realm_subject;

use crate::realm_log::log_of;
use crate::realm_scene::Scene;

/// Of each console at a time.
const AT_ONCE: usize = 2;

/// As many changes as `OPERATOR_CHANGES` says, forty if it says nothing.
fn changes() -> usize {
    let said = std::env::var("OPERATOR_CHANGES").ok();
    said.and_then(|said| said.parse().ok()).unwrap_or(40)
}

/// Gives its own person these names, one after the other.
async fn renames(app: App, names: Vec<String>) {
    let key = app.identity().human_key().to_string();
    for name in names {
        let change = Change::Rename(key.clone(), name);
        let written = app.change_operators(&change).await.unwrap();
        assert!(written.changed);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn consoles_that_change_the_operators_at_once_lose_nothing_and_do_nothing_twice() {
    let scene = Scene::open().await;
    let before = scene.log.chain.len();
    let names: Vec<String> = (0..changes())
        .map(|number| format!("name {number}"))
        .collect();
    let started = tokio::time::Instant::now();
    let lanes = 2 * AT_ONCE;
    let writing = (0..lanes).map(|lane| {
        let app = [&scene.desk.app, &scene.grace][lane % 2].clone();
        let mine = names.iter().skip(lane).step_by(lanes).cloned();
        tokio::spawn(renames(app, mine.collect()))
    });
    for lane in writing.collect::<Vec<_>>() {
        lane.await.unwrap();
    }
    println!("{} changes in {:?}", names.len(), started.elapsed());
    let log = log_of(&scene.desk.app).await;
    let made = &log.chain[before..];
    assert!(made.iter().all(|entry| entry.word == Word::Ok));
    assert_eq!(made.len(), names.len());
    let bus = scene.desk.app.bus().unwrap();
    let mut written = BTreeSet::new();
    for entry in made {
        let stored = bus
            .read_last("CS_DECISIONS", &realm_subject(entry.slot))
            .await;
        let fields = Entry::read(&stored.unwrap().unwrap().payload)
            .unwrap()
            .fields;
        written.insert(fields["operators"][0]["name"].as_str().unwrap().to_owned());
    }
    assert_eq!(written, names.into_iter().collect::<BTreeSet<_>>());
    scene.goes_on().await;
    scene.close().await;
}
