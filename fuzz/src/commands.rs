//! Commands that hold a denied one somewhere, made of bytes: none of them runs without being asked.

use std::collections::BTreeMap;

use countersign_domain::Timestamp;
use countersign_rules::evaluate::{Asked, Outcome, Setting, Uses, evaluate};
use countersign_rules::read::read_set;
use countersign_rules::{Conditions, InBypass, PolicySet};
use countersign_wire::{RequestKind, Risk};
use serde_json::{Value, json};

/// Patterns, and the words of each in ways that mean the same.
const DENIED: [(&str, &[&str]); 5] = [
    (
        "git push *",
        &[
            "git push",
            "git -C . push",
            "git --no-pager push",
            "/usr/bin/git push",
        ],
    ),
    (
        "rm -rf *",
        &[
            "rm -rf",
            "rm -fr",
            "rm -r -f",
            "rm --recursive --force",
            "/bin/rm -rf",
            "rm -rvf",
        ],
    ),
    (
        "curl -X DELETE *",
        &[
            "curl -X DELETE",
            "curl -sX DELETE",
            "curl -XDELETE",
            "curl u -X DELETE",
        ],
    ),
    (
        "npm publish *",
        &["npm publish", "npm --silent publish", "npm -w a publish"],
    ),
    (
        "kubectl delete *",
        &[
            "kubectl delete",
            "kubectl -n x delete",
            "kubectl --context=c delete",
        ],
    ),
];
/// Programs that nobody knows, or that read a program.
const NAMES: [&str; 16] = [
    "zz",
    "fakeroot",
    "csh",
    "doppler run --",
    "./x.sh",
    "vim",
    "mysql",
    "/tmp/ls",
    "/opt/echo",
    "tclsh",
    "Rscript",
    "op run",
    "xonsh",
    "make",
    "pytest",
    "foo-bar.exe",
];
const OPTIONS: [&str; 8] = ["", "-a", "--long", "--", "-c 0", "--x=y", "'a b'", "-vv"];
const BEFORE: [&str; 12] = [
    "",
    "sudo ",
    "timeout 5 ",
    "nice -n 5 ",
    "env A=b ",
    "nohup ",
    "A=b ",
    "xargs ",
    "true && ",
    "ls; ",
    "( ",
    "$( ",
];
const AFTER: [&str; 6] = ["", " x", " && ls", " | cat", " > /dev/null", " # y"];

/// Choices, one a byte.
struct Choices<'d>(std::slice::Iter<'d, u8>);

impl Choices<'_> {
    fn below(&mut self, count: usize) -> usize {
        usize::from(self.0.next().copied().unwrap_or(0)) % count
    }

    fn of<'t>(&mut self, list: &[&'t str]) -> &'t str {
        list[self.below(list.len())]
    }
}

/// A word as somebody writes it who hides it.
fn written(word: &str, choose: &mut Choices<'_>) -> String {
    let (head, tail) = word.split_at(word.char_indices().nth(1).map_or(word.len(), |(at, _)| at));
    match choose.below(8) {
        0 => format!("'{word}'"),
        1 => format!("\"{word}\""),
        2 => format!("{head}''{tail}"),
        3 if !word.starts_with('\\') => format!("\\{word}"),
        4 => format!("{head}\"{tail}\""),
        _ => word.to_owned(),
    }
}

/// The words in a row, each as `write` has it, perhaps with a word between.
fn row(words: &str, choose: &mut Choices<'_>, write: bool) -> String {
    let between = choose.of(&[" ", "  ", "\t", " "]);
    let words = words.split(' ').map(|word| {
        if write {
            written(word, choose)
        } else {
            word.to_owned()
        }
    });
    words.collect::<Vec<_>>().join(between)
}

