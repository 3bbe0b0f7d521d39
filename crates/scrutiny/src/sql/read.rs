//! Text to statements, in the dialect that reads it.

use crate::leaf::among;
use sqlparser::ast::Statement;
use sqlparser::dialect::{
    BigQueryDialect, Dialect, GenericDialect, MsSqlDialect, MySqlDialect, PostgreSqlDialect,
    SQLiteDialect, SnowflakeDialect,
};
use sqlparser::parser::Parser;

/// The longest text that is read, bytes.
const LONGEST: usize = 64 * 1024;
/// Parentheses in each other that a person still reads.
const DEPTH: usize = 40;

/// What a text came to.
pub(crate) struct Sql {
    pub(crate) statements: Vec<Statement>,
    pub(crate) unreadable: bool,
}

/// Words that begin a statement.
const BEGINS: &str = "SELECT INSERT UPDATE DELETE DROP TRUNCATE ALTER CREATE GRANT REVOKE WITH COPY MERGE BEGIN START COMMIT \
    SET EXEC EXECUTE CALL DO EXPLAIN ANALYZE VACUUM REINDEX USE SHOW REPLACE RENAME LOCK PREPARE DECLARE \
    COMMENT ATTACH PRAGMA LOAD";

/// Whether a text is SQL at all: its first word begins a statement, and it is not a sentence.
pub(crate) fn begins_as_sql(text: &str) -> bool {
    let text = without_remarks(text);
    let text = text.trim_start_matches(|at: char| at.is_whitespace() || at == '(' || at == ';');
    let mut words = text.split(|at: char| !(at.is_alphanumeric() || at == '_'));
    let first = words.next().unwrap_or_default();
    let upper = first.to_uppercase();
    if !among(BEGINS, upper.as_str()) {
        return false;
    }
    let second = text[first.len()..].trim_start();
    let second_word: String = second
        .chars()
        .take_while(|at| at.is_alphanumeric() || *at == '_')
        .collect();
    let second_word = second_word.to_uppercase();
    let all = format!(
        " {} ",
        text.to_uppercase()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    );
    match upper.as_str() {
        "SELECT" => {
            all.contains(" FROM ")
                || second.starts_with(|at: char| at.is_ascii_digit() || "'*(@\"".contains(at))
                || second.contains('(')
                || first == "SELECT"
        }
        "UPDATE" => all.contains(" SET "),
        "DELETE" => all.contains(" FROM ") || second.contains(['=', ';']) || first == "DELETE",
        "INSERT" | "REPLACE" => all.contains(" INTO ") || second_word == "OVERWRITE",
        "DROP" | "ALTER" | "CREATE" | "TRUNCATE" | "RENAME" => {
            const OBJECTS: &str = "TABLE DATABASE SCHEMA VIEW INDEX COLUMN FUNCTION PROCEDURE TRIGGER TYPE SEQUENCE ROLE USER EXTENSION \
    MATERIALIZED UNIQUE OR TEMP TEMPORARY DOMAIN POLICY PUBLICATION SUBSCRIPTION TABLESPACE OWNED SERVER \
    GLOBAL LOCAL UNLOGGED EVENT CONSTRAINT LOGIN STAGE SYSTEM DEFAULT EXTERNAL RULE AGGREGATE";
            among(OBJECTS, second_word.as_str())
                || (upper == "TRUNCATE" && (first == "TRUNCATE" || text.trim_end().ends_with(';')))
        }
        "WITH" => all.contains(" AS ") && second.contains('('),
        "COPY" => all.contains(" FROM ") || all.contains(" TO "),
        "GRANT" | "REVOKE" => all.contains(" TO ") || all.contains(" FROM "),
        "DO" => second.starts_with(['$', '\'']),
        "SHOW" | "USE" | "SET" | "START" | "CALL" | "LOCK" | "LOAD" | "COMMENT" | "EXPLAIN"
        | "ANALYZE" | "PREPARE" | "BEGIN" | "COMMIT" | "DECLARE" => first == upper,
        _ => true,
    }
}

