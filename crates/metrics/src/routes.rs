//! Three paths, and who may read them.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, WWW_AUTHENTICATE};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use countersign_wire::Sha256Digest;
use serde_json::json;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::Desk;
use crate::page::{CLASSIC, OPEN_METRICS, Page};

/// A page may be that old.
const AGE: Duration = Duration::from_secs(1);

/// The metrics of a console.
pub(crate) struct Pages<D> {
    desk: D,
    current: Mutex<Current>,
}

struct Current {
    page: Page,
    /// The place in the log up to which is counted.
    counted: Option<i64>,
    /// When the page was made, and its two forms.
    made: Option<(Instant, [String; 2])>,
}

impl<D: Desk> Pages<D> {
    pub(crate) fn new(desk: D, version: &str) -> Self {
        let current = Current {
            page: Page::new(version),
            counted: None,
            made: None,
        };
        Self {
            desk,
            current: Mutex::new(current),
        }
    }

    /// Counts what was stored since.
    pub(crate) async fn count(&self) {
        self.counted(&mut *self.current.lock().await).await;
    }

    /// Whether everything is counted.
    async fn counted(&self, current: &mut Current) -> bool {
        loop {
            let Some((stored, place)) = self.desk.stored_after(current.counted).await else {
                return false;
            };
            stored.into_iter().for_each(|one| current.page.count(one));
            if current.counted.replace(place) == Some(place) {
                return true;
            }
        }
    }

    async fn text(&self, open_metrics: bool) -> Option<String> {
        let mut current = self.current.lock().await;
        let is_old = |(at, _): &(Instant, _)| at.elapsed() >= AGE;
        if current.made.as_ref().is_none_or(is_old) {
            let begun = Instant::now();
            let figures = self.desk.figures().await?;
            // Afterwards: nothing waits that is not counted.
            if !self.counted(&mut current).await {
                return None;
            }
            current.page.set(&figures);
            let forms = [
                current.page.text(false).ok()?,
                current.page.text(true).ok()?,
            ];
            current.made = Some((begun, forms));
        }
        let (_, forms) = current.made.as_ref()?;
        Some(forms[usize::from(open_metrics)].clone())
    }
}

pub(crate) fn router<D: Desk>(
    pages: Arc<Pages<D>>,
    token: Option<Sha256Digest>,
    judges_host: bool,
) -> Router {
    let read =
        move |pages: State<Arc<Pages<D>>>, headers: HeaderMap| metrics(pages, headers, token);
    let routes = Router::new()
        .route("/metrics", get(read))
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .with_state(pages);
    match judges_host {
        true => routes.layer(from_fn(host)),
        false => routes,
    }
}

/// A web page that gave its name this machine's address would read along.
async fn host(request: Request, next: Next) -> Response {
    let mut hosts = request.headers().get_all(HOST).iter();
    let named = (hosts.next(), hosts.next());
    let named = matches!(named, (Some(host), None) if host.to_str().is_ok_and(is_local));
    let target = request.uri().authority().map(Authority::as_str);
    match named && target.is_none_or(is_local) {
        true => next.run(request).await,
        false => {
            let why = "Host must be localhost, 127.0.0.1 or [::1]";
            (StatusCode::MISDIRECTED_REQUEST, why).into_response()
        }
    }
}

fn is_local(host: &str) -> bool {
    let host: Result<Authority, _> = host.parse();
    host.is_ok_and(|host| {
        let is_plain = !host.as_str().contains('@');
        let name = host.host().to_ascii_lowercase();
        is_plain && matches!(name.as_str(), "localhost" | "127.0.0.1" | "[::1]")
    })
}

async fn metrics<D: Desk>(
    State(pages): State<Arc<Pages<D>>>,
    headers: HeaderMap,
    token: Option<Sha256Digest>,
) -> Response {
    let given = headers.get(AUTHORIZATION).map(|value| value.as_bytes());
    if token.is_some_and(|token| given.and_then(bearer) != Some(token)) {
        let how = [(WWW_AUTHENTICATE, "Bearer")];
        let why = "send the token as `Authorization: Bearer TOKEN`";
        return (StatusCode::UNAUTHORIZED, how, why).into_response();
    }
    let open_metrics = headers.get_all(ACCEPT).iter().any(|accept| {
        let accept = accept.to_str().map(str::to_ascii_lowercase);
        accept.is_ok_and(|accept| accept.contains("application/openmetrics-text"))
    });
    match pages.text(open_metrics).await {
        Some(page) => {
            let form = if open_metrics { OPEN_METRICS } else { CLASSIC };
            ([(CONTENT_TYPE, form)], page).into_response()
        }
        None => {
            let why = "the store cannot be read now; see /readyz";
            (StatusCode::SERVICE_UNAVAILABLE, why).into_response()
        }
    }
}

/// Digests are compared: the time that takes says nothing of the token.
fn bearer(authorization: &[u8]) -> Option<Sha256Digest> {
    let (scheme, token) = authorization.split_at_checked("Bearer ".len())?;
    let is_bearer = scheme.eq_ignore_ascii_case(b"Bearer ");
    is_bearer.then(|| Sha256Digest::of_bytes(token.trim_ascii()))
}

async fn healthz<D: Desk>(State(pages): State<Arc<Pages<D>>>) -> Response {
    match pages.desk.is_alive() {
        true => "the writer runs\n".into_response(),
        false => {
            let why = "the writer has ended; restart the console\n";
            (StatusCode::SERVICE_UNAVAILABLE, why).into_response()
        }
    }
}

async fn readyz<D: Desk>(State(pages): State<Arc<Pages<D>>>) -> Response {
    let why = pages.desk.not_ready();
    let status = match why.is_empty() {
        true => StatusCode::OK,
        false => StatusCode::SERVICE_UNAVAILABLE,
    };
    let body = json!({ "ready": why.is_empty(), "why": why }).to_string();
    (status, [(CONTENT_TYPE, "application/json")], body).into_response()
}
