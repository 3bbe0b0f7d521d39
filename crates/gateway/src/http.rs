//! The requests that are served, each from its token to its answer.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{RawQuery, State as Given};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use countersign_wire::Sha256Digest;
use futures::StreamExt as _;
use tokio::time::{Instant, timeout};

use crate::api::{AskList, AskState, DoneAnswer, ReadyAnswer, claimed, json};
use crate::ask::{Claimed, State};
use crate::body::{Asker, ClaimBody, HelloBody, ReceiptBody, WithdrawBody, read, read_ask};
use crate::desk::Cell;
use crate::fault::{self, Fault, bad_value, invalid};
use crate::front::{Caller, Id};
use crate::link::introduction;
use crate::moment::Moment;
use crate::openapi::openapi;
use crate::shared::Shared;

const LARGEST: usize = 512 * 1024;
const BODY_WITHIN: Duration = Duration::from_secs(30);
const LONGEST_WAIT: u64 = 55;
const LONGEST_LIST: usize = 100;
/// How long a receipt may take until the answer says that the bus has it.
const REPORT_WITHIN: Duration = Duration::from_secs(3);

type Gateway = Given<Arc<Shared>>;
type Answered = Result<Response, Fault>;

pub(crate) async fn ask(
    caller: Caller,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Answered {
    let key = key(&headers)?.ok_or_else(fault::key_required)?;
    let query = Query::read(query.as_deref());
    let wait = query.wait()?;
    let body = whole(&caller, body, &headers).await?;
    let asker = Asker {
        agent: &caller.desk.agent,
        realm: caller.desk.realm,
        key,
        token: caller.token.sha256,
        origins: &caller.shared.origins,
        host: &caller.shared.host,
    };
    let ask = read_ask(&body, &asker)?;
    let waits = room(&caller, wait)?;
    let (cell, first) = caller.desk.ask(ask).await?;
    until(&caller, wait, || left(&cell)).await?;
    drop(waits);
    let status = if first {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    let ask = cell.ask();
    let mut response = json(status, &AskState::of(&ask));
    if let Ok(location) = HeaderValue::try_from(format!("/v1/asks/{}", ask.id)) {
        response.headers_mut().insert("location", location);
    }
    Ok(response)
}

pub(crate) async fn look(caller: Caller, Id(id): Id, RawQuery(query): RawQuery) -> Answered {
    let cell = caller.desk.get(&id)?;
    let wait = Query::read(query.as_deref()).wait()?;
    let _room = match left(&cell) {
        true => None,
        false => room(&caller, wait)?,
    };
    until(&caller, wait, || left(&cell)).await?;
    Ok(json(StatusCode::OK, &AskState::of(&cell.ask())))
}

pub(crate) async fn list(caller: Caller, RawQuery(query): RawQuery) -> Answered {
    let query = Query::read(query.as_deref());
    let state = query.of("state").and_then(State::from_word);
    let state = state.ok_or_else(|| bad_value("state is one of the words of an ask's state"))?;
    let limit = match query.number("limit")? {
        Some(0) => return Err(bad_value("limit is 1 to 100")),
        limit => limit.map_or(LONGEST_LIST, |limit| LONGEST_LIST.min(limit as usize)),
    };
    let wait = query.wait()?;
    let some = || !caller.desk.list(state, 1).is_empty();
    let _room = match some() {
        true => None,
        false => room(&caller, wait)?,
    };
    until(&caller, wait, some).await?;
    let asks = caller.desk.list(state, limit);
    let asks = asks.iter().map(AskState::of).collect();
    Ok(json(StatusCode::OK, &AskList { asks }))
}

pub(crate) async fn claim(caller: Caller, Id(id): Id, headers: HeaderMap, body: Body) -> Answered {
    let key = key(&headers)?;
    let cell = caller.desk.get(&id)?;
    read::<ClaimBody>(&whole(&caller, body, &headers).await?)?;
    // What was kept is what is answered, whatever happens to the ask meanwhile.
    let step = move |ask: &mut crate::ask::Ask, now: &Moment| {
        let (outcome, keep) = ask.claim(key, now)?;
        Ok(((outcome, ask.clone()), keep))
    };
    let (outcome, ask): (Claimed, _) = caller.desk.change(&cell, step).await?;
    Ok(claimed(&ask, outcome))
}

pub(crate) async fn withdraw(
    caller: Caller,
    Id(id): Id,
    headers: HeaderMap,
    body: Body,
) -> Answered {
    let cell = caller.desk.get(&id)?;
    let body: WithdrawBody = read(&whole(&caller, body, &headers).await?)?;
    let step = move |ask: &mut crate::ask::Ask, _: &Moment| Ok(((), ask.withdraw(body.reason)?));
    caller.desk.change(&cell, step).await?;
    Ok(json(StatusCode::OK, &AskState::of(&cell.ask())))
}

pub(crate) async fn receipt(
    caller: Caller,
    Id(id): Id,
    headers: HeaderMap,
    body: Body,
) -> Answered {
    let cell = caller.desk.get(&id)?;
    let report = read::<ReceiptBody>(&whole(&caller, body, &headers).await?)?.report()?;
    let step = move |ask: &mut crate::ask::Ask, _: &Moment| Ok(((), ask.report(report)?));
    caller.desk.change(&cell, step).await?;
    let sent = || cell.ask().receipt.is_some_and(|report| report.sent);
    until(&caller, REPORT_WITHIN, sent).await?;
    let status = if sent() {
        StatusCode::OK
    } else {
        StatusCode::ACCEPTED
    };
    Ok(json(status, &AskState::of(&cell.ask())))
}

pub(crate) async fn hello(caller: Caller, headers: HeaderMap, body: Body) -> Answered {
    let hello: HelloBody = read(&whole(&caller, body, &headers).await?)?;
    let gate = caller.desk.link.borrow().gate()?;
    caller.desk.keep_hello(&hello).await?;
    let introduced = gate.introduce(&introduction(hello)).await;
    introduced.map_err(|_| fault::bus_unreachable())?;
    Ok(json(StatusCode::OK, &DoneAnswer {}))
}

pub(crate) async fn description() -> Response {
    json(StatusCode::OK, &openapi())
}

pub(crate) async fn alive() -> Response {
    json(StatusCode::OK, &DoneAnswer {})
}

pub(crate) async fn ready(Given(shared): Gateway) -> Response {
    let links = shared.desks.values().map(|desk| desk.link.borrow().gate());
    let mut why: Vec<_> = links.filter_map(|gate| Some(gate.err()?.code)).collect();
    why.sort_unstable();
    why.dedup();
    let ready = why.is_empty();
    let status = if ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    json(status, &ReadyAnswer { ready, why })
}

pub(crate) async fn not_found() -> Response {
    fault::not_found().into_response()
}

pub(crate) async fn method_not_allowed() -> Response {
    fault::method_not_allowed().into_response()
}

fn left(cell: &Cell) -> bool {
    cell.state(&Moment::now()) != State::Waiting
}

/// Room for a long poll; none where it does not wait.
fn room(
    caller: &Caller,
    wait: Duration,
) -> Result<Option<tokio::sync::OwnedSemaphorePermit>, Fault> {
    if wait.is_zero() {
        return Ok(None);
    }
    let room = Arc::clone(&caller.token.waits).try_acquire_owned();
    room.map(Some).map_err(|_| fault::too_many_waits())
}

/// Waits for `done`, the end of the time or of the gateway. Error: the token was revoked meanwhile.
async fn until(caller: &Caller, wait: Duration, done: impl Fn() -> bool) -> Result<(), Fault> {
    let end = Instant::now() + wait;
    let mut changes = caller.desk.changes();
    let mut tokens = caller.shared.tokens.changes();
    let mut stop = caller.shared.stop.clone();
    while !done() && Instant::now() < end && !*stop.borrow_and_update() {
        caller.check()?;
        tokio::select! {
            Ok(()) = changes.changed() => {}
            Ok(()) = tokens.changed() => {}
            Ok(()) = stop.changed() => {}
            () = tokio::time::sleep_until(end) => {}
        }
    }
    Ok(())
}

/// The digest of the idempotency key; none without that header.
fn key(headers: &HeaderMap) -> Result<Option<Sha256Digest>, Fault> {
    let mut sent = headers.get_all("idempotency-key").iter();
    let Some(key) = sent.next() else {
        return Ok(None);
    };
    let bytes = key.as_bytes();
    let visible = bytes.iter().all(u8::is_ascii_graphic);
    match visible && (1..=255).contains(&bytes.len()) && sent.next().is_none() {
        true => Ok(Some(Sha256Digest::of_bytes(bytes))),
        false => Err(fault::key_required()),
    }
}

/// The body of a caller whose token is in force when it has arrived.
async fn whole(caller: &Caller, body: Body, headers: &HeaderMap) -> Result<Vec<u8>, Fault> {
    let announced = headers
        .get("content-length")
        .and_then(|length| length.to_str().ok());
    let announced = announced.and_then(|length| length.parse::<usize>().ok());
    if announced.is_some_and(|length| length > LARGEST) {
        return Err(fault::too_large());
    }
    let read = async {
        let mut whole = Vec::new();
        let mut chunks = body.into_data_stream();
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|_| invalid("not_json", "the body broke off"))?;
            if whole.len() + chunk.len() > LARGEST {
                return Err(fault::too_large());
            }
            whole.extend_from_slice(&chunk);
        }
        Ok(whole)
    };
    let late = |_| Err(invalid("not_json", "the body did not arrive within 30 s"));
    let whole = timeout(BODY_WITHIN, read).await.unwrap_or_else(late)?;
    caller.check()?;
    Ok(whole)
}

/// The parameters of a target; others than those that are read are ignored.
struct Query<'a>(HashMap<&'a str, &'a str>);

impl<'a> Query<'a> {
    fn read(query: Option<&'a str>) -> Self {
        let pairs = query.unwrap_or_default().split('&');
        Self(pairs.filter_map(|pair| pair.split_once('=')).collect())
    }

    fn of(&self, name: &str) -> Option<&'a str> {
        self.0.get(name).copied()
    }

    fn number(&self, name: &str) -> Result<Option<u64>, Fault> {
        match self.of(name) {
            None => Ok(None),
            Some(text) if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => {
                Ok(Some(text.parse().unwrap_or(u64::MAX)))
            }
            Some(_) => Err(bad_value(format!("{name} is a whole number"))),
        }
    }

    fn wait(&self) -> Result<Duration, Fault> {
        let seconds = self.number("wait")?.unwrap_or_default();
        Ok(Duration::from_secs(seconds.min(LONGEST_WAIT)))
    }
}
