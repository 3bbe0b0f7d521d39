//! What the reader says a text runs is what a real bash runs: on generated texts of harmless names.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::process::{Command, Stdio};

use countersign_shell::{Shell, Word, read};
use proptest::prelude::*;

/// Names that no folder of programs has: bash asks its handler for each.
const NAMES: [&str; 4] = ["aaq", "bbq", "ccq", "ddq"];
/// Bash's own, which the handler does not see.
const OWN: [&str; 3] = ["wait", "eval", ":"];
const HANDLER: &str = "command_not_found_handle() { local all=; for one; do all+=$one$'\\x1f'; done; printf '%s\\x1e' \"$all\" >> \"$SEEN\"; }\n";

/// Numbers that look random and are the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    fn word(&mut self, depth: usize) -> String {
        let mut word = String::new();
        for _ in 0..=self.below(3) {
            let most = if depth > 2 { 13 } else { 17 };
            match self.below(most) {
                0 => word.push_str("'a b;c'"),
                1 => word.push_str("\"x 'y' \\\" \\$\""),
                2 => word.push_str("$'\\x41\\tb'"),
                3 => word.push_str("\\;"),
                4 => word.push_str("''"),
                5 => word.push_str("{p,q}"),
                6 => word.push_str("$none"),
                7 => word.push_str("\"${none:-d e}\""),
                8 => word.push_str("\\\nz"),
                9 => word.push_str("-n=1"),
                10 => word.push_str("\"a#b\"#"),
                11 => word.push_str("$((1 + 2))"),
                13 => write!(word, "$( {})", self.script(depth + 1)).unwrap(),
                14 => write!(word, "\"$({})\"", self.simple(depth + 1)).unwrap(),
                15 => write!(word, "`{}`", self.plain()).unwrap(),
                16 => write!(word, "${{none:-$({})}}", self.plain()).unwrap(),
                _ => word.push('w'),
            }
        }
        word
    }

    fn plain(&mut self) -> String {
        format!("{} v", NAMES[self.below(4)])
    }

    fn simple(&mut self, depth: usize) -> String {
        let mut text = NAMES[self.below(4)].to_owned();
        if self.below(8) == 0 {
            text = format!("{}''{}", &text[..1], &text[1..]);
        }
        for _ in 0..self.below(3) {
            write!(text, " {}", self.word(depth)).unwrap();
        }
        match self.below(10) {
            0 => text.push_str(" >/dev/null 2>&1"),
            1 => text = format!("</dev/null V=1 {text}"),
            2 => text = format!("! {text}"),
            3 => text.push_str(" <<< \"x y\""),
            _ => {}
        }
        text
    }

    fn script(&mut self, depth: usize) -> String {
        if depth > 3 {
            return self.plain();
        }
        let (one, two) = (self.simple(depth), self.simple(depth + 1));
        let inner = self.below(13);
        let script = |numbers: &mut Self| numbers.script(depth + 1);
        match inner {
            0 => format!("{one}; {}", script(self)),
            1 => format!("{one} && {}", script(self)),
            2 => format!("{one} || {}", script(self)),
            3 => format!("{one} | {}", script(self)),
            4 => format!("{one} & {}\nwait", script(self)),
            5 => format!("{one}\n{}", script(self)),
            // `((` is arithmetic, which is another thing.
            6 => format!("( {})", script(self)),
            7 => format!("{{ {}\n}}", script(self)),
            8 => format!("if {one}; then {}\nelse {two}; fi", script(self)),
            9 => format!("for i in a b; do {}\ndone", script(self)),
            10 => format!("case x in y) {one};; x|z) {}\n;; esac", script(self)),
            11 => format!(
                "{one} <<E # it's\ntext $({two}) \\$(no)\nE\n{}",
                self.plain()
            ),
            _ => format!("eval '{}'", self.plain()),
        }
    }

    /// A letter less, or one twice.
    fn changed(&mut self, text: &str) -> String {
        let at = self.below(text.len());
        let mut letters: Vec<char> = text.chars().collect();
        match self.below(2) {
            0 => drop(letters.remove(at)),
            _ => letters.insert(at, letters[at]),
        }
        letters.into_iter().collect()
    }
}

/// Whether words that ran are these.
fn fits(words: &[Word], ran: &[&str]) -> bool {
    let Some((word, rest)) = words.split_first() else {
        return ran.is_empty();
    };
    let one = ran.first().is_some_and(|first| match word.dynamic {
        true => first.starts_with(&word.text),
        false => *first == word.text,
    });
    match word.dynamic && !word.one {
        true => (0..=ran.len()).any(|many| fits(rest, &ran[many..])),
        false => one && fits(rest, &ran[1..]),
    }
}

