//! An operator who was retired, and is one again.

use countersign_core::ops::operators::{Change, Limits, ListedState};
use countersign_testkit::TempData;

use crate::agent::{Desk, colleague, in_state};
use crate::operators::{ask, put_approval, sees};

#[tokio::test(flavor = "multi_thread")]
async fn what_a_retired_key_signed_counts_nowhere_once_it_is_taken_back() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    let grace = second.identity().human_key();
    sees(&desk.app, &grace, ListedState::InForce).await;
    let retire = Change::Retire(grace.clone());
    assert!(desk.app.change_operators(&retire).await.unwrap());
    sees(&second, &grace, ListedState::Retired).await;
    let key = ask(&desk, &agent, &[], "r1").await;
    let human = &second.identity().signing().human;
    put_approval(&desk.app, &agent, &key, human).await;
    in_state(&desk.app, "r1", "void").await;
    let back = Change::Add {
        key: grace,
        name: None,
        role: None,
        limits: Limits::default(),
    };
    assert!(desk.app.change_operators(&back).await.unwrap());
    let late = TempData::new();
    let third = colleague(&desk, &late, "Heidi").await;
    for app in [third, second, desk.app] {
        in_state(&app, "r1", "void").await;
        app.shutdown().await;
    }
}
