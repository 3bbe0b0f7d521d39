//! The console that a command works with: only read, or decided on.
//!
//! Refuses to leave a console behind: what a command starts it stops, whatever came of it.

use countersign_core::{App, Options};

use super::config::{Login, Settings};
use super::failure::Failure;

/// How a console of these settings is started.
pub(crate) fn options(settings: &Settings) -> Result<Options, Failure> {
    let mut options = Options::embedded(
        settings.data_dir.clone(),
        &settings.operator,
        settings.workspace.clone(),
    );
    options.nats_url.clone_from(&settings.nats_url);
    options.allow_single_account = settings.allow_single_account;
    match (&settings.nats_url, &settings.login) {
        (None, Login::Creds(_) | Login::Nkey(_)) => {
            return Err(Failure::usage(
                "credentials are set but no server: set COUNTERSIGN_NATS_URL too, or remove them",
            ));
        }
        (None, Login::Url) => {}
        (Some(url), login) => options.credentials = login.read(url)?,
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
    let app = App::attach(options(settings)?).await?;
    finish(app, work).await
}

async fn finish<T>(
    app: App,
    work: impl AsyncFnOnce(&App) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let done = work(&app).await;
    app.shutdown().await;
    done
}