#[test]
fn a_real_bash_runs_what_the_reader_says() {
    let count = std::env::var("CS_SHELL_BASH").ok();
    let count: u64 = count.map_or(100, |count| count.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let (handler, seen) = (folder.path().join("handler"), folder.path().join("seen"));
    std::fs::write(&handler, HANDLER).unwrap();
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    let bash = |how: &[&str], text: &str| {
        let mut command = Command::new("/bin/bash");
        command.args(how).args(["-c", text]).env_clear();
        command
            .env("BASH_ENV", &handler)
            .env("SEEN", &seen)
            .env("PATH", folder.path().join("empty"));
        command.current_dir(folder.path().join("empty"));
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.status().unwrap().success()
    };
    let (mut wrong, mut unread, mut broken, mut ran_all) = (String::new(), 0, 0, 0);
    for seed in 0..count {
        let mut numbers = Numbers(seed.wrapping_mul(7_919) + 1);
        let mut text = numbers.script(0);
        let changed = seed % 5 == 4;
        if changed {
            text = numbers.changed(&text);
        }
        let script = read(&text, Shell::Posix);
        if !bash(&["-n"], &text) {
            broken += 1;
            if script.unreadable.is_none() {
                writeln!(wrong, "no text for bash: {text:?}").unwrap();
            }
            continue;
        }
        if script.unreadable.is_some() {
            unread += 1;
            if !changed {
                writeln!(wrong, "unreadable: {text:?}").unwrap();
            }
            continue;
        }
        std::fs::write(&seen, "").unwrap();
        bash(&[], &text);
        let log = String::from_utf8(std::fs::read(&seen).unwrap()).unwrap();
        let ran: Vec<Vec<&str>> = log
            .split_terminator('\x1e')
            .map(|line| line.split_terminator('\x1f').collect())
            .collect();
        ran_all += ran.len();
        let said = || {
            script
                .commands
                .iter()
                .map(|command| command.words.as_slice())
        };
        for words in &ran {
            if !said().any(|said| fits(said, words)) {
                writeln!(wrong, "not said {words:?}: {text:?}").unwrap();
            }
        }
        // What no condition leaves out has run.
        let maybe = ["||", "if ", "case ", "!", "&&", "none:-"]
            .iter()
            .any(|sign| text.contains(sign));
        let own = |words: &[Word]| words.is_empty() || OWN.contains(&words[0].text.as_str());
        for words in said().filter(|words| !own(words) && !maybe && !changed) {
            if !ran.iter().any(|ran| fits(words, ran)) {
                writeln!(wrong, "did not run {:?}: {text:?}", words[0].text).unwrap();
            }
        }
    }
    println!("{count} texts, {broken} none of bash's, {unread} not read, {ran_all} commands ran");
    assert!(wrong.is_empty(), "{wrong}");
}

fn quoted(word: &str, ways: &[u8]) -> String {
    let mut text = String::new();
    for (at, c) in word.chars().enumerate() {
        match ways.get(at % ways.len().max(1)).copied().unwrap_or(0) % 4 {
            0 if c != '\'' => write!(text, "'{c}'").unwrap(),
            1 if c != '\n' => write!(text, "\\{c}").unwrap(),
            2 if !"$`\"\\".contains(c) => write!(text, "\"{c}\"").unwrap(),
            3 => write!(text, "$'\\U{:08x}'", u32::from(c)).unwrap(),
            _ if "\\$`\"".contains(c) => write!(text, "\"\\{c}\"").unwrap(),
            _ => write!(text, "\"{c}\"").unwrap(),
        }
    }
    if word.is_empty() {
        "''".to_owned()
    } else {
        text
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn words_quoted_in_any_way_are_read_back(
        commands in prop::collection::vec(prop::collection::vec("[ -~\n\tä日]{0,8}", 1..5), 1..5),
        ways in prop::collection::vec(any::<u8>(), 1..12),
        operators in prop::collection::vec(prop::sample::select(vec![" ; ", "\n", " && ", "||", "|", " & "]), 5),
    ) {
        // A name that would be read further is none of this test.
        let named: Vec<Vec<String>> = commands.iter().map(|words| [&["xq".to_owned()], words.as_slice()].concat()).collect();
        let mut text = String::new();
        for (at, words) in named.iter().enumerate() {
            if at > 0 {
                text.push_str(operators[at]);
            }
            let words: Vec<String> = words.iter().map(|word| quoted(word, &ways)).collect();
            text.push_str(&words.join(" "));
        }
        let script = read(&text, Shell::Posix);
        prop_assert_eq!(script.unreadable, None, "{:?}", text);
        let found: Vec<Vec<String>> = script.commands.iter().map(|command| {
            command.words.iter().map(|word| word.text.clone()).collect()
        }).collect();
        prop_assert!(script.commands.iter().all(|command| command.words.iter().all(|word| !word.dynamic)));
        prop_assert_eq!(found, named);
    }
}
