#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use axum::body::Body;
use axum::http::{Request, StatusCode};
use countersign_wire::{Risk, Stage};
use hyper_util::service::TowerToHyperService;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::*;

mod listening;

/// A console that tests change.
#[derive(Default)]
struct Console {
    writer_ended: AtomicBool,
    why: Mutex<Vec<&'static str>>,
    figures: Mutex<Option<Figures>>,
    log: Mutex<Vec<Stored>>,
    made: AtomicI64,
}

#[derive(Clone, Default)]
struct Handle(Arc<Console>);

impl Desk for Handle {
    fn is_alive(&self) -> bool {
        !self.0.writer_ended.load(Ordering::Relaxed)
    }

    fn not_ready(&self) -> Vec<&'static str> {
        self.0.why.try_lock().unwrap().clone()
    }

    async fn figures(&self) -> Option<Figures> {
        self.0.made.fetch_add(1, Ordering::Relaxed);
        self.0.figures.lock().await.clone()
    }

    async fn stored_after(&self, place: Option<i64>) -> Option<(Vec<Stored>, i64)> {
        let (log, place) = (self.0.log.lock().await, place.unwrap_or(0));
        let next = log.get(usize::try_from(place).unwrap()).cloned();
        // One at a time, so that pages follow each other.
        Some((
            next.clone().into_iter().collect(),
            place + i64::from(next.is_some()),
        ))
    }
}

impl Handle {
    async fn with(figures: Figures) -> Self {
        let handle = Self::default();
        *handle.0.figures.lock().await = Some(figures);
        handle
    }

    async fn store(&self, stored: impl IntoIterator<Item = Stored>) {
        self.0.log.lock().await.extend(stored);
    }
}

fn decision(effective: &str, origin: Option<&str>, took_ms: i64) -> Stored {
    Stored::Decision {
        effective: effective.to_owned(),
        origin: origin.map(str::to_owned),
        risk: Risk::High,
        took_ms,
    }
}

/// Status, one header and the body of an answer to `GET path` on the loopback address.
async fn get(desk: &Handle, path: &str, headers: &[(&str, &str)]) -> (u16, String, String) {
    let pages = Arc::new(Pages::new(desk.clone(), "1.2.3"));
    ask(&pages, None, "GET", path, headers).await
}

async fn ask(
    pages: &Arc<Pages<Handle>>,
    token: Option<&str>,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
) -> (u16, String, String) {
    let token = token.map(|token| Sha256Digest::of_bytes(token.as_bytes()));
    let router = routes::router(Arc::clone(pages), token, true);
    let mut request = Request::builder().method(method).uri(path);
    if !headers.iter().any(|(name, _)| *name == "host") {
        request = request.header("host", "localhost:9464");
    }
    for (name, value) in headers.iter().filter(|(_, value)| !value.is_empty()) {
        request = request.header(*name, *value);
    }
    let request = request.body(Body::empty()).unwrap();
    let service = TowerToHyperService::new(router);
    let answer = hyper::service::Service::call(&service, request)
        .await
        .unwrap();
    let status = answer.status().as_u16();
    let kind = answer.headers().get("content-type");
    let kind = kind.map_or("", |kind| kind.to_str().unwrap()).to_owned();
    let body = axum::body::to_bytes(answer.into_body(), 1 << 20)
        .await
        .unwrap();
    (status, kind, String::from_utf8(body.to_vec()).unwrap())
}

fn value(page: &str, series: &str) -> Option<String> {
    let line = page.lines().find_map(|line| line.strip_prefix(series))?;
    line.strip_prefix(' ').map(str::to_owned)
}

#[tokio::test]
async fn each_form_is_given_to_who_asks_for_it() {
    let desk = Handle::with(Figures::default()).await;
    for (accept, is_open) in [
        ("", false),
        ("*/*", false),
        ("text/plain;version=0.0.4", false),
        ("application/openmetrics-text", true),
        (
            "text/plain;q=0.5, Application/OpenMetrics-Text; version=1.0.0;q=0.7",
            true,
        ),
    ] {
        let (status, kind, page) = get(&desk, "/metrics", &[("accept", accept)]).await;
        let expected = if is_open {
            page::OPEN_METRICS
        } else {
            page::CLASSIC
        };
        assert_eq!((status, kind.as_str()), (200, expected), "{accept}");
        assert_eq!(page.ends_with("# EOF\n"), is_open, "{accept}");
        let kind = match is_open {
            true => "# TYPE countersign_requests counter\n",
            false => "# TYPE countersign_requests_total counter\n",
        };
        assert!(page.contains(kind), "{page}");
    }
}

