//! Which request goes where: `Host` and `Origin` first, then path, method, token, key and body.

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post, put};

use crate::front::{Hosts, judge};
use crate::http;
use crate::shared::Shared;

pub(crate) fn routes(shared: Arc<Shared>, hosts: Hosts) -> Router {
    Router::new()
        .route("/v1/asks", post(http::ask).get(http::list))
        .route("/v1/asks/{id}", get(http::look))
        .route("/v1/asks/{id}/claim", post(http::claim))
        .route("/v1/asks/{id}/withdraw", post(http::withdraw))
        .route("/v1/asks/{id}/receipt", post(http::receipt))
        .route("/v1/hello", put(http::hello))
        .route("/v1/openapi.json", get(http::description))
        .route("/healthz", get(http::alive))
        .route("/readyz", get(http::ready))
        .method_not_allowed_fallback(http::method_not_allowed)
        .fallback(http::not_found)
        .with_state(shared)
        .layer(from_fn_with_state(hosts, judge))
}
