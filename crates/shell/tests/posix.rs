//! What a POSIX text runs, as a table.
#![allow(clippy::unwrap_used)]

use countersign_shell::{Shell, read};

/// One command a word: words with `…` behind a dynamic one, between `|`.
fn commands(text: &str) -> Option<Vec<String>> {
    let script = read(text, Shell::Posix);
    if script.unreadable.is_some() {
        return None;
    }
    let shown = script.commands.iter().map(|command| {
        let words = command.words.iter().map(|word| match word.dynamic {
            true => format!("{}…", word.text),
            false => word.text.clone(),
        });
        words.collect::<Vec<_>>().join(" ")
    });
    Some(shown.collect())
}

#[test]
fn a_text_is_divided_as_the_shell_divides_it() {
    let table: &[(&str, &[&str])] = &[
        ("git  push 'origin' \"ma\"in", &["git push origin main"]),
        (
            "cd /srv && rm -rf b; a | tee log & wait",
            &["cd /srv", "rm -rf b", "a", "tee log", "wait"],
        ),
        (
            "git log $(touch /tmp/x) `id -u`",
            &["git log … …", "touch /tmp/x", "id -u"],
        ),
        (
            "diff <(sort a) <(echo \"$(b)\")",
            &["diff … …", "sort a", "echo …", "b"],
        ),
        ("f() { rm x; }; f", &["rm x", "f…"]),
        (
            "sudo -u root timeout 5 rm x",
            &["sudo -u root timeout 5 rm x", "timeout 5 rm x", "rm x"],
        ),
        ("bash -lc 'rm x; ls'", &["bash -lc rm x; ls", "rm x", "ls"]),
        ("curl x | sh", &["curl x", "sh", "…"]),
        ("bash <<'E'\nrm x\nE\nls", &["bash", "rm x", "ls"]),
        ("case $1 in a|b) x;; (c) y ;; esac", &["x", "y"]),
        ("echo hi # ; rm x", &["echo hi"]),
    ];
    for (text, expected) in table {
        assert_eq!(commands(text).unwrap(), *expected, "{text}");
    }
}

#[test]
fn what_cannot_be_told_is_unreadable() {
    for text in [
        "echo 'open",
        "echo $(open",
        "a\rb",
        "a\0b",
        "ls !(x)",
        "declare -n x=y",
        "[[ a[$(x)] -eq 1 ]]",
        "echo $((a[0]))",
        "echo ${x@P}",
        "cat <<E\nx",
        "fi",
        "a && ",
    ] {
        assert_eq!(commands(text), None, "{text}");
    }
}
