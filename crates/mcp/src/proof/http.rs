//! The probe of an entry with an address, over streamable HTTP.

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, Method, Response};
use serde_json::Value;
use tokio::time::timeout;

use super::{LONG_ENOUGH, Probed, call, hello, initialized, judged, too_slow};
use crate::events::Events;
use crate::http::{Remote, SESSION, client};
use crate::stdio::LARGEST_OF_SERVER;

/// Calls the probe at the address of an entry.
///
/// Errors: it cannot be reached, or does not answer in time.
pub async fn probe_url(url: &str, headers: &[(String, String)]) -> Result<Probed, String> {
    let remote = Remote::new(url, headers)?;
    let client = client().map_err(|error| error.to_string())?;
    let asked = timeout(LONG_ENOUGH, ask(&client, &remote)).await;
    asked.map_err(|_| too_slow())?
}

async fn ask(client: &Client, remote: &Remote) -> Result<Probed, String> {
    let greeted = post(client, remote, None, &hello()).await?;
    let session = greeted.headers().get(SESSION).cloned();
    if answer(greeted, 1).await?.is_none() {
        return Ok(Probed::PassedOn);
    }
    let session = session.as_ref();
    post(client, remote, session, &initialized()).await?;
    let called = post(client, remote, session, &call()).await?;
    let answered = answer(called, 2).await?;
    if let Some(session) = session {
        // A server that does not hear it lets the session run out.
        let leave = remote.request(client, Method::DELETE);
        let _ = leave.header(SESSION, session).send().await;
    }
    Ok(answered.map_or(Probed::PassedOn, |answer| judged(&answer)))
}

async fn post(
    client: &Client,
    remote: &Remote,
    session: Option<&HeaderValue>,
    message: &Value,
) -> Result<Response, String> {
    let mut request = remote
        .request(client, Method::POST)
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "application/json, text/event-stream")
        .body(message.to_string());
    if let Some(session) = session {
        request = request.header(SESSION, session);
    }
    request.send().await.map_err(words)
}

/// The answer with this id; none where there is something else, such as a page or a question for a login.
async fn answer(mut response: Response, id: u64) -> Result<Option<Value>, String> {
    let mut events = Events::default();
    let mut whole = Vec::new();
    let is_answer = |message: &Value| message["id"] == id && message["method"].is_null();
    while let Some(part) = response.chunk().await.map_err(words)? {
        whole.extend_from_slice(&part);
        let Ok(messages) = events.take(&part, LARGEST_OF_SERVER) else {
            return Ok(None);
        };
        let messages = messages
            .iter()
            .filter_map(|of| serde_json::from_slice(of).ok());
        if let Some(found) = messages.into_iter().find(is_answer) {
            return Ok(Some(found));
        }
        if whole.len() > LARGEST_OF_SERVER {
            return Ok(None);
        }
    }
    let message = serde_json::from_slice(&whole).ok();
    Ok(message.filter(is_answer))
}

fn words(error: reqwest::Error) -> String {
    error.without_url().to_string()
}
