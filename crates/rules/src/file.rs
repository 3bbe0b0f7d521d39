//! Rule files: TOML, with the place of every problem.

use std::collections::BTreeMap;
use std::ops::Range;

use countersign_wire::MAX_SAFE_INTEGER;
use serde_json::{Map, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::read::{Problem, read_set};
use super::rule::Rule;

/// The largest rule file, 4 MiB.
pub const FILE_MAX: usize = 4 * 1024 * 1024;

/// A problem and where it is; lines and columns from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileProblem {
    /// Line.
    pub line: usize,
    /// Column, in characters.
    pub column: usize,
    /// What is meant, such as `rule[0].effect`; empty for a text that is no TOML.
    pub place: String,
    /// What is wrong.
    pub message: String,
}

impl std::fmt::Display for FileProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            line,
            column,
            place,
            message,
        } = self;
        match place.as_str() {
            "" => write!(f, "line {line}, column {column}: {message}"),
            place => write!(f, "line {line}, column {column}: {place}: {message}"),
        }
    }
}

/// Reads a rule file.
pub fn read_file(text: &str) -> Result<Vec<Rule>, Vec<FileProblem>> {
    if text.len() > FILE_MAX {
        let message = format!("a rule file has at most {FILE_MAX} bytes");
        return Err(vec![FileProblem {
            line: 1,
            column: 1,
            place: String::new(),
            message,
        }]);
    }
    let table = DeTable::parse(text).map_err(|error| {
        let (line, column) = line_column(text, error.span().map_or(0, |span| span.start));
        let message = error.message().to_owned();
        vec![FileProblem {
            line,
            column,
            place: String::new(),
            message,
        }]
    })?;
    let mut spans = Spans::default();
    let value = spans.table(&mut Vec::new(), table.get_ref());
    let problems = match read_set(&value, "rule") {
        Ok(rules) if spans.problems.is_empty() => return Ok(rules),
        Ok(_) => spans.problems.clone(),
        Err(problems) => spans.problems.iter().cloned().chain(problems).collect(),
    };
    let mut placed: Vec<FileProblem> = problems
        .into_iter()
        .map(|problem| {
            let (line, column) = line_column(text, spans.start(&problem.path));
            let place = problem.place();
            FileProblem {
                line,
                column,
                place,
                message: problem.message,
            }
        })
        .collect();
    placed.sort_by_key(|problem| (problem.line, problem.column));
    Err(placed)
}

fn line_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    (line, column)
}

/// Where each value is in the file.
#[derive(Default)]
struct Spans {
    at: BTreeMap<Vec<String>, Range<usize>>,
    problems: Vec<Problem>,
}

impl Spans {
    /// The place of a value, or of the nearest one around it.
    fn start(&self, path: &[String]) -> usize {
        let known = (0..=path.len())
            .rev()
            .find_map(|end| self.at.get(&path[..end]));
        known.map_or(0, |span| span.start)
    }

    fn table(&mut self, path: &mut Vec<String>, table: &DeTable<'_>) -> Value {
        let mut map = Map::new();
        for (key, value) in table {
            path.push(key.get_ref().to_string());
            // The key is where a person looks; the value may be spread over the file.
            self.at.insert(path.clone(), key.span());
            let read = self.value(path, value);
            map.insert(key.get_ref().to_string(), read);
            path.pop();
        }
        Value::Object(map)
    }

    fn value(&mut self, path: &mut Vec<String>, value: &Spanned<DeValue<'_>>) -> Value {
        match value.get_ref() {
            DeValue::String(text) => Value::from(text.as_ref()),
            DeValue::Boolean(word) => Value::from(*word),
            DeValue::Datetime(at) => Value::from(at.to_string()),
            DeValue::Integer(digits) => {
                let number = i64::from_str_radix(digits.as_str(), digits.radix());
                let number = number.ok().filter(|n| n.unsigned_abs() <= MAX_SAFE_INTEGER);
                number.map_or_else(
                    || self.bad(path, "the whole number is too large"),
                    Value::from,
                )
            }
            DeValue::Float(digits) => {
                let number = digits
                    .as_str()
                    .parse::<f64>()
                    .ok()
                    .filter(|n| n.is_finite());
                number.map_or_else(|| self.bad(path, "the number is not finite"), Value::from)
            }
            DeValue::Array(list) => {
                let mut read = Vec::with_capacity(list.len());
                for (place, item) in list.iter().enumerate() {
                    path.push(place.to_string());
                    self.at.insert(path.clone(), item.span());
                    read.push(self.value(path, item));
                    path.pop();
                }
                Value::Array(read)
            }
            DeValue::Table(table) => self.table(path, table),
        }
    }

