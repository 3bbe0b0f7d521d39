//! Entries of Claude Code: how commands are read, and what is wrong with a file.

use super::*;

#[test]
fn every_fault_of_a_file_is_listed_at_once_with_its_pointer() {
    let file = json!({"permissions": {
        "allow": ["Bash(ls:*)", 1], "ask": "Bash",
        "deny": ["Bash(rm -rf /)*", "Bash(git push:*)", "Bash(npm publish)*", "rm -rf", "d".repeat(300)],
    }});
    let reported = read_one(Source::ClaudeCode, &file, &[]).unwrap_err();
    let places: Vec<&str> = reported
        .iter()
        .map(|fault| fault.split_once(": ").unwrap().0)
        .collect();
    let expected = ["deny/0", "deny/2", "deny/3", "deny/4", "ask", "allow/1"];
    assert_eq!(places, expected.map(|of| format!("/permissions/{of}")));
}

#[test]
fn a_command_is_read_and_not_compared_by_its_letters() {
    let conditions = Conditions::default();
    type Row<'t> = [&'t [&'t str]; 4];
    let table: &[Row<'_>] = &[
        // Allow, deny, what runs, what does not.
        [
            &[
                "Bash(git log:*)",
                "Bash(git blame:*)",
                "Bash(cd web && npm test)",
                "Bash(make x*)",
            ],
            &[
                "Bash(git push*)",
                "Bash(rm -rf:*)",
                "Bash(*git checkout --*)",
            ],
            &[
                "git log --oneline",
                "git log && git blame a",
                "cd web && npm test",
                "make xy z",
                "git  'log'",
            ],
            &[
                "git push",
                "git -C . push",
                "git log; git 'push'",
                "rm -r -f x",
                "cd x && git checkout -- a",
                "npm test",
                "cd web; npm test",
                "git log > x",
            ],
        ],
        [
            &[
                "Bash(find:*)",
                "Bash(watch *)",
                "Bash(xargs:*)",
                "Bash(timeout:*)",
                "Bash(FOO=1 make:*)",
            ],
            &["Bash(curl:*)"],
            &["find . -name x", "FOO=1 make"],
            &[
                "find . -delete",
                "watch make",
                "xargs curl x",
                "timeout 5 c''url x",
                "make",
            ],
        ],
    ];
    for [allow, deny, run, not] in table {
        let file = json!({"permissions": {"allow": allow, "deny": deny}});
        let policy = policy(&from(Source::ClaudeCode, &file));
        let say =
            |command: &&&str| says(&policy, &conditions, "Bash", &json!({ "command": command }));
        for command in run.iter() {
            assert_eq!(say(&command), "approve", "{command}");
        }
        for command in not.iter() {
            assert_ne!(say(&command), "approve", "{command}");
        }
    }
}

/// What the rules of these lists say of a call.
fn said(permissions: &Value, folder: Option<&str>, (tool, args): (&str, &Value)) -> &'static str {
    let file = SourceFile {
        folder: folder.map(str::to_owned),
        value: json!({ "permissions": permissions }),
        ..SourceFile::default()
    };
    let mut found = import(Source::ClaudeCode, &[file], &[], now()).unwrap();
    // How long a condition takes is not a matter here, and these calls have no other argument.
    for rule in &mut found.rules {
        rule.when.take_if(|when| when.starts_with("args.all("));
    }
    says(&policy(&found), &Conditions::default(), tool, args)
}