#[tokio::test]
async fn every_series_of_a_fixed_label_is_there_from_the_start() {
    let figures = Figures {
        lag: vec![("CS_REQUESTS".to_owned(), None)],
        ..Figures::default()
    };
    let desk = Handle::with(figures).await;
    let (_, _, page) = get(&desk, "/metrics", &[]).await;
    let mut series = vec![
        "countersign_requests_rejected_total".to_owned(),
        "countersign_oldest_waiting_seconds".to_owned(),
        "countersign_panic".to_owned(),
        "countersign_stream_lag_messages{stream=\"CS_REQUESTS\"}".to_owned(),
    ];
    for risk in Risk::ALL {
        for name in [
            "requests_waiting",
            "requests_total",
            "decision_duration_seconds_count",
        ] {
            series.push(format!("countersign_{name}{{risk=\"{risk}\"}}"));
        }
    }
    for stage in Stage::ALL {
        series.push(format!("countersign_receipts_total{{stage=\"{stage}\"}}"));
    }
    for series in series {
        assert_eq!(
            value(&page, &series).as_deref(),
            Some("0"),
            "{series} in {page}"
        );
    }
    let build = "countersign_build_info{version=\"1.2.3\"}";
    assert_eq!(value(&page, build).as_deref(), Some("1"));
}

#[tokio::test]
async fn what_is_stored_is_counted_once_and_no_foreign_word_becomes_a_label() {
    let desk = Handle::with(Figures::default()).await;
    desk.store([
        Stored::Request(Risk::Low),
        Stored::Request(Risk::Low),
        Stored::Rejected,
        Stored::Receipt(Stage::Executed),
        decision("approve", Some("operator"), 4_000),
        decision("void", Some("operator"), 4_000),
        decision("approve", Some("rule"), 4_000),
        decision("expired", Some("timeout"), 4_000),
        decision("deny", Some("canary \" agent"), 4_000),
        decision("canary", None, 4_000),
    ])
    .await;
    let pages = Arc::new(Pages::new(desk, "1.2.3"));
    // Counted beforehand, by the page and by nobody again.
    pages.count().await;
    let (_, _, page) = ask(&pages, None, "GET", "/metrics", &[]).await;
    let total = |series: &str| value(&page, &format!("countersign_{series}"));
    for (series, count) in [
        ("requests_total{risk=\"low\"}", "2"),
        ("requests_total{risk=\"high\"}", "0"),
        ("requests_rejected_total", "1"),
        ("receipts_total{stage=\"executed\"}", "1"),
        (
            "decisions_total{verdict=\"approve\",origin=\"operator\"}",
            "1",
        ),
        ("decisions_total{verdict=\"void\",origin=\"operator\"}", "1"),
        ("decisions_total{verdict=\"approve\",origin=\"rule\"}", "1"),
        (
            "decisions_total{verdict=\"expired\",origin=\"timeout\"}",
            "1",
        ),
        ("decisions_total{verdict=\"deny\",origin=\"other\"}", "1"),
        ("decisions_total{verdict=\"other\",origin=\"other\"}", "1"),
        // Of the person's valid answer alone.
        ("decision_duration_seconds_count{risk=\"high\"}", "1"),
        ("decision_duration_seconds_sum{risk=\"high\"}", "4.0"),
        (
            "decision_duration_seconds_bucket{risk=\"high\",le=\"2\"}",
            "0",
        ),
        (
            "decision_duration_seconds_bucket{risk=\"high\",le=\"5\"}",
            "1",
        ),
    ] {
        assert_eq!(total(series).as_deref(), Some(count), "{series} in {page}");
    }
    assert!(!page.contains("canary"), "{page}");
}

#[tokio::test]
async fn a_code_that_was_seen_stays_and_a_lag_that_is_unknown_is_the_last_known() {
    let first = Figures {
        alarms: vec![("void_decision".to_owned(), 2)],
        lag: vec![("CS_REQUESTS".to_owned(), Some(7))],
        ..Figures::default()
    };
    let then = Figures {
        lag: vec![("CS_REQUESTS".to_owned(), None)],
        ..Figures::default()
    };
    let mut page = page::Page::new("1.2.3");
    let code = "countersign_alarms{code=\"void_decision\"}";
    let lag = "countersign_stream_lag_messages{stream=\"CS_REQUESTS\"}";
    for (figures, active) in [(&first, "2"), (&then, "0")] {
        page.set(figures);
        let text = page.text(false).unwrap();
        assert_eq!(value(&text, code).as_deref(), Some(active));
        assert_eq!(value(&text, lag).as_deref(), Some("7"));
    }
}

#[tokio::test]
async fn a_feed_has_all_its_series_and_its_tries_never_sink() {
    let mut page = page::Page::new("1.2.3");
    for (taken, expected) in [(0, "0"), (3, "3"), (2, "3"), (4, "4")] {
        let feed = FeedFigures {
            name: "soc".to_owned(),
            pending: 5,
            oldest_s: 60,
            tries: [("taken", taken), ("refused", 0), ("away", 1), ("dead", 0)],
        };
        page.set(&Figures {
            feeds: vec![feed],
            ..Figures::default()
        });
        let text = page.text(false).unwrap();
        for (series, value_of) in [
            ("pending_events{feed=\"soc\"}", "5"),
            ("oldest_pending_seconds{feed=\"soc\"}", "60"),
            ("deliveries_total{feed=\"soc\",result=\"taken\"}", expected),
            ("deliveries_total{feed=\"soc\",result=\"away\"}", "1"),
            ("deliveries_total{feed=\"soc\",result=\"dead\"}", "0"),
        ] {
            let series = format!("countersign_feed_{series}");
            assert_eq!(value(&text, &series).as_deref(), Some(value_of), "{text}");
        }
    }
}

