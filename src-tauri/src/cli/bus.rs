//! `bus init` and `bus permissions`: preparing an outside server.
//!
//! An existing stream stays as it is, but for the limit that config.toml gives the stream of requests.

use std::fs;
use std::path::Path;

use countersign_core::Fault;
use countersign_core::bus::{
    AgentAccess, Bus, BusOptions, ConsoleAccess, Credentials, account_claims, permissions_block,
};
use countersign_core::data_dir::DataDir;
use countersign_core::identity::Identity;
use countersign_core::ops::realm::init as init_stores;
use countersign_core::ops::recover::check_realm;
use countersign_core::store::{agents, meta, open_read_only};
use countersign_wire::ErrorCode;
use nkeys::KeyPair;
use serde_json::json;
use uuid::Uuid;

use super::config::{Login, Settings, account_name};
use super::console::options;
use super::failure::Failure;
use super::output::{Output, plain, wrong};

const CLAIMS_ARE_SIGNED_BY: &str = "\
# Sign `accounts` with the operator's key and each of `users` with its account's key. Names of accounts represent \
their public keys. Every import needs the token of an activation that CORE signs for AGENTS.
# An agent's JWT goes into a .creds file that its agent.json names as nats_creds; the seed stays in agent.json.";
const ONE_FOLDER: &str = "# this names the console and the agents of one data folder; with several consoles put the users of each into the same accounts";
const SERVER_NEEDS: &str = "# beside this the server needs jetstream with max_file_store: 32GB, max_payload: 4MB and, off this machine, tls";

/// Creates the streams that an outside server lacks.
pub(crate) async fn init(settings: &Settings, out: Output) -> Result<(), Failure> {
    let options = options(settings)?;
    let Some(url) = options.nats_url else {
        return Err(Failure::usage(
            "the console's own server needs no preparation; name an outside one with --nats-url",
        ));
    };
    let data = DataDir::open(&settings.data_dir).map_err(Fault::from)?;
    let identity = Identity::open(&data, &options.operator, settings.keys).map_err(Fault::from)?;
    let bus = Bus::connect(BusOptions {
        url,
        credentials: options.credentials,
        tls: options.tls,
        console_id: identity.console_id.to_string(),
        allow_single_account: options.allow_single_account,
    })
    .await
    .map_err(Fault::from)?;
    // A folder that knows its realm makes no other one: its decisions are signed for that.
    let known = remembered_realm(&data).await?;
    let made = async {
        if let Some(realm) = known {
            check_realm(&bus.survey().await?, realm)?;
        }
        let found = init_stores(&data, &identity, &bus, options.replicas).await?;
        if let Some(most) = options.requests_max_bytes {
            bus.limit_requests(most).await?;
        }
        Ok::<_, Fault>(found)
    };
    let found = made.await;
    bus.close().await;
    let found = found?;
    let differences: Vec<String> = found
        .differences
        .iter()
        .map(|at| {
            plain(&format!(
                "{} of {} is {} instead of {}",
                at.field, at.stream, at.found, at.expected
            ))
        })
        .collect();
    let names: Vec<&str> = found.streams.iter().map(|stream| stream.name).collect();
    let realm = found.realm.to_string();
    let reported = if out.json {
        out.json_line(&json!({ "realm": realm, "streams": names, "differences": differences }))
    } else {
        out.line(&format!("realm {realm}: {}", names.join(", ")))
            .and_then(|()| differences.iter().try_for_each(|at| out.line(&wrong(at))))
    };
    let answer = match differences.is_empty() {
        true => Ok(()),
        false => Err(Failure::Printed(ErrorCode::Failed)),
    };
    Failure::answered(reported.map_err(Failure::from), answer)
}

/// Prints what an outside server's configuration needs for this console and its agents.
pub(crate) async fn permissions(
    settings: &Settings,
    out: Output,
    jwt: bool,
) -> Result<(), Failure> {
    let data = DataDir::open(&settings.data_dir).map_err(Fault::from)?;
    let name = settings.operator.clone().unwrap_or_else(account_name);
    let (console, id) = match &settings.login {
        Login::Nkey(file) if !is_own_login(file, &data) => {
            let own = Identity::load(&data, &name).ok();
            let key = public_key(&settings.login.read("")?)?;
            (key, own.map(|own| own.console_id))
        }
        // The folder's own file is made where it is missing.
        Login::Nkey(_) | Login::Creds(_) | Login::Url => {
            let own = Identity::open(&data, &name, settings.keys).map_err(Fault::from)?;
            (own.login.public_key(), Some(own.console_id))
        }
    };
    let agents = enrolled(&data).await?;
    if jwt {
        let claims = account_claims(&[console], &agents).map_err(Fault::from)?;
        out.json_line(&claims)?;
        out.remark(CLAIMS_ARE_SIGNED_BY);
        return Ok(());
    }
    let id = id.map_or_else(String::new, |id| format!(", {id}"));
    let console = ConsoleAccess {
        nkey: console,
        whose: Some(plain(&format!("console of {name}{id}"))),
    };
    let text = permissions_block(&[console], &agents).map_err(Fault::from)?;
    if out.json {
        return Ok(out.json_line(&json!({ "nats_conf": text }))?);
    }
    out.line(text.trim_end())?;
    out.remark(SERVER_NEEDS);
    out.remark(ONE_FOLDER);
    if settings.login == Login::Url {
        let file = data.keys().join("login.nk");
        out.remark(&format!(
            "# the console then logs in with COUNTERSIGN_NATS_NKEY={}",
            file.display()
        ));
    }
    Ok(())
}

fn is_own_login(file: &Path, data: &DataDir) -> bool {
    let own = data.keys().join("login.nk");
    // Neither the file nor its folder need be there yet.
    let folder = |file: &Path| {
        file.parent()
            .map(|of| of.canonicalize().or_else(|_| std::path::absolute(of)).ok())
    };
    file.file_name() == own.file_name() && folder(file) == folder(&own)
}

async fn remembered_realm(data: &DataDir) -> Result<Option<Uuid>, Failure> {
    if !data.database().is_file() {
        return Ok(None);
    }
    let reader = open_read_only(&data.database())
        .await
        .map_err(Fault::from)?;
    let realm = meta::get(&reader, meta::REALM).await.map_err(Fault::from);
    reader.close().await;
    Ok(realm?.and_then(|realm| realm.parse().ok()))
}

fn public_key(credentials: &Credentials) -> Result<String, Failure> {
    let no_key = || Failure::environment("the nkey file holds no seed of a user nkey");
    match credentials {
        Credentials::NkeyFile(file) => fs::read_to_string(file)
            .ok()
            .and_then(|seed| KeyPair::from_seed(seed.trim()).ok())
            .map(|pair| pair.public_key())
            .ok_or_else(no_key),
        _ => Err(no_key()),
    }
}

async fn enrolled(data: &DataDir) -> Result<Vec<AgentAccess>, Failure> {
    if !data.database().is_file() {
        return Ok(Vec::new());
    }
    let reader = open_read_only(&data.database())
        .await
        .map_err(Fault::from)?;
    let rows = agents::all(&reader).await.map_err(Fault::from);
    reader.close().await;
    let access = rows?.into_iter().filter_map(|row| {
        row.key.map(|nkey| AgentAccess {
            workspace: row.ws,
            agent: row.name,
            nkey,
        })
    });
    Ok(access.collect())
}
