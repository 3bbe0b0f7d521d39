//! Traces: the list, one call tree, one span.

use countersign_core::domain::facts::Trace;
use countersign_view::{
    IpcError, KeyArgs, LedHere, RawArgs, RawChunk, SpanArgs, SpanView, TraceArgs, TraceTree,
    TracesPage, TracesPageArgs,
};
use countersign_wire::ErrorCode;

use crate::gui::desk::Desk;
use crate::gui::practice::{self, Named};
use countersign_view::window::{Glances, led_here as led, raw_chunk, span_view, trace_row};
use countersign_view::window::{fault, refuse};

/// Traces on one page.
const PAGE: i64 = 50;

pub(crate) async fn traces_page(desk: &Desk, args: TracesPageArgs) -> Result<TracesPage, IpcError> {
    let page = desk.app.traces(args.before, PAGE).await.map_err(fault)?;
    Ok(TracesPage {
        rows: page.lines.iter().map(trace_row).collect(),
        next: page.next,
    })
}

pub(crate) async fn trace_tree(desk: &Desk, args: TraceArgs) -> Result<TraceTree, IpcError> {
    let trace = match args.key.strip_prefix("trace:").map(str::parse) {
        Some(Ok(row)) => {
            let id = desk.app.trace_of_row(row).await.map_err(fault)?;
            desk.app.trace(&id).await.map_err(fault)?
        }
        _ => of_request(desk, args.key.trim()).await?,
    };
    tree(desk, &trace).await
}

/// The trace of a request or a practice card, or the one with this id.
async fn of_request(desk: &Desk, key: &str) -> Result<Trace, IpcError> {
    let (line, source) = match desk.practice.named(key) {
        Named::Real(key) => return desk.app.trace(&key).await.map_err(fault),
        Named::Practice { line, source } => (line, source),
    };
    let found = desk.app.trace(&source).await.map_err(fault)?;
    practice::trace(found, &source, &line, desk.app.now().0).ok_or_else(|| {
        refuse(
            ErrorCode::NotFound,
            "this practice card is gone; go on with the next card",
        )
    })
}

async fn tree(desk: &Desk, trace: &Trace) -> Result<TraceTree, IpcError> {
    let spans = trace.entries.iter().filter_map(|entry| entry.span.as_ref());
    let ids: Vec<i64> = spans.map(|span| span.id).collect();
    let mut glances = Glances::default();
    let all = desk
        .app
        .each_span_body(&ids, |span, body| glances.take(span, body))
        .await
        .map_err(fault)?;
    Ok(countersign_view::window::trace_tree(
        trace,
        &glances,
        !all,
        desk.app.now().0,
    ))
}

pub(crate) async fn led_here(desk: &Desk, args: KeyArgs) -> Result<LedHere, IpcError> {
    let none = LedHere {
        lines: Vec::new(),
        earlier: 0,
        from_ms: 0,
        to_ms: 0,
    };
    match of_request(desk, &args.key).await {
        Ok(trace) => {
            let drawn = tree(desk, &trace).await?;
            Ok(led(&drawn, &args.key).unwrap_or(none))
        }
        // An agent need not send spans.
        Err(error) if error.code == ErrorCode::NotFound.into() => Ok(none),
        Err(error) => Err(error),
    }
}

pub(crate) async fn span(desk: &Desk, args: SpanArgs) -> Result<SpanView, IpcError> {
    let span = desk.app.span(args.span).await.map_err(fault)?;
    Ok(span_view(&span, &desk.hiding_key))
}

pub(crate) async fn span_raw(desk: &Desk, args: RawArgs) -> Result<RawChunk, IpcError> {
    let number = args
        .key
        .strip_prefix("span:")
        .and_then(|id| id.parse().ok());
    let Some(id) = number else {
        return Err(refuse(
            ErrorCode::NotFound,
            "this names no span; open the trace again",
        ));
    };
    let span = desk.app.span(id).await.map_err(fault)?;
    raw_chunk(&span.body, args.offset).ok_or_else(|| {
        refuse(
            ErrorCode::Usage,
            "there are no bytes at that place; open it again",
        )
    })
}
