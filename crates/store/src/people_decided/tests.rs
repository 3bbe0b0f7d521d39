#![allow(clippy::unwrap_used)]
use super::*;
use crate::Writer;
use crate::pool::temporary;

fn call(writer: &Writer, at: i64, (ws, agent, tool): (&str, &str, &str), how: &str) {
    let (origin, verdict) = how.split_once(' ').unwrap();
    let put = "INSERT INTO requests(ws, agent, request_id, kind, tool, risk, allowed, approvals_required, request_digest,
           stream_epoch, stream_seq, stored_at, received_at, lifetime, deadline_at, state, verdict, origin, decided_at,
           delivery, raw)
         VALUES (?2, ?3, ?1, 'tool_call', ?4, 'low', '[]', 1, 'd', 'e', ?1, ?1, 0, 0, 0, 'decided', ?6, ?5, ?1, 'on_bus',
           x'7b7d')";
    let values = rusqlite::params![at, ws, agent, tool, origin, verdict];
    writer.execute(put, values).unwrap();
    let put = "INSERT INTO decisions(request, ws, agent, request_id, payload, stream_epoch, stream_seq, stored_at)
         VALUES (?1, ?2, ?3, ?4, x'7b7d', 'e', ?4, ?4)";
    let values = rusqlite::params![writer.last_insert_rowid(), ws, agent, at];
    writer.execute(put, values).unwrap();
}

#[tokio::test]
async fn the_newest_decisions_of_people_are_found_behind_any_number_of_others() {
    let (_folder, writer, reader) = temporary().await;
    let own = ("acme", "bot", "pay");
    for at in 1..=4 {
        call(&writer, at, own, "operator approve");
    }
    call(&writer, 5, own, "operator deny");
    call(&writer, 6, own, "operator skip");
    call(&writer, 7, ("lab", "bot", "pay"), "operator approve");
    call(&writer, 8, ("acme", "other", "pay"), "operator approve");
    call(&writer, 9, ("acme", "bot", "mail"), "operator approve");
    for at in 10..310 {
        call(&writer, at, own, "rule approve");
    }
    let [workspace, tool, agent] = ["acme", "pay", "bot"];
    let found = async |before, since, limit| {
        let call = ToolCall {
            workspace,
            agent,
            tool,
            before,
        };
        let found = newest(&reader, call, since, limit).await.unwrap();
        let ids = found.into_iter().map(|one| one.request_id);
        ids.collect::<Vec<_>>()
    };
    assert_eq!(found(i64::MAX, 0, 12).await, ["5", "4", "3", "2", "1"]);
    assert_eq!(found(i64::MAX, 0, 2).await, ["5", "4"]);
    assert_eq!(found(i64::MAX, 3, 12).await, ["5", "4", "3"]);
    assert_eq!(found(4, 0, 12).await, ["3", "2", "1"]);
    let put =
        "INSERT INTO receipts(ws, agent, request_id, decision_id, stage, at, detail, stream_seq)
         VALUES ('acme', 'bot', '4', 'd', 'failed', 1, x'', 1)";
    writer.execute(put, []).unwrap();
    assert_eq!(found(i64::MAX, 0, 12).await, ["5", "3", "2", "1"]);
}
