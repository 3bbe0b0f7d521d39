//! Setup keys: read as a form, and saved on the revision that was seen.

use countersign_core::ops::setup::{Saved, SetupChange};
use countersign_view::{
    IpcError, Nothing, SetupArgs, SetupEdit, SetupForm, SetupLines, SetupProblem, SetupSaveArgs,
    SetupSaved,
};
use countersign_wire::AgentKey;
use countersign_wire::ErrorCode;
use countersign_wire::escape;
use serde_json::Value;

use crate::gui::desk::Desk;
use crate::gui::view::{setup_form, setup_line, setup_problem};
use countersign_view::window::strict_json;
use countersign_view::window::{fault, refuse};

pub(crate) async fn setup_list(desk: &Desk, _: Nothing) -> Result<SetupLines, IpcError> {
    let lines = desk.app.setups().await.map_err(fault)?;
    Ok(SetupLines {
        agents: lines.iter().map(setup_line).collect(),
    })
}

pub(crate) async fn setup_of(desk: &Desk, args: SetupArgs) -> Result<SetupForm, IpcError> {
    let setup = desk.app.setup_of(&agent(&args.agent)?).await;
    Ok(setup_form(&setup.map_err(fault)?))
}

pub(crate) async fn setup_save(desk: &Desk, args: SetupSaveArgs) -> Result<SetupSaved, IpcError> {
    let agent = agent(&args.agent)?;
    let mut changes = Vec::new();
    let mut problems = Vec::new();
    for edit in &args.edits {
        match change(edit) {
            Ok(change) => changes.push(change),
            Err(problem) => problems.push(problem),
        }
    }
    if !problems.is_empty() {
        return Ok(SetupSaved::Refused { problems });
    }
    let saved = desk.app.save_setup(&agent, args.revision, &changes).await;
    Ok(match saved.map_err(fault)? {
        Saved::Stored(setup) => SetupSaved::Stored {
            form: setup_form(&setup),
        },
        Saved::Conflict(setup) => SetupSaved::Conflict {
            form: setup_form(&setup),
        },
        Saved::Refused(problems) => SetupSaved::Refused {
            problems: problems.iter().map(setup_problem).collect(),
        },
    })
}

fn agent(key: &str) -> Result<AgentKey, IpcError> {
    key.parse().map_err(|_| {
        refuse(
            ErrorCode::NotFound,
            "this names no agent; write it as WORKSPACE/AGENT",
        )
    })
}

fn change(edit: &SetupEdit) -> Result<SetupChange, SetupProblem> {
    match edit {
        SetupEdit::Set { key, json: None } => Ok(SetupChange::Set(key.clone(), Value::Null)),
        SetupEdit::Set {
            key,
            json: Some(json),
        } => Ok(SetupChange::Set(key.clone(), read(key, json)?)),
        SetupEdit::Bind {
            key,
            json,
            critical,
        } => Ok(SetupChange::Bind(key.clone(), read(key, json)?, *critical)),
        SetupEdit::Unbind { key } => Ok(SetupChange::Unbind(key.clone())),
    }
}

/// A typed null is refused: the way back to the default is a press of its own.
fn read(key: &str, json: &str) -> Result<Value, SetupProblem> {
    let wrong = |message: &str| SetupProblem {
        key: Some(key.to_owned()),
        path: escape(key),
        message: escape(message),
    };
    match strict_json(json) {
        Ok(Value::Null) => Err(wrong("null is not a value; use the default instead")),
        Ok(value) => Ok(value),
        // A word where a number is wanted: the type says what is wrong with it, not the JSON.
        Err(_) if !json.starts_with(['[', '{']) && serde_json::from_str::<Value>(json).is_err() => {
            Ok(Value::from(json))
        }
        Err(problem) => Err(wrong(&match problem.line {
            Some(line) if json.contains('\n') => format!("line {line}: {}", problem.message),
            _ => problem.message,
        })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_becomes_a_value_or_a_problem_of_its_key() {
        let set = |json: &str| {
            change(&SetupEdit::Set {
                key: "limit".to_owned(),
                json: Some(json.to_owned()),
            })
        };
        assert_eq!(
            set("2").ok(),
            Some(SetupChange::Set("limit".to_owned(), 2.into()))
        );
        assert_eq!(
            set("two").ok(),
            Some(SetupChange::Set("limit".to_owned(), "two".into())),
            "its type is known to the core"
        );
        for json in ["[1,", "null", "{\"a\":1,\"a\":2}", "99999999999999999999"] {
            let problem = set(json).err();
            assert_eq!(
                problem.and_then(|problem| problem.key).as_deref(),
                Some("limit"),
                "{json}"
            );
        }
        let reset = SetupEdit::Set {
            key: "limit".to_owned(),
            json: None,
        };
        assert_eq!(
            change(&reset).ok(),
            Some(SetupChange::Set("limit".to_owned(), Value::Null))
        );
    }
}
