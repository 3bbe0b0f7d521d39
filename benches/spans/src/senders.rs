//! Programs that trace themselves: batches of 512 spans, as OpenTelemetry's SDKs send them.

use std::net::SocketAddr;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_client::TraceServiceClient;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use tokio::time::Instant;
use tonic::Code;

const BATCH: u64 = 512;
/// Spans of one trace.
const TRACE: u64 = 40;

/// Sends until then; how many spans of each sender were acknowledged.
pub(crate) async fn send(
    address: SocketAddr,
    senders: usize,
    rate: Option<u32>,
    until: Instant,
) -> anyhow::Result<Vec<u64>> {
    let mut running = Vec::new();
    for sender in 0..senders {
        let client = TraceServiceClient::connect(format!("http://{address}")).await?;
        // Each its share; a batch that takes longer than that is followed at once.
        let pause = rate.map(|rate| {
            let batches = f64::from(rate) / 512.0 / f64::from(u32::try_from(senders).unwrap_or(1));
            Duration::from_secs_f64(1.0 / batches)
        });
        running.push(tokio::spawn(one(
            client,
            u64::try_from(sender)?,
            pause,
            until,
        )));
    }
    let mut sent = Vec::new();
    for sender in running {
        sent.push(sender.await??);
    }
    Ok(sent)
}

async fn one(
    mut client: TraceServiceClient<tonic::transport::Channel>,
    sender: u64,
    pause: Option<Duration>,
    until: Instant,
) -> anyhow::Result<u64> {
    let (mut sent, mut next) = (0, Instant::now());
    while Instant::now() < until {
        if let Some(pause) = pause {
            tokio::time::sleep_until(next).await;
            next += pause;
        }
        match client.export(batch(sender, sent)).await {
            Ok(_) => sent += BATCH,
            // As an SDK does: the same spans again, later.
            Err(status) if status.code() == Code::ResourceExhausted => {
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            Err(status) => return Err(status.into()),
        }
    }
    Ok(sent)
}

/// The trace of a span, and how many spans it has up to that one.
pub(crate) fn trace_of(sender: u64, number: u64) -> (String, usize) {
    let spans = usize::try_from(number % TRACE).unwrap_or(0) + 1;
    (
        format!("{:016x}{:016x}", sender + 1, number / TRACE + 1),
        spans,
    )
}

fn batch(sender: u64, first: u64) -> ExportTraceServiceRequest {
    ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans {
            resource: Some(Resource {
                attributes: vec![text("service.name", "bench")],
                ..Resource::default()
            }),
            scope_spans: vec![ScopeSpans {
                spans: (first..first + BATCH)
                    .map(|number| span(sender, number))
                    .collect(),
                ..ScopeSpans::default()
            }],
            ..ResourceSpans::default()
        }],
    }
}

/// A model's call with the attributes that an instrumentation writes, about 600 bytes.
fn span(sender: u64, number: u64) -> Span {
    let start = 1_800_000_000_000_000_000 + number * 1_000_000;
    let mut trace_id = (sender + 1).to_be_bytes().to_vec();
    trace_id.extend((number / TRACE + 1).to_be_bytes());
    let parent = number - number % TRACE;
    Span {
        trace_id,
        span_id: (number + 1).to_be_bytes().to_vec(),
        parent_span_id: if parent == number {
            Vec::new()
        } else {
            (parent + 1).to_be_bytes().to_vec()
        },
        name: "chat m-1".to_owned(),
        start_time_unix_nano: start,
        end_time_unix_nano: start + 800_000,
        attributes: vec![
            text("gen_ai.operation.name", "chat"),
            text("gen_ai.provider.name", "example"),
            text("gen_ai.request.model", "m-1"),
            text("gen_ai.conversation.id", "thread-1"),
            pair("gen_ai.usage.input_tokens", Value::IntValue(812)),
            pair("gen_ai.usage.output_tokens", Value::IntValue(96)),
            text(
                "gen_ai.output.messages",
                r#"[{"role":"assistant","parts":[{"type":"text","content":"It is raining in Oslo, take an umbrella."}],"finish_reason":"stop"}]"#,
            ),
        ],
        ..Span::default()
    }
}

fn text(key: &str, value: &str) -> KeyValue {
    pair(key, Value::StringValue(value.to_owned()))
}

fn pair(key: &str, value: Value) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value: Some(value) }),
        ..KeyValue::default()
    }
}
