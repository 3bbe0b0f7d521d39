//! The parts of a rule.

use std::collections::BTreeMap;

use countersign_shell::Shell;
use serde_json::{Map, Value};

use super::{COMMANDS_MAX, Found, LIST_MAX, TEXT_MAX};
use crate::commands::{CommandPattern, PathPattern, shell_of};
use crate::domain::Timestamp;
use crate::glob::Glob;
use crate::rule::{ArgTest, Limit, Sum, read_per};

/// A list of texts, or one text; what is none is empty, and a problem.
pub(super) fn words(found: &mut Found, map: &Map<String, Value>, name: &str) -> Vec<String> {
    words_up_to(LIST_MAX, found, map, name)
}

fn words_up_to(
    most: usize,
    found: &mut Found,
    map: &Map<String, Value>,
    name: &str,
) -> Vec<String> {
    let values = match map.get(name) {
        None => return Vec::new(),
        Some(Value::Array(list)) if list.is_empty() && found.stored => {
            found.empty.push(name.to_owned());
            return Vec::new();
        }
        Some(Value::Array(list)) => list.as_slice(),
        Some(value) => std::slice::from_ref(value),
    };
    found.at(name, |found| {
        let is_list = map.get(name).is_some_and(Value::is_array);
        if !(1..=most).contains(&values.len()) || !(is_list || values[0].is_string()) {
            found.add(format!("must be a text or a list of 1 to {most} texts"));
            return Vec::new();
        }
        let words = values.iter().enumerate().map(|(place, value)| {
            let word = value.as_str().filter(|word| is_text(word));
            let add =
                |found: &mut Found| found.add(format!("must be a text of 1 to {TEXT_MAX} bytes"));
            match word {
                Some(word) => return word.to_owned(),
                None if is_list => found.at(place.to_string(), add),
                None => add(found),
            }
            String::new()
        });
        words.collect()
    })
}

fn is_text(word: &str) -> bool {
    (1..=TEXT_MAX).contains(&word.len())
}

pub(super) fn known<T>(
    found: &mut Found,
    map: &Map<String, Value>,
    name: &str,
    read: impl Fn(&str) -> Option<T>,
    what: &str,
) -> Vec<T> {
    let words = words(found, map, name);
    let mut list = Vec::with_capacity(words.len());
    for (place, word) in words.iter().enumerate().filter(|(_, word)| is_text(word)) {
        match read(word) {
            Some(value) => list.push(value),
            None => found.at(name, |found| {
                found.at(place.to_string(), |found| {
                    found.add(format!("must be {what}"))
                });
            }),
        }
    }
    list
}

pub(super) fn stamp(found: &mut Found, map: &Map<String, Value>, name: &str) -> Option<Timestamp> {
    let value = map.get(name)?;
    let at = value.as_str().and_then(Timestamp::parse);
    if at.is_none() {
        found.at(name, |found| {
            found.add("must be a time as in 2027-01-01T00:00:00Z")
        });
    }
    at
}

pub(super) fn args(found: &mut Found, map: &Map<String, Value>) -> BTreeMap<String, ArgTest> {
    let mut tests = BTreeMap::new();
    let Some(value) = map.get("args") else {
        return tests;
    };
    found.at("args", |found| {
        let Some(map) = value
            .as_object()
            .filter(|map| (1..=LIST_MAX).contains(&map.len()))
        else {
            found.add(format!("must be a table of 1 to {LIST_MAX} JSON pointers"));
            return;
        };
        for (pointer, value) in map {
            found.at(pointer.as_str(), |found| {
                if !is_pointer(pointer) {
                    found.add("is not a JSON pointer; write \"/name\"");
                }
                if let Some(test) = arg_test(found, value) {
                    tests.insert(pointer.clone(), test);
                }
            });
        }
    });
    tests
}

/// Empty, or names after `/` in which `~` is followed by 0 or 1 (RFC 6901).
#[must_use]
pub fn is_pointer(text: &str) -> bool {
    let escaped = text
        .split('~')
        .skip(1)
        .all(|rest| rest.starts_with(['0', '1']));
    (text.is_empty() || text.starts_with('/')) && escaped && text.len() <= TEXT_MAX
}

fn arg_test(found: &mut Found, value: &Value) -> Option<ArgTest> {
    let map = found.object(
        value,
        &["eq", "in", "glob", "lt", "gt", "min_len", "max_len"],
    )?;
    if map.is_empty() {
        found.add("must say eq, in, glob, lt, gt, min_len or max_len");
    }
    let number = |found: &mut Found, name: &str| {
        let value = map.get(name)?;
        let number = value.as_f64().filter(|number| number.is_finite());
        if number.is_none() {
            found.at(name, |found| found.add("must be a number"));
        }
        number
    };
    let length = |found: &mut Found, name: &str| {
        let length = map.get(name)?.as_u64();
        if length.is_none() {
            found.at(name, |found| found.add("must be a whole number from 0"));
        }
        length
    };
    let one_of = match map.get("in") {
        None => None,
        Some(Value::Array(list)) if (1..=LIST_MAX).contains(&list.len()) => Some(list.clone()),
        Some(_) => {
            found.at("in", |found| {
                found.add(format!("must be a list of 1 to {LIST_MAX} values"))
            });
            None
        }
    };
    let glob = match map.get("glob").map(|value| value.as_str().map(Glob::new)) {
        None => None,
        Some(Some(Ok(glob))) => Some(glob),
        Some(Some(Err(why))) => {
            found.at("glob", |found| found.add(why));
            None
        }
        Some(None) => {
            found.at("glob", |found| found.add("must be a text"));
            None
        }
    };
    Some(ArgTest {
        eq: map.get("eq").cloned(),
        one_of,
        glob,
        lt: number(found, "lt"),
        gt: number(found, "gt"),
        min_len: length(found, "min_len"),
        max_len: length(found, "max_len"),
    })
}

