//! Asks the configured reader about one card.

use std::ffi::OsString;
use std::time::Duration;

use countersign_domain::reader::ReaderFault;
use countersign_post::Post;
use serde_json::Value;
use tokio::time::timeout;

use crate::answer::{self, Answer};
use crate::card::Card;
use crate::config::{Config, Protocol};
use crate::launch::Line;
use crate::program::{self, Known};
use crate::{http, launch, system_text};

/// Of what Claude Code prints around an answer.
const REPORT: usize = 1 << 20;
const FOR_HELP: Duration = Duration::from_secs(20);

/// Asks one reader.
#[derive(Debug, Clone)]
pub struct Asker {
    /// Its settings.
    pub config: Config,
    guard: Vec<OsString>,
    post: Option<Post>,
}

impl Asker {
    /// `guard` is the line that starts [`crate::guard::run`], without the program to be guarded.
    #[must_use]
    pub fn new(config: Config, guard: Vec<OsString>) -> Self {
        let post = Post::new().ok();
        Self {
            config,
            guard,
            post,
        }
    }

    /// Whether the program is there with every word of its line, or lists the model.
    pub async fn is_there(&self) -> bool {
        if let Some(words) = &self.config.command {
            return program::own(words).is_some();
        }
        match self.config.program {
            None => true,
            Some(Known::ClaudeCode) => {
                let help = self.run(program::claude(vec!["--help".to_owned()]), "", REPORT);
                let help = timeout(FOR_HELP, help).await;
                matches!(help, Ok(Ok((help, _))) if program::has_every_option(&help))
            }
            Some(known) => {
                let listed = models(known).await.unwrap_or_default();
                self.config
                    .model
                    .as_ref()
                    .is_some_and(|model| listed.contains(model))
            }
        }
    }

    /// The bytes that leave for a card.
    #[must_use]
    pub fn text(&self, card: &Card) -> String {
        match self.config.program {
            Some(Known::ClaudeCode) => card.without_mentions(),
            _ => card.text().to_owned(),
        }
    }

    /// Asks once, within the time of the settings.
    ///
    /// # Errors
    /// [`ReaderFault`], never with the reader's words.
    pub async fn ask(
        &self,
        card: &Card,
        knows_code: fn(&str) -> bool,
    ) -> Result<Answer, ReaderFault> {
        let limit = Duration::from_secs(self.config.timeout_s);
        let said = timeout(limit, self.say(&self.text(card), limit)).await;
        let (said, tokens) = said.unwrap_or(Err(ReaderFault::Timeout))?;
        let read = answer::read(&said, card.args(), knows_code)?;
        Ok(Answer { tokens, ..read })
    }

    /// What it says, and how many tokens it took where it reports that.
    async fn say(&self, card: &str, limit: Duration) -> Result<(String, Option<u64>), ReaderFault> {
        let Config {
            program,
            command,
            endpoint,
            model,
            ..
        } = &self.config;
        if let Some(words) = command {
            let printed = self.run(program::own(words), card, answer::LARGEST).await?;
            let (text, true) = printed else {
                return Err(ReaderFault::Exit);
            };
            return Ok((text, None));
        }
        if *program == Some(Known::ClaudeCode) {
            let words = program::claude_words(system_text(), model.as_deref());
            let (text, succeeded) = self.run(program::claude(words), card, REPORT).await?;
            return of_claude(&text, succeeded);
        }
        let known = program.map(|known| known.addresses()[0]);
        let url = known.or(endpoint.as_deref()).ok_or(ReaderFault::Config)?;
        let post = self.post.as_ref().ok_or(ReaderFault::Connect)?;
        http::ask(post, (&self.config, url), (system_text(), card), limit).await
    }

    async fn run(
        &self,
        line: Option<Line>,
        text: &str,
        largest: usize,
    ) -> Result<(String, bool), ReaderFault> {
        let line = line.ok_or(ReaderFault::Missing)?;
        launch::run(&self.guard, &line, text.as_bytes(), largest).await
    }
}

impl Config {
    pub(crate) fn is_anthropic(&self) -> bool {
        self.protocol == Protocol::Anthropic
    }
}

/// The models that a program on this machine lists; none where it does not answer.
pub async fn models(of: Known) -> Option<Vec<String>> {
    http::models(&Post::new().ok()?, of).await
}

/// What Claude Code reports: `result` is the model's text.
fn of_claude(printed: &str, succeeded: bool) -> Result<(String, Option<u64>), ReaderFault> {
    let fault = match succeeded {
        true => ReaderFault::Answer,
        false => ReaderFault::Exit,
    };
    let report: Value = serde_json::from_str(printed).map_err(|_| fault)?;
    let text = report["result"].as_str().unwrap_or_default();
    if report["is_error"] != Value::Bool(true) && succeeded {
        return Ok((text.to_owned(), http::tokens(&report["usage"])));
    }
    let mut login = ["/login", "API key", "authentication", "OAuth"].into_iter();
    match login.any(|word| text.contains(word)) {
        true => Err(ReaderFault::Login),
        false => Err(fault),
    }
}
