//! This console's answers in somebody's own tracing system: a collector of the test takes them over gRPC.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use nix::sys::signal::Signal;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::trace::v1::Span;
use serde_json::json;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};

use crate::desk::{Agent, Console, Desk, eventually};

/// What a collector was sent, and how often it says that it cannot take anything.
#[derive(Clone, Default)]
struct Taken {
    spans: Arc<Mutex<Vec<Span>>>,
    refuses: Arc<Mutex<usize>>,
}

#[tonic::async_trait]
impl TraceService for Taken {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let key = request.metadata().get("x-api-key");
        if key.is_none_or(|key| key != "the secret") {
            return Err(Status::unauthenticated("no key"));
        }
        let mut refuses = self.refuses.lock().unwrap();
        if *refuses > 0 {
            *refuses -= 1;
            return Err(Status::unavailable("later"));
        }
        let groups = request.into_inner().resource_spans;
        let scopes = groups.into_iter().flat_map(|group| group.scope_spans);
        let mut spans = self.spans.lock().unwrap();
        spans.extend(scopes.flat_map(|scope| scope.spans));
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

async fn collector(taken: Taken) -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = Server::builder()
        .add_service(TraceServiceServer::new(taken))
        .serve_with_incoming(TcpIncoming::from(listener));
    tokio::spawn(server);
    address
}

fn desk(collector: SocketAddr) -> Desk {
    let desk = Desk::new();
    let config = format!(
        "[otlp.export]\nendpoint = 'http://{collector}'\n[otlp.export.headers]\nx-api-key = 'the secret'\n"
    );
    std::fs::write(desk.path().join("config.toml"), config).unwrap();
    desk
}

fn reported(taken: &Taken, requests: &[&str]) -> Vec<Span> {
    eventually(|| {
        let spans = taken.spans.lock().unwrap().clone();
        let named = |id: &&str| {
            spans
                .iter()
                .any(|span| text(span, "countersign.request.id") == **id)
        };
        if requests.iter().all(named) {
            return Ok(spans);
        }
        Err(spans.len())
    })
}

fn text(span: &Span, name: &str) -> String {
    let found = span.attributes.iter().find(|pair| pair.key == name);
    match found.and_then(|pair| pair.value.as_ref()?.value.as_ref()) {
        Some(Any::StringValue(text)) => text.clone(),
        other => format!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_a_span_below_the_one_that_asked_and_tells_no_arguments() {
    let taken = Taken::default();
    *taken.refuses.lock().unwrap() = 2;
    let desk = desk(collector(taken.clone()).await);
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    let mut asked = agent.request("r1");
    asked.0["traceparent"] = json!("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    asked.0["reason"] = json!("because my user said so");
    agent.ask(&asked).await;
    agent.ask(&agent.request("r2")).await;
    desk.show_in_state("r1", "pending");
    desk.show_in_state("r2", "pending");
    desk.run(&["approve", "r1", "--message", "words for the agent"])
        .success();
    desk.run(&["deny", "r2", "--message", "no"]).success();

    let spans = reported(&taken, &["r1", "r2"]);
    let of = |id: &str| {
        let found = spans
            .iter()
            .find(|span| text(span, "countersign.request.id") == id);
        found.unwrap().clone()
    };
    let approved = of("r1");
    assert_eq!(approved.trace_id[..2], [0x0a, 0xf7]);
    assert_eq!(approved.parent_span_id[..2], [0xb7, 0xad]);
    assert_eq!(text(&approved, "countersign.verdict"), "approve");
    assert_eq!(
        text(&approved, "countersign.operator.name"),
        "Test Operator"
    );
    assert_eq!(text(&of("r2"), "countersign.verdict"), "deny");
    assert!(of("r2").parent_span_id.is_empty());
    let all = format!("{spans:?}");
    for hidden in [
        "because my user said so",
        "words for the agent",
        "the secret",
    ] {
        assert!(!all.contains(hidden), "{hidden}");
    }
    let args = asked.0["args"].as_object().unwrap();
    for argument in args.values().filter_map(|value| value.as_str()) {
        assert!(!all.contains(argument), "{argument}");
    }
    console.stop(Signal::SIGTERM);
    let log = std::fs::read_to_string(desk.path().join("serve.log")).unwrap();
    assert!(
        log.contains("not sent to the collector") && !log.contains("the secret"),
        "{log}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_collector_did_not_take_is_told_after_a_restart_and_holds_up_no_decision() {
    let taken = Taken::default();
    *taken.refuses.lock().unwrap() = 1_000_000;
    let desk = desk(collector(taken.clone()).await);
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    agent.ask(&agent.request("r1")).await;
    desk.show_in_state("r1", "pending");
    // The exporter has met the refusing collector before the console is killed.
    desk.run(&["approve", "r1"]).success();
    desk.show_in_state("r1", "decided");
    eventually(|| match *taken.refuses.lock().unwrap() {
        1_000_000 => Err("nothing was sent"),
        _ => Ok(()),
    });
    console.kill9();
    assert!(taken.spans.lock().unwrap().is_empty());
    *taken.refuses.lock().unwrap() = 0;
    let console = Console::start(&desk);
    let spans = reported(&taken, &["r1"]);
    assert_eq!(spans.len(), 1);
    // And not once more: what was exported is remembered.
    console.stop(Signal::SIGTERM);
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    agent.ask(&agent.request("r2")).await;
    desk.show_in_state("r2", "pending");
    desk.run(&["approve", "r2"]).success();
    assert_eq!(reported(&taken, &["r1", "r2"]).len(), 2);
    console.stop(Signal::SIGTERM);
}
