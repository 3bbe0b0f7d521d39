//! What the schema costs, and what its constraints reject.

use crate::pool::temporary;

#[tokio::test]
async fn what_every_request_passes_through_fills_no_temporary_table() {
    let (_folder, writer, _reader) = temporary().await;
    for sql in [
        "INSERT INTO requests(ws, agent, request_id, risk, allowed, approvals_required, request_digest, raw,
         stream_epoch, stream_seq, stored_at, received_at, lifetime, deadline_at, state, delivery)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        "UPDATE requests SET state = ?, verdict = ?, origin = ?, decided_at = ?, delivery = ? WHERE id = ?",
        "INSERT INTO outbox(id, kind, request, subject, payload, signer, sig, release_at, state)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        "UPDATE outbox SET state = iif(id = ?3, 'stored', 'lost') WHERE kind = 'decision'
         AND request = ?1 AND ?2 IS NULL AND state IN ('holding', 'queued')",
        "INSERT INTO audit(seq, prev, hash, at, actor, action, subject, detail)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        "INSERT INTO receipts(ws, agent, request_id, decision_id, stage, at, detail, stream_seq)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        "INSERT INTO stalls(request, code, look_at) VALUES (?, ?, ?)",
    ] {
        let mut explain = writer.prepare(&format!("EXPLAIN {sql}")).unwrap();
        let steps = explain.raw_query().mapped(|row| row.get("opcode"));
        let steps: Vec<String> = steps.map(Result::unwrap).collect();
        assert!(
            !steps.iter().any(|step| step == "OpenEphemeral"),
            "{sql}: {steps:?}"
        );
    }
}

#[tokio::test]
async fn a_word_that_is_none_of_the_agreed_ones_is_refused() {
    let (_folder, writer, _reader) = temporary().await;
    for sql in [
        "PRAGMA foreign_keys = OFF",
        "INSERT INTO requests(ws, agent, request_id, risk, allowed, approvals_required, request_digest, raw,
         stream_epoch, stream_seq, stored_at, received_at, lifetime, deadline_at, state, delivery)
         VALUES ('a', 'b', 'c', 'low', '', 1, 'd', x'', 'e', 1, 1, 1, 1, 1, 'pending', 'stored')",
        "INSERT INTO outbox(id, kind, request, subject, payload, signer, release_at, state)
         VALUES ('a', 'vote', 1, 'b', x'', 'c', 1, 'holding')",
        "INSERT INTO receipts(ws, agent, request_id, decision_id, stage, at, detail, stream_seq)
         VALUES ('a', 'b', 'c', 'd', 'received', 1, x'', 1)",
        "INSERT INTO stalls(request, look_at) VALUES (1, 1)",
    ] {
        writer.execute(sql, []).unwrap();
    }
    for (table, column, words) in [
        (
            "requests",
            "state",
            "pending holding queued decided expired withdrawn rejected void",
        ),
        (
            "requests",
            "delivery",
            "stored decided on_bus received executed failed refused",
        ),
        ("outbox", "state", "holding queued stored lost late"),
        ("outbox", "kind", "decision vote"),
        ("receipts", "stage", "received executed failed refused"),
        (
            "stalls",
            "code",
            "stalled_not_on_bus stalled_not_received stalled_not_executed",
        ),
    ] {
        for word in words.split(' ') {
            for (written, agreed) in [(word.to_owned(), true), (format!("{word}s"), false)] {
                let sql = format!("UPDATE {table} SET {column} = ?");
                let done = writer.execute(&sql, [&written]);
                assert_eq!(
                    done.is_ok(),
                    agreed,
                    "{table}.{column} = {written}: {done:?}"
                );
            }
        }
    }
}
