//! The window: a subscriber of the console, like the command line.
//!
//! The page gets the declared commands only, without files, network or a shell, and every text of an agent passes the
//! escaper.

mod call;
mod channel;
mod commands;
mod desk;
#[cfg(target_os = "linux")]
mod drawing;
mod exports;
mod kept;
#[cfg(target_os = "linux")]
mod locked;
mod navigation;
mod notify;
#[cfg(target_os = "linux")]
mod page_ended;
mod practice;
mod previews;
#[cfg(target_os = "linux")]
mod save_dialog;
mod suggested;
mod tray;
#[cfg(target_os = "linux")]
mod updating;
mod view;

use countersign_core::{Fault, Options};
use tauri::webview::NewWindowResponse;
use tauri::{Manager as _, RunEvent, WebviewWindowBuilder};

use crate::cli::feeds::Feeds;
use crate::cli::reader::SecondReader;
use crate::metrics;
use crate::otlp::{self, Otlp};
use countersign_view::Production;
use desk::Desk;

/// Where the web view keeps its own data, below the console's folder.
const WEB_DATA: &str = "window";

/// Opens the window on the console of a data folder and returns when it is closed.
///
/// # Errors
/// [`Fault`] when the console, its OTLP receiver or its metrics cannot start, or the window cannot be opened.
pub(crate) fn run(
    options: Options,
    (otlp, metrics): (&otlp::Settings, &metrics::Settings),
    production: Production,
) -> Result<(), Fault> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Fault::environment(format!("no threads could be started: {error}")))?;
    #[cfg(target_os = "linux")]
    let app = updating::started(&runtime, options)?;
    #[cfg(not(target_os = "linux"))]
    let app = runtime.block_on(countersign_core::App::start(options))?;
    let shown = view::otlp_view(otlp);
    let otlp = match runtime.block_on(Otlp::start(&app, otlp)) {
        Ok(otlp) => otlp,
        Err(error) => {
            runtime.block_on(app.shutdown());
            return Err(error);
        }
    };
    let metrics = match runtime.block_on(metrics::start(&app, metrics)) {
        Ok(metrics) => metrics,
        Err(error) => {
            runtime.block_on(otlp.stop());
            runtime.block_on(app.shutdown());
            return Err(error);
        }
    };
    let reader = {
        let _inside = runtime.enter();
        SecondReader::start(&app)
    };
    let feeds = runtime.block_on(Feeds::start(&app));
    let agent_json = runtime
        .block_on(app.enroll_local())
        .unwrap_or_else(|error| {
            tracing::warn!(%error, "the local agent could not be enrolled");
            None
        });
    let listens = metrics.as_ref().map(|of| of.address.to_string());
    let desk = Desk::new(app.clone(), agent_json, (shown, listens), production);
    let opened = window(&runtime, desk);
    runtime.block_on(metrics::stop(metrics));
    runtime.block_on(feeds.stop());
    runtime.block_on(reader.stop());
    runtime.block_on(otlp.stop());
    runtime.block_on(app.shutdown());
    opened
}

fn window(runtime: &tokio::runtime::Runtime, desk: Desk) -> Result<(), Fault> {
    let failed = |error: tauri::Error| {
        Fault::environment(format!(
            "the window could not be opened: {error}; run `countersign serve` for a console without one"
        ))
    };
    tauri::async_runtime::set(runtime.handle().clone());
    let web_data = desk.app.data().path().join(WEB_DATA);
    let built = tauri::Builder::default()
        .manage(desk)
        .invoke_handler(tauri::generate_handler![call::call, channel::subscribe])
        .build(tauri::generate_context!())
        .map_err(failed)?;
    let handle = built.handle().clone();
    // Here and not in a set-up hook, whose errors end the process without a word.
    let windows = &built.config().app.windows;
    let config = windows
        .first()
        .ok_or(tauri::Error::WebviewNotFound)
        .map_err(failed)?;
    let window = WebviewWindowBuilder::from_config(&handle, config)
        .and_then(|window| {
            window
                .data_directory(web_data)
                .on_navigation(navigation::is_own)
                .on_new_window(|_, _| NewWindowResponse::Deny)
                .build()
        })
        .map_err(failed)?;
    #[cfg(target_os = "linux")]
    {
        drawing::watch(&window);
        page_ended::watch(&window);
    }
    let notifying = runtime.spawn(notify::run(handle.clone()));
    let tray = runtime.spawn(tray::run(handle.clone()));
    #[cfg(target_os = "linux")]
    let locked = runtime.spawn(locked::run(handle.clone()));
    runtime.spawn(async move {
        ended().await;
        handle.exit(0);
    });
    built.run_return(move |shell, event| {
        if let RunEvent::Exit = event {
            notifying.abort();
            tray.abort();
            #[cfg(target_os = "linux")]
            locked.abort();
            shell.state::<Desk>().close();
        }
    });
    Ok(())
}

/// Waits until the system asks this process to end.
async fn ended() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut terminate), Ok(mut interrupt)) = (
        signal(SignalKind::terminate()),
        signal(SignalKind::interrupt()),
    ) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}
