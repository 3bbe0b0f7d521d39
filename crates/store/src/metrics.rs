//! What metrics count: rows of the audit log with what they are about, and what waits.

use countersign_wire::{Risk, Stage};
use rusqlite::{Connection, OptionalExtension, Row};

use super::conditions::no_probe;
use super::{Reader, StoreError};
use crate::domain::metrics::{Stored, Waiting};

/// Rows of the log that are read at once.
const PAGE: i64 = 5_000;

/// The row that the last start of this console wrote; without one, the end of the log.
pub async fn last_start(reader: &Reader, console: &str) -> Result<i64, StoreError> {
    let sql =
        "SELECT coalesce((SELECT max(seq) FROM audit WHERE subject = ? AND action = 'console_start'
                 AND action <> 'request' AND action <> 'decide' AND action <> 'decision'),
               (SELECT max(seq) FROM audit), 0)";
    let start = sqlx::query_scalar(sql).bind(console);
    Ok(start.fetch_one(&reader.0).await?)
}

/// What was stored after a row of the log, and the row up to which that is; the same row at the end.
pub async fn stored_after(reader: &Reader, seq: i64) -> Result<(Vec<Stored>, i64), StoreError> {
    reader.direct(move |sqlite| page(sqlite, seq)).await
}

fn page(sqlite: &Connection, after: i64) -> rusqlite::Result<(Vec<Stored>, i64)> {
    let mut log = sqlite.prepare_cached(
        "SELECT seq, action, subject, detail ->> 'effective', detail ->> 'stage' FROM audit
         WHERE seq > ? ORDER BY seq LIMIT ?",
    )?;
    let (mut stored, mut last) = (Vec::new(), after);
    let mut rows = log.query((after, PAGE))?;
    while let Some(row) = rows.next()? {
        last = row.get(0)?;
        stored.extend(read(sqlite, row)?);
    }
    Ok((stored, last))
}

fn read(sqlite: &Connection, row: &Row<'_>) -> rusqlite::Result<Option<Stored>> {
    let action: String = row.get(1)?;
    if !matches!(
        action.as_str(),
        "request" | "rejected" | "decision" | "judged" | "receipt"
    ) {
        return Ok(None);
    }
    let about = about(sqlite, &row.get::<_, String>(2)?)?;
    if about.as_ref().is_some_and(|about| about.is_probe) {
        return Ok(None);
    }
    Ok(match (action.as_str(), about) {
        ("request", Some(about)) => Some(Stored::Request(about.risk)),
        ("rejected", _) => Some(Stored::Rejected),
        ("receipt", _) => {
            let stage: Option<String> = row.get(4)?;
            stage
                .and_then(|word| Stage::from_word(&word))
                .map(Stored::Receipt)
        }
        // Without a request it is counted once that is here.
        (_, Some(about)) => row.get::<_, Option<String>>(3)?.map(|effective| {
            let decided_at = about.decided_at.unwrap_or(about.stored_at);
            Stored::Decision {
                effective,
                origin: about.origin,
                risk: about.risk,
                took_ms: (decided_at - about.stored_at).max(0),
            }
        }),
        (_, None) => None,
    })
}

/// A request and its decision.
struct About {
    risk: Risk,
    is_probe: bool,
    stored_at: i64,
    origin: Option<String>,
    decided_at: Option<i64>,
}

fn about(sqlite: &Connection, subject: &str) -> rusqlite::Result<Option<About>> {
    let mut names = subject.split('/');
    let (Some(ws), Some(agent), Some(id)) = (names.next(), names.next(), names.next()) else {
        return Ok(None);
    };
    let mut request = sqlite.prepare_cached(
        "SELECT r.risk, ifnull(r.tool = 'countersign_probe', 0), r.stored_at, d.origin, d.stored_at
         FROM requests r LEFT JOIN decisions d ON d.request = r.id
         WHERE r.ws = ? AND r.agent = ? AND r.request_id = ?",
    )?;
    let about = request.query_row((ws, agent, id), |row| {
        Ok(About {
            risk: risk(&row.get::<_, String>(0)?),
            is_probe: row.get(1)?,
            stored_at: row.get(2)?,
            origin: row.get(3)?,
            decided_at: row.get(4)?,
        })
    });
    about.optional()
}

/// Requests that wait, for each risk of them.
pub async fn waiting(reader: &Reader) -> Result<Vec<Waiting>, StoreError> {
    let work = |sqlite: &Connection| {
        let sql = format!(
            "SELECT risk, count, (SELECT stored_at FROM requests WHERE id = first) FROM
             (SELECT r.risk AS risk, count(*) AS count, min(r.id) AS first
              FROM requests r INDEXED BY requests_pending_by_deadline
              WHERE r.state = 'pending' AND {} GROUP BY r.risk)",
            no_probe("r.id")
        );
        let mut waiting = sqlite.prepare_cached(&sql)?;
        let rows = waiting.query_map([], |row| {
            Ok(Waiting {
                risk: risk(&row.get::<_, String>(0)?),
                count: row.get(1)?,
                oldest_at: row.get(2)?,
            })
        })?;
        rows.collect()
    };
    reader.direct(work).await
}

fn risk(word: &str) -> Risk {
    Risk::from_word(word).unwrap_or(Risk::Critical)
}

