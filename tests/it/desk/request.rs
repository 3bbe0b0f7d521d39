//! Requests as the protocol page writes them, built by hand, without the types under test.

use nix::sys::time::TimeValLike;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// A request that can be bent into any shape.
pub(crate) struct Request(pub(crate) Value);

impl Request {
    /// A call of `send_mail` with a minute to answer.
    pub(crate) fn new(workspace: &str, agent: &str, id: &str) -> Self {
        let args = json!({ "to": "customer@example.org", "copies": 2 });
        let request = Self(json!({
            "v": 1, "kind": "tool_call", "request_id": id, "workspace": workspace,
            "agent": { "name": agent }, "tool": { "name": "send_mail" }, "risk": "medium",
            "allowed_verdicts": ["approve", "modify", "deny"],
        }));
        request.args(args).lasting(60_000)
    }

    pub(crate) fn set(mut self, field: &str, value: Value) -> Self {
        self.0[field] = value;
        self
    }

    pub(crate) fn without(mut self, field: &str) -> Self {
        self.0.as_object_mut().expect("an object").remove(field);
        self
    }

    pub(crate) fn args(self, args: Value) -> Self {
        let digest = digest_of(&args);
        self.set("args", args).set("args_digest", digest.into())
    }

    /// Asked now, with this long to answer.
    pub(crate) fn lasting(self, ms: i64) -> Self {
        let now = now_ms();
        self.set("requested_at", stamp(now).into())
            .set("expires_at", stamp(now + ms).into())
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(&self.0).expect("JSON")
    }
}

/// `sha256:…` of the canonical JSON of arguments.
pub(crate) fn digest_of(args: &Value) -> String {
    countersign_wire::args_digest(args)
        .expect("a digest")
        .to_string()
}

fn now_ms() -> i64 {
    nix::time::clock_gettime(nix::time::ClockId::CLOCK_REALTIME)
        .expect("a clock")
        .num_milliseconds()
}

fn stamp(ms: i64) -> String {
    let at = OffsetDateTime::from_unix_timestamp_nanos(i128::from(ms) * 1_000_000);
    at.expect("a time").format(&Rfc3339).expect("RFC 3339")
}
