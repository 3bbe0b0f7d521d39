//! The fields of a request, one at a time.
//!
//! It reports the first fault in the order of [`RejectionCode`]: version, kind, missing fields, types, time stamps,
//! lifetime, identity, digest.

use serde_json::Value;

use super::{
    ApprovalRequest,
    read_parts::{
        agent, chain, confirm, each, effective, group, history_item, native_digest, question,
        skill, tool,
    },
};
use crate::{
    RequestKey, RequestKind, Sha256Digest, Timestamp,
    digest::args_digest,
    json::Fields,
    rejection::{RejectionCode, WireError},
};

type Read<T> = Result<T, WireError>;

/// What the request must call itself.
pub(super) enum Identity<'a> {
    /// The names of a valid subject.
    Subject(&'a RequestKey),
    /// The subject is outside the grammar.
    BadSubject,
    /// No subject is known; the payload's own names count if they are names.
    Own,
}

const REQUIRED: [&str; 7] = [
    "request_id",
    "workspace",
    "agent",
    "risk",
    "allowed_verdicts",
    "requested_at",
    "kind",
];

/// Reads the fields without a subject.
pub(super) fn request(fields: Fields) -> Read<ApprovalRequest> {
    request_of(fields, &Identity::Own)
}

/// Reads the fields of a request which must have this identity.
pub(super) fn request_of(mut fields: Fields, identity: &Identity<'_>) -> Read<ApprovalRequest> {
    let kind = version_and_kind(&fields)?;
    fields.require(&REQUIRED)?;
    fields.require(match kind {
        RequestKind::ToolCall => &["tool", "args", "args_digest"],
        RequestKind::Question => &["question"],
        RequestKind::Form => &["response_schema"],
    })?;
    refuse_null(&fields, kind)?;

    let from = &mut fields;
    for taken in ["v", "kind"] {
        from.any(taken);
    }
    let request_id = from.string("request_id")?;
    let workspace = from.string("workspace")?;
    let (agent_name, agent) = agent(from.object("agent")?)?;
    let run_id = from.opt_string("run_id")?;
    let thread_id = from.opt_string("thread_id")?;
    let call_id = from.opt_string("call_id")?;
    let tool = from.opt_object("tool")?.map(tool).transpose()?;
    let args = from.any("args");
    let digest = from.opt_string("args_digest")?;
    let args_raw = from.opt_string("args_raw")?;
    let effective = from.opt_object("effective")?.map(effective).transpose()?;
    let native_digest = from
        .opt_object("native_digest")?
        .map(native_digest)
        .transpose()?;
    let risk = from.string("risk")?;
    let confirm = from.opt_object("confirm")?.map(confirm).transpose()?;
    let reason = from.opt_string("reason")?;
    let preview = from.opt_string("preview")?;
    let title = from.opt_string("title")?;
    let question = from.opt_object("question")?.map(question).transpose()?;
    let response_schema = from.opt_schema("response_schema")?;
    let history = each(from.opt_objects("history")?, history_item)?;
    let skill = from.opt_object("skill")?.map(skill).transpose()?;
    let chain = from.opt_object("chain")?.map(chain).transpose()?;
    let allowed_verdicts = from
        .opt_strings("allowed_verdicts")?
        .ok_or_else(|| from.wrong("allowed_verdicts", "a list of strings"))?;
    let approvals_required = approvals(from)?;
    let verifies = from.opt_strings("verifies")?;
    let group = from.opt_object("group")?.map(group).transpose()?;
    let traceparent = from.opt_string("traceparent")?;
    let metadata = from.kept("metadata")?;
    let native = from.kept("native")?;
    let (requested_at, expires_at) = lifetime(from)?;

    let key = check_identity(identity, &workspace, &agent_name, &request_id)?;
    let args_digest = check_digest(args.as_ref(), digest.as_deref())?;
    Ok(ApprovalRequest {
        v: 1,
        kind,
        agent: agent(key.agent),
        request_id: key.request_id,
        workspace: key.workspace,
        run_id,
        thread_id,
        call_id,
        tool,
        args,
        args_digest,
        args_raw,
        effective,
        native_digest,
        risk,
        confirm,
        reason,
        preview,
        title,
        question,
        response_schema,
        history,
        skill,
        chain,
        allowed_verdicts,
        approvals_required,
        verifies,
        group,
        requested_at,
        expires_at,
        traceparent,
        metadata,
        native,
        extra: fields.rest(),
    })
}

