//! An approved command goes on to its tool, once.

use async_nats::HeaderMap;
use async_nats::jetstream::Context;
use async_nats::jetstream::stream::{LastRawMessageErrorKind, RawMessageError, Stream};
use bytes::Bytes;

use crate::call::Call;
use crate::nats::COMMANDS;

/// The stream's last sequence, noted before the command is published.
pub(crate) async fn last_sequence(jetstream: &Context) -> Result<u64, String> {
    let mut stream = stream(jetstream).await?;
    let info = stream.info().await.map_err(|error| error.to_string())?;
    Ok(info.state.last_sequence)
}

/// The forward that an earlier life of this process published after `from`, where there is one.
pub(crate) async fn earlier(
    jetstream: &Context,
    call: &Call<'_>,
    from: u64,
) -> Result<Option<u64>, String> {
    let stream = stream(jetstream).await?;
    let target = call.tool.target(call.project, &call.channel, call.agent_id);
    let mut from = from + 1;
    loop {
        let found = stream.get_first_raw_message_by_subject(&target, from).await;
        let message = match found {
            Ok(message) => message,
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(error.to_string()),
        };
        let id = message.headers.get("CG-Tool-Call-Id").map(|id| id.as_str());
        if id == Some(call.tool_call_id) {
            return Ok(Some(message.sequence));
        }
        from = message.sequence + 1;
    }
}

fn is_absent(error: &RawMessageError) -> bool {
    error.kind() == LastRawMessageErrorKind::NoMessageFound
}

/// Publishes exactly the payload's bytes; the sequence under which the stream has them.
pub(crate) async fn publish(
    jetstream: &Context,
    call: &Call<'_>,
    decision_id: &str,
) -> Result<u64, String> {
    let target = call.tool.target(call.project, &call.channel, call.agent_id);
    let mut headers = HeaderMap::new();
    for (name, value) in &call.message.headers {
        if name.starts_with("CG-") || name == "tracestate" {
            headers.append(name.as_str(), value.as_str());
        }
    }
    headers.insert("traceparent", call.child_traceparent().as_str());
    headers.insert("CS-Decision-Id", decision_id);
    let message_id = format!("countersign-{}", call.request_id());
    headers.insert("Nats-Msg-Id", message_id.as_str());
    let payload: Bytes = call.message.payload.clone();
    let sent = jetstream
        .publish_with_headers(target, headers, payload)
        .await;
    let acknowledged = sent.map_err(|error| error.to_string())?.await;
    acknowledged
        .map(|ack| ack.sequence)
        .map_err(|error| error.to_string())
}

async fn stream(jetstream: &Context) -> Result<Stream, String> {
    jetstream
        .get_stream(COMMANDS)
        .await
        .map_err(|error| error.to_string())
}
