//! The values of the arguments with their places and names.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use countersign_wire::pointer;
use serde_json::Value;

use crate::role::Role;

/// The most values that are looked at.
const MOST: usize = 4_000;
/// How deep they are looked for.
const DEPTH: usize = 32;

/// One value that holds no others, or an empty object or list.
#[derive(Debug)]
pub(crate) struct Leaf<'a> {
    /// JSON pointer.
    pub(crate) at: String,
    /// The pointer with `*` for every place in a list: where it belongs in every call.
    pub(crate) place: String,
    /// Its name in lower case with `_`; of an element that of its list.
    pub(crate) name: String,
    /// The words of the name.
    pub(crate) words: Vec<String>,
    pub(crate) value: Cow<'a, Value>,
    /// Where the object is that it is in, itself or with its list.
    pub(crate) object: Arc<str>,
    /// What it names, once somebody asked: a dozen rules do, of every value.
    pub(crate) role: OnceLock<Option<Role>>,
}

impl Leaf<'_> {
    pub(crate) fn text(&self) -> Option<&str> {
        self.value.as_str()
    }

    fn owned(self) -> Leaf<'static> {
        Leaf {
            at: self.at,
            place: self.place,
            name: self.name,
            words: self.words,
            value: Cow::Owned(self.value.into_owned()),
            object: self.object,
            role: self.role,
        }
    }

    /// A value with its name, as a line of a file has it.
    pub(crate) fn of_line(name: &str, value: &str) -> Leaf<'static> {
        let top = Leaf {
            at: String::new(),
            place: String::new(),
            name: String::new(),
            words: Vec::new(),
            value: Cow::Owned(Value::Null),
            object: "".into(),
            role: OnceLock::new(),
        };
        top.inner(name, name, value)
    }

    /// A value with a name of its own in the text of this one.
    pub(crate) fn inner(&self, step: &str, name: &str, value: impl Into<Value>) -> Leaf<'static> {
        let name = snake(name);
        Leaf {
            at: self.at.clone(),
            place: format!("{}»{step}", self.place),
            words: name.split('_').map(str::to_owned).collect(),
            name,
            value: Cow::Owned(value.into()),
            object: format!("{}»", self.at).into(),
            role: OnceLock::new(),
        }
    }

    pub(crate) fn named(&self, names: &str) -> bool {
        among(names, &self.name)
    }

    /// Name of the object that it is in; empty at the top and in lists.
    pub(crate) fn parent(&self) -> String {
        snake(self.place.rsplit('/').nth(1).unwrap_or_default())
    }

    pub(crate) fn has_word(&self, words: &str) -> bool {
        self.words.iter().any(|word| among(words, word))
    }
}

/// Every value, in order.
pub(crate) fn leaves(args: &Value) -> Vec<Leaf<'_>> {
    let mut found = Vec::new();
    walk(args, &Position::default(), 0, &mut found);
    found
}

/// The values of an object or list that is written as the text of a leaf.
pub(crate) fn written(leaf: &Leaf<'_>, value: &Value) -> Vec<Leaf<'static>> {
    let here = Position {
        at: leaf.at.clone(),
        place: format!("{}»", leaf.place),
        name: leaf.name.clone(),
        object: format!("{}»", leaf.object).into(),
        is_text: true,
    };
    let mut found = Vec::new();
    walk(value, &here, DEPTH - 4, &mut found);
    let owned = found.into_iter().map(|leaf| leaf.owned());
    owned.collect()
}

#[derive(Default, Clone)]
struct Position {
    at: String,
    place: String,
    name: String,
    object: Arc<str>,
    /// Inside a text: no pointer leads to what is in it.
    is_text: bool,
}

impl Position {
    fn below(&self, step: &str, place: &str) -> Self {
        Self {
            at: match self.is_text {
                true => self.at.clone(),
                false => format!("{}/{step}", self.at),
            },
            place: format!("{}/{place}", self.place),
            ..self.clone()
        }
    }
}

fn walk<'a>(value: &'a Value, here: &Position, depth: usize, found: &mut Vec<Leaf<'a>>) {
    if found.len() >= MOST || depth > DEPTH {
        return;
    }
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            // The element of a list is an object of its own, also within a text.
            let object: Arc<str> = match here.is_text {
                true => format!("{}#{}", here.place, found.len()).into(),
                false => here.at.as_str().into(),
            };
            for (key, value) in fields {
                let token = pointer::step(key);
                let below = Position {
                    name: snake(key),
                    object: Arc::clone(&object),
                    ..here.below(&token, &token)
                };
                walk(value, &below, depth + 1, found);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (index, value) in items.iter().enumerate() {
                walk(
                    value,
                    &here.below(&index.to_string(), "*"),
                    depth + 1,
                    found,
                );
            }
        }
        leaf => found.push(Leaf {
            at: here.at.clone(),
            place: here.place.clone(),
            words: here.name.split('_').map(str::to_owned).collect(),
            name: here.name.clone(),
            value: Cow::Borrowed(leaf),
            object: Arc::clone(&here.object),
            role: OnceLock::new(),
        }),
    }
}

/// `deployEnv`, `deploy-env` and `Deploy Env` are `deploy_env`.
pub(crate) fn snake(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    let mut lower_before = false;
    for character in name.chars() {
        if character.is_uppercase() && lower_before {
            out.push('_');
        }
        lower_before = character.is_lowercase() || character.is_numeric();
        match character.is_alphanumeric() {
            true => out.extend(character.to_lowercase()),
            false if out.ends_with('_') => {}
            false => out.push('_'),
        }
    }
    out.trim_matches('_').to_owned()
}

/// Whether a word is one of a list that is written with blanks.
pub(crate) fn among(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|of| of == word)
}

pub(crate) fn words_of(name: &str) -> Vec<String> {
    snake(name).split('_').map(str::to_owned).collect()
}