#[test]
fn a_denied_file_is_denied_to_commands_that_name_it_and_to_no_others() {
    let allow = json!([
        "Bash(cat:*)",
        "Bash(git diff:*)",
        "Bash(git status)",
        "Bash(timeout 5 cat:*)"
    ]);
    type Row<'t> = (&'t str, &'t str, &'t [(&'t str, &'t str)]);
    let table: &[Row<'_>] = &[
        (
            "deny",
            "Read(./.env)",
            &[
                ("cat .env", "deny"),
                ("cat a/.ENV", "deny"),
                ("cat *", "ask"),
                ("git diff --no-index .env x", "deny"),
                ("timeout 5 cat < .env", "deny"),
                ("cat README.md", "approve"),
                ("git status", "approve"),
            ],
        ),
        (
            "deny",
            "Edit(//etc/**)",
            &[("cat /etc/passwd", "ask"), ("cat a", "approve")],
        ),
        // Which files are meant, nobody knows.
        (
            "deny",
            "Read",
            &[
                ("cat a", "ask"),
                ("git diff", "ask"),
                ("git status", "approve"),
            ],
        ),
        (
            "ask",
            "Edit",
            &[("timeout 5 cat a", "ask"), ("git status", "approve")],
        ),
        ("deny", "WebFetch", &[("cat a", "approve")]),
        (
            "deny",
            "Read(secret?.txt)",
            &[("cat secret1.txt", "ask"), ("cat a", "approve")],
        ),
        (
            "deny",
            "Read(!keep.txt)",
            &[("cat keep.txt", "ask"), ("cat a", "approve")],
        ),
    ];
    for (list, entry, calls) in table {
        let mut permissions = json!({ "allow": allow });
        permissions[list] = json!([entry]);
        for (command, word) in calls.iter() {
            let call = json!({ "command": command });
            let is = said(&permissions, None, ("Bash", &call));
            assert_eq!(is, *word, "{command} beside {entry}");
        }
    }
}

#[test]
fn a_path_under_allow_is_below_its_anchor_and_never_protected() {
    let read = |path: &str| ("Read", json!({ "file_path": path }));
    let edit = |tool, path: &str| (tool, json!({ "file_path": path }));
    let notebook = |path: &str| ("NotebookEdit", json!({ "notebook_path": path }));
    for (entry, folder, (tool, args), word) in [
        ("Read(//srv/a/**)", None, read("/srv/a/b/c"), "approve"),
        ("Read(//srv/a/**)", None, read("/srv/a/../b"), "ask"),
        ("Read(//srv/a/**)", None, read("/srv/a/.env"), "ask"),
        ("Read(//srv/a/*)", None, read("/srv/a/b/c"), "ask"),
        ("Read(//srv/a/)", None, read("/srv/a/b"), "approve"),
        ("Read(//srv/a**b)", None, read("/srv/aXb"), "approve"),
        ("Read(/src/**)", Some("/p"), read("/p/src/x"), "approve"),
        ("Read(/src/**)", Some("/p"), read("/src/x"), "ask"),
        ("Read(/src/**)", None, read("/p/src/x"), "ask"),
        (
            "Read(/notes/**)",
            Some("~/.claude"),
            read("~/.claude/notes/x"),
            "ask",
        ),
        ("Read(~/notes/*.md)", None, read("~/notes/x.md"), "approve"),
        ("Read(~/notes/*.md)", None, read("/notes/x.md"), "ask"),
        // Relative to a folder that this call does not name.
        ("Read(src/**)", None, read("src/x"), "ask"),
        ("Read(src/**)", None, read("/p/src/x"), "ask"),
        ("Read(//srv/a?)", None, read("/srv/ab"), "ask"),
        (
            "Edit(//srv/a/**)",
            None,
            edit("Edit", "/srv/a/x"),
            "approve",
        ),
        (
            "Edit(//srv/a/**)",
            None,
            edit("Write", "/srv/a/x"),
            "approve",
        ),
        (
            "Edit(//srv/a/**)",
            None,
            edit("MultiEdit", "/srv/a/x"),
            "approve",
        ),
        ("Edit(//srv/a/**)", None, notebook("/srv/a/x"), "approve"),
        ("Edit(//srv/a/**)", None, read("/srv/a/x"), "ask"),
        (
            "Edit(//srv/a/**)",
            None,
            edit("Edit", "/srv/a/.git/hooks/x"),
            "ask",
        ),
        ("Write(//srv/a/**)", None, edit("Write", "/srv/a/x"), "ask"),
    ] {
        let permissions = json!({ "allow": [entry] });
        let is = said(&permissions, folder, (tool, &args));
        assert_eq!(is, word, "{entry}: {tool} {args}");
    }
}