#[tokio::test]
async fn a_page_is_made_once_a_second_and_never_without_the_store() {
    let desk = Handle::with(Figures::default()).await;
    let pages = Arc::new(Pages::new(desk.clone(), "1.2.3"));
    let begun = Instant::now();
    let made = || desk.0.made.load(Ordering::Relaxed);
    while made() < 2 {
        for accept in ["", "application/openmetrics-text"] {
            let (status, ..) = ask(&pages, None, "GET", "/metrics", &[("accept", accept)]).await;
            assert_eq!(status, 200);
        }
        let seconds = i64::try_from(begun.elapsed().as_secs()).unwrap();
        assert!(made() <= 1 + seconds, "{} in {seconds} s", made());
    }
    *desk.0.figures.lock().await = None;
    while ask(&pages, None, "GET", "/metrics", &[]).await.0 == 200 {
        assert!(begun.elapsed() < Duration::from_secs(60), "an old page");
    }
}

#[tokio::test]
async fn health_and_readiness_say_what_the_console_is() {
    let desk = Handle::default();
    assert_eq!(get(&desk, "/healthz", &[]).await.0, 200);
    let ready = (
        200,
        "application/json".into(),
        r#"{"ready":true,"why":[]}"#.into(),
    );
    assert_eq!(get(&desk, "/readyz", &[]).await, ready);
    for word in [
        "bus_disconnected",
        "catching_up",
        "read_only",
        "store_failed",
    ] {
        *desk.0.why.lock().await = vec![word];
        let (status, _, body) = get(&desk, "/readyz", &[]).await;
        let expected = format!(r#"{{"ready":false,"why":["{word}"]}}"#);
        assert_eq!((status, body), (503, expected));
        assert_eq!(get(&desk, "/healthz", &[]).await.0, 200, "{word}");
    }
    desk.0.writer_ended.store(true, Ordering::Relaxed);
    assert_eq!(get(&desk, "/healthz", &[]).await.0, 503);
}

#[tokio::test]
async fn other_paths_methods_and_hosts_are_refused() {
    let desk = Handle::with(Figures::default()).await;
    let pages = Arc::new(Pages::new(desk, "1.2.3"));
    for path in ["/metrics", "/healthz", "/readyz"] {
        let head = ask(&pages, None, "HEAD", path, &[]).await;
        assert_eq!((head.0, head.2.as_str()), (200, ""), "{path}");
        for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
            assert_eq!(ask(&pages, None, method, path, &[]).await.0, 405, "{path}");
        }
        for host in [
            "localhost",
            "LOCALHOST:1",
            "127.0.0.1:9464",
            "[::1]:80",
            "[::1]",
        ] {
            assert_eq!(
                ask(&pages, None, "GET", path, &[("host", host)]).await.0,
                200,
                "{host}"
            );
        }
        for host in [
            "",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.2",
            "a@localhost",
            "local host",
        ] {
            let misdirected = StatusCode::MISDIRECTED_REQUEST.as_u16();
            let status = ask(&pages, None, "GET", path, &[("host", host)]).await.0;
            assert_eq!(status, misdirected, "{host}");
        }
        let twice = [("host", "localhost"), ("host", "localhost")];
        assert_eq!(ask(&pages, None, "GET", path, &twice).await.0, 421);
        let absolute = format!("http://evil.example{path}");
        assert_eq!(ask(&pages, None, "GET", &absolute, &[]).await.0, 421);
    }
    for path in ["/", "/metrics/", "/v1", "/metricsx"] {
        assert_eq!(ask(&pages, None, "GET", path, &[]).await.0, 404, "{path}");
    }
    assert_eq!(ask(&pages, None, "GET", "/metrics?a=b", &[]).await.0, 200);
}

#[tokio::test]
async fn the_token_opens_the_metrics_and_health_needs_none() {
    let desk = Handle::with(Figures::default()).await;
    let pages = Arc::new(Pages::new(desk, "1.2.3"));
    let with = |authorization| ask_with(&pages, "/metrics", authorization);
    assert_eq!(with("Bearer 0123456789abcdef").await, 200);
    assert_eq!(with("bearer 0123456789abcdef").await, 200);
    for wrong in [
        "",
        "Bearer",
        "Bearer ",
        "Bearer 0123456789abcde",
        "Basic 0123456789abcdef",
    ] {
        assert_eq!(with(wrong).await, 401, "{wrong}");
    }
    assert_eq!(
        ask_with(&pages, "/metrics?token=0123456789abcdef", "").await,
        401
    );
    assert_eq!(ask_with(&pages, "/healthz", "").await, 200);
    assert_eq!(ask_with(&pages, "/readyz", "").await, 200);
}

async fn ask_with(pages: &Arc<Pages<Handle>>, path: &str, authorization: &str) -> u16 {
    let headers = [("authorization", authorization)];
    ask(pages, Some("0123456789abcdef"), "GET", path, &headers)
        .await
        .0
}
