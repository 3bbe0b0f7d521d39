//! Who may speak to the gateway at all: no web page, nobody who takes it for another host, nobody without a token.

use std::sync::Arc;

use axum::extract::{FromRequestParts, Path, Request, State};
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use crate::desk::Desk;
use crate::fault::{self, Fault};
use crate::shared::Shared;
use crate::tokens::Token;

/// The names under which the gateway answers, in lower case; none over a socket of the file system.
pub(crate) type Hosts = Option<Arc<Vec<String>>>;

/// Judges `Host` and `Origin`, in front of everything else.
pub(crate) async fn judge(State(hosts): State<Hosts>, request: Request, next: Next) -> Response {
    match judged(&hosts, request.uri(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(fault) => fault.into_response(),
    }
}

fn judged(hosts: &Hosts, target: &Uri, headers: &HeaderMap) -> Result<(), Fault> {
    if let Some(hosts) = hosts {
        let mut named = headers.get_all(HOST).iter();
        let (Some(host), None) = (named.next(), named.next()) else {
            return Err(fault::wrong_host());
        };
        let host = host.to_str().unwrap_or_default();
        let targeted = target.authority().map(Authority::as_str);
        if !is_named(host, hosts) || !targeted.is_none_or(|host| is_named(host, hosts)) {
            return Err(fault::wrong_host());
        }
    }
    match headers.contains_key(ORIGIN) {
        true => Err(fault::origin_refused()),
        false => Ok(()),
    }
}

/// With any port.
fn is_named(authority: &str, hosts: &[String]) -> bool {
    let parsed = Authority::try_from(authority);
    let plain = !authority.contains('@');
    plain
        && parsed.is_ok_and(|of| {
            hosts
                .iter()
                .any(|host| host.eq_ignore_ascii_case(of.host()))
        })
}

/// The id in a path.
pub(crate) struct Id(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Fault> {
        let id = Path::<String>::from_request_parts(parts, state).await;
        id.map(|Path(id)| Self(id)).map_err(|_| fault::not_found())
    }
}

/// Who sent a token that is in force, and the desk of its agent.
pub(crate) struct Caller {
    pub(crate) token: Arc<Token>,
    pub(crate) desk: Arc<Desk>,
    pub(crate) shared: Arc<Shared>,
}

impl Caller {
    /// Error: the token was revoked meanwhile.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        let held = self.shared.tokens.get(&self.token.sha256);
        held.map(drop).ok_or_else(fault::unauthorized)
    }
}

impl FromRequestParts<Arc<Shared>> for Caller {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, shared: &Arc<Shared>) -> Result<Self, Fault> {
        let mut sent = parts.headers.get_all(AUTHORIZATION).iter();
        let (Some(sent), None) = (sent.next(), sent.next()) else {
            return Err(fault::unauthorized());
        };
        let sent = sent.to_str().map_err(|_| fault::unauthorized())?;
        let (scheme, token) = sent.split_once(' ').ok_or_else(fault::unauthorized)?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(fault::unauthorized());
        }
        let token = shared
            .tokens
            .of(token.trim())
            .ok_or_else(fault::unauthorized)?;
        let desk = shared.desks.get(&token.agent).cloned();
        let desk = desk.ok_or_else(fault::unauthorized)?;
        match *shared.stop.borrow() {
            true => Err(fault::stopping()),
            false => Ok(Self {
                token,
                desk,
                shared: Arc::clone(shared),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_host_is_one_of_the_gateways_with_any_port_and_nothing_in_front_of_it() {
        let hosts = ["localhost", "127.0.0.1", "[::1]", "desk.example"].map(str::to_owned);
        for (authority, named) in [
            ("localhost", true),
            ("LOCALHOST:4788", true),
            ("127.0.0.1:1", true),
            ("[::1]:4788", true),
            ("desk.example", true),
            ("evil.example", false),
            ("localhost.evil.example", false),
            ("localhost@evil.example", false),
            ("evil.example@localhost", false),
            ("evil.example:x@localhost", false),
            ("127.0.0.2", false),
            ("0.0.0.0", false),
            ("::1", false),
            ("", false),
            ("localhost ", false),
            ("localhost/evil", false),
        ] {
            assert_eq!(is_named(authority, &hosts), named, "{authority:?}");
        }
    }
}