fn window(found: &mut Found, map: &Map<String, Value>) -> i64 {
    let ms = map.get("per").and_then(Value::as_str).and_then(read_per);
    if ms.is_none() {
        found.at("per", |found| {
            found.add("must be a length of time such as 30s, 15m, 1h or 7d")
        });
    }
    ms.unwrap_or(1)
}

pub(super) fn limit(found: &mut Found, map: &Map<String, Value>) -> Option<Limit> {
    let value = map.get("limit")?;
    found.at("limit", |found| {
        let map = found.object(value, &["count", "per"])?;
        let count = map
            .get("count")
            .and_then(Value::as_u64)
            .filter(|count| *count > 0);
        if count.is_none() {
            found.at("count", |found| found.add("must be a whole number from 1"));
        }
        let per_ms = window(found, map);
        Some(Limit {
            count: count?,
            per_ms,
        })
    })
}

pub(super) fn sum(found: &mut Found, map: &Map<String, Value>) -> Option<Sum> {
    let value = map.get("sum")?;
    found.at("sum", |found| {
        let map = found.object(value, &["pointer", "max", "per"])?;
        let pointer = map
            .get("pointer")
            .and_then(Value::as_str)
            .filter(|at| is_pointer(at));
        if pointer.is_none() {
            found.at("pointer", |found| {
                found.add("must be a JSON pointer such as \"/amount\"")
            });
        }
        let max = map.get("max").and_then(Value::as_f64);
        let max = max.filter(|max| max.is_finite() && *max >= 0.0);
        if max.is_none() {
            found.at("max", |found| found.add("must be a number from 0"));
        }
        let per_ms = window(found, map);
        Some(Sum {
            pointer: pointer?.to_owned(),
            max: max?,
            per_ms,
        })
    })
}

pub(super) fn approvals(found: &mut Found, map: &Map<String, Value>) -> Option<u8> {
    let value = map.get("approvals")?;
    let approvals = value.as_u64().filter(|count| (1..=5).contains(count));
    if approvals.is_none() {
        found.at("approvals", |found| found.add("must be 1 to 5"));
    }
    approvals.and_then(|count| u8::try_from(count).ok())
}

/// The language of a rule's commands.
pub(super) fn shell(found: &mut Found, map: &Map<String, Value>) -> Shell {
    let word = map
        .get("shell")
        .map(|word| word.as_str().unwrap_or_default());
    shell_of(word).unwrap_or_else(|| {
        found.at("shell", |found| {
            found.add("must be \"powershell\", or left out")
        });
        Shell::Posix
    })
}

/// Lists of texts by JSON pointer, each read by `read`.
fn by_pointer<T>(
    found: &mut Found,
    map: &Map<String, Value>,
    name: &str,
    most: usize,
    read: impl Fn(&str) -> Result<T, String>,
) -> BTreeMap<String, Vec<T>> {
    let mut lists = BTreeMap::new();
    let Some(value) = map.get(name) else {
        return lists;
    };
    found.at(name, |found| {
        let Some(map) = value
            .as_object()
            .filter(|map| (1..=LIST_MAX).contains(&map.len()))
        else {
            found.add(format!("must be a table of 1 to {LIST_MAX} JSON pointers"));
            return;
        };
        for pointer in map.keys() {
            if !is_pointer(pointer) {
                found.at(pointer.as_str(), |found| {
                    found.add("is not a JSON pointer; write \"/name\"");
                });
            }
            lists.insert(pointer.clone(), texts(found, map, (pointer, most), &read));
        }
    });
    lists
}

fn texts<T>(
    found: &mut Found,
    map: &Map<String, Value>,
    (name, most): (&str, usize),
    read: impl Fn(&str) -> Result<T, String>,
) -> Vec<T> {
    let mut list = Vec::new();
    let words = words_up_to(most, found, map, name);
    for (place, word) in words.iter().enumerate().filter(|(_, word)| is_text(word)) {
        match read(word) {
            Ok(read) => list.push(read),
            Err(why) => found.at(name, |found| {
                found.at(place.to_string(), |found| found.add(why));
            }),
        }
    }
    list
}

pub(super) fn commands(
    found: &mut Found,
    map: &Map<String, Value>,
) -> BTreeMap<String, Vec<CommandPattern>> {
    let word = map.get("shell").and_then(Value::as_str);
    let shell = shell_of(word).unwrap_or_default();
    let approve = map.get("effect").and_then(Value::as_str) == Some("approve");
    by_pointer(found, map, "command", COMMANDS_MAX, |text| {
        CommandPattern::new(text, shell, approve)
    })
}

pub(super) fn paths(
    found: &mut Found,
    map: &Map<String, Value>,
) -> BTreeMap<String, Vec<PathPattern>> {
    by_pointer(found, map, "path", LIST_MAX, PathPattern::new)
}

pub(super) fn writes(found: &mut Found, map: &Map<String, Value>) -> Vec<PathPattern> {
    texts(found, map, ("writes", LIST_MAX), PathPattern::new)
}
