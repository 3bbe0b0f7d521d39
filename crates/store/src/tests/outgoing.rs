//! What binds the messages of one request, and what leaves one of them alone.

use super::{filled, outgoing};
use crate::Writer;
use crate::outbox::{self, Kind, OutboxRow};
use crate::pool::temporary;
use crate::votes::{OwnVote, voted};

const STATES: [&str; 5] = ["holding", "queued", "stored", "lost", "late"];

fn vote(request: i64, id: &str, signer: &str, state: &str) -> OutboxRow {
    OutboxRow {
        kind: Kind::Vote,
        signer: signer.into(),
        ..outgoing(request, id, state, 0)
    }
}

fn put(writer: &Writer, row: OutboxRow) -> bool {
    outbox::insert(writer, &[row], &[]).is_ok()
}

async fn states<const N: usize>(reader: &crate::Reader, ids: [&str; N]) -> [Option<String>; N] {
    let mut states = [const { None }; N];
    for (at, id) in ids.into_iter().enumerate() {
        states[at] = outbox::state(reader, id).await.unwrap();
    }
    states
}

fn words<const N: usize>(words: [&str; N]) -> [Option<String>; N] {
    words.map(|word| Some(word.to_owned()))
}

#[tokio::test]
async fn a_request_has_one_decision_whatever_key_signs_and_one_vote_of_each_key() {
    let (_folder, mut writer, _reader) = temporary().await;
    let requests = filled(&mut writer, 5);
    for (request, state) in requests.into_iter().zip(STATES) {
        let id = |name: &str| format!("{name}-{state}");
        assert!(put(&writer, outgoing(request, &id("first"), state, 0)));
        let other_key = OutboxRow {
            signer: "another".into(),
            ..outgoing(request, &id("second"), "queued", 0)
        };
        assert!(!put(&writer, other_key), "{state}");
        assert!(put(&writer, vote(request, &id("ada"), "ada", state)));
        assert!(put(&writer, vote(request, &id("grace"), "grace", "queued")));
        assert!(
            !put(&writer, vote(request, &id("again"), "ada", "queued")),
            "{state}"
        );
        assert_eq!(voted(&writer, "ada", request).unwrap(), OwnVote::Given);
        assert_eq!(voted(&writer, "alan", request).unwrap(), OwnVote::None);
    }
}

#[tokio::test]
async fn a_vote_counts_for_its_key_whatever_others_do() {
    let (_folder, mut writer, reader) = temporary().await;
    let request = filled(&mut writer, 1)[0];
    for row in [
        outgoing(request, "decision", "queued", 0),
        vote(request, "ada", "ada", "queued"),
        vote(request, "grace", "grace", "late"),
    ] {
        assert!(put(&writer, row));
    }
    let ids = ["decision", "ada", "grace"];
    let settle = |voter, id| outbox::settle(&writer, &[(request, voter, id)], &[]).unwrap();
    settle(Some("alan"), "alan");
    assert_eq!(
        states(&reader, ids).await,
        words(["queued", "queued", "late"])
    );
    settle(None, "another");
    assert_eq!(
        states(&reader, ids).await,
        words(["lost", "queued", "late"])
    );
    // It was on the stream all the while.
    settle(Some("grace"), "grace");
    settle(Some("ada"), "another");
    assert_eq!(
        states(&reader, ids).await,
        words(["lost", "lost", "stored"])
    );
    outbox::clear_failed(&writer, request).unwrap();
    let [decision, ada, _] = states(&reader, ids).await;
    assert_eq!((decision, ada.as_deref()), (None, Some("lost")));
}

#[tokio::test]
async fn a_decided_request_needs_no_more_votes() {
    let (_folder, mut writer, reader) = temporary().await;
    let request = filled(&mut writer, 1)[0];
    for row in [
        outgoing(request, "decision", "queued", 0),
        vote(request, "held", "ada", "holding"),
        vote(request, "sent", "grace", "queued"),
        vote(request, "stored", "alan", "stored"),
    ] {
        assert!(put(&writer, row));
    }
    outbox::close_votes(&writer, request).unwrap();
    let after = states(&reader, ["decision", "held", "sent", "stored"]).await;
    assert_eq!(after, words(["queued", "lost", "lost", "stored"]));
}

#[tokio::test]
async fn a_held_vote_is_undone_as_a_held_decision_is() {
    let (_folder, mut writer, reader) = temporary().await;
    let requests = filled(&mut writer, 3);
    for row in [
        outgoing(requests[0], "decision", "holding", 5),
        vote(requests[1], "vote", "ada", "holding"),
        vote(requests[1], "sent", "grace", "queued"),
        vote(requests[2], "other", "ada", "holding"),
    ] {
        assert!(put(&writer, row));
    }
    for request in &requests[..2] {
        outbox::delete_held(&writer, *request).unwrap();
    }
    let [decision, vote, sent, other] =
        states(&reader, ["decision", "vote", "sent", "other"]).await;
    assert_eq!((decision, vote), (None, None));
    assert_eq!([sent, other], words(["queued", "holding"]));
    let close = |id| outbox::close(&writer, id, "late").unwrap();
    assert_eq!(close("sent"), Some((Kind::Vote, requests[1])));
    assert_eq!(close("other"), None, "it was not sent yet");
}
