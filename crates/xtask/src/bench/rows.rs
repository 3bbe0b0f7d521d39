//! The figures in the order of the table, with their goals.

use super::table::Goal;

/// The figure's name, what the table calls it, and its goal.
pub(super) const ROWS: [(&str, &str, Goal); 62] = [
    (
        "accepted_one_per_s",
        "accepted /s, one agent, each awaited",
        Goal::PerSecond(Some(2_500.0)),
    ),
    (
        "accepted_many_per_s",
        "accepted /s, 8 agents, 256 in flight",
        Goal::PerSecond(Some(8_000.0)),
    ),
    (
        "listed_many_per_s",
        "listed /s, of those",
        Goal::PerSecond(None),
    ),
    (
        "end_to_end_per_s",
        "end to end /s, 1,000 in flight",
        Goal::PerSecond(None),
    ),
    (
        "by_rule_per_s",
        "the same, approved by a rule",
        Goal::PerSecond(None),
    ),
    (
        "listed_p50_ms",
        "request to listed, p50 ms",
        Goal::Within(None),
    ),
    (
        "listed_p99_ms",
        "request to listed, p99 ms",
        Goal::Within(Some(10.0)),
    ),
    (
        "decision_p50_ms",
        "decision to agent, p50 ms",
        Goal::Within(None),
    ),
    (
        "decision_p99_ms",
        "decision to agent, p99 ms",
        Goal::Within(Some(10.0)),
    ),
    (
        "reader_accepted_many_per_s",
        "with a second reader: accepted /s",
        Goal::None,
    ),
    (
        "reader_listed_many_per_s",
        "… listed /s, of those",
        Goal::None,
    ),
    (
        "reader_end_to_end_per_s",
        "… end to end /s, 1,000 in flight",
        Goal::None,
    ),
    ("reader_by_rule_per_s", "… approved by a rule", Goal::None),
    (
        "reader_listed_p99_ms",
        "… request to listed, p99 ms",
        Goal::None,
    ),
    (
        "reader_decision_p99_ms",
        "… decision to agent, p99 ms",
        Goal::None,
    ),
    (
        "feed_accepted_many_per_s_percent",
        "with a webhook: accepted, % of before",
        Goal::AtLeast(90.0),
    ),
    (
        "feed_listed_many_per_s_percent",
        "… listed, % of before",
        Goal::AtLeast(90.0),
    ),
    (
        "feed_end_to_end_per_s_percent",
        "… end to end, % of before",
        Goal::AtLeast(90.0),
    ),
    (
        "feed_by_rule_per_s_percent",
        "… approved by a rule, % of before",
        Goal::AtLeast(90.0),
    ),
    (
        "hook_p50_ms",
        "hook, allowed by a rule, p50 ms",
        Goal::AtMost(20.0),
    ),
    (
        "hook_p99_ms",
        "hook, allowed by a rule, p99 ms",
        Goal::AtMost(40.0),
    ),
    (
        "hooks_50_at_once_ms",
        "50 hooks at once, all answered, ms",
        Goal::None,
    ),
    (
        "hooks_50_slowest_ms",
        "the slowest of them, ms",
        Goal::AtMost(30_000.0),
    ),
    (
        "proxy_unasked_p50_ms",
        "MCP call that does not ask, p50 ms",
        Goal::None,
    ),
    (
        "proxy_unasked_p99_ms_added",
        "added by the proxy, p99 ms",
        Goal::AtMost(1.0),
    ),
    (
        "proxy_allowed_p50_ms",
        "MCP call allowed by a rule, p50 ms",
        Goal::None,
    ),
    (
        "proxy_allowed_p99_ms_added",
        "added by the proxy, p99 ms",
        Goal::AtMost(10.0),
    ),
    (
        "gateway_p50_ms",
        "ask and claim over HTTP, by a rule, p50 ms",
        Goal::None,
    ),
    (
        "gateway_p50_ms_added",
        "added by the gateway, p50 ms",
        Goal::AtMost(5.0),
    ),
    (
        "gateway_p99_ms_added",
        "added by the gateway, p99 ms",
        Goal::AtMost(10.0),
    ),
    ("start_up_first_ms", "start-up, new folder, ms", Goal::None),
    ("start_up_ms", "start-up, ms", Goal::None),
    ("console_idle_mib", "console idle, MiB", Goal::None),
    (
        "console_10000_waiting_mib",
        "console, 10,000 waiting, MiB",
        Goal::None,
    ),
    ("server_idle_mib", "its nats-server idle, MiB", Goal::None),
    (
        "server_10000_waiting_mib",
        "its nats-server, 10,000 waiting, MiB",
        Goal::None,
    ),
    (
        "metrics_p95_ms",
        "page of metrics, 10,000 waiting, p95 ms",
        Goal::AtMost(10.0),
    ),
    ("metrics_kib", "the page, KiB", Goal::AtMost(64.0)),
    (
        "webhook_events_per_s",
        "webhook events a second to one receiver",
        Goal::AtLeast(1_000.0),
    ),
    (
        "webhook_p95_ms",
        "event's row to receiver, p95 ms",
        Goal::AtMost(250.0),
    ),
    (
        "window_process_mib",
        "console with a window, MiB",
        Goal::None,
    ),
    ("window_page_mib", "the window's page, MiB", Goal::None),
    ("window_server_mib", "its nats-server, MiB", Goal::None),
    (
        "examine_p50_ms",
        "16 KiB examined, full past, p50 ms",
        Goal::None,
    ),
    (
        "examine_p99_ms",
        "16 KiB examined, full past, p99 ms",
        Goal::AtMost(1.0),
    ),
    (
        "judgement_caught_percent",
        "bad calls marked at the place, %",
        Goal::AtLeast(85.0),
    ),
    (
        "judgement_marked_percent",
        "good calls marked, %",
        Goal::AtMost(5.0),
    ),
    (
        "judgement_cold_caught_percent",
        "bad calls marked without a past, %",
        Goal::AtLeast(40.0),
    ),
    (
        "judgement_cold_marked_percent",
        "good calls marked without a past, %",
        Goal::AtMost(5.0),
    ),
    ("requests", "large store, requests", Goal::None),
    ("spans", "large store, spans", Goal::None),
    (
        "row_bytes_per_request",
        "rows of a request, bytes",
        Goal::None,
    ),
    (
        "index_bytes_per_request",
        "words of a request, bytes",
        Goal::None,
    ),
    ("bytes_per_span", "a span, bytes", Goal::None),
    (
        "start_up_p95_ms",
        "start-up on it, p95 ms",
        Goal::AtMost(2_000.0),
    ),
    (
        "first_page_p95_ms",
        "history, first page, p95 ms",
        Goal::AtMost(100.0),
    ),
    (
        "filter_change_p95_ms",
        "history, filter change, p95 ms",
        Goal::AtMost(100.0),
    ),
    (
        "text_search_p95_ms",
        "history, text search, p95 ms",
        Goal::AtMost(100.0),
    ),
    (
        "large_trace_p95_ms",
        "trace of 10,000 spans read, p95 ms",
        Goal::AtMost(500.0),
    ),
    (
        "spans_acknowledged_per_s",
        "spans over OTLP, acknowledged /s",
        Goal::AtLeast(20_000.0),
    ),
    (
        "spans_stored_per_s",
        "spans over OTLP, in the store /s",
        Goal::AtLeast(20_000.0),
    ),
    (
        "spans_verdict_p99_ms",
        "decision to agent meanwhile, p99 ms",
        Goal::AtMost(50.0),
    ),
];
