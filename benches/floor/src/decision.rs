//! A decision that nobody has checked or signed.

use anyhow::Context as _;
use async_nats::{Client, HeaderMap};
use serde_json::json;

/// Characters of a public key.
pub const KEY: usize = 56;
/// Characters of a signature.
pub const SIG: usize = 86;
/// Characters of a digest.
pub const DIGEST: usize = 71;

/// As many bytes as a decision of the product has, and its subject.
pub fn of_request(subject: &str) -> anyhow::Result<(String, Vec<u8>)> {
    let id = subject.rsplit('.').next().unwrap_or_default();
    let decision = json!({
        "v": 1, "decision_id": id, "request_id": id, "request_digest": "d".repeat(DIGEST),
        "verdict": "approve", "args_digest": "d".repeat(DIGEST), "scope": "once", "origin": "operator",
        "decided_by": { "name": "Bench", "key": "U".repeat(KEY) },
        "decided_at": "2026-01-01T00:00:00.000Z",
    });
    let subject = subject.replacen(".request.", ".decision.", 1);
    Ok((subject, serde_json::to_vec(&decision)?))
}

/// Publishes it write-once, with headers as long as the product's, and waits for the stream's acknowledgement.
pub async fn publish(client: &Client, subject: String, payload: Vec<u8>) -> anyhow::Result<()> {
    let mut headers = HeaderMap::new();
    headers.insert("Nats-Expected-Last-Subject-Sequence", "0");
    headers.insert("CS-Key", "U".repeat(KEY));
    headers.insert("CS-Sig", "s".repeat(SIG));
    let answer = client
        .request_with_headers(subject, headers, payload.into())
        .await?;
    let answer: serde_json::Value = serde_json::from_slice(&answer.payload)?;
    answer["seq"]
        .as_u64()
        .with_context(|| format!("refused: {answer}"))?;
    Ok(())
}
