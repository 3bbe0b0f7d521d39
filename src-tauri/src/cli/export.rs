//! `export`: the history with its decisions and what the audit log says about them.
//!
//! The audit log records the export before data leaves, and the file appears under its name when it is whole.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

use countersign_core::App;
use serde_json::json;

use super::args::Export;
use super::config::Settings;
use super::console::{options, reading};
use super::failure::Failure;
use super::narrow::bring_up_to_date;
use super::output::Output;
use super::serve::Stop;
use super::unread;
use crate::export;
use crate::unfinished::Unfinished;

/// Writes the export.
pub(crate) async fn run(settings: &Settings, out: Output, wanted: Export) -> Result<(), Failure> {
    if let Some(file) = file_of(&wanted)
        && file.exists()
        && !wanted.force
    {
        return Err(Failure::usage(format!(
            "{} exists; choose another name, or give --force",
            file.display()
        )));
    }
    let mut stop = Stop::listen()?;
    let exported = async {
        // References to the audit log are kept like the words.
        bring_up_to_date(settings, out).await?;
        record(settings, wanted.format.into()).await?;
        unread::caution_soon(settings, out).await?;
        reading(settings, false, async |app| write(app, out, &wanted).await).await
    };
    tokio::select! {
        done = exported => done,
        () = stop.asked() => Err(Failure::environment("stopped; no file was written")),
    }
}

/// The file that is written; none for standard output.
fn file_of(wanted: &Export) -> Option<&Path> {
    wanted.out.as_deref().filter(|file| *file != Path::new("-"))
}

async fn record(settings: &Settings, format: export::Format) -> Result<(), Failure> {
    let app = App::offline(options(settings)?).await?;
    let recorded = export::record(&app, format).await;
    app.shutdown().await;
    Ok(recorded?)
}

async fn write(app: &App, out: Output, wanted: &Export) -> Result<(), Failure> {
    let Some(file) = file_of(wanted) else {
        let mut to = BufWriter::new(io::stdout());
        pages(app, wanted, &mut to, false).await?;
        return Ok(to.flush()?);
    };
    let unfinished = Unfinished::create(file)?;
    let mut to = BufWriter::new(unfinished.open()?);
    let shows = !out.json && io::stderr().is_terminal();
    let count = pages(app, wanted, &mut to, shows).await?;
    to.flush()?;
    unfinished.finish(file)?;
    print_done(out, file, count, shows)
}

fn print_done(out: Output, file: &Path, count: u64, shows: bool) -> Result<(), Failure> {
    if shows {
        // Progress may go unread.
        let _ = write!(io::stderr(), "\r      \r");
    }
    let name = file.display().to_string();
    if out.json {
        return Ok(out.json_line(&json!({ "file": name, "requests": count }))?);
    }
    Ok(out.line(&format!("{name}: {count} requests"))?)
}

/// Writes page after page; how many requests there were.
async fn pages(
    app: &App,
    wanted: &Export,
    to: &mut (impl Write + Send),
    shows: bool,
) -> Result<u64, Failure> {
    let filter = wanted.narrow.filter(app)?;
    let (mut after, mut count, mut first) = (None, 0, None);
    loop {
        let piece = export::piece(app, &filter, wanted.format.into(), after).await?;
        to.write_all(&piece.bytes)?;
        count += u64::try_from(piece.ids.len()).unwrap_or(0);
        if let (true, Some(last)) = (shows, piece.ids.last()) {
            // Rows are numbered as they came: the lower, the less is left.
            let first = *first.get_or_insert(piece.ids[0]);
            let _ = write!(
                io::stderr(),
                "\r{:>3} %",
                (first - last) * 100 / first.max(1)
            );
        }
        // A Ctrl+C between two pages is heard here.
        tokio::task::yield_now().await;
        match piece.next {
            Some(next) => after = Some(next),
            None => return Ok(count),
        }
    }
}
