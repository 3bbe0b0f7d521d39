//! Entries of Claude Code: how commands are read, and what is wrong with a file.

use super::*;

#[test]
fn every_fault_of_a_file_is_listed_at_once_with_its_pointer() {
    let file = json!({"permissions": {
        "allow": ["Bash(ls:*)", 1], "ask": "Bash",
        "deny": ["Bash(rm -rf /)*", "Bash(git push:*)", "Bash(npm publish)*", "rm -rf", "d".repeat(300)],
    }});
    let told = import(Source::ClaudeCode, &file, &[], now()).unwrap_err();
    let places: Vec<&str> = told
        .split("; ")
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
