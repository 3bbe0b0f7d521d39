//! Claude Code's questions to its user as a form, and the answers as it takes them.

use serde_json::{Map, Value, json};

pub(crate) const TOOL: &str = "AskUserQuestion";
/// Behind a question's text: the name of the field beside its options.
const OWN_WORDS: &str = " (own words)";

/// Title and schema of the form; None where the questions cannot be read.
pub(crate) fn form(args: &Value) -> Option<(String, Value)> {
    let (mut fields, mut headers) = (Map::new(), Vec::new());
    for question in args["questions"].as_array()? {
        let text = question["question"].as_str()?;
        let (mut labels, mut about) = (Vec::new(), Vec::new());
        for option in question["options"].as_array()? {
            let label = option["label"].as_str()?;
            let description = option["description"].as_str();
            about.extend(description.map(|words| format!("{label}: {words}")));
            labels.push(label);
        }
        let options = json!({ "type": "string", "enum": labels });
        let mut field = match question["multiSelect"] == true {
            true => json!({ "type": "array", "items": options, "uniqueItems": true }),
            false => options,
        };
        field["description"] = about.join("\n").into();
        let own = json!({ "type": "string", "title": "Other answer", "maxLength": 2_000 });
        let again = fields.insert(text.to_owned(), field).is_some()
            | fields.insert(format!("{text}{OWN_WORDS}"), own).is_some();
        if again || labels.is_empty() {
            return None;
        }
        headers.push(question["header"].as_str().unwrap_or(text));
    }
    let title = format!("Claude Code asks: {}", headers.join(", "));
    let schema = json!({ "type": "object", "properties": fields, "additionalProperties": false });
    (!headers.is_empty()).then_some((title, schema))
}

/// The arguments with what was answered; None where nothing was.
pub(crate) fn answered(args: &Value, content: &Value) -> Option<Value> {
    let mut answers = Map::new();
    for question in args["questions"].as_array()? {
        let text = question["question"].as_str()?;
        let labels = content.get(text).into_iter();
        let labels = labels.flat_map(|labels| match labels {
            Value::Array(labels) => labels.iter().collect(),
            label => vec![label],
        });
        let own = content.get(format!("{text}{OWN_WORDS}"));
        let words = labels.chain(own).filter_map(Value::as_str);
        let words: Vec<_> = words.filter(|words| !words.trim().is_empty()).collect();
        if !words.is_empty() {
            answers.insert(text.to_owned(), words.join(", ").into());
        }
    }
    let mut args = args.clone();
    let any = !answers.is_empty();
    args["answers"] = answers.into();
    any.then_some(args)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn question(text: &str, several: bool, labels: &[&str]) -> Value {
        let options = labels.iter();
        let options: Vec<_> = options
            .map(|label| json!({ "label": label, "description": "why" }))
            .collect();
        json!({ "question": text, "header": "H", "multiSelect": several, "options": options })
    }

    #[test]
    fn the_answers_of_all_questions_are_named_by_their_texts() {
        let args = json!({ "questions": [
            question("Which regions?", true, &["eu", "us", "ap"]),
            question("When?", false, &["Now", "Tonight"]),
        ] });
        let (title, schema) = form(&args).unwrap();
        assert_eq!(title, "Claude Code asks: H, H");
        let fields = schema["properties"].as_object().unwrap();
        let names = [
            "Which regions?",
            "Which regions? (own words)",
            "When?",
            "When? (own words)",
        ];
        assert!(fields.keys().eq(names));
        assert_eq!(fields["When?"]["enum"], json!(["Now", "Tonight"]));
        for (content, answers) in [
            (
                json!({ "Which regions?": ["eu", "us"], "When?": "Tonight" }),
                Some(json!({ "Which regions?": "eu, us", "When?": "Tonight" })),
            ),
            (
                json!({ "Which regions?": ["ap"], "Which regions? (own words)": "and sa" }),
                Some(json!({ "Which regions?": "ap, and sa" })),
            ),
            (
                json!({ "When? (own words)": "never" }),
                Some(json!({ "When?": "never" })),
            ),
            (
                json!({ "Which regions?": [], "When? (own words)": " " }),
                None,
            ),
            (json!({}), None),
            (json!("yes"), None),
        ] {
            let answered = answered(&args, &content).map(|args| args["answers"].clone());
            assert_eq!(answered, answers, "{content}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_no_form() {
        let one = question("Go?", false, &["Yes", "No"]);
        for args in [
            json!({}),
            json!({ "questions": [] }),
            json!({ "questions": "Go?" }),
            json!({ "questions": [one, one] }),
            json!({ "questions": [one, question("", false, &[])] }),
            json!({ "questions": [{ "question": "Go?", "options": [{ "name": "Yes" }] }] }),
        ] {
            assert_eq!(form(&args), None, "{args}");
        }
    }
}
