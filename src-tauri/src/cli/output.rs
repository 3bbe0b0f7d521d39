//! Output of commands: JSON lines for programs, tables and text for people.
//!
//! Colours are for terminals only. Text of agents must come through [`plain`], which marks characters that hide or
//! forge text; JSON is written ASCII-safe.

use std::io::{self, Write};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use comfy_table::presets::NOTHING;
use comfy_table::{Cell, Color, ContentArrangement, Table};
use countersign_wire::json_ascii_safe;
use serde_json::Value;

use countersign_view::secrets::Secrets;

/// Where a command prints its result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Output {
    /// Print JSON.
    pub(crate) json: bool,
}

impl Output {
    /// One JSON value on a line of its own.
    pub(crate) fn json_line(self, value: &Value) -> io::Result<()> {
        let mut out = io::stdout().lock();
        writeln!(out, "{}", json_ascii_safe(value))?;
        out.flush()
    }

    /// JSON that was made ASCII-safe already, on a line of its own. Line breaks outside strings, which
    /// an agent's own JSON may hold, become blanks.
    pub(crate) fn raw_json_line(self, json: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        writeln!(out, "{}", json.replace(['\n', '\r', '\t'], " "))?;
        out.flush()
    }

    /// One line for a person; may hold colours.
    pub(crate) fn line(self, text: &str) -> io::Result<()> {
        let mut out = anstream::stdout().lock();
        writeln!(out, "{text}")?;
        out.flush()
    }

    /// A table for a person, as wide as the terminal.
    pub(crate) fn table(self, table: &Table) -> io::Result<()> {
        let mut out = io::stdout().lock();
        for line in table.lines() {
            writeln!(out, "{}", line.trim_end())?;
        }
        out.flush()
    }

    /// What a program must not take the result without either: that it is not whole.
    pub(crate) fn caution(self, text: &str) {
        // As a remark.
        let _ = writeln!(io::stderr(), "{text}");
    }

    /// A remark beside the result; nothing under `--json`, where the result says it all.
    pub(crate) fn remark(self, text: &str) {
        if !self.json {
            // A remark may go unread.
            let _ = writeln!(io::stderr(), "{text}");
        }
    }
}

/// Text that an agent or another operator wrote, safe to show on one line and without secrets.
pub(crate) fn plain(text: &str) -> String {
    Secrets::Hidden.line(text)
}

/// An empty table with these headings.
pub(crate) fn table(headings: &[&str]) -> Table {
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic);
    let coloured = AutoStream::choice(&io::stdout()) != ColorChoice::Never;
    match table.width() {
        // Terminals that nobody sized, such as those of containers, say that they are 0 wide.
        Some(0) if coloured => _ = table.force_no_tty().enforce_styling(),
        Some(width) if width > 0 => _ = table.set_width(width),
        _ => {}
    }
    if !coloured {
        table.force_no_tty();
    }
    if !headings.is_empty() {
        table.set_header(
            headings
                .iter()
                .map(|heading| Cell::new(heading).fg(Color::DarkGrey)),
        );
    }
    table
}

/// A risk in its colour.
pub(crate) fn risk_cell(risk: &str) -> Cell {
    let cell = Cell::new(risk);
    match risk {
        "critical" => cell.fg(Color::Red),
        "high" => cell.fg(Color::Yellow),
        _ => cell,
    }
}

/// A heading inside a text.
pub(crate) fn heading(text: &str) -> String {
    styled(Style::new().bold(), text)
}

/// Something that is wrong.
pub(crate) fn wrong(text: &str) -> String {
    styled(AnsiColor::Red.on_default(), text)
}

/// Something that wants a look.
pub(crate) fn doubtful(text: &str) -> String {
    styled(AnsiColor::Yellow.on_default(), text)
}

fn styled(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}
