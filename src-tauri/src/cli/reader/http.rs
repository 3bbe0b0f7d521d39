//! A model over HTTP: OpenAI's chat completions, which most servers speak, or Anthropic's messages.

use std::time::Duration;

use countersign_core::domain::reader::ReaderFault;
use countersign_post::{Call, Post, PostError};
use countersign_reader::config::{Config, Protocol};
use countersign_reader::{Http, Known, Said, system_text, tokens};
use serde_json::{Value, json};

/// Of an answer.
const TOKENS: u32 = 4_000;
const LARGEST: usize = 1 << 20;
const FOR_A_LIST: Duration = Duration::from_secs(5);

/// Asks models over HTTP; none where the system's authorities cannot be read.
#[derive(Debug, Clone)]
pub(crate) struct Models(Option<Post>);

impl Models {
    pub(super) fn new() -> Self {
        Self(Post::new().ok())
    }
}

/// Where a known program is asked, where it lists its models, and under which names.
fn addresses(of: Known) -> [&'static str; 4] {
    const OLLAMA: &str = "http://127.0.0.1:11434/v1/chat/completions";
    const LM_STUDIO: &str = "http://127.0.0.1:1234/v1/chat/completions";
    match of {
        Known::LmStudio => [LM_STUDIO, "http://127.0.0.1:1234/v1/models", "data", "id"],
        _ => [OLLAMA, "http://127.0.0.1:11434/api/tags", "models", "name"],
    }
}

impl Http for Models {
    async fn ask(&self, config: &Config, card: &str) -> Said {
        let known = config.program.map(|known| addresses(known)[0]);
        let url = known.or(config.endpoint.as_deref());
        let url = url.ok_or(ReaderFault::Config)?;
        let anthropic = config.protocol == Protocol::Anthropic;
        let call = Call {
            url,
            headers: headers(config, anthropic)?,
            body: Some(body(config, anthropic, card).to_string().into_bytes()),
            timeout: Duration::from_secs(config.timeout_s),
            largest: LARGEST,
        };
        let post = self.0.as_ref().ok_or(ReaderFault::Connect)?;
        let reply = post.send(call).await.map_err(|error| match error {
            PostError::Timeout => ReaderFault::Timeout,
            PostError::TooLarge => ReaderFault::TooLarge,
            _ => ReaderFault::Connect,
        })?;
        match reply.status {
            200..300 => {}
            401 | 403 => return Err(ReaderFault::Login),
            _ => return Err(ReaderFault::Http),
        }
        let reply: Value = serde_json::from_slice(&reply.body).map_err(|_| ReaderFault::Answer)?;
        let text = first_text(&reply, anthropic).ok_or(ReaderFault::Answer)?;
        Ok((text.to_owned(), tokens(&reply["usage"])))
    }

    async fn models(&self, of: Known) -> Option<Vec<String>> {
        let [_, url, list, name] = addresses(of);
        let (timeout, largest) = (FOR_A_LIST, LARGEST);
        let call = Call {
            url,
            timeout,
            largest,
            ..Call::default()
        };
        let reply = self.0.as_ref()?.send(call).await.ok()?;
        let listed = Some(reply).filter(|reply| reply.status == 200)?;
        let listed: Value = serde_json::from_slice(&listed.body).ok()?;
        let names = listed[list].as_array()?.iter();
        let names = names.filter_map(|model| Some(model[name].as_str()?.to_owned()));
        Some(names.collect())
    }
}

fn body(config: &Config, anthropic: bool, card: &str) -> Value {
    let system = system_text();
    let user = json!({ "role": "user", "content": card });
    let mut body = match anthropic {
        true => json!({ "model": config.model, "system": system, "messages": [user] }),
        false => json!({
            "model": config.model, "messages": [{ "role": "system", "content": system }, user],
        }),
    };
    let most = match anthropic {
        true => "max_tokens",
        false => &config.tokens_field,
    };
    body[most] = json!(TOKENS);
    body
}

/// With the key, where there is one.
fn headers(config: &Config, anthropic: bool) -> Result<Vec<(&'static str, String)>, ReaderFault> {
    let mut headers = Vec::new();
    if let Some(file) = &config.key_file {
        let key = std::fs::read_to_string(file).map_err(|_| ReaderFault::Config)?;
        headers.push(match anthropic {
            true => ("x-api-key", key.trim().to_owned()),
            false => ("authorization", format!("Bearer {}", key.trim())),
        });
    }
    headers.extend(anthropic.then(|| ("anthropic-version", "2023-06-01".to_owned())));
    Ok(headers)
}

fn first_text(reply: &Value, anthropic: bool) -> Option<&str> {
    let content = match anthropic {
        true => &reply["content"],
        false => &reply["choices"][0]["message"]["content"],
    };
    let mut parts = content.as_array().into_iter().flatten();
    let first = || parts.find_map(|part| part["text"].as_str());
    content.as_str().or_else(first)
}

#[cfg(test)]
mod tests;
