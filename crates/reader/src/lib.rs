//! A second reader: a program or model that reads waiting calls and may add marks.
//!
//! It decides nothing, and nothing waits for it. What it says is data.

mod answer;
mod ask;
mod card;
pub mod config;
pub mod guard;
mod http;
mod launch;
mod line;
mod pace;
mod program;
mod run;
mod tries;

use std::sync::LazyLock;

pub use answer::Answer;
pub use ask::{Asker, models};
pub use card::{Call, Card, without_names};
pub use program::{Known, locate, managed_hooks};
pub use run::{Before, Desk, Source, answered, asked, run};
pub use tries::{MadeUp, Score, made_up};

/// The page has the text, so that people read what the reader reads.
const PAGE: &str = include_str!("../../../docs/reader.md");

/// What a reader is asked to do; its version and digest are in the page and in the audit log.
#[must_use]
pub fn system_text() -> &'static str {
    static TEXT: LazyLock<&str> = LazyLock::new(|| {
        let (_, text) = PAGE.split_once("```text\n").unwrap_or_default();
        text.split_once("\n```").unwrap_or_default().0
    });
    *TEXT
}
