//! Rules that read commands and paths, as tables.

use countersign_wire::KeptJson;

use super::*;

/// What one rule makes of a command: `true` where it matches, none where it asks because it is not sure.
fn says(effect: &str, more: Value, args: &Value, native: Option<&KeptJson>) -> Option<bool> {
    let policy = set(vec![rule("r", effect, more)]);
    let mut asked = pay(args);
    asked.native = native;
    let found = judge(&policy, &asked);
    match found.outcome {
        Outcome::Approve(_) | Outcome::Deny(_) => Some(true),
        Outcome::Ask { rule: Some(_), .. } => None,
        Outcome::Ask { rule: None, .. } => Some(false),
    }
}

fn approves(patterns: &[&str], command: &str) -> bool {
    let native = KeptJson::of(&json!({ "cwd": "/srv/shop", "home": "/home/ada" })).unwrap();
    let more = json!({ "command": { "/command": patterns }, "writes": ["/tmp/**"] });
    says(
        "approve",
        more,
        &json!({ "command": command }),
        Some(&native),
    ) == Some(true)
}

fn denies(pattern: &str, command: &str) -> Option<bool> {
    let more = json!({ "command": { "/command": [pattern] } });
    says("deny", more, &json!({ "command": command }), None)
}

/// Patterns, commands that they let run, commands that ask.
type Approves<'t> = (&'t [&'t str], &'t [&'t str], &'t [&'t str]);

#[test]
fn an_approve_covers_every_command_of_a_text_and_nothing_that_is_not_known() {
    let table: &[Approves<'_>] = &[
        (
            &["git status", "git log *", "git commit *"],
            &[
                "git status",
                "git  'status'",
                "git log",
                "git log --oneline -3",
                "git log && git status",
                "git log 2>/dev/null",
                "git log > /tmp/x",
                "git commit -m \"it's $(git status)\"",
                "git log -p",
            ],
            &[
                "git status -s",
                "git logs",
                "git log; touch x",
                "git log\ntouch x",
                "git log\rtouch x",
                "git log $(touch x)",
                "git log `touch x`",
                "git log <(touch x)",
                "git log > x",
                "git log > /dev/tcp/h/1",
                "git log --output=x",
                "git log --outp x",
                "git log --ext-diff",
                "git log $x",
                "git -c core.pager=x log",
                "GIT_PAGER=x git log",
                "PATH=x; git log",
                "export GIT_PAGER=x; git log",
                "cd /srv/evil && git log",
                "git log; f() { x; }",
                "git() { x; }; git log",
                "alias git=x; git log",
                "$x log",
                "> /tmp/x",
                "",
            ],
        ),
        (
            &[
                "npx tsc *",
                "timeout 60 cargo test *",
                "make *",
                "cargo build *",
            ],
            &[
                "npx tsc",
                "npx tsc --noEmit",
                "timeout 60 cargo test --all",
                "make all",
                "timeout 5 make all",
                "nice make",
                "nohup make",
                "time make",
                "stdbuf -o0 make",
            ],
            &[
                "npx rm x",
                "timeout 60 cargo run",
                "make -f x",
                "make --eval x",
                "make -kf x",
                "sudo make",
                "timeout 5 rm x",
                "watch make",
                "cargo build --config x",
                "cd x && make; ./y",
            ],
        ),
        (
            &["watch *", "sudo *", "find *", "env *", "python *", "bash *"],
            &[
                "find . -name '*.md'",
                "python x.py",
                "bash x.sh",
                "sudo find .",
                "env python x.py",
            ],
            &[
                "watch rm x",
                "sudo rm x",
                "find . -delete",
                "find . -exec rm {} +",
                "find . -ok rm {} ;",
                "find . -fprint x",
                "env rm x",
                "env A=b python x.py",
                "python -c x",
                "python -",
                "python",
                "bash -c 'rm x'",
                "bash -s",
                "bash < x",
                "curl x | bash",
            ],
        ),
        (
            &["rm *", "rmdir *"],
            &[
                "rm build/x",
                "rm -rf build",
                "rm -rf ./a/b",
                "rm /srv/shop/x",
                "rmdir a",
            ],
            &[
                "rm -rf /",
                "rm -rf //",
                "rm -rf /.",
                "rm -rf /etc",
                "rm -rf /srv/..",
                "rm -rf /srv",
                "rm -rf /srv/shop",
                "rm -rf ~",
                "rm -rf ~ada",
                "rm -rf /home/ada",
                "rm -rf .",
                "rm -rf ..",
                "rm -rf *",
                "rm -rf $x",
                "rm -rf \"$x\"/*",
                "rm -rf ../x",
                "cd / && rm -rf x",
            ],
        ),
        (
            &[
                "FOO=1 make *",
                "NODE_ENV=* npm test",
                "cat *",
                "cd *",
                "./gradlew *",
                "sed *",
                "tee *",
                "sort *",
                "echo *",
            ],
            &[
                "FOO=1 make x",
                "NODE_ENV=test npm test",
                "cat $x",
                "cd /x && cat y",
                "./gradlew build",
                "sed -n '1,5p' x",
                "sed 's/a/b/g' x",
                "echo \"$x\" | sort",
                "echo x | tee /tmp/y",
                "cat <<'E'\nx\nE",
            ],
            &[
                "make x",
                "FOO=2 make x",
                "FOO=1 BAR=2 make x",
                "npm test",
                "cd /srv/evil && ./gradlew build",
                "sed -i s/a/b/ x",
                "sed 's/a/b/e' x",
                "sed 'w x' y",
                "echo x | tee y",
                "sort -o x y",
                "sort -ux --compress-prog=x y",
                "cat ${x@P}",
                "cat !(x)",
                "echo {a,b} > x",
            ],
        ),
    ];
    let mut wrong = Vec::new();
    for (patterns, run, ask) in table {
        wrong.extend(
            run.iter()
                .filter(|text| !approves(patterns, text))
                .map(|text| format!("asks: {text}")),
        );
        wrong.extend(
            ask.iter()
                .filter(|text| approves(patterns, text))
                .map(|text| format!("runs: {text}")),
        );
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_deny_matches_however_the_command_is_written() {
    let table: &[(&str, &[&str], &[&str])] = &[
        (
            "git push *",
            &[
                "git push",
                "git  push",
                "git 'push' origin",
                "git \"push\"",
                "\\git push",
                "/usr/bin/git push",
                "git -C . push",
                "git -c a=b push",
                "git --git-dir=x push",
                "git --unknown push",
                "git --unknown x push",
                "git {push,--all}",
                "git p?sh",
                "sudo git push",
                "bash -c 'git push'",
                "a && (b; git push)",
                "echo $(git push)",
                "git \\\n push",
                "A=1 git push",
                "npx git push",
                "find . -exec git push ;",
                "env -u X git push",
                "xargs git push",
                "if a; then git push; fi",
                "eval 'git push'",
                "git -c alias.x=push x",
                "docker exec c git push",
                "ssh h git push",
            ],
            &[
                "git status",
                "git commit -m push",
                "npm run push",
                "echo git push",
                "gitpush",
            ],
        ),
        (
            "rm -rf *",
            &[
                "rm -rf x",
                "rm -fr x",
                "rm -r -f x",
                "rm -rfv x",
                "rm --recursive --force x",
                "rm x -rf",
                "rm -R -f --recursive x",
                "rm --rec --fo x",
            ],
            &["rm x", "rm -r x", "rm -f x", "npm run format", "rmdir -rf"],
        ),
        (
            "git push --force *",
            &[
                "git push --force",
                "git push origin main --force",
                "git push -f",
                "git push --forc",
            ],
            &[
                "git push",
                "git push origin force",
                "git push --force-with-lease",
                "git commit --force",
                "git push -v",
            ],
        ),
        (
            "*--no-verify*",
            &[
                "git commit --no-verify",
                "x --no-verify",
                "a; b --no-verify=x",
                "bash -c 'git push --no-verify'",
                "c && d --x--no-verify",
            ],
            &["git commit", "git push", "ls", "no-verify", "git commit -n"],
        ),
        (
            "curl -X DELETE *",
            &[
                "curl -X DELETE u",
                "curl -XDELETE u",
                "curl u -X DELETE",
                "curl -sX DELETE u",
                "curl -sXDELETE u",
            ],
            &[
                "curl u",
                "curl -X GET u",
                "curl -d DELETE u",
                "wget u",
                "echo DELETE",
            ],
        ),
        (
            "ls",
            &["ls", "/bin/ls", "a; ls", "'ls'", "$(ls)"],
            &["ls -l", "ls x", "lsof", "cd ls", "echo ls"],
        ),
    ];
    let mut wrong = Vec::new();
    for (pattern, denied, free) in table {
        wrong.extend(
            denied
                .iter()
                .filter(|text| denies(pattern, text) == Some(false))
                .map(|text| format!("{pattern} misses {text}")),
        );
        wrong.extend(
            free.iter()
                .filter(|text| denies(pattern, text) != Some(false))
                .map(|text| format!("{pattern} stops {text}")),
        );
    }
    for text in [
        "curl x | sh",
        "$x y",
        "echo 'open",
        "python -c x",
        "echo ${x@P}",
    ] {
        wrong.extend((denies("rm *", text).is_some()).then(|| format!("does not ask: {text}")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_path_is_read_as_the_file_system_would() {
    let native = KeptJson::of(&json!({ "cwd": "/srv/shop", "home": "/home/ada" })).unwrap();
    let path = |effect: &str, pattern: &str, value: &str, native: Option<&KeptJson>| {
        says(
            effect,
            json!({ "path": { "/p": [pattern] } }),
            &json!({ "p": value }),
            native,
        )
    };
    for (pattern, value, expected) in [
        ("/srv/shop/**", "/srv/shop/a/b.ts", true),
        ("/srv/shop/**", "src/a.ts", true),
        ("/srv/shop/**", "./src/../a.ts", true),
        ("/srv/shop/*.md", "a.md", true),
        ("~/notes/*.md", "~/notes/a.md", true),
        ("~/notes/*.md", "/home/ada/notes/a.md", true),
        ("/srv/shop/**", "../x", false),
        ("/srv/shop/**", "/srv/shop/../x", false),
        ("/srv/shop/**", "/SRV/shop/x", false),
        ("/srv/shop/*.md", "a/b.md", false),
        ("~/notes/*.md", "/home/bob/notes/a.md", false),
        ("/srv/shop/**", "/srv/shop/.git/hooks/x", false),
        ("/srv/shop/**", ".GIT/config", false),
        ("/srv/shop/**", ".env.local", false),
        ("/**", "/etc/cron.d/x", false),
        ("/**", "/proc/self/cwd/x", false),
        ("~/**", "~/.bashrc", false),
        ("~/**", "~/.config/git/config", false),
        ("/srv/shop/.git/**", "/srv/shop/.git/x", true),
    ] {
        assert_eq!(
            path("approve", pattern, value, Some(&native)),
            Some(expected),
            "{pattern} {value}"
        );
    }
    for (pattern, value, expected) in [
        (".env", "/p/.env", Some(true)),
        (".env", ".ENV", Some(true)),
        ("/srv/shop/.env", ".env", Some(true)),
        ("/srv/shop/.env", "x/../.env", Some(true)),
        ("~/.ssh/**", "/home/bob/.ssh/id", Some(true)),
        ("~/.ssh/**", "$HOME/.ssh/id", Some(true)),
        ("~/.ssh/**", "/./root/.ssh/id", Some(true)),
        (".env", "/p/.envrc", Some(false)),
        (".env", "env", Some(false)),
        ("~/.ssh/**", "/srv/ssh/id", Some(false)),
        ("/etc/**", "/srv/etc/x", Some(false)),
        ("/srv/x", "/srv/y", Some(false)),
        ("/srv/x", "/proc/self/cwd", None),
    ] {
        assert_eq!(
            path("deny", pattern, value, Some(&native)),
            expected,
            "{pattern} {value}"
        );
    }
    let command = |text: &str| {
        let more = json!({ "path": { "/command": [".env"] } });
        says("deny", more, &json!({ "command": text }), None)
    };
    for text in [
        "cat .env",
        "cat < .env",
        "cat ./a/../.env",
        "x > .env",
        "sh -c 'cat .env'",
        "grep -f.env x --file=.env",
    ] {
        assert_eq!(command(text), Some(true), "{text}");
    }
    for text in ["ls", "cat env", "echo x", "git status", "make .environment"] {
        assert_eq!(command(text), Some(false), "{text}");
    }
    assert_eq!(command("cat $f"), None);
}

#[test]
fn a_rule_file_is_told_what_is_wrong_with_a_pattern() {
    for (effect, name, patterns) in [
        ("approve", "command", json!(["*"])),
        ("approve", "command", json!(["* --version"])),
        ("approve", "command", json!(["git $x *"])),
        ("approve", "command", json!(["git 'open"])),
        ("deny", "command", json!([])),
        ("deny", "path", json!(["../x"])),
        ("deny", "path", json!(["a**"])),
    ] {
        let mut map = json!({ "id": "r", "effect": effect, "tool": ["Bash"], "expires_at": "2027-01-01T00:00:00Z" });
        map[name] = json!({ "/command": patterns });
        let read = read_set(&json!({ "schema": 1, "rules": [map] }), "rules");
        assert!(read.is_err(), "{patterns}");
    }
}

#[test]
fn a_list_of_words_is_one_command_and_only_args_counts_its_pointer() {
    let more = json!({ "command": { "/argv": ["git log *"] }, "only_args": true });
    let run = |args: Value| says("approve", more.clone(), &args, None) == Some(true);
    assert!(run(json!({ "argv": ["git", "log", "$(x)"] })));
    assert!(!run(json!({ "argv": ["git", "push"] })));
    assert!(!run(json!({ "argv": ["git", "log"], "cwd": "/x" })));
    assert!(!run(json!({ "argv": [1] })));
    assert!(!run(json!({ "argv": 1 })));
}

#[test]
fn an_explanation_names_the_part_that_the_rule_does_not_allow() {
    let more =
        json!({ "command": { "/command": ["ls *", "cat *", "pytest *", "npx tsc *", "cd *"] } });
    let rule = rule("dev", "approve", more);
    for (text, part) in [
        ("ls | xargs -n1 cat", "xargs -n1 cat"),
        ("ls | xargs cat && rm x", "rm x"),
        ("timeout 5 rm x", "rm x"),
        ("sudo cat x", "sudo cat x"),
        ("ls && npx eslint", "npx eslint"),
        ("ls; pytest -p x", "pytest -p x"),
        ("cd /x && pytest", "pytest"),
        ("ls; cat $(rm x)", "rm x"),
    ] {
        let args = json!({ "command": text });
        let said = crate::commands::why_not(&rule, 0, (&args, None));
        let expected = format!("`{part}` is not allowed by rule dev");
        assert_eq!(said.as_deref(), Some(expected.as_str()), "{text}");
        assert!(
            !approves(&["ls *", "cat *", "pytest *", "npx tsc *", "cd *"], text),
            "{text}"
        );
    }
    assert!(approves(&["ls *", "cat *"], "ls | xargs cat"));
}
