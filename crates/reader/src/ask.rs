//! Asks the configured reader about one card.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use countersign_domain::reader::ReaderFault;
use serde_json::Value;
use tokio::time::timeout;

use crate::answer::{self, Answer};
use crate::card::Card;
use crate::config::{self, Config};
use crate::launch::Line;
use crate::program::{self, Known};
use crate::{launch, system_text};

/// Of what Claude Code prints around an answer.
const REPORT: usize = 1 << 20;
const FOR_HELP: Duration = Duration::from_secs(20);
/// How programs and servers call what they counted.
const COUNTED: &str = "prompt_tokens completion_tokens input_tokens output_tokens \
     cache_creation_input_tokens cache_read_input_tokens";

/// What a reader says, and the tokens of the call where it reports them.
pub type Said = Result<(String, Option<u64>), ReaderFault>;

/// How a model is asked over HTTP.
pub trait Http: Clone + Send + Sync + 'static {
    /// Asks once, within the time of the settings.
    fn ask(&self, config: &Config, card: &str) -> impl Future<Output = Said> + Send;
    /// The models that a program on this machine lists; none where it does not answer.
    fn models(&self, of: Known) -> impl Future<Output = Option<Vec<String>>> + Send;
}

/// Where the settings are, and what a reader needs of the program.
#[derive(Debug, Clone)]
pub struct Source<H> {
    /// The data folder.
    pub folder: PathBuf,
    /// The line that starts [`crate::guard::run`], without the program to be guarded.
    pub guard: Vec<OsString>,
    /// Whether a finding of the console has this word.
    pub knows_code: fn(&str) -> bool,
    /// Asks a model.
    pub http: H,
}

impl<H> Source<H> {
    pub(crate) fn read(&self) -> Result<Option<Config>, String> {
        config::read_in(&self.folder)
    }
}

/// Asks one reader.
#[derive(Debug, Clone)]
pub struct Asker<H> {
    /// Its settings.
    pub config: Config,
    pub(crate) source: Source<H>,
}

impl<H: Http> Asker<H> {
    /// One with these settings.
    #[must_use]
    pub fn new(config: Config, source: Source<H>) -> Self {
        Self { config, source }
    }

    /// Whether the program is there with every word of its line, or lists the model.
    pub async fn is_there(&self) -> bool {
        match (self.config.program, &self.config.command) {
            (None, None) => true,
            (None, Some(words)) => program::own(words).is_some(),
            (Some(Known::ClaudeCode), _) => {
                let help = self.run(program::claude(vec!["--help".to_owned()]), "", REPORT);
                let help = timeout(FOR_HELP, help).await;
                matches!(help, Ok(Ok((help, _))) if program::has_every_option(&help))
            }
            (Some(known), _) => {
                let listed = self.source.http.models(known).await.unwrap_or_default();
                let model = self.config.model.as_ref();
                model.is_some_and(|model| listed.contains(model))
            }
        }
    }

    /// The bytes that leave for a card.
    #[must_use]
    pub fn text(&self, card: &Card) -> String {
        match self.config.program {
            Some(Known::ClaudeCode) => card.without_mentions(),
            _ => card.text.clone(),
        }
    }

    /// Asks once, within the time of the settings.
    ///
    /// # Errors
    /// [`ReaderFault`], never with the reader's words.
    pub async fn ask(&self, card: &Card) -> Result<Answer, ReaderFault> {
        let limit = Duration::from_secs(self.config.timeout_s);
        let said = timeout(limit, self.say(&self.text(card))).await;
        let (said, tokens) = said.unwrap_or(Err(ReaderFault::Timeout))?;
        let read = answer::read(&said, &card.args, self.source.knows_code)?;
        Ok(Answer { tokens, ..read })
    }

    async fn say(&self, card: &str) -> Said {
        let model = self.config.model.as_deref();
        match (self.config.program, &self.config.command) {
            (_, Some(words)) => match self.run(program::own(words), card, answer::LARGEST).await? {
                (text, true) => Ok((text, None)),
                (_, false) => Err(ReaderFault::Exit),
            },
            (Some(Known::ClaudeCode), _) => {
                let words = program::claude_words(system_text(), model);
                let (text, succeeded) = self.run(program::claude(words), card, REPORT).await?;
                of_claude(&text, succeeded)
            }
            _ => self.source.http.ask(&self.config, card).await,
        }
    }

    async fn run(
        &self,
        line: Option<Line>,
        text: &str,
        largest: usize,
    ) -> Result<(String, bool), ReaderFault> {
        let line = line.ok_or(ReaderFault::Missing)?;
        launch::run(&self.source.guard, &line, text.as_bytes(), largest).await
    }
}

/// What Claude Code reports: `result` is the model's text.
fn of_claude(printed: &str, succeeded: bool) -> Said {
    let fault = match succeeded {
        true => ReaderFault::Answer,
        false => ReaderFault::Exit,
    };
    let report: Value = serde_json::from_str(printed).map_err(|_| fault)?;
    let text = report["result"].as_str().unwrap_or_default();
    if report["is_error"] != Value::Bool(true) && succeeded {
        return Ok((text.to_owned(), tokens(&report["usage"])));
    }
    let mut login = ["/login", "API key", "authentication", "OAuth"].into_iter();
    match login.any(|word| text.contains(word)) {
        true => Err(ReaderFault::Login),
        false => Err(fault),
    }
}

/// All tokens of a call, read and written, where they are told.
#[must_use]
pub fn tokens(usage: &Value) -> Option<u64> {
    let counted = COUNTED.split_whitespace();
    let counted = counted.filter_map(|name| usage[name].as_u64());
    counted.reduce(u64::saturating_add)
}
