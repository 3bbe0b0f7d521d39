//! `audit export`.
//!
//! The audit log records the export before data leaves. The bundle goes to a file or a pipe, and appears under its name
//! when it is whole.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use countersign_core::App;
use countersign_core::ops::audit_export::Exported;
use serde_json::json;

use super::config::Settings;
use super::console::{options, reading};
use super::failure::Failure;
use super::output::{Output, doubtful};
use super::serve::Stop;
use crate::unfinished::Unfinished;

/// Writes the bundle.
pub(crate) async fn run(
    settings: &Settings,
    out: Output,
    file: Option<PathBuf>,
    force: bool,
) -> Result<(), Failure> {
    match &file {
        None if io::stdout().is_terminal() => {
            return Err(Failure::usage(
                "the bundle is not meant for a terminal: give --out FILE, or send standard output to a file",
            ));
        }
        Some(file) if file.exists() && !force => {
            return Err(Failure::usage(format!(
                "{} exists; choose another name, or give --force",
                file.display()
            )));
        }
        _ => {}
    }
    let app = App::offline(options(settings)?).await?;
    let console = app.identity().console_id.to_string();
    let recorded = app
        .record("export", console, json!({ "what": "audit" }))
        .await;
    app.shutdown().await;
    recorded?;
    let mut stop = Stop::listen()?;
    reading(settings, true, async |app| {
        tokio::select! {
            done = write(app, out, file.as_deref()) => done,
            () = stop.asked() => Err(Failure::environment("stopped; no bundle was written")),
        }
    })
    .await
}

async fn write(app: &App, out: Output, file: Option<&Path>) -> Result<(), Failure> {
    let shows = !out.json && io::stderr().is_terminal();
    let progress = |done: i64, all: i64| {
        if shows {
            // Progress may go unread.
            let _ = write!(io::stderr(), "\r{:>3} %", done * 100 / all.max(1));
        }
    };
    let Some(file) = file else {
        let mut to = Heard::new(BufWriter::new(io::stdout()));
        let done = app.audit_export(&mut to, &progress).await;
        // Whoever looks at the first lines only is done, as with every other list.
        if to.gone {
            return Err(Failure::NobodyReads);
        }
        done?;
        return Ok(to.flush()?);
    };
    let unfinished = Unfinished::create(file)?;
    let mut to = BufWriter::new(unfinished.open()?);
    let done = app.audit_export(&mut to, &progress).await?;
    to.flush()?;
    unfinished.finish(file)?;
    if shows {
        let _ = write!(io::stderr(), "\r     \r");
    }
    print_done(out, file, &done)
}

/// Notices that whoever read has gone.
struct Heard<W> {
    to: W,
    gone: bool,
}

impl<W: Write> Heard<W> {
    fn new(to: W) -> Self {
        Self { to, gone: false }
    }

    fn noticed<T>(&mut self, written: io::Result<T>) -> io::Result<T> {
        let broken = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
        self.gone |= written.as_ref().err().is_some_and(broken);
        written
    }
}

impl<W: Write> Write for Heard<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes);
        self.noticed(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.to.flush();
        self.noticed(flushed)
    }
}

fn print_done(out: Output, file: &Path, done: &Exported) -> Result<(), Failure> {
    let name = file.display().to_string();
    if out.json {
        return Ok(out.json_line(&json!({
            "file": name, "head": { "seq": done.rows, "hash": done.head }, "requests": done.requests,
            "decisions": done.decisions, "anchors": done.anchors, "policy": done.policy,
            "anchors_from_bus": done.anchors_from_bus,
        }))?);
    }
    out.line(&format!(
        "{name}: {} audit rows, {} requests, {} decisions, {} anchors",
        done.rows, done.requests, done.decisions, done.anchors
    ))?;
    if !done.anchors_from_bus {
        out.line(&doubtful(
            "the bus was not reached: the anchors are those that this console kept",
        ))?;
    }
    Ok(out.line("it holds arguments and messages in clear; check it with docs/verify-audit.py")?)
}