/// Alarms that nobody acknowledged, by code.
pub async fn alarms(reader: &Reader) -> Result<Vec<(String, i64)>, StoreError> {
    let sql = "SELECT code, count(*) FROM alarms WHERE acknowledged_at IS NULL GROUP BY code";
    Ok(sqlx::query_as(sql).fetch_all(&reader.0).await?)
}

/// Bytes of the database and its write-ahead log.
#[must_use]
pub fn bytes(reader: &Reader) -> u64 {
    let options = reader.0.connect_options();
    let database = options.get_filename();
    let mut log = database.as_os_str().to_owned();
    log.push("-wal");
    let length = |path: &std::path::Path| std::fs::metadata(path).map_or(0, |file| file.len());
    length(database) + length(log.as_ref())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::pool::{Writer, temporary};

    fn request(writer: &Writer, id: i64, risk: &str, tool: &str, state: &str) {
        let put = "INSERT INTO requests(id, ws, agent, request_id, risk, tool, allowed, approvals_required,
               request_digest, stream_epoch, stream_seq, stored_at, received_at, lifetime,
               deadline_at, state, delivery, raw)
             VALUES (?1, 'acme', 'bot', 'r' || ?1, ?2, ?3, '[]', 1, 'd', 'e', ?1, 1000 * ?1, 0, 0, 9000 - ?1, ?4,
               'stored', x'')";
        writer.execute(put, (id, risk, tool, state)).unwrap();
    }

    fn decision(writer: &Writer, request: i64, origin: Option<&str>) {
        let put = "INSERT INTO decisions(request, ws, agent, request_id, payload, origin, stream_epoch, stream_seq, stored_at)
             VALUES (?1, 'acme', 'bot', 'r' || ?1, x'', ?2, 'e', ?1, 4000)";
        writer.execute(put, (request, origin)).unwrap();
    }

    fn logged(writer: &Writer, rows: &[(&str, &str, &str)]) {
        let put = "INSERT INTO audit(prev, hash, at, actor, action, subject, detail)
             VALUES (zeroblob(32), zeroblob(32), '', '', ?, ?, ?)";
        for row in rows {
            writer.execute(put, *row).unwrap();
        }
    }

    #[tokio::test]
    async fn each_row_is_what_it_stored_and_a_probe_is_none() {
        let (_folder, writer, reader) = temporary().await;
        request(&writer, 1, "low", "send", "decided");
        request(&writer, 2, "high", "countersign_probe", "decided");
        request(&writer, 9, "safe", "send", "void");
        decision(&writer, 1, Some("operator"));
        decision(&writer, 2, Some("system"));
        decision(&writer, 9, None);
        let earlier = [
            ("console_start", "other", "{}"),
            ("console_start", "me", "{}"),
        ];
        logged(&writer, &earlier);
        assert_eq!(last_start(&reader, "me").await.unwrap(), 2);
        assert_eq!(last_start(&reader, "nobody").await.unwrap(), 2);
        let rows = [
            ("request", "acme/bot/r1", "{}"),
            ("request", "acme/bot/r2", "{}"),
            ("decision", "acme/bot/r2", r#"{"effective":"deny"}"#),
            ("receipt", "acme/bot/r2", r#"{"stage":"refused"}"#),
            ("rejected", "rejected:7", "{}"),
            ("decision", "acme/bot/r1", r#"{"effective":"approve"}"#),
            (
                "judged_again",
                "acme/bot/r1",
                r#"{"effective":"withdrawn"}"#,
            ),
            ("decision", "acme/bot/r9", "{}"),
            ("judged", "acme/bot/r9", r#"{"effective":"void"}"#),
            ("decision", "acme/bot/unknown", "{}"),
            ("receipt", "acme/bot/unknown", r#"{"stage":"executed"}"#),
            ("decide", "acme/bot/r1", r#"{"verdict":"approve"}"#),
        ];
        logged(&writer, &rows);
        let decided = |effective: &str, origin: Option<&str>, risk, took_ms| Stored::Decision {
            effective: effective.to_owned(),
            origin: origin.map(str::to_owned),
            risk,
            took_ms,
        };
        let expected = vec![
            Stored::Request(Risk::Low),
            Stored::Rejected,
            decided("approve", Some("operator"), Risk::Low, 3_000),
            // A stamp before the one of its request takes no time.
            decided("void", None, Risk::Safe, 0),
            Stored::Receipt(Stage::Executed),
        ];
        assert_eq!(stored_after(&reader, 2).await.unwrap(), (expected, 14));
        assert_eq!(stored_after(&reader, 14).await.unwrap(), (Vec::new(), 14));
    }

    #[tokio::test]
    async fn what_waits_is_counted_by_risk_without_probes() {
        let (_folder, writer, reader) = temporary().await;
        request(&writer, 1, "high", "countersign_probe", "pending");
        for (id, risk, state) in [(2, "high", "decided"), (3, "high", "pending")] {
            request(&writer, id, risk, "send", state);
        }
        for (id, risk) in [(4, "low"), (5, "high")] {
            request(&writer, id, risk, "send", "pending");
        }
        let of = |risk, count, oldest_at| Waiting {
            risk,
            count,
            oldest_at,
        };
        let expected = [of(Risk::High, 2, 3_000), of(Risk::Low, 1, 4_000)];
        assert_eq!(waiting(&reader).await.unwrap(), expected);
        assert!(bytes(&reader) > 4_096);
    }
}
