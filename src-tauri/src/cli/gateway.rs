//! `gateway`: HTTP for agents, and the tokens that they send.

use std::env;
use std::path::PathBuf;

use countersign_gateway::{Gateway, Options, StartError, TokenError, create, list, revoke};
use countersign_sdk::EnrolmentSource;
use countersign_wire::ErrorCode;
use serde_json::json;

use super::args::{Gateway as Wanted, GatewayFolder, GatewayRun, GatewayTokens, Global};
use super::ask::{AGENT_JSON, hide_under_login_of};
use super::failure::Failure;
use super::hook::state_folder;
use super::output::{Output, plain, table};
use super::serve::Stop;

pub(crate) async fn run(out: Output, global: &Global, wanted: Wanted) -> Result<(), Failure> {
    match wanted.what {
        None => serve(out, global, wanted.run).await,
        Some(GatewayTokens::Token {
            agent_json,
            name,
            folder,
        }) => token(out, agent_json, &name, folder).await,
        Some(GatewayTokens::Tokens { folder }) => tokens(out, folder),
        Some(GatewayTokens::Revoke { name, folder }) => {
            revoke(&dir(folder)?, &name)?;
            let revoked = json!({ "name": name, "revoked": true });
            match out.json {
                true => Ok(out.json_line(&revoked)?),
                false => Ok(out.line(&format!("{name} is revoked"))?),
            }
        }
    }
}

fn dir(folder: GatewayFolder) -> Result<PathBuf, Failure> {
    match folder.dir {
        Some(dir) => Ok(dir),
        None => Ok(state_folder()?.join("gateway")),
    }
}

async fn serve(out: Output, global: &Global, wanted: GatewayRun) -> Result<(), Failure> {
    let mut stop = Stop::listen()?;
    let mut agents = wanted.agent_json;
    if agents.is_empty() {
        agents.extend(
            env::var_os(AGENT_JSON)
                .filter(|path| !path.is_empty())
                .map(PathBuf::from),
        );
    }
    for agent in &agents {
        hide_under_login_of(agent);
    }
    let listen = match wanted.listen.as_str() {
        "off" => None,
        address => {
            let address = address.parse();
            Some(address.map_err(|_| Failure::usage("--listen takes ADDRESS:PORT, or off"))?)
        }
    };
    let tls = match (global.tls_cert.clone(), global.tls_key.clone()) {
        (Some(cert), Some(key)) => Some((cert, key)),
        (None, None) => None,
        _ => return Err(Failure::usage("--tls-cert and --tls-key go together")),
    };
    let gateway = Gateway::start(Options {
        agents,
        listen,
        unix: wanted.unix,
        dir: dir(wanted.folder)?,
        hosts: wanted.host,
        callbacks: wanted.callback,
        tls,
        allow_plain_text: wanted.allow_plain_text,
    });
    let gateway = gateway.await?;
    let agents: Vec<_> = gateway.agents.iter().map(ToString::to_string).collect();
    // A gateway whose ready line nobody reads still does its work.
    let _ = out.json_line(&json!({
        "event": "ready", "url": gateway.url, "agents": agents, "insecure": gateway.insecure,
    }));
    stop.asked().await;
    gateway.stop().await;
    // Its tasks are not dropped: what waits stays on the bus.
    std::process::exit(0)
}

async fn token(
    out: Output,
    agent_json: PathBuf,
    name: &str,
    folder: GatewayFolder,
) -> Result<(), Failure> {
    let enrolment = EnrolmentSource::from(agent_json).read().await;
    let enrolment = enrolment.map_err(|error| Failure::environment(error.to_string()))?;
    let made = create(&dir(folder)?, name, &enrolment.agent_key())?;
    if out.json {
        let made = serde_json::to_string(&made)
            .map_err(|error| Failure::environment(error.to_string()))?;
        return Ok(out.raw_json_line(&made)?);
    }
    out.line(&made.token)?;
    out.remark(&format!(
        "the token of {}, which is not shown again; callbacks are signed with {}",
        made.agent, made.callback_secret
    ));
    Ok(())
}

fn tokens(out: Output, folder: GatewayFolder) -> Result<(), Failure> {
    let tokens = list(&dir(folder)?)?;
    if out.json {
        for token in tokens {
            let agent = token.agent.to_string();
            out.json_line(&json!({
                "name": token.name, "agent": agent, "created_at": token.created_at,
            }))?;
        }
        return Ok(());
    }
    let mut shown = table(&["Name", "Agent", "Created"]);
    for token in tokens {
        let row = [
            token.name,
            token.agent.to_string(),
            token.created_at.to_string(),
        ];
        shown.add_row(row.map(|text| plain(&text)));
    }
    Ok(out.table(&shown)?)
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        match &error {
            StartError::Usage(_) => Self::usage(error.to_string()),
            _ => Self::environment(error.to_string()),
        }
    }
}

impl From<TokenError> for Failure {
    fn from(error: TokenError) -> Self {
        let code = match &error {
            TokenError::Name(_) => ErrorCode::InvalidArgs,
            TokenError::NotFound(_) => ErrorCode::NotFound,
            TokenError::Folder { .. } => ErrorCode::Environment,
        };
        Self::new(code, error.to_string())
    }
}
