//! The values of the arguments with their places and names.

use std::sync::OnceLock;

use countersign_wire::pointer;
use serde_json::{Map, Value};

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
    pub(crate) value: &'a Value,
    /// The object that it is in, itself or with its list.
    pub(crate) inside: Option<&'a Map<String, Value>>,
    /// What it names, once somebody asked: a dozen rules do, of every value.
    pub(crate) role: OnceLock<Option<Role>>,
}

impl Leaf<'_> {
    pub(crate) fn text(&self) -> Option<&str> {
        self.value.as_str()
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

#[derive(Default, Clone)]
struct Position<'a> {
    at: String,
    place: String,
    name: String,
    inside: Option<&'a Map<String, Value>>,
}

fn walk<'a>(value: &'a Value, here: &Position<'a>, depth: usize, found: &mut Vec<Leaf<'a>>) {
    if found.len() >= MOST || depth > DEPTH {
        return;
    }
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (key, value) in fields {
                let token = pointer::step(key);
                let below = Position {
                    at: format!("{}/{token}", here.at),
                    place: format!("{}/{token}", here.place),
                    name: snake(key),
                    inside: Some(fields),
                };
                walk(value, &below, depth + 1, found);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (index, value) in items.iter().enumerate() {
                let below = Position {
                    at: format!("{}/{index}", here.at),
                    place: format!("{}/*", here.place),
                    ..here.clone()
                };
                walk(value, &below, depth + 1, found);
            }
        }
        leaf => found.push(Leaf {
            at: here.at.clone(),
            place: here.place.clone(),
            words: here.name.split('_').map(str::to_owned).collect(),
            name: here.name.clone(),
            value: leaf,
            inside: here.inside,
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
