//! The console that a command works with: only read, or decided on.
//!
//! What a command starts it stops, whatever came of it.

use std::path::Path;
use std::time::Duration;

use countersign_core::data_dir::{DataDir, RuntimeInfo, no_console};
use countersign_core::{App, Options, Role};

use super::config::{Login, Settings, account_name};
use super::failure::Failure;
use super::output::plain;
use countersign_view::secrets;

/// How long a console that was started for one command reads what happened on the bus.
const CATCH_UP_LIMIT: Duration = Duration::from_secs(30);

/// How a console of these settings is started.
pub(crate) fn options(settings: &Settings) -> Result<Options, Failure> {
    let operator = settings.operator.clone().unwrap_or_else(account_name);
    let mut options = Options::embedded(
        settings.data_dir.clone(),
        &operator,
        settings.workspace.clone(),
    );
    options.listed_name_counts = settings.operator.is_none();
    options.nats_url.clone_from(&settings.nats_url);
    options.keys = settings.keys;
    options.allow_single_account = settings.allow_single_account;
    options.stall_limits = settings.stall_limits;
    options.retention = settings.retention;
    options.requests_max_bytes = settings.requests_max_mib.map(|mib| u64::from(mib) << 20);
    if let Some(limit) = settings.waiting_limit {
        options.waiting_limit = i64::from(limit);
    }
    match (&settings.nats_url, &settings.login) {
        (None, Login::Creds(_) | Login::Nkey(_)) => {
            return Err(Failure::usage(
                "credentials are set but no server: set COUNTERSIGN_NATS_URL too, or remove them",
            ));
        }
        (None, Login::Url) if settings.tls.ask_for_tls() => {
            return Err(Failure::usage(
                "TLS files are set but no server: set COUNTERSIGN_NATS_URL too, or remove them",
            ));
        }
        (None, Login::Url) => {}
        (Some(url), login) => {
            options.credentials = login.read(url)?;
            options.tls.clone_from(&settings.tls);
            options.replicas = settings.stream_replicas;
        }
    }
    Ok(options)
}

/// Reads the store; `with_bus` also looks at the bus of a running console.
pub(crate) async fn reading<T>(
    settings: &Settings,
    with_bus: bool,
    work: impl AsyncFnOnce(&App) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let app = App::read(options(settings)?, with_bus).await?;
    finish(app, work).await
}

/// Works beside the running console, or starts what is needed and stops it again.
pub(crate) async fn deciding<T>(
    settings: &Settings,
    work: impl AsyncFnOnce(&App) -> Result<T, Failure>,
) -> Result<T, Failure> {
    if let Some(why) = outside_server(settings) {
        return Err(Failure::environment(why));
    }
    let app = App::attach(options(settings)?).await?;
    if let Some(borrowed) = borrowed_name(&app) {
        settings.out.remark(&borrowed);
    }
    if app.role() == Role::Console && app.bus().is_some() {
        // What was asked while nobody ran here is found only then; without it, what follows says why.
        app.ready(CATCH_UP_LIMIT).await;
    }
    finish(app, work).await
}

/// The warning for an operator who signs under the name of another one.
pub(crate) fn borrowed_name(app: &App) -> Option<String> {
    let key = app.borrowed_name()?;
    let name = plain(&app.identity().operator);
    Some(format!(
        "{name} is another operator's name on the realm's list (key {key}): decisions of this console are shown with the name that its own key has there"
    ))
}

/// The same for what makes no sense where no console has been: a verdict, a pause. Nothing is made then, unless an outside
/// server is named: its requests wait for whoever has its login, and a folder that has keys and no store reads its bus again.
pub(crate) async fn deciding_here<T>(
    settings: &Settings,
    work: impl AsyncFnOnce(&App) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let folder = &settings.data_dir;
    let known = folder.join("countersign.db").is_file() || folder.join("keys").is_dir();
    if settings.nats_url.is_none() && !known {
        return Err(no_console(folder).into());
    }
    deciding(settings, work).await
}

/// What to do where this folder's console uses an outside server and the command names none.
///
/// The folder keeps no credentials of an outside server, and a server of its own would be another bus.
pub(crate) fn outside_server(settings: &Settings) -> Option<String> {
    if settings.nats_url.is_some() || !settings.data_dir.is_dir() {
        return None;
    }
    let data = DataDir::open(&settings.data_dir).ok()?;
    let runtime = data.read_runtime()?;
    if !is_outside(&runtime, data.path()) {
        return None;
    }
    let who = match data.is_running() {
        true => format!("the console of this folder (process {})", runtime.pid),
        false => "the last console of this folder, which was not shut down cleanly,".to_owned(),
    };
    Some(format!(
        "{who} uses an outside server at {}; repeat --nats-url (COUNTERSIGN_NATS_URL) and its credentials (--nats-nkey or --nats-creds) as that console has them",
        runtime.nats_url
    ))
}

/// A console's own server has no process either while it is started again, but a store in the folder.
fn is_outside(runtime: &RuntimeInfo, folder: &Path) -> bool {
    let own = folder.join("nats").is_dir() && runtime.nats_url.starts_with("nats://127.0.0.1:");
    runtime.nats_pid.is_none() && !own
}

async fn finish<T>(
    app: App,
    work: impl AsyncFnOnce(&App) -> Result<T, Failure>,
) -> Result<T, Failure> {
    secrets::hide_under(app.identity().hiding());
    let done = work(&app).await;
    app.shutdown().await;
    done
}