fn without_remarks(text: &str) -> String {
    let mut rest = text.trim_start();
    loop {
        if let Some(after) = rest.strip_prefix("--").or_else(|| rest.strip_prefix('#')) {
            rest = after
                .split_once('\n')
                .map_or("", |(_, next)| next)
                .trim_start();
        } else if let Some(after) = rest
            .strip_prefix("/*")
            .filter(|after| !after.starts_with('!'))
        {
            rest = after
                .split_once("*/")
                .map_or("", |(_, next)| next)
                .trim_start();
        } else {
            return rest.to_owned();
        }
    }
}

/// Reads a text as the first dialect that can.
pub(crate) fn read(text: &str) -> Sql {
    if text.len() > LONGEST || depth(text) > DEPTH {
        return Sql {
            statements: Vec::new(),
            unreadable: true,
        };
    }
    let dialects: [&dyn Dialect; 8] = [
        &PostgreSqlDialect {},
        &MySqlDialect {},
        &GenericDialect {},
        &MsSqlDialect {},
        &SQLiteDialect {},
        &SnowflakeDialect,
        &BigQueryDialect {},
        &sqlparser::dialect::DuckDbDialect {},
    ];
    let filled = without_templates(text);
    for text in [text, &filled] {
        for dialect in dialects {
            if let Ok(statements) = Parser::parse_sql(dialect, text) {
                return Sql {
                    statements,
                    unreadable: false,
                };
            }
        }
    }
    one_by_one(&filled, &dialects)
}

/// What can be read of a text statement by statement; simple ones that only another database knows are not riddle.
fn one_by_one(text: &str, dialects: &[&dyn Dialect]) -> Sql {
    const PLAIN: &str = "REINDEX VACUUM ANALYZE SHOW EXPLAIN COMMENT SET BEGIN COMMIT USE CLUSTER REFRESH OPTIMIZE CHECKPOINT";
    let mut found = Vec::new();
    let mut unreadable = false;
    for part in text
        .split(';')
        .map(str::trim)
        .filter(|part| !part.is_empty())
    {
        match dialects
            .iter()
            .find_map(|dialect| Parser::parse_sql(*dialect, part).ok())
        {
            Some(statements) => found.extend(statements),
            None => {
                let part = without_remarks(part);
                let first = part
                    .split_whitespace()
                    .next()
                    .unwrap_or_default()
                    .to_uppercase();
                unreadable |= !part.is_empty() && !among(PLAIN, first.as_str());
            }
        }
    }
    Sql {
        statements: found,
        unreadable,
    }
}

/// What a program fills in: `{{ x }}`, `%(x)s`, `%s`, `{x}`, `${x}` become a value.
fn without_templates(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['{', '%', '$']) {
        out.push_str(&rest[..at]);
        let tail = &rest[at..];
        let end = if tail.starts_with("{{") {
            tail.find("}}").map(|end| end + 2)
        } else if tail.starts_with("%(") {
            tail.find(")s").map(|end| end + 2)
        } else if tail.starts_with("%s") || tail.starts_with("%d") {
            Some(2)
        } else if tail.starts_with('{') || tail.starts_with("${") {
            tail.find('}').map(|end| end + 1)
        } else {
            None
        };
        match end {
            Some(end) => {
                out.push_str("x_");
                rest = &tail[end..];
            }
            None => {
                let first = tail.chars().next().map_or(1, char::len_utf8);
                out.push_str(&tail[..first]);
                rest = &tail[first..];
            }
        }
    }
    out.push_str(rest);
    out
}

fn depth(text: &str) -> usize {
    let (mut here, mut most) = (0_usize, 0_usize);
    for at in text.bytes() {
        match at {
            b'(' => here += 1,
            b')' => here = here.saturating_sub(1),
            _ => {}
        }
        most = most.max(here);
    }
    most
}

/// What the parser has no words for: writing a query to a file of the server.
pub(crate) fn by_words(text: &str) -> Option<&'static str> {
    let upper = text.to_uppercase();
    let words: Vec<&str> = upper.split_whitespace().collect();
    let outside_of_texts = |word: &str| words.contains(&word);
    let into = words
        .windows(2)
        .any(|pair| pair == ["INTO", "OUTFILE"] || pair == ["INTO", "DUMPFILE"]);
    if into {
        return Some("writes a file on the server (INTO OUTFILE)");
    }
    (outside_of_texts("XP_CMDSHELL") || upper.contains("XP_CMDSHELL "))
        .then_some("runs a program on the server (xp_cmdshell)")
}
