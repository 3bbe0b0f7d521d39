//! An agent's setup as its form shows it.
//!
//! The page never gets a value that looks like a secret: it can be replaced, but stays hidden.

use countersign_core::domain::Timestamp;
use countersign_core::ops::setup::{
    AgentSetup, Bound, Chosen, Declared, Leftover, SetupKey, SetupLine,
};
use countersign_core::policy::read::Problem;
use countersign_core::policy::setup::{Field, FieldType};
use countersign_redaction::is_secret_key;
use countersign_view::{
    SetupBinding, SetupChanged, SetupChosen, SetupDeclared, SetupElement, SetupForm, SetupKeyView,
    SetupLeftover, SetupLineView, SetupProblem, SetupType,
};
use countersign_wire::{Shown, text_ascii_safe};
use serde_json::Value;

use countersign_view::secrets::hiding;
use countersign_view::window::{escape, escape_lines, json_shown};

/// A line of the list.
pub(crate) fn setup_line(line: &SetupLine) -> SetupLineView {
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    SetupLineView {
        key: line.agent.to_string(),
        workspace: line.agent.workspace.to_string(),
        agent: line.agent.agent.to_string(),
        keys: line.keys.map(count),
        chosen: count(line.chosen),
        bound: count(line.bound),
    }
}

/// The form.
pub(crate) fn setup_form(setup: &AgentSetup) -> SetupForm {
    SetupForm {
        key: setup.agent.to_string(),
        workspace: setup.agent.workspace.to_string(),
        agent: setup.agent.agent.to_string(),
        revision: setup.revision,
        readable: setup.readable,
        declared: match &setup.declared {
            Declared::Nothing => SetupDeclared::Nothing,
            Declared::Wrong(problems) => SetupDeclared::Wrong {
                problems: problems.iter().map(of_declaration).collect(),
            },
            Declared::Keys(keys) => SetupDeclared::Keys {
                keys: keys.iter().map(key_view).collect(),
            },
        },
        leftovers: setup.leftovers.iter().map(leftover).collect(),
        changed: setup.changed.as_ref().map(|(by, at)| SetupChanged {
            by: escape(by),
            at_ms: ms(at),
        }),
    }
}

fn of_declaration(problem: &Problem) -> SetupProblem {
    SetupProblem {
        key: None,
        path: escape(&problem.place()),
        message: escape(&problem.message),
    }
}

/// A problem of a value: its path begins with the key.
pub(crate) fn setup_problem(problem: &Problem) -> SetupProblem {
    SetupProblem {
        key: problem.path.first().cloned(),
        ..of_declaration(problem)
    }
}

fn key_view(key: &SetupKey) -> SetupKeyView {
    let field = &key.field;
    SetupKeyView {
        key: field.name.clone(),
        kind: kind(field.kind),
        group: field.group.as_deref().map(escape),
        description: field.description.as_deref().map(escape_lines),
        placeholder: field.placeholder.as_deref().map(escape),
        importance: field.importance.as_ref().and_then(word),
        elements: field.elements.iter().map(element).collect(),
        secret: is_secret_key(&field.name),
        default: shown(&field.name, &field.default),
        value: shown(&field.name, &key.value),
        chosen: key.chosen.as_ref().map(|of| chosen(field, of)),
        bound: key
            .bound
            .as_ref()
            .map(|of| binding(&field.name, of, (key.spares(), key.is_redeclared()))),
    }
}

fn element(field: &Field) -> SetupElement {
    SetupElement {
        name: field.name.clone(),
        kind: kind(field.kind),
        description: field.description.as_deref().map(escape),
    }
}

fn chosen(field: &Field, chosen: &Chosen) -> SetupChosen {
    let open = hiding().field(&field.name, &chosen.value) == chosen.value;
    SetupChosen {
        json: open.then(|| text_ascii_safe(&format!("{:#}", chosen.value))),
        fits: chosen.fits(field),
        by: escape(&chosen.by),
        at_ms: ms(&chosen.at),
    }
}

