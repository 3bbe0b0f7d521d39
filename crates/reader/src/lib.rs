//! A second reader: a program or model that reads waiting calls and may add marks.
//!
//! It decides nothing, and nothing waits for it. What it says is data.

mod answer;
mod ask;
mod card;
pub mod config;
pub mod guard;
mod launch;
mod line;
mod pace;
mod program;
mod run;

pub use answer::Answer;
pub use ask::{Asker, Http, Said, Source, tokens};
pub use card::{Call, Card};
pub use program::{Known, locate};
pub use run::{Before, Desk, answered, asked, run};

/// What a reader is asked to do. The page has the text, so that people read what the reader reads; its version and
/// digest are in the page and in the audit log.
#[must_use]
pub fn system_text() -> &'static str {
    let page = include_str!("../../../docs/reader.md");
    let (_, text) = page.split_once("```text\n").unwrap_or_default();
    text.split_once("\n```").unwrap_or_default().0
}
