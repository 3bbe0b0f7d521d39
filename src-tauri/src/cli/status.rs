//! `status`: how the console is. What is unknown is null.

use countersign_core::data_dir::DataDir;
use countersign_core::domain::Timestamp;
use countersign_core::domain::alarm::sentence;
use countersign_core::identity::Kept;
use countersign_core::ops::realm::{ListedState, OwnOperator, own_operator};
use countersign_core::ops::status::Status;
use countersign_core::store::audit::hex;
use countersign_wire::{AgentControl, ErrorCode, without_login};
use serde_json::{Map, Value, json};

use super::config::Settings;
use super::console::{outside_server, reading};
use super::failure::Failure;
use super::gate::console_runs;
use super::output::{Output, doubtful, plain, table, wrong};
use super::reader;
use super::when;

/// Prints how the console is.
pub(crate) async fn run(settings: &Settings, out: Output) -> Result<(), Failure> {
    if let Some(why) = outside_server(settings) {
        return Err(Failure::environment(why));
    }
    let (mut status, own, kept, idle, not_met, second) = reading(settings, true, async |app| {
        let status = app.status().await?;
        Ok((
            status,
            own_operator(app),
            app.identity().kept().clone(),
            app.why_not_by_itself(),
            app.why_not_met(),
            (
                reader::of_status(app).await,
                reader::sentence_of_status(app).await,
            ),
        ))
    })
    .await?;
    if status.url.is_none() {
        status.url = away(settings);
    }
    if out.json {
        let mut line = as_json(&status, &kept);
        line["not_by_itself"] = json!(idle);
        line["bus_error"] = json!(not_met.as_deref().map(plain));
        line["reader"] = second.0;
        line["operators"] = operators(&own);
        return Ok(out.json_line(&line)?);
    }
    let keys = format!("in the {}: {}", kept.place.as_str(), plain(&kept.why));
    let idle = idle.map(|why| ("by itself", wrong(&format!("nothing: {}", plain(&why)))));
    let second = second.1.map(|text| ("reader", plain(&text)));
    let more = idle.into_iter().chain([("keys", keys)]).chain(second);
    let mut reported = lines(&status);
    // Under the first line, which is the bus.
    reported.splice(1..1, not_met.map(|why| ("", wrong(&plain(&why)))));
    for (name, value) in reported.into_iter().chain(more) {
        out.line(&format!("{name:<11}{value}"))?;
    }
    let mut streams = table(&["STREAM", "ON THE BUS", "READ HERE"]);
    for (name, at) in &status.streams {
        let last = at
            .last_seq
            .map_or_else(|| "?".to_owned(), |seq| seq.to_string());
        streams.add_row([name.clone(), last, at.projected_seq.to_string()]);
    }
    Ok(out.table(&streams)?)
}

/// Ends well only while a console of this folder takes decisions.
pub(crate) async fn ready(settings: &Settings) -> Result<(), Failure> {
    if !console_runs(settings) {
        return Err(Failure::new(ErrorCode::NotReady, "no_console"));
    }
    if let Some(why) = outside_server(settings) {
        return Err(Failure::environment(why));
    }
    let status = reading(settings, true, async |app| Ok(app.status().await?)).await?;
    let no_writes = status.read_only.is_some() || status.store_failed.is_some();
    match missing(status.connected, status.caught_up, no_writes) {
        Some(word) => Err(Failure::new(ErrorCode::NotReady, word)),
        None => Ok(()),
    }
}

/// What a console lacks to take decisions.
fn missing(connected: bool, caught_up: bool, no_writes: bool) -> Option<&'static str> {
    match (connected, no_writes, caught_up) {
        (false, ..) => Some("bus_disconnected"),
        (_, true, _) => Some("read_only"),
        (_, _, false) => Some("catching_up"),
        _ => None,
    }
}

/// The bus that could not be reached: the one that was named, or that of the console which runs here.
fn away(settings: &Settings) -> Option<String> {
    let running = || {
        let data = DataDir::open(&settings.data_dir).ok()?;
        let runtime = data.is_running().then(|| data.read_runtime()).flatten()?;
        Some(runtime.nats_url)
    };
    let url = settings.nats_url.clone().or_else(running)?;
    Some(without_login(&url))
}

fn operators(own: &OwnOperator) -> Value {
    json!({
        "state": own.state.map(ListedState::as_str),
        "admin": own.admin,
        "n": own.head.n,
        "digest": own.head.digest,
        "acceptance": own.acceptance,
        "recovery": own.recovery,
    })
}