fn version_and_kind(fields: &Fields) -> Read<RequestKind> {
    fields.require(&["v"])?;
    if fields.peek("v").and_then(Value::as_u64) != Some(1) {
        return Err(WireError::new(RejectionCode::BadVersion, "v is not 1"));
    }
    fields.require(&["kind"])?;
    let word = fields.peek("kind").and_then(Value::as_str);
    let word = word.ok_or_else(|| fields.wrong("kind", "a string"))?;
    RequestKind::from_word(word).ok_or_else(|| {
        let detail = "kind is not tool_call, question or form";
        WireError::new(RejectionCode::UnknownKind, detail)
    })
}

/// Null means absent only where a field is optional.
fn refuse_null(fields: &Fields, kind: RequestKind) -> Read<()> {
    let names: &[&str] = match kind {
        RequestKind::ToolCall => &["tool", "args_digest"],
        RequestKind::Question => &["question"],
        RequestKind::Form => &["response_schema"],
    };
    let null = names
        .iter()
        .find(|name| fields.peek(name).is_some_and(Value::is_null));
    null.map_or(Ok(()), |name| Err(fields.wrong(name, "a value")))
}

fn approvals(from: &mut Fields) -> Read<Option<u8>> {
    match from.opt_count("approvals_required")? {
        None => Ok(None),
        Some(count) => u8::try_from(count)
            .ok()
            .filter(|count| (1..=5).contains(count))
            .map(Some)
            .ok_or_else(|| from.wrong("approvals_required", "1 to 5")),
    }
}

fn lifetime(from: &mut Fields) -> Read<(Timestamp, Option<Timestamp>)> {
    let requested = from.string("requested_at")?;
    let expires = from.opt_string("expires_at")?;
    let requested_at = Timestamp::parse_utc(&requested).map_err(|_| {
        WireError::new(
            RejectionCode::BadTimestamp,
            "requested_at is not RFC 3339 in UTC",
        )
    })?;
    let expires_at = expires
        .map(|text| text.parse::<Timestamp>())
        .transpose()
        .map_err(|_| WireError::new(RejectionCode::BadTimestamp, "expires_at is not RFC 3339"))?;
    if expires_at.is_some_and(|expires_at| expires_at <= requested_at) {
        let detail = "expires_at is not after requested_at";
        return Err(WireError::new(RejectionCode::BadLifetime, detail));
    }
    Ok((requested_at, expires_at))
}

fn check_identity(
    identity: &Identity<'_>,
    workspace: &str,
    agent: &str,
    request_id: &str,
) -> Read<RequestKey> {
    let bad =
        |name: &str| WireError::new(RejectionCode::BadSubject, format!("{name} is not a name"));
    match identity {
        Identity::BadSubject => {
            let detail = "the subject is not countersign.v1.request.{workspace}.{agent}.{id}";
            Err(WireError::new(RejectionCode::BadSubject, detail))
        }
        Identity::Subject(key) => {
            let differs = [
                ("workspace", key.workspace.as_str() != workspace),
                ("agent.name", key.agent.as_str() != agent),
                ("request_id", key.request_id.as_str() != request_id),
            ];
            match differs.iter().find(|(_, differs)| *differs) {
                None => Ok((*key).clone()),
                Some((name, _)) => Err(WireError::new(
                    RejectionCode::SubjectMismatch,
                    format!("{name} is not that of the subject"),
                )),
            }
        }
        Identity::Own => Ok(RequestKey {
            workspace: workspace.parse().map_err(|_| bad("workspace"))?,
            agent: agent.parse().map_err(|_| bad("agent.name"))?,
            request_id: request_id.parse().map_err(|_| bad("request_id"))?,
        }),
    }
}

fn check_digest(args: Option<&Value>, claimed: Option<&str>) -> Read<Option<Sha256Digest>> {
    let mismatch = |detail: &str| WireError::new(RejectionCode::DigestMismatch, detail);
    let Some(claimed) = claimed else {
        return Ok(None);
    };
    let args = args.ok_or_else(|| mismatch("args_digest without args"))?;
    let computed = args_digest(args).map_err(|error| mismatch(&error.to_string()))?;
    if computed.to_string() == claimed {
        Ok(Some(computed))
    } else {
        Err(mismatch("args_digest is not the digest of args"))
    }
}