#[test]
fn a_name_and_a_value_test_an_argument_unless_they_are_a_command() {
    let bash = |args: Value| ("Bash", args);
    for (entry, (tool, args), word) in [
        (
            "Agent(model:opus)",
            ("Agent", json!({"model": "opus"})),
            "deny",
        ),
        (
            "Agent(model:opus)",
            ("Agent", json!({"model": "haiku"})),
            "approve",
        ),
        (
            "Agent(model:opus)",
            ("Agent", json!({"prompt": "x"})),
            "approve",
        ),
        (
            "Bash(run_in_background:true)",
            bash(json!({"command": "ls", "run_in_background": true})),
            "deny",
        ),
        (
            "Bash(run_in_background:true)",
            bash(json!({"command": "ls"})),
            "approve",
        ),
        (
            "Bash(timeout:*)",
            bash(json!({"command": "ls", "timeout": 5})),
            "approve",
        ),
        (
            "Bash(timeout:*)",
            bash(json!({"command": "timeout 5 ls"})),
            "deny",
        ),
        (
            "Bash(npm run build:prod)",
            bash(json!({"command": "npm run build:prod"})),
            "deny",
        ),
        (
            "Bash(npm run build:prod)",
            bash(json!({"command": "npm run build"})),
            "approve",
        ),
        // The program of that name is meant as well.
        (
            "Bash(make:all)",
            bash(json!({"command": "make:all"})),
            "deny",
        ),
    ] {
        let allow = [
            "Bash(ls:*)",
            "Bash(npm run:*)",
            "Bash(timeout 5 ls)",
            "Agent",
        ];
        let permissions = json!({ "allow": allow, "deny": [entry] });
        assert_eq!(
            said(&permissions, None, (tool, &args)),
            word,
            "{entry}: {args}"
        );
        let permissions = json!({ "allow": [entry], "ask": [] });
        if !entry.contains('*') && !entry.contains(' ') {
            assert_eq!(
                said(&permissions, None, (tool, &args)),
                "ask",
                "{entry} under allow"
            );
        }
    }
}

#[test]
fn what_the_shell_expands_asks_where_a_command_begins_like_it() {
    for (entry, command, word) in [
        ("Bash(rm -rf $HOME)", "rm -rf $HOME", "deny"),
        ("Bash(rm -rf $HOME)", "rm  -rf \"$HOME\"", "ask"),
        ("Bash(rm -rf $HOME)", "rm -r -f x", "ask"),
        ("Bash(rm -rf $HOME)", "rm x", "approve"),
        ("Bash(cd $X && rm y)", "cd $X; ls; rm z", "ask"),
        ("Bash(cd $X && rm y)", "rm z", "approve"),
        ("Bash($X y)", "rm z", "ask"),
    ] {
        let permissions =
            json!({ "allow": ["Bash(rm:*)", "Bash(cd:*)", "Bash(ls:*)"], "deny": [entry] });
        let args = json!({ "command": command });
        assert_eq!(
            said(&permissions, None, ("Bash", &args)),
            word,
            "{entry}: {command}"
        );
    }
}

#[test]
fn entries_of_editing_tools_count_for_patches() {
    let conditions = Conditions::default();
    let file = json!({ "permissions": {
        "allow": ["Edit(//w/src/**)"], "deny": ["Edit(./.env)", "Read(~/.ssh/**)"],
    } });
    let policy = policy(&from(Source::ClaudeCode, &file));
    let patch = |target: &str| {
        let text = format!(
            "*** Begin Patch\n*** Add File: /w/src/a\n+x\n*** Add File: {target}\n+x\n*** End Patch\n"
        );
        json!({ "command": text })
    };
    for (target, outcome) in [
        ("/w/src/b", "approve"),
        ("/w/lib/b", "ask"),
        (".env", "deny"),
        ("src/.env", "deny"),
        ("/home/ada/.ssh/config", "deny"),
    ] {
        let said = says(&policy, &conditions, "apply_patch", &patch(target));
        assert_eq!(said, outcome, "{target}");
    }
    let whole = json!({ "permissions": { "deny": ["Edit"] } });
    let whole = super::policy(&from(Source::ClaudeCode, &whole));
    assert_eq!(
        says(&whole, &conditions, "apply_patch", &patch("a")),
        "deny"
    );
}
