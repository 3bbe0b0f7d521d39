//! What a reader gets of one call, and nothing else of ours.

use serde_json::{Value, json};

/// Characters of a text, and of one in an earlier call.
const TEXT: usize = 4_000;
const EARLIER_TEXT: usize = 1_000;
/// Bytes of a card.
const LARGEST: usize = 64 << 10;
/// What a program could take for a mention of a file, a command or a note in its prompt.
const MENTIONS: [char; 4] = ['@', '`', '!', '#'];

/// A call, with what is hidden on screen already replaced in all of it.
#[derive(Debug, Clone, Default)]
pub struct Call {
    /// The tool's name.
    pub tool: String,
    /// The arguments.
    pub args: Value,
    /// What will happen.
    pub effect: Option<String>,
    /// How it differs from the nearest approved call: `[{at, was, is}]`.
    pub differs: Option<Value>,
    /// Calls of the tool that people decided, oldest first: `{args, approved, why}`.
    pub earlier: Vec<Value>,
    /// The day, UTC.
    pub today: String,
}

/// A card as it is sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Card {
    /// As JSON.
    pub text: String,
    /// The arguments as they are sent: a mark must lead to a value in them.
    pub args: Value,
}

impl Card {
    /// Cuts what is too long. None for a call that is too large even so.
    #[must_use]
    pub fn of(mut call: Call) -> Option<Self> {
        loop {
            let mut cut = Vec::new();
            let args = shortened(&call.args, TEXT, "/args", &mut cut);
            let compared = json!({ "differs": call.differs });
            let compared = call.differs.is_some().then_some(compared);
            let mut card = json!({
                "v": 1, "tool": shortened(&json!(call.tool), TEXT, "/tool", &mut cut), "args": args,
                "effect": shortened(&json!(call.effect), TEXT, "/effect", &mut cut),
                "compared": shortened(&json!(compared), TEXT, "/compared", &mut cut),
                "earlier": shortened(&json!(call.earlier), EARLIER_TEXT, "/earlier", &mut cut),
                "today": call.today,
            });
            card["cut"] = json!(cut);
            let text = card.to_string();
            if text.len() <= LARGEST {
                return Some(Self { text, args });
            }
            if call.earlier.is_empty() {
                return None;
            }
            call.earlier.remove(0);
        }
    }

    /// The same JSON for a program that would read `@path` out of its prompt: these signs stand in texts alone, where
    /// they can be written as numbers.
    pub(crate) fn without_mentions(&self) -> String {
        MENTIONS.iter().fold(self.text.clone(), |text, sign| {
            text.replace(*sign, &format!("\\u{:04x}", u32::from(*sign)))
        })
    }
}

/// The value with texts of at most so many characters. `cut` gets the places.
fn shortened(value: &Value, most: usize, at: &str, cut: &mut Vec<String>) -> Value {
    match value {
        Value::String(text) => match text.char_indices().nth(most) {
            None => value.clone(),
            Some((end, _)) => {
                cut.push(at.to_owned());
                json!(text[..end])
            }
        },
        Value::Array(items) => {
            let items = items.iter().enumerate();
            let short = |(n, item)| shortened(item, most, &format!("{at}/{n}"), cut);
            items.map(short).collect()
        }
        Value::Object(fields) => {
            let short = |(name, item): (&String, &Value)| {
                let place = countersign_wire::pointer::below(at, name);
                (name.clone(), shortened(item, most, &place, cut))
            };
            Value::Object(fields.iter().map(short).collect())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests;
