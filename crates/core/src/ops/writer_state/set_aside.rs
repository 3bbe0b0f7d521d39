//! Keeps messages that fit nowhere, for inspection.
//!
//! One sender cannot fill the disk with them: of a message only its head is kept, and of a day only the first ones. A
//! second message where only one can be (a request, a decision, a vote) is kept whole.

use countersign_wire::{Sha256Digest, Stream};
use serde_json::json;

use super::super::incoming::{At, asker};
use super::{CONFLICT, Tx};
use crate::store::StoreError;
use crate::store::quarantine::{self, Quarantined};

/// Bytes that are kept.
const HEAD: usize = 4 * 1024;
/// Messages of one sender that are kept of a day.
const A_DAY: i64 = 100;
/// Code of the audit row that says that no more are kept.
const TOO_MANY: &str = "too_many";
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

impl Tx<'_> {
    /// Keeps a message of a stream that fits nowhere, under a stable word and with what is wrong. A conflict is audited
    /// by its caller, under the request's name.
    pub(crate) fn set_aside(
        &mut self,
        (stream, epoch): (Stream, &str),
        (at, subject, raw): (At, &str, &[u8]),
        (code, detail): (&str, &str),
    ) -> Result<(), StoreError> {
        let mut message = Quarantined {
            stream: stream.name().to_owned(),
            stream_epoch: epoch.to_owned(),
            stream_seq: at.seq,
            subject: subject.to_owned(),
            raw: raw.to_owned(),
            code: code.to_owned(),
            detail: detail.to_owned(),
            at: at.stamp,
        };
        if code == CONFLICT {
            return quarantine::insert(self.tx, &message);
        }
        let sender = asker(subject).map(|agent| agent.to_string());
        let sender = sender.unwrap_or_else(|| message.stream.clone());
        let day = at.stamp.0.div_euclid(DAY_MS);
        let of_the_day = quarantine::count(self.tx, &sender, day)?;
        if of_the_day > A_DAY {
            if of_the_day == A_DAY + 1 {
                self.record("unknown", "quarantine", sender, json!({ "code": TOO_MANY }));
            }
            return Ok(());
        }
        if raw.len() > HEAD {
            message.raw.truncate(HEAD);
            message.detail = format!("{detail} (the first {HEAD} of {} bytes)", raw.len());
        }
        quarantine::insert(self.tx, &message)?;
        self.record(
            "unknown",
            "quarantine",
            format!("{}/{}", message.stream, message.stream_seq),
            json!({
                "code": message.code,
                "payload_digest": Sha256Digest::of_bytes(raw).to_string(),
            }),
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Timestamp;
    use crate::ops::temporary;
    use crate::ops::writer_state::Effects;

    #[tokio::test]
    async fn one_sender_fills_no_disk_with_what_fits_nowhere() {
        let (_folder, mut writer, reader) = temporary().await;
        let tx = writer.begin().unwrap();
        let mut batch = Tx {
            tx: &tx,
            now: Timestamp(0),
            effects: Effects::default(),
        };
        let large = vec![b'z'; 3 * HEAD];
        let mut seq = 0;
        let mut put = |sender: &str, stamp: i64, code: &str| {
            seq += 1;
            let at = At {
                seq,
                stamp: Timestamp(stamp),
            };
            let subject = format!("countersign.v1.receipt.{sender}.r{seq}");
            let stream = (Stream::Receipts, "e");
            let kept = (at, subject.as_str(), &large[..]);
            batch.set_aside(stream, kept, (code, "no JSON"))
        };
        for _ in 0..A_DAY + 5 {
            put("acme.evil", 0, "unreadable").unwrap();
        }
        put("acme.good", 0, "unreadable").unwrap();
        put("acme.evil", DAY_MS, "unreadable").unwrap();
        put("acme.evil", 0, CONFLICT).unwrap();
        let audited = std::mem::take(&mut batch.effects.audit);
        tx.commit().unwrap();

        let kept: Vec<(i64, i64, String)> = sqlx::query_as(
            "SELECT length(raw), count(*), min(detail) FROM quarantine GROUP BY 1 ORDER BY 1",
        )
        .fetch_all(&reader.0)
        .await
        .unwrap();
        let reported = format!("no JSON (the first {HEAD} of {} bytes)", large.len());
        let (head, whole) = (HEAD as i64, large.len() as i64);
        assert_eq!(
            kept,
            [
                (head, A_DAY + 2, reported),
                (whole, 1, "no JSON".to_owned())
            ]
        );
        let all: i64 = sqlx::query_scalar("SELECT max(messages) FROM quarantine_days")
            .fetch_one(&reader.0)
            .await
            .unwrap();
        assert_eq!(all, A_DAY + 5);
        let digest = Sha256Digest::of_bytes(&large).to_string();
        let of = |code: &str| {
            audited
                .iter()
                .filter(|row| row.detail["code"] == code)
                .count()
        };
        assert_eq!((of("unreadable"), of(TOO_MANY)), (A_DAY as usize + 2, 1));
        assert_eq!(audited[0].detail["payload_digest"], digest);
    }
}