    fn bad(&mut self, path: &[String], message: &str) -> Value {
        let (path, message) = (path.to_vec(), message.to_owned());
        self.problems.push(Problem { path, message });
        Value::Null
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const EXAMPLE: &str = r#"
schema = 1

[[rule]]
id = "test-invoices"
version = 3
name = "Test invoices may go"
enabled = true
effect = "approve"
expires_at = "2027-01-01T00:00:00Z"
agent = ["billing-*"]
tool = ["delete_invoice"]
risk = ["low", "medium"]
args."/invoice_id" = { glob = "INV-TEST-*" }
only_args = true
when = 'size(args.invoice_id) < 20'
limit = { count = 20, per = "1h" }
sum = { pointer = "/amount", max = 500, per = "24h" }

[[rule]]
id = "two-for-refunds"
effect = "ask"
tool = "refund"
approvals = 2

[[rule]]
id = "not-in-production"
effect = "deny"
enabled = "shadow"
args."/env" = { eq = "prod" }
message = "Not in production."
"#;

    #[test]
    fn the_format_of_the_guide_reads_and_comes_back_the_same() {
        let rules = read_file(EXAMPLE).unwrap();
        assert_eq!(rules.len(), 3);
        let list: Vec<Value> = rules.iter().map(Rule::to_json).collect();
        let kept = serde_json::json!({ "schema": 1, "rules": list });
        assert_eq!(read_set(&kept, "rules").unwrap(), rules);
        assert_eq!(rules[1].name, "two-for-refunds", "a name is not required");
    }

    /// A file with one rule that approves, some of its lines replaced.
    fn approve(lines: &str) -> String {
        let known: [(&str, &str); 4] = [
            ("id", "\"a\""),
            ("effect", "\"approve\""),
            ("expires_at", "\"2027-01-01T00:00:00Z\""),
            ("tool", "[\"t\"]"),
        ];
        let mut text = "schema = 1\n[[rule]]\n".to_owned();
        for (name, value) in known {
            if !lines.contains(&format!("{name} =")) {
                text.push_str(&format!("{name} = {value}\n"));
            }
        }
        text + lines
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        assert!(read_file(&approve("")).is_ok());
        for (lines, place) in [
            ("tool = [\"*\"]\n", "rule[0].tool"),
            ("tool = [\"a\", \"?*\"]\n", "rule[0].tool"),
            ("tool = []\n", "rule[0].tool"),
            ("tool = [1]\n", "rule[0].tool[0]"),
            ("tool = [\"a**\"]\n", "rule[0].tool[0]"),
            ("tools = [\"a\"]\n", "rule[0].tools"),
            ("id = \"A\"\n", "rule[0].id"),
            ("effect = \"allow\"\n", "rule[0].effect"),
            ("enabled = \"yes\"\n", "rule[0].enabled"),
            ("risk = [\"mild\"]\n", "rule[0].risk[0]"),
            ("kind = \"call\"\n", "rule[0].kind[0]"),
            ("args_digest = \"md5:1\"\n", "rule[0].args_digest[0]"),
            ("expires_at = \"tomorrow\"\n", "rule[0].expires_at"),
            ("approvals = 2\n", "rule[0].approvals"),
            ("message = \"no\"\n", "rule[0].message"),
            ("only_args = true\n", "rule[0].only_args"),
            ("when = 'args.'\n", "rule[0].when"),
            ("when = 'matches(args.a, \"x\")'\n", "rule[0].when"),
            (
                "limit = { count = 0, per = \"1h\" }\n",
                "rule[0].limit.count",
            ),
            (
                "limit = { count = 1, per = \"1 hour\" }\n",
                "rule[0].limit.per",
            ),
            (
                "sum = { pointer = \"a\", max = 1, per = \"1h\" }\n",
                "rule[0].sum.pointer",
            ),
            ("args.a = { eq = 1 }\n", "rule[0].args.a"),
            ("args.\"/a\" = { like = 1 }\n", "rule[0].args.\"/a\".like"),
            ("args.\"/a\" = { lt = \"99\" }\n", "rule[0].args.\"/a\".lt"),
            ("args.\"/a\" = {}\n", "rule[0].args.\"/a\""),
            ("args.\"/a\" = { lt = inf }\n", "rule[0].args.\"/a\".lt"),
            (
                "args.\"/a\" = { eq = 9007199254740993 }\n",
                "rule[0].args.\"/a\".eq",
            ),
        ] {
            let problems = read_file(&approve(lines)).unwrap_err();
            assert_eq!(problems[0].place, place, "{lines}");
            assert!(problems[0].line > 1, "{lines}");
        }
        let without = "schema = 1\n[[rule]]\nid = \"a\"\neffect = \"approve\"\ntool = \"t\"\n";
        let problems = read_file(without).unwrap_err();
        assert_eq!(
            (problems[0].place.as_str(), problems[0].line),
            ("rule[0].expires_at", 2)
        );
        assert!(read_file(&format!("{without}thread_id = \"T1\"\n")).is_ok());
    }

    #[test]
    fn an_empty_list_as_matcher_is_refused_whatever_the_effect() {
        for effect in ["approve", "ask", "deny"] {
            for name in [
                "agent",
                "tool",
                "risk",
                "kind",
                "origin",
                "framework",
                "skill",
                "thread_id",
                "args_digest",
            ] {
                let text = format!("id = \"a\"\neffect = \"{effect}\"\n{name} = []\n");
                let problems = read_file(&approve(&text)).unwrap_err();
                assert_eq!(problems[0].place, format!("rule[0].{name}"), "{effect}");
                assert!(problems[0].message.contains("1 to 200 texts"), "{text}");
            }
        }
    }

    #[test]
    fn a_text_that_is_no_toml_is_told_by_line_and_column() {
        let problem = &read_file("schema = 1\n[[rule]\nid = 1\n").unwrap_err()[0];
        assert_eq!(problem.line, 2);
        assert!(problem.column > 1, "{problem}");
        assert_eq!(read_file("schema = 2\n").unwrap_err()[0].place, "schema");
        assert_eq!(read_file("").unwrap_err()[0].place, "schema");
        let twice = approve("") + "[[rule]]\nid = \"a\"\neffect = \"ask\"\n";
        assert_eq!(read_file(&twice).unwrap_err()[0].place, "rule[1].id");
    }

    #[test]
    fn a_column_counts_characters() {
        let problem = &read_file("schema = 1\nname = \"é\" x\n").unwrap_err()[0];
        assert_eq!(problem.line, 2);
        assert_eq!(line_column("é x", 3), (1, 3));
    }
}
