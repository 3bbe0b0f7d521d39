//! `mcp-proxy`: Countersign in front of an MCP server; `mcp`: the tool that Claude Code asks for permission.
//!
//! Refuses to write anything of its own on standard output: that belongs to the protocol.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsStr;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use countersign_hooks::{HEADERS, URL};
use countersign_mcp::{Asker, Behind, Place, Remote, Served};
use countersign_sdk::Which;
use countersign_wire::{ErrorCode, Risk};
use serde_json::json;

use super::args::{Elicitation, Mcp, McpProxy};
use super::ask::{AGENT_JSON, enrolment, hide_under_login_of, warn_of_readers};
use super::config::Settings;
use super::failure::Failure;
use super::hook::state;
use super::output::Output;
use super::serve::Stop;

/// The enrolment of Claude Code in a data folder.
const CLAUDE_CODE: &str = "agents/default/claude-code/agent.json";

/// Relays until the server ends, and ends with its exit code.
pub(crate) async fn proxy(
    settings: &Settings,
    out: Output,
    wanted: McpProxy,
) -> Result<(), Failure> {
    let mut stop = Stop::listen()?;
    let which = Which::new(&wanted.ask, &wanted.unasked, &wanted.risk, Risk::Critical)
        .map_err(|error| Failure::usage(format!("invalid pattern of tool names: {error}")))?;
    let enrolment = enrolment(settings, wanted.agent_json)?;
    warn_of_readers(out, &enrolment);
    hide_under_login_of(&enrolment);
    let mut headers = wanted.header;
    headers.extend(headers_of_entry()?);
    let url = wanted.url.or_else(|| match wanted.command.is_empty() {
        true => env::var(URL).ok(),
        false => None,
    });
    if url.is_none() && wanted.command.is_empty() {
        let why =
            format!("no server: name its command behind `--`, or its address with --url or {URL}");
        return Err(Failure::usage(why));
    }
    let remote = url.map(|url| Remote::new(&url, &headers));
    let remote = remote.transpose().map_err(Failure::usage)?;
    let program = wanted.command.first().map(Path::new);
    let file = program
        .and_then(Path::file_name)
        .map(OsStr::to_string_lossy);
    let host = remote.as_ref().map(Remote::host);
    let named = || host.map_or_else(|| file.unwrap_or_default().into_owned(), str::to_owned);
    let asker = Asker {
        enrolment,
        server: wanted.name.unwrap_or_else(named),
        framework: "countersign mcp-proxy",
        timeout: Duration::from_secs(wanted.timeout),
        hold: wanted.hold.map(held).transpose()?,
        place: Place::with(wanted.env),
    };
    let forms = wanted.elicitation == Elicitation::Console;
    let client = (tokio::io::stdin(), tokio::io::stdout());
    let relayed = match (wanted.listen, remote) {
        (Some(address), remote) => {
            let behind = remote.map_or(Behind::Command(wanted.command.clone()), Behind::Remote);
            let served = Served {
                which,
                console_forms: forms,
                asker,
                behind,
            };
            let bound = |address| print_address(out, address);
            let stop = async move { stop.asked().await };
            countersign_mcp::listen(address, wanted.allow_remote, served, bound, stop)
                .await
                .map(|()| 0)
        }
        (None, Some(remote)) => {
            countersign_mcp::http(which, forms, asker, remote, client, stop.asked())
                .await
                .map(|()| 0)
        }
        (None, None) => {
            let command = &wanted.command;
            countersign_mcp::stdio(which, forms, asker, command, client, stop.asked()).await
        }
    };
    match relayed {
        // Standard input cannot be left while it is read.
        Ok(code) => std::process::exit(i32::from(code)),
        Err(error) => {
            let program = program.unwrap_or(Path::new("")).display();
            let failure = Failure::new(
                ErrorCode::Environment,
                format!("the server {program} cannot be relayed: {error}"),
            );
            let _ = failure.report(out.json);
            std::process::exit(i32::from(ErrorCode::Environment.exit_code()))
        }
    }
}

/// Those that `connect mcp` put into the environment of an entry.
fn headers_of_entry() -> Result<BTreeMap<String, String>, Failure> {
    let text = env::var(HEADERS).unwrap_or_else(|_| "{}".to_owned());
    // The error would quote a value.
    serde_json::from_str(&text)
        .map_err(|_| Failure::usage(format!("{HEADERS} is not a JSON object of texts")))
}

/// Serves Claude Code's question for permission until it leaves.
pub(crate) async fn permission(
    settings: &Settings,
    out: Output,
    wanted: Mcp,
) -> Result<(), Failure> {
    let mut stop = Stop::listen()?;
    let own = settings.data_dir.join(CLAUDE_CODE);
    let named = wanted.agent_json.or_else(|| {
        let elsewhere = env::var_os(AGENT_JSON).is_some_and(|path| !path.is_empty());
        (!elsewhere && own.is_file()).then_some(own)
    });
    let enrolment = enrolment(settings, named)?;
    warn_of_readers(out, &enrolment);
    hide_under_login_of(&enrolment);
    let asker = Asker {
        enrolment,
        server: "claude-code".to_owned(),
        framework: "countersign mcp",
        timeout: Duration::from_secs(wanted.timeout),
        hold: None,
        place: Place::default(),
    };
    let code = match countersign_mcp::permission(asker, stop.asked()).await {
        Ok(()) => 0,
        Err(_) => ErrorCode::Failed.exit_code(),
    };
    // Standard input cannot be left while it is read.
    std::process::exit(i32::from(code))
}

/// Says where clients are served.
fn print_address(out: Output, address: SocketAddr) {
    let url = format!("http://{address}/mcp");
    // Nobody has to read it.
    let _ = match out.json {
        true => out.json_line(&json!({ "url": url })),
        false => out.line(&url),
    };
}

/// How long a call holds its client up, and where its request is kept afterwards.
fn held(seconds: u64) -> Result<(Duration, PathBuf), Failure> {
    let folder = state(None)?;
    Ok((Duration::from_secs(seconds), folder.join("mcp-proxy")))
}
