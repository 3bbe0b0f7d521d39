//! `export`: the history with its decisions and what the audit log says about them.
//!
//! Refuses to let data out before the audit log says so, to show an unfinished file under its name, and to
//! hold more than a page in memory.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

use countersign_core::App;
use countersign_core::domain::Timestamp;
use countersign_core::store::audit_refs::AuditRef;
use countersign_core::store::export::ExportRow;
use countersign_core::store::lines::LineRow;
use countersign_wire::{Sha256Digest, json_ascii_safe};
use serde_json::{Map, Value, json};

use super::args::{Export, Format};
use super::config::Settings;
use super::console::{options, reading};
use super::export_csv;
use super::failure::Failure;
use super::line::{add_repeats, fields};
use super::narrow::bring_up_to_date;
use super::output::{Output, plain};
use super::serve::Stop;
use super::unfinished::Unfinished;
use super::unread;

/// Requests in memory at once.
const PAGE: i64 = 500;

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
        record(settings, wanted.format).await?;
        unread::tell_soon(settings, out).await?;
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

async fn record(settings: &Settings, format: Format) -> Result<(), Failure> {
    let app = App::offline(options(settings)?).await?;
    let console = app.identity().console_id.to_string();
    let format = match format {
        Format::Jsonl => "jsonl",
        Format::Csv => "csv",
    };
    let detail = json!({ "what": "history", "format": format });
    let recorded = app.record("export", console, detail).await;
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
    told(out, file, count, shows)
}

fn told(out: Output, file: &Path, count: u64, shows: bool) -> Result<(), Failure> {
    if shows {
        // Progress that nobody sees is no failure.
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
    if wanted.format == Format::Csv {
        export_csv::heading(to)?;
    }
    let (mut after, mut count, mut first) = (None, 0, None);
    loop {
        let page = app.history_page(&filter, after, PAGE, None).await?;
        let ids: Vec<i64> = page.rows.iter().map(|row| row.id).collect();
        let mut facts: BTreeMap<i64, ExportRow> = app
            .export_facts(&ids)
            .await?
            .into_iter()
            .map(|row| (row.id, row))
            .collect();
        let mut audit = app.audit_of(&ids).await?;
        let repeated = app.repeated(&ids).await?;
        for row in &page.rows {
            let audit = audit.remove(&row.id).unwrap_or_default();
            let mut line = line(row, facts.remove(&row.id), audit);
            add_repeats(&mut line, repeated.get(&row.id));
            match wanted.format {
                Format::Jsonl => writeln!(to, "{}", json_ascii_safe(&Value::Object(line)))?,
                Format::Csv => export_csv::row(to, &line)?,
            }
            count += 1;
        }
        if let (true, Some(last)) = (shows, ids.last()) {
            // Rows are numbered as they came: the lower, the less is left.
            let first = *first.get_or_insert(ids[0]);
            let _ = write!(
                io::stderr(),
                "\r{:>3} %",
                (first - last) * 100 / first.max(1)
            );
        }
        // A Ctrl+C between two pages is heard here.
        tokio::task::yield_now().await;
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(count),
        }
    }
}

/// A line of the history, then what an export adds.
fn line(row: &LineRow, facts: Option<ExportRow>, audit: Vec<AuditRef>) -> Map<String, Value> {
    let mut line = fields(row);
    let digest = facts.as_ref().map(|facts| facts.request_digest.clone());
    line.insert("request_digest".to_owned(), json!(digest));
    line.insert("decision".to_owned(), json!(facts.and_then(decision)));
    let audit: Vec<Value> = audit
        .into_iter()
        .map(|row| {
            let hash: String = row.hash.iter().map(|byte| format!("{byte:02x}")).collect();
            json!({ "seq": row.seq, "hash": hash, "action": row.action, "at": row.at })
        })
        .collect();
    line.insert("audit".to_owned(), json!(audit));
    line
}

fn decision(facts: ExportRow) -> Option<Value> {
    let payload = facts.payload?;
    let shown = |text: Option<String>| text.as_deref().map(plain);
    Some(json!({
        "decision_id": shown(facts.decision_id),
        "key": shown(facts.key),
        "payload_digest": Sha256Digest::of_bytes(&payload).to_string(),
        "rule_version": facts.rule_version,
        "policy_digest": shown(facts.policy_digest),
        "stored_at": facts.decision_stored_at.map(|at| Timestamp(at).rfc3339()),
        "fault": facts.fault,
    }))
}
