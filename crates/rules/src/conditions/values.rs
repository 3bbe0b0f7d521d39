//! What conditions see of a request, and how they compare it.
//!
//! Refuses to compare values of different types.

use std::collections::HashMap;
use std::sync::Arc;

use cel::objects::{Key, Map};
use cel::{Context, Env, ExecutionError, Value as Cel};
use serde_json::Value;

use super::super::condition::STRICT;
use super::{ConditionError, LIST_MAX, TEXT_MAX, Work};

pub(super) fn context(
    env: &Arc<Env>,
    work: &Work,
) -> Result<Context<'static, 'static>, ConditionError> {
    let facts = &work.facts;
    let mut context = Context::with_env(Arc::clone(env));
    let named = |name: &str| {
        work.conditions
            .iter()
            .any(|condition| condition.names.contains(&name))
    };
    let text = |text: &Option<String>| {
        text.as_ref()
            .map_or(Cel::Null, |text| Cel::from(text.as_str()))
    };
    let mut room = TEXT_MAX;
    for name in [
        "tool", "agent", "risk", "run", "thread", "args", "setup", "now",
    ] {
        if !named(name) {
            continue;
        }
        let value = match name {
            "tool" => text(&facts.tool),
            "agent" => Cel::from(facts.agent.as_str()),
            "risk" => Cel::from(facts.risk),
            "run" => text(&facts.run),
            "thread" => text(&facts.thread),
            "args" => match &facts.args {
                Some(args) => seen(args, &mut room)?,
                None => continue,
            },
            "setup" => seen(&facts.setup, &mut room)?,
            _ => match facts.now.and_then(|now| now.rfc3339().parse().ok()) {
                Some(now) => Cel::Timestamp(now),
                None => continue,
            },
        };
        context.add_variable_from_value(name, value);
    }
    let failed = |error: cel::DeclarationError| ConditionError::Failed(error.to_string());
    let [(_, same), (_, differs), (_, among)] = STRICT;
    context
        .add_function(same, |a: Cel, b: Cel, left: bool, right: bool| {
            equal("==", (&a, left), (&b, right))
        })
        .map_err(failed)?;
    context
        .add_function(differs, |a: Cel, b: Cel, left: bool, right: bool| {
            equal("!=", (&a, left), (&b, right)).map(|same| !same)
        })
        .map_err(failed)?;
    context
        .add_function(among, |a: Cel, list: Cel, left: bool, right: bool| {
            is_among((&a, left), (&list, right))
        })
        .map_err(failed)?;
    Ok(context)
}

/// The kinds between which nothing is equal; numbers are one kind.
fn kind(value: &Cel) -> &'static str {
    match value {
        Cel::Int(_) | Cel::UInt(_) | Cel::Float(_) => "number",
        Cel::String(_) => "text",
        Cel::Bool(_) => "bool",
        Cel::List(_) => "list",
        Cel::Map(_) => "map",
        Cel::Null => "null",
        Cel::Bytes(_) => "bytes",
        Cel::Timestamp(_) => "time",
        Cel::Duration(_) => "length of time",
        _ => "other",
    }
}

/// Whether two values are the same, each with whether the rule itself writes it. Items of other types are an
/// error wherever they are; only a null that is written may meet one.
fn equal(
    operator: &'static str,
    (a, a_written): (&Cel, bool),
    (b, b_written): (&Cel, bool),
) -> Result<bool, ExecutionError> {
    let below = |a, b| equal(operator, (a, a_written), (b, b_written));
    match (a, b) {
        (Cel::Null, Cel::Null) => Ok(true),
        (Cel::Null, _) if a_written => Ok(false),
        (_, Cel::Null) if b_written => Ok(false),
        (Cel::List(a), Cel::List(b)) => {
            let mut same = a.len() == b.len();
            for (a, b) in a.iter().zip(b.iter()) {
                same &= below(a, b)?;
            }
            Ok(same)
        }
        (Cel::Map(a), Cel::Map(b)) => {
            let mut same = a.map.len() == b.map.len();
            for (name, a) in a.map.iter() {
                same &= match b.map.get(name) {
                    Some(b) => below(a, b)?,
                    None => false,
                };
            }
            Ok(same)
        }
        (a, b) if kind(a) != kind(b) => {
            let message = format!("{operator} compares {} with {}", kind(a), kind(b));
            Err(ExecutionError::function_error("@same", message))
        }
        (a, b) => Ok(a == b),
    }
}

fn is_among(
    (a, a_written): (&Cel, bool),
    (list, list_written): (&Cel, bool),
) -> Result<bool, ExecutionError> {
    match list {
        Cel::List(items) => {
            // A null that is written is meant, whatever is beside it.
            let is_null = |of: &Cel| matches!(of, Cel::Null);
            if list_written && is_null(a) && items.iter().any(is_null) {
                return Ok(true);
            }
            let mut found = false;
            for item in items.iter() {
                found |= equal("in", (a, a_written), (item, list_written))?;
            }
            Ok(found)
        }
        Cel::Map(map) => match a {
            Cel::String(name) => Ok(map.map.contains_key(&Key::String(Arc::clone(name)))),
            _ => Err(ExecutionError::function_error(
                "@among",
                "in looks for a text in a map",
            )),
        },
        _ => Err(ExecutionError::function_error(
            "@among",
            "in needs a list or a map",
        )),
    }
}

/// JSON as CEL sees it, within bounds.
fn seen(value: &Value, room: &mut usize) -> Result<Cel, ConditionError> {
    let take = |room: &mut usize, bytes: usize| {
        *room = room.checked_sub(bytes).ok_or(ConditionError::TooLarge)?;
        Ok(())
    };
    Ok(match value {
        Value::Null => Cel::Null,
        Value::Bool(word) => Cel::Bool(*word),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Cel::Int(whole),
            (None, Some(number)) => Cel::Float(number),
            (None, None) => return Err(ConditionError::TooLarge),
        },
        Value::String(text) => {
            take(room, text.len())?;
            Cel::String(Arc::new(text.clone()))
        }
        Value::Array(list) if list.len() <= LIST_MAX => {
            let items: Result<Vec<_>, _> = list.iter().map(|item| seen(item, room)).collect();
            Cel::List(Arc::new(items?))
        }
        Value::Object(names) if names.len() <= LIST_MAX => {
            let mut map = HashMap::with_capacity(names.len());
            for (name, value) in names {
                take(room, name.len())?;
                map.insert(Key::String(Arc::new(name.clone())), seen(value, room)?);
            }
            Cel::Map(Map { map: Arc::new(map) })
        }
        Value::Array(_) | Value::Object(_) => return Err(ConditionError::TooLarge),
    })
}