fn as_json(status: &Status, kept: &Kept) -> Value {
    let streams: Map<String, Value> = status
        .streams
        .iter()
        .map(|(name, at)| {
            (
                name.clone(),
                json!({ "last_seq": at.last_seq, "projected_seq": at.projected_seq }),
            )
        })
        .collect();
    let alarms: Vec<Value> = status
        .alarms
        .iter()
        .map(|alarm| {
            let at = Timestamp(alarm.at).rfc3339();
            json!({
                "code": alarm.code,
                "subject": plain(&alarm.subject),
                "at": at,
                "id": alarm.id,
                "sentence": sentence(&alarm.code, &alarm.subject),
            })
        })
        .collect();
    let consoles: Vec<Value> = status
        .consoles
        .iter()
        .map(|console| {
            json!({
                "id": console.id,
                "operator": plain(&console.operator),
                "heard_at": console.heard_at.rfc3339(),
                "this": console.is_this,
            })
        })
        .collect();
    let controls: Vec<Value> = status
        .controls
        .agents()
        .map(|(agent, set)| {
            let (workspace, name) = (agent.workspace.to_string(), agent.agent.to_string());
            let at = set.at.rfc3339();
            json!({ "workspace": workspace, "agent": name, "state": set.state, "by": plain(&set.by), "at": at })
        })
        .collect();
    let bypasses: Vec<Value> = status
        .controls
        .bypasses(status.at)
        .map(|(agent, set, bypass)| {
            json!({
                "workspace": agent.workspace.to_string(), "agent": agent.agent.to_string(),
                "up_to": bypass.up_to, "until": bypass.until.rfc3339(), "by": plain(&set.by),
                "at": set.at.rfc3339(),
            })
        })
        .collect();
    json!({
        "bus": {
            "connected": status.connected,
            "url": status.url,
            "server_version": status.server_version,
            "insecure": status.insecure,
        },
        "streams": streams,
        "caught_up": status.caught_up,
        "waiting": status.waiting,
        "rejected": status.rejected,
        "outbox": status.outbox,
        "agents": status.agents,
        "consoles": consoles,
        "panic": panic(status),
        "brakes": controls,
        "bypasses": bypasses,
        "alarms": alarms,
        "audit": {
            "seq": status.audit.seq,
            "hash": hex(&status.audit.hash),
            "anchored_seq": status.anchored_seq,
        },
        "keys": { "place": kept.place.as_str(), "why": plain(&kept.why) },
        "read_only": status.read_only.as_ref().or(status.store_failed.as_ref()),
    })
}

/// What could not be written here may be set on the bus: then it is not known that there is none.
fn panic(status: &Status) -> Option<bool> {
    let on = status.controls.panic().is_some();
    (on || status.store_failed.is_none()).then_some(on)
}

fn lines(status: &Status) -> Vec<(&'static str, String)> {
    let bus = match (&status.url, status.connected) {
        (Some(url), true) => {
            let version = status.server_version.as_deref().unwrap_or("?");
            format!(
                "connected to {} (nats-server {})",
                plain(url),
                plain(version)
            )
        }
        (Some(url), false) => wrong(&format!("not connected to {}", plain(url))),
        (None, _) => doubtful("not connected; no console runs in this folder"),
    };
    let mut lines = vec![("bus", bus)];
    if !status.insecure.is_empty() {
        lines.push(("insecure", wrong(&status.insecure.join(", "))));
    }
    let reading = if status.caught_up {
        ""
    } else {
        " (still catching up with the bus)"
    };
    if let Some(set) = status.controls.panic() {
        let at = when::shown(set.at);
        lines.push((
            "panic",
            wrong(&format!("on since {at}, by {}", plain(&set.by))),
        ));
    }
    if panic(status).is_none() {
        let text = "not known, nor is any pause or stop: the store takes no writes";
        lines.push(("panic", doubtful(text)));
    }
    for (agent, set) in status.controls.agents() {
        let word = match set.state {
            AgentControl::Stopped => "stopped",
            AgentControl::Paused | AgentControl::Running => "paused",
        };
        let at = when::shown(set.at);
        lines.push((
            word,
            doubtful(&format!("{agent} since {at}, by {}", plain(&set.by))),
        ));
    }
    for (agent, set, bypass) in status.controls.bypasses(status.at) {
        let (up_to, until, by) = (
            bypass.up_to.as_str(),
            when::shown(bypass.until),
            plain(&set.by),
        );
        let held = match status.controls.may_approve(agent, true) {
            Ok(()) => String::new(),
            Err(why) => format!("; held back: {why}"),
        };
        let text = format!("{agent} does not ask up to {up_to} until {until}, by {by}{held}");
        lines.push(("bypass", doubtful(&text)));
    }
    lines.push(("waiting", format!("{}{reading}", status.waiting)));
    lines.push(("rejected", status.rejected.to_string()));
    lines.push(("outbox", status.outbox.to_string()));
    lines.push(("agents", format!("{} heard lately", status.agents)));
    let operators: Vec<String> = status
        .consoles
        .iter()
        .map(|console| {
            let here = if console.is_this { " (this one)" } else { "" };
            format!("{}{here}", plain(&console.operator))
        })
        .collect();
    lines.push(("consoles", operators.join(", ")));
    let anchored = format!("anchored up to {}", status.anchored_seq);
    lines.push((
        "audit",
        format!(
            "{} rows, {anchored}, head {}",
            status.audit.seq,
            hex(&status.audit.hash)
        ),
    ));
    if let Some(why) = status.read_only.as_ref().or(status.store_failed.as_ref()) {
        lines.push(("read-only", wrong(&plain(why))));
    }
    for alarm in &status.alarms {
        let at = when::shown(Timestamp(alarm.at));
        lines.push((
            "alarm",
            wrong(&format!("{at} {} {}", alarm.code, plain(&alarm.subject))),
        ));
        lines.push(("", sentence(&alarm.code, &alarm.subject)));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::missing;

    #[test]
    fn the_first_thing_that_a_console_lacks_is_named() {
        assert_eq!(missing(true, true, false), None);
        assert_eq!(missing(false, false, true), Some("bus_disconnected"));
        assert_eq!(missing(true, false, true), Some("read_only"));
        assert_eq!(missing(true, false, false), Some("catching_up"));
    }
}
