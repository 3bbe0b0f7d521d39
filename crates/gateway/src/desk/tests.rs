#![allow(clippy::unwrap_used)]
use countersign_post::Post;
use serde_json::json;

use super::*;
use crate::tokens::Tokens;

/// An ask that expired long ago.
fn old(seq: u64) -> Ask {
    let mut asked = Moment::now();
    (asked.boot, asked.wall) = (Some("earlier".to_owned()), asked.wall - 200_000.0);
    let digest = format!("sha256:{}", "0".repeat(64));
    serde_json::from_value(json!({
        "seq": seq, "realm": Uuid::nil(), "agent": {"workspace": "acme", "agent": "bot"},
        "id": "r1", "key": digest, "about": digest, "kind": "tool_call", "tool": "deploy",
        "args_digest": null, "reports": true, "callback": null, "lifetime": 100.0, "asked": asked,
        "request": "{}", "answer": null, "end": { "state": "expired", "text": "", "message": null },
        "claim": null, "receipt": null,
    }))
    .unwrap()
}

#[tokio::test]
async fn an_ask_that_is_not_on_the_disk_is_neither_seen_nor_written() {
    let dir = tempfile::tempdir().unwrap();
    let journal = Arc::new(Journal::open(dir.path()).unwrap());
    let tokens = Tokens::follow(dir.path()).unwrap();
    let callbacks = Arc::new(Callbacks::new(Post::new().unwrap(), tokens));
    let (_link, link) = watch::channel(Link::Down);
    let agent = "acme/bot".parse().unwrap();
    let desk = Desk::new(agent, Uuid::nil(), Arc::clone(&journal), link, callbacks);
    let desk = Arc::new(desk);
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
