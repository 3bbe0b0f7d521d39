//! Requests of 1 KiB, as `docs/protocol` describes them.

use bytes::Bytes;
use serde_json::json;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Size of every request, bytes.
const SIZE: usize = 1024;
/// The digest of `{"invoice_id":"INV-42"}` (protocol, section 9).
const ARGS_DIGEST: &str = "sha256:30e64fe16d9c35d7dea1689837b3dd7e4c4a95c90b71eefec776582e94f00d95";
/// Placeholder of the id: as long as the ids of [`crate::Agent`].
const ID: &str = "00000000-0000-0000-0000-000000000000";

/// One agent's requests, alike but for their id.
pub(crate) struct Payload {
    before: Vec<u8>,
    after: Vec<u8>,
}

impl Payload {
    pub(crate) fn new(workspace: &str, agent: &str) -> anyhow::Result<Self> {
        // The deadline is far away: nothing expires while it is measured.
        #[expect(
            clippy::disallowed_methods,
            reason = "an agent writes its own clock into a request"
        )]
        let now = OffsetDateTime::now_utc().replace_nanosecond(0)?;
        let mut request = json!({
            "v": 1, "request_id": ID, "kind": "tool_call", "workspace": workspace,
            "agent": { "name": agent, "framework": "bench" },
            "run_id": "r1", "call_id": "call_93",
            "tool": { "name": "delete_invoice", "origin": "local", "effects": "irreversible" },
            "args": { "invoice_id": "INV-42" }, "args_digest": ARGS_DIGEST, "risk": "medium",
            "allowed_verdicts": ["approve", "modify", "deny"],
            "requested_at": now.format(&Rfc3339)?.replace('Z', ".000Z"),
            "expires_at": (now + time::Duration::hours(1)).format(&Rfc3339)?.replace('Z', ".000Z"),
            "reason": "",
        });
        let missing = SIZE.saturating_sub(request.to_string().len());
        request["reason"] = "x".repeat(missing).into();
        let text = request.to_string();
        let (before, after) = text
            .split_once(ID)
            .ok_or_else(|| anyhow::anyhow!("no id"))?;
        Ok(Self {
            before: before.into(),
            after: after.into(),
        })
    }

    pub(crate) fn with_id(&self, id: &str) -> Bytes {
        [self.before.as_slice(), id.as_bytes(), self.after.as_slice()]
            .concat()
            .into()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_request_is_one_kibibyte_of_json_with_its_id() {
        let id = uuid::Uuid::new_v4().to_string();
        let bytes = Payload::new("acme", "bench-0").unwrap().with_id(&id);
        assert_eq!(bytes.len(), SIZE);
        let value: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(value["request_id"], id.as_str());
    }
}