/// A command that gives the words to a program that nobody knows.
fn command(words: &str, choose: &mut Choices<'_>) -> String {
    let (name, option) = (choose.of(&NAMES), choose.of(&OPTIONS));
    let text = row(words, choose, false);
    let junk = choose.of(&[
        "", "x ", "cd y; ", "do not ", "a=b ", "!", ":!", "\n", "(\"", "exec ",
    ]);
    let text = format!("{junk}{text}{}", choose.of(&["", " x", "; y", "\")", "\n"]));
    let quote = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
    let double = |text: &str| format!("\"{}\"", text.replace(['"', '\\', '`'], ""));
    let whole = match choose.below(12) {
        0 | 1 => format!("{name} {option} {}", row(words, choose, true)),
        2 => format!("{name} {option} {}", quote(&text)),
        3 => format!("{name} {option} -e {}", double(&text)),
        4 => format!("{name} {option} --run={}", quote(&text)),
        5 => format!("{name} {option} --run={}", row(words, choose, true)),
        6 => format!("{name} {option} <<< {}", quote(&text)),
        7 => format!("{name} {option} <<'E'\n{text}\nE"),
        8 => {
            return format!(
                "echo {} | {name}",
                if choose.below(2) == 0 {
                    quote(&text)
                } else {
                    words.to_owned()
                }
            );
        }
        9 => {
            return format!(
                "PAGER={} {}",
                quote(&text),
                choose.of(&["git log", "man x", "ls", "zz"])
            );
        }
        10 => {
            return format!(
                "PATH=/x:$PATH {} {words}",
                choose.of(&["ls", "echo", "cat", "grep"])
            );
        }
        _ => format!("{name} {option} \"$X\" {words} $Y"),
    };
    // A here-document ends its line.
    if whole.contains("<<'E'") {
        return whole;
    }
    let before = choose.of(&BEFORE);
    let close = if before.ends_with("( ") { " )" } else { "" };
    let name = if before == "$( " { "echo " } else { "" };
    let whole = format!("{name}{before}{whole}{close}{}", choose.of(&AFTER));
    match choose.below(6) {
        0 => format!("bash -c {}", quote(&whole)),
        1 => format!("{{ {whole}\n}}"),
        _ => whole,
    }
}

/// What a deny of one of them makes of a command, under a bypass.
pub struct Denies(Vec<PolicySet>);

impl Default for Denies {
    fn default() -> Self {
        let set = |(pattern, _): &(&str, _)| {
            let rule = json!({ "id": "r", "effect": "deny", "tool": ["Bash"], "command": { "/command": [pattern] } });
            let rules =
                read_set(&json!({ "schema": 1, "rules": [rule] }), "rules").expect("a rule");
            PolicySet::new(rules, BTreeMap::new()).expect("a set")
        };
        Self(DENIED.iter().map(set).collect())
    }
}

impl Denies {
    /// Asserts that the command that these bytes make is stopped.
    pub fn hold(&self, data: &[u8]) {
        let mut choose = Choices(data.iter());
        let which = choose.below(DENIED.len());
        let (pattern, ways) = DENIED[which];
        let words = choose.of(ways);
        let text = command(words, &mut choose);
        let args = json!({ "command": text });
        assert!(!runs(&self.0[which], &args), "{pattern}: {text:?}");
    }
}

fn runs(policy: &PolicySet, args: &Value) -> bool {
    let asked = Asked {
        agent: "bot",
        kind: RequestKind::ToolCall,
        tool: Some("Bash"),
        origin: None,
        framework: None,
        skill: None,
        skill_tools: None,
        thread_id: None,
        run_id: None,
        args: Some(args),
        args_digest: None,
        effective: None,
        native: None,
        risk: Risk::Low,
        takes_approval: true,
        approvals_required: 1,
        setup_key: None,
        tool_changed_at: None,
        stops: &[],
    };
    let now = Timestamp(1_795_000_000_000);
    let since = Timestamp(now.0 - 60_000);
    let setting = Setting {
        now,
        approves_off: None,
        bypass: Some(InBypass {
            up_to: Risk::Low,
            since,
        }),
        author_may: true,
        uses: &Uses::new(),
        explain: false,
        conditions: &Conditions::default(),
    };
    matches!(
        evaluate(policy, &asked, &setting).outcome,
        Outcome::Approve(_)
    )
}
