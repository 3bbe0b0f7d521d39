//! A model over HTTP: OpenAI's chat completions, which most servers speak, or Anthropic's messages.

use std::time::Duration;

use countersign_domain::reader::ReaderFault;
use countersign_post::{Call, Post, PostError};
use serde_json::{Value, json};

use crate::config::Config;
use crate::program::Known;

/// Of an answer.
const TOKENS: u32 = 4_000;
const LARGEST: usize = 1 << 20;
const FOR_A_LIST: Duration = Duration::from_secs(5);
/// How servers call what they counted.
const COUNTED: &str = "prompt_tokens completion_tokens input_tokens output_tokens \
     cache_creation_input_tokens cache_read_input_tokens";

/// Asks once.
pub(crate) async fn ask(
    post: &Post,
    (config, url): (&Config, &str),
    (system, card): (&str, &str),
    timeout: Duration,
) -> Result<(String, Option<u64>), ReaderFault> {
    let (system_said, user) = (
        json!({ "role": "system", "content": system }),
        json!({ "role": "user", "content": card }),
    );
    let anthropic = config.is_anthropic();
    let mut body = match anthropic {
        true => json!({ "model": config.model, "system": system, "messages": [user] }),
        false => json!({ "model": config.model, "messages": [system_said, user] }),
    };
    body[&config.tokens_field] = json!(TOKENS);
    let mut headers = Vec::new();
    if let Some(file) = &config.key_file {
        let key = std::fs::read_to_string(file).map_err(|_| ReaderFault::Config)?;
        headers.push(match anthropic {
            true => ("x-api-key", key.trim().to_owned()),
            false => ("authorization", format!("Bearer {}", key.trim())),
        });
    }
    headers.extend(anthropic.then(|| ("anthropic-version", "2023-06-01".to_owned())));
    let (body, largest) = (Some(body.to_string().into_bytes()), LARGEST);
    let call = Call {
        url,
        headers,
        body,
        timeout,
        largest,
    };
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
    let content = match anthropic {
        true => &reply["content"],
        false => &reply["choices"][0]["message"]["content"],
    };
    let mut parts = content.as_array().into_iter().flatten();
    let text = content
        .as_str()
        .or_else(|| parts.find_map(|part| part["text"].as_str()));
    let text = text.ok_or(ReaderFault::Answer)?.to_owned();
    Ok((text, tokens(&reply["usage"])))
}

/// All tokens of a call, read and written, where they are told.
pub(crate) fn tokens(usage: &Value) -> Option<u64> {
    let counted = COUNTED
        .split_whitespace()
        .filter_map(|name| usage[name].as_u64());
    counted.reduce(u64::saturating_add)
}

/// The models that a program on this machine lists; none where it does not answer.
pub(crate) async fn models(post: &Post, of: Known) -> Option<Vec<String>> {
    let [_, url, list, name] = of.addresses();
    let (timeout, largest) = (FOR_A_LIST, LARGEST);
    let call = Call {
        url,
        timeout,
        largest,
        ..Call::default()
    };
    let reply = post
        .send(call)
        .await
        .ok()
        .filter(|reply| reply.status == 200)?;
    let listed: Value = serde_json::from_slice(&reply.body).ok()?;
    let names = listed[list].as_array()?.iter();
    Some(
        names
            .filter_map(|model| Some(model[name].as_str()?.to_owned()))
            .collect(),
    )
}