fn binding(key: &str, bound: &Bound, (spares, redeclared): (bool, bool)) -> SetupBinding {
    SetupBinding {
        skips_when: shown(key, &bound.skips_when),
        critical: bound.critical,
        spares,
        redeclared,
        by: escape(&bound.by),
        at_ms: ms(&bound.at),
    }
}

fn leftover(left: &Leftover) -> SetupLeftover {
    SetupLeftover {
        key: left.key.clone(),
        name: escape(&left.key),
        value: left.chosen.as_ref().map(|of| shown(&left.key, &of.value)),
        bound: left
            .bound
            .as_ref()
            .map(|of| binding(&left.key, of, (false, false))),
    }
}

/// A text as it is, anything else as JSON; what looks like a secret is hidden.
fn shown(key: &str, value: &Value) -> Shown {
    match hiding().field(key, value) {
        Value::String(text) => escape_lines(&text),
        other => json_shown(&other),
    }
}

/// An importance that says nothing is not shown.
fn word(importance: &Value) -> Option<Shown> {
    match importance {
        Value::Null => None,
        Value::String(word) if word.is_empty() => None,
        Value::String(word) => Some(escape(word)),
        Value::Number(number) if number.as_f64() == Some(0.0) => None,
        other => Some(escape(&other.to_string())),
    }
}

fn ms(at: &str) -> Option<i64> {
    Timestamp::parse(at).map(|at| at.0)
}

fn kind(kind: FieldType) -> SetupType {
    match kind {
        FieldType::StringShort => SetupType::StringShort,
        FieldType::StringLong => SetupType::StringLong,
        FieldType::StringMultiline => SetupType::StringMultiline,
        FieldType::Bool => SetupType::Bool,
        FieldType::Int => SetupType::Int,
        FieldType::Float => SetupType::Float,
        FieldType::ListDict => SetupType::ListDict,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use countersign_core::policy::setup::read_schema;
    use serde_json::json;

    use super::*;

    fn view(more: Value, value: Value) -> SetupKeyView {
        let mut field = json!({"bs_name": "greeting", "bs_type": "string_long", "bs_default": "hi\u{202e}", "bs_group": "g"});
        field
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let schema = read_schema(&json!([field])).unwrap();
        let at = "2026-11-22T09:00:00Z".to_owned();
        let by = "ann".to_owned();
        key_view(&SetupKey {
            agent: "acme/bot".parse().unwrap(),
            field: schema.0[0].clone(),
            value: value.clone(),
            chosen: Some(Chosen {
                value: value.clone(),
                by: by.clone(),
                at: at.clone(),
                declared: None,
                extra: Default::default(),
            }),
            bound: Some(Bound {
                skips_when: value,
                critical: false,
                by,
                at,
                declared: Some(schema.0[0].digest()),
                extra: Default::default(),
            }),
        })
    }

    #[test]
    fn words_of_the_agent_are_escaped_and_what_a_person_edits_is_ascii() {
        let key = view(
            json!({"bs_description": "says\u{200b}", "bs_importance": 0}),
            json!("a\u{202e}b"),
        );
        for text in [&key.default, &key.value, key.description.as_ref().unwrap()] {
            assert_eq!(text.marks(), 1, "{text:?}");
        }
        let chosen = key.chosen.unwrap();
        assert_eq!(chosen.json.as_deref(), Some("\"a\\u202eb\""));
        assert_eq!((chosen.at_ms, chosen.fits), (Some(1_795_338_000_000), true));
        assert_eq!(key.importance, None);
        assert!(key.bound.unwrap().spares);
    }

    #[test]
    fn a_secret_is_never_handed_to_the_page() {
        for (more, value) in [
            (json!({"bs_name": "api_key"}), json!("hunter2")),
            (json!({}), json!("use sk-aaaabbbbccccddddeeeeffff1234")),
            (
                json!({"bs_type": "list_dict", "bs_default": []}),
                json!([{"password": "hunter2"}]),
            ),
        ] {
            let key = view(more, value);
            assert_eq!(key.chosen.as_ref().unwrap().json, None);
            let all = serde_json::to_string(&key).unwrap();
            assert!(
                !all.contains("hunter2") && !all.contains("aaaabbbb"),
                "{all}"
            );
        }
    }
}
