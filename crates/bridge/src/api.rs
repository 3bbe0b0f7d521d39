//! CommonGround's HTTP API: cards and edges, read.

use std::time::Duration;

use reqwest::{Client, StatusCode};
use serde_json::Value;

use crate::config::Project;

/// What the API says of a card.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Card {
    Found(Value),
    NotFound,
    /// It answered with what is not JSON, or refused for good.
    Malformed,
}

/// The API cannot say it now.
#[derive(Debug)]
pub(crate) struct Away(pub(crate) String);

/// One client for all projects. Certificates are checked with the system's authorities.
pub(crate) fn client() -> Client {
    // A second call finds the provider of the first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .timeout(Duration::from_secs(10))
        .build()
        .unwrap_or_default()
}

/// `GET /projects/{p}/cards/{id}`.
pub(crate) async fn card(client: &Client, project: &Project, id: &str) -> Result<Card, Away> {
    let (status, body) = get(client, project, &["cards", id], &[]).await?;
    match status {
        StatusCode::NOT_FOUND => Ok(Card::NotFound),
        _ if status.is_success() => Ok(body.map_or(Card::Malformed, Card::Found)),
        _ => Ok(Card::Malformed),
    }
}

/// Whether CommonGround has an answer to the call already.
pub(crate) async fn is_answered(
    client: &Client,
    project: &Project,
    call: &str,
) -> Result<bool, Away> {
    let query = [
        ("correlation_id", call),
        ("primitive", "report"),
        ("edge_phase", "response"),
    ];
    let (status, body) = get(client, project, &["state", "execution", "edges"], &query).await?;
    match body {
        Some(Value::Array(rows)) if status.is_success() => Ok(!rows.is_empty()),
        _ => Err(Away(format!("the edges were answered with {status}"))),
    }
}

async fn get(
    client: &Client,
    project: &Project,
    path: &[&str],
    query: &[(&str, &str)],
) -> Result<(StatusCode, Option<Value>), Away> {
    let away = |error: &dyn std::fmt::Display| Away(error.to_string());
    let mut url = reqwest::Url::parse(&project.api_url).map_err(|error| away(&error))?;
    if let Ok(mut segments) = url.path_segments_mut() {
        segments
            .pop_if_empty()
            .extend(["projects", &project.id])
            .extend(path);
    }
    if !query.is_empty() {
        url.query_pairs_mut().extend_pairs(query);
    }
    let mut request = client.get(url);
    if let Some(token) = project.token() {
        request = request.bearer_auth(token);
    }
    // Without its URL: the message goes to a log.
    let answer = request
        .send()
        .await
        .map_err(|error| away(&error.without_url()))?;
    let status = answer.status();
    if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
        return Err(Away(format!("the API answered {status}")));
    }
    let body = answer
        .bytes()
        .await
        .map_err(|error| away(&error.without_url()))?;
    Ok((status, serde_json::from_slice(&body).ok()))
}
