//! A receiver of webhooks on the loopback address, with scripted answers.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::net::TcpListener;

#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: String,
    pub(crate) status: u16,
}

impl Call {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub(crate) fn id(&self) -> &str {
        &self.headers["webhook-id"]
    }

    pub(crate) fn seq(&self) -> i64 {
        self.json()["data"]["seq"].as_i64().unwrap()
    }
}

/// What to answer to a call: a status and `Retry-After`.
type Answer = Box<dyn FnMut(&Call) -> (u16, Option<String>) + Send>;

#[derive(Clone)]
pub(crate) struct Receiver {
    pub(crate) url: String,
    calls: Arc<Mutex<Vec<Call>>>,
    answer: Arc<Mutex<Answer>>,
}

impl Receiver {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let calls: Arc<Mutex<Vec<Call>>> = Arc::default();
        let answer: Arc<Mutex<Answer>> = Arc::new(Mutex::new(Box::new(|_| (204, None))));
        let (kept, how) = (Arc::clone(&calls), Arc::clone(&answer));
        let answered = move |headers: HeaderMap, body: Bytes| async move {
            let headers = headers
                .iter()
                .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()));
            let mut call = Call {
                headers: headers.collect(),
                body: String::from_utf8(body.to_vec()).unwrap(),
                status: 0,
            };
            let (status, after) = (how.lock())(&call);
            call.status = status;
            kept.lock().push(call);
            let mut response = StatusCode::from_u16(status).unwrap().into_response();
            if let Some(after) = after {
                response
                    .headers_mut()
                    .insert("retry-after", after.parse().unwrap());
            }
            response
                .headers_mut()
                .insert("location", "http://127.0.0.1:1/".parse().unwrap());
            response
        };
        let router = Router::new().fallback(answered);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, calls, answer }
    }

    pub(crate) fn answers(&self, how: impl FnMut(&Call) -> (u16, Option<String>) + Send + 'static) {
        *self.answer.lock() = Box::new(how);
    }

    pub(crate) fn says(&self, status: u16) {
        self.answers(move |_| (status, None));
    }

    pub(crate) fn calls(&self) -> Vec<Call> {
        self.calls.lock().clone()
    }

    pub(crate) fn taken(&self) -> Vec<Call> {
        let calls = self.calls();
        calls
            .into_iter()
            .filter(|call| (200..300).contains(&call.status))
            .collect()
    }
}
