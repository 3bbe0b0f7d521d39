//! `inbox` and `history`: both read the store as it is.

use comfy_table::Table;
use countersign_core::domain::facts::RequestSummary;
use countersign_core::store::history::Page;
use countersign_core::store::request_list::Filter;
use countersign_wire::Risk;
use serde_json::{Value, json};

use super::args::{History, Inbox};
use super::config::Settings;
use super::console::reading;
use super::failure::Failure;
use super::line::{add_findings, add_repeats, fields, history_table, inbox_table};
use super::narrow::{bring_up_to_date, names};
use super::output::Output;
use super::unread;

/// Lists what waits.
pub(crate) async fn inbox(settings: &Settings, out: Output, inbox: Inbox) -> Result<(), Failure> {
    let risk = inbox.risk.map(|risk| Risk::from(risk).as_str().to_owned());
    let (workspace, agent) = match inbox.agent.as_deref().map(names).transpose()? {
        Some((workspace, agent)) => (workspace, Some(agent)),
        None => (None, None),
    };
    let filter = Filter {
        workspace,
        agent,
        risk,
        ..Filter::default()
    };
    reading(settings, true, async |app| {
        unread::caution(app, out).await?;
        let rows = app.inbox(&filter).await?;
        if out.json {
            return print_lines(out, &rows);
        }
        match rows.is_empty() {
            true => out.remark("nothing waits"),
            false => out.table(&inbox_table(&rows, app.now()))?,
        }
        Ok(())
    })
    .await
}

/// Lists every request, newest first.
pub(crate) async fn history(
    settings: &Settings,
    out: Output,
    history: History,
) -> Result<(), Failure> {
    if history.narrow.has_words() {
        bring_up_to_date(settings, out).await?;
    }
    unread::caution_soon(settings, out).await?;
    reading(settings, false, async |app| {
        let filter = history.narrow.filter(app)?;
        let after = history.after.as_deref().map(cursor).transpose()?;
        let limit = i64::from(history.limit);
        let Page { rows, next } = app.history_page(&filter, after, limit, None).await?;
        let next = next.map(|id| id.to_string());
        if out.json {
            let ids: Vec<i64> = rows.iter().map(|row| row.id).collect();
            let repeated = app.repeated(&ids).await?;
            for row in &rows {
                let mut line = fields(row);
                add_repeats(&mut line, repeated.get(&row.id));
                add_findings(&mut line, row);
                out.json_line(&Value::Object(line))?;
            }
            return Ok(out.json_line(&json!({ "next": next }))?);
        }
        print_page(out, &rows, &history_table(&rows), next.as_deref())
    })
    .await
}

fn print_lines(out: Output, rows: &[RequestSummary]) -> Result<(), Failure> {
    for row in rows {
        out.json_line(&Value::Object(fields(row)))?;
    }
    Ok(())
}

fn print_page(
    out: Output,
    rows: &[RequestSummary],
    table: &Table,
    next: Option<&str>,
) -> Result<(), Failure> {
    if rows.is_empty() {
        out.remark("nothing found");
        return Ok(());
    }
    out.table(table)?;
    if let Some(next) = next {
        out.remark(&format!(
            "more: countersign history --after {next} and the same filters"
        ));
    }
    Ok(())
}

fn cursor(text: &str) -> Result<i64, Failure> {
    let number = text.parse::<i64>().ok().filter(|number| *number > 0);
    number.ok_or_else(|| {
        Failure::usage("--after takes the value of `next` from the page before, unchanged")
    })
}
