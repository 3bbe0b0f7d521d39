#![allow(clippy::unwrap_used)]
use countersign_post::Post;
use countersign_wire::Sha256Digest;
use serde_json::json;

use super::*;
use crate::tokens::Tokens;

/// An ask that waits.
fn waiting(id: &str, seq: u64) -> Ask {
    let digest = Sha256Digest::of_bytes(id.as_bytes());
    serde_json::from_value(json!({
        "seq": seq, "realm": Uuid::nil(), "agent": {"workspace": "acme", "agent": "bot"},
        "id": id, "key": digest, "about": digest, "kind": "tool_call", "tool": "deploy",
        "args_digest": null, "reports": true, "callback": null, "lifetime": 100.0, "asked": Moment::now(),
        "request": "{}", "answer": null, "end": null, "claim": null, "receipt": null,
    }))
    .unwrap()
}

/// An ask that expired long ago.
fn old(seq: u64) -> Ask {
    let mut ask = waiting("r1", seq);
    (ask.asked.boot, ask.asked.wall) = (Some("earlier".to_owned()), ask.asked.wall - 200_000.0);
    ask.end =
        serde_json::from_value(json!({ "state": "expired", "text": "", "message": null })).ok();
    ask
}

fn desk(dir: &std::path::Path) -> (Arc<Desk>, Arc<Journal>, watch::Sender<Link>) {
    let journal = Arc::new(Journal::open(dir).unwrap());
    let tokens = Tokens::follow(dir).unwrap();
    let callbacks = Arc::new(Callbacks::new(Post::new().unwrap(), tokens));
    let (link, state) = watch::channel(Link::Down);
    let agent = "acme/bot".parse().unwrap();
    let desk = Desk::new(agent, Uuid::nil(), Arc::clone(&journal), state, callbacks);
    (Arc::new(desk), journal, link)
}

#[tokio::test]
async fn ten_thousand_asks_of_an_agent_wait_and_no_more() {
    let dir = tempfile::tempdir().unwrap();
    let (desk, _, _link) = desk(dir.path());
    for number in 0..MOST_WAITING {
        let ask = waiting(&format!("r{number}"), 1);
        lock(&desk.table).enter(&ask, Cell::new(ask.clone()));
    }
    let refused = desk.ask(waiting("more", 0)).await.err().unwrap();
    assert_eq!(refused, fault::too_many_waiting());
    assert!(refused.retry_after.is_some());
    let known = desk.ask(waiting("r1", 0)).await;
    assert!(known.is_ok_and(|(_, first)| !first), "its key is known");
    // One less: what is missing now is the bus.
    let cell = desk.get("r0").unwrap();
    let taken = desk.change(&cell, |ask, _| Ok(((), ask.withdraw(None)?)));
    taken.await.unwrap();
    let refused = desk.ask(waiting("more", 0)).await.err().unwrap();
    assert_eq!(refused, fault::bus_unreachable());
}

#[tokio::test]
async fn an_ask_that_is_not_on_the_disk_is_neither_seen_nor_written() {
    let dir = tempfile::tempdir().unwrap();
    let (desk, journal, _link) = desk(dir.path());
    // Not written yet.
    let cell = Cell::new(old(0));
    lock(&desk.table).enter(&old(0), Arc::clone(&cell));
    assert!(desk.get("r1").is_err() && desk.list(State::Expired, 9).is_empty());
    let step = |_: &mut Ask, _: &Moment| Ok(((), Keep::Flushed));
    assert_eq!(desk.change(&cell, step).await, Err(fault::not_found()));
    // Written, then removed while a request holds it.
    lock(&cell.ask).seq = 1;
    let held = desk.get("r1").unwrap();
    assert_eq!(desk.change(&held, step).await, Ok(()));
    assert_eq!(journal.asks().unwrap().len(), 1);
    desk.remove(&held).await;
    assert_eq!(desk.change(&held, step).await, Err(fault::not_found()));
    assert!(desk.get("r1").is_err() && journal.asks().unwrap().is_empty());
}
