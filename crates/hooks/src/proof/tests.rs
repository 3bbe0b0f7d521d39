#![allow(clippy::unwrap_used)]
//! The probe beside other hooks, with a program in the place of ours that denies as a console would.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;

/// Denies in the words of every program.
const DENIES: &str = r#"#!/bin/sh
cat > /dev/null
echo '{"decision": "deny", "reason": "x: probe", "permission": "deny", "agent_message": "x: probe",
  "permissionDecision": "deny", "permissionDecisionReason": "x: probe", "hookSpecificOutput":
  {"permissionDecision": "deny", "permissionDecisionReason": "x: probe",
   "decision": {"behavior": "deny", "message": "x: probe"}}}'
"#;
/// Another input for `git status` alone, in the words of every program.
const REWRITES: &str = r#"#!/bin/sh
grep -q '"git status"\|git status\\' || exit 0
echo '{"decision": "allow", "permission": "allow", "updated_input": {"command": "rtk git status"},
  "hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": {"command": "rtk git status"},
  "tool_input": {"command": "rtk git status"}}, "modifiedArgs": {"command": "rtk git status"}}'
"#;

struct Place {
    folder: TempDir,
    program: Program,
}

impl Place {
    fn new(program: Program) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = Self { folder, program };
        place.script("countersign", DENIES);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn script(&self, name: &str, text: &str) -> String {
        self.write(name, text);
        let path = self.path(name);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.display().to_string()
    }

    fn file(&self, scope: &str) -> String {
        let name = match self.program {
            Program::Codex => "config.toml",
            Program::OpenCode => "plugin/countersign.js",
            _ => "settings.json",
        };
        format!("{scope}/{name}")
    }

    /// Connected there.
    fn connected(&self, scope: &str, more: &[&str]) {
        let own = self.path("countersign").display().to_string();
        let mut command = vec![own, "hook".into(), self.program.name().into()];
        command.extend(["--entry".into(), scope.into()]);
        command.extend(more.iter().map(|word| (*word).to_owned()));
        let wanted = crate::Wanted {
            command,
            timeout: 3660,
            prompt: false,
            old_cursor: false,
        };
        let text = match self.program {
            Program::Codex => Some("bypass_hook_trust = true\n"),
            _ => None,
        };
        let text = crate::connect(self.program, text, &wanted).unwrap();
        self.write(&self.file(scope), &text);
    }

    /// Another hook in the settings of the user.
    fn other(&self, hook: Value) {
        let file = self.path(&self.file("user"));
        let text = fs::read_to_string(&file).unwrap();
        if self.program == Program::Codex {
            let matcher = hook["matcher"].as_str().unwrap_or(".*");
            let command = hook["hooks"][0]["command"].as_str().unwrap();
            let more = format!(
                "\n[[hooks.PreToolUse]]\nmatcher = '{matcher}'\n[[hooks.PreToolUse.hooks]]\ntype = 'command'\ncommand = '{command}'\n"
            );
            return fs::write(file, text + &more).unwrap();
        }
        let mut settings: Value = serde_json::from_str(&text).unwrap();
        let event = self.program.before()[0];
        let list = settings["hooks"][event].as_array_mut().unwrap();
        list.insert(0, hook);
        fs::write(file, settings.to_string()).unwrap();
    }

    fn configuration(&self) -> Configuration {
        let files = ["user", "project"].map(|scope| self.path(&self.file(scope)));
        Configuration {
            files: files.to_vec(),
            folder: self.folder.path().to_owned(),
            managed: None,
            default_agent: "/agents/default.json".into(),
            version: None,
            others: true,
        }
    }

    async fn proof(&self) -> Proof {
        prove(self.program, &self.configuration()).await
    }

    async fn open(&self, why: &str) -> Proof {
        let proof = self.proof().await;
        let words = proof.why.clone().unwrap_or_default();
        assert!(!proof.holds && words.contains(why), "{proof:?}");
        assert!(proof.fix.is_some());
        proof
    }
}

fn hook(command: &str) -> Value {
    json!({ "matcher": "*", "command": command, "bash": command, "hooks": [{ "type": "command", "command": command, "bash": command }] })
}

const WITH_FILES: [Program; 5] = [
    Program::ClaudeCode,
    Program::Codex,
    Program::Gemini,
    Program::Cursor,
    Program::Copilot,
];

#[tokio::test]
async fn a_hook_that_sets_the_input_of_one_sample_opens_the_gate() {
    for program in WITH_FILES {
        let place = Place::new(program);
        place.connected("user", &[]);
        assert!(place.proof().await.holds, "{program:?}");
        let rewrites = place.script("rtk-rewrites", REWRITES);
        place.other(hook(&rewrites));
        let proof = place.open("sets the input of calls").await;
        assert!(proof.why.unwrap().contains("rtk-rewrites"), "{program:?}");
        assert!(!proof.unproven);
        assert_eq!(other_hooks(program, &place.configuration()), [rewrites]);
    }
}

#[tokio::test]
async fn a_hook_is_tried_with_the_tools_that_it_is_asked_about() {
    let sees = |tool: &str| {
        format!(
            "#!/bin/sh\ngrep -q '\"tool_name\":\"{tool}\"' && echo '{{\"hookSpecificOutput\": {{\"updatedInput\": {{}}}}}}'\nexit 0\n"
        )
    };
    for (matcher, tool) in [
        ("Write|Edit", "Write"),
        ("Edit|MultiEdit", "Edit"),
        ("^Notebook.*", "Notebookx"),
        ("mcp__db__.*", "mcp__db__x"),
        ("Bash", "Bash"),
        ("", "Bash"),
    ] {
        let place = Place::new(Program::ClaudeCode);
        place.connected("user", &[]);
        let command = place.script("other", &sees(tool));
        place.other(
            json!({ "matcher": matcher, "hooks": [{ "command": command, "if": "Bash(git *)" }] }),
        );
        place.open("sets the input of calls").await;
    }
    let place = Place::new(Program::ClaudeCode);
    place.connected("user", &[]);
    place.other(json!({ "matcher": "(?=x)[", "hooks": [{ "command": "true" }] }));
    place.open("cannot be tried").await;
}

#[tokio::test]
async fn other_hooks_act_only_where_they_may() {
    let place = Place::new(Program::ClaudeCode);
    place.connected("user", &[]);
    let without = |place: &Place| Configuration {
        others: false,
        ..place.configuration()
    };
    assert!(prove(place.program, &without(&place)).await.holds);
    let ran = place.path("ran.txt");
    place.other(hook(&format!("touch {}", ran.display())));
    let proof = prove(place.program, &without(&place)).await;
    assert_eq!(proof.why.as_deref(), Some("other hooks were not tried"));
    assert!(!proof.holds && proof.unproven && !ran.exists());
    assert!(place.proof().await.holds);
    assert!(ran.exists());
}

#[tokio::test]
async fn what_cannot_be_tried_opens_the_gate_where_it_may_rewrite() {
    for (kind, holds) in [
        ("http", false),
        ("mcp_tool", false),
        ("new", false),
        ("prompt", true),
        ("agent", true),
    ] {
        let place = Place::new(Program::ClaudeCode);
        place.connected("user", &[]);
        place.other(json!({ "hooks": [{ "type": kind, "url": "https://x.example/?key=s3cret", "prompt": "ok?" }] }));
        let proof = place.proof().await;
        let why = proof.why.unwrap();
        assert_eq!(proof.holds, holds, "{kind}");
        assert!(
            why.contains("cannot be tried") && why.contains(kind),
            "{why}"
        );
        assert!(!why.contains("s3cret"));
    }
    // A hook in the background decides nothing.
    let place = Place::new(Program::ClaudeCode);
    place.connected("user", &[]);
    place.other(json!({ "hooks": [{ "command": "false", "async": true }] }));
    assert!(place.proof().await.holds);
}

#[tokio::test]
async fn hooks_outside_of_the_settings_are_named() {
    let claude = || {
        let place = Place::new(Program::ClaudeCode);
        place.connected("user", &[]);
        place
    };
    let hooks = r#"{"hooks": {"PreToolUse": []}}"#;
    let place = claude();
    place.write(
        "user/skills/deploy/SKILL.md",
        "---\nname: deploy\nhooks:\n  PreToolUse:\n---\n",
    );
    place.open("SKILL.md").await;
    let place = claude();
    place.write("user/skills/deploy/SKILL.md", "---\nname: deploy\n---\n");
    assert!(place.proof().await.holds);
    // A plugin counts once it is turned on.
    place.write("plugin/hooks/hooks.json", hooks);
    let path = place.path("plugin").display().to_string();
    let installed = json!({ "version": 2, "plugins": { "lint@shop": [{ "installPath": path }] } });
    place.write(
        "user/plugins/installed_plugins.json",
        &installed.to_string(),
    );
    assert!(place.proof().await.holds);
    let file = place.path("user/settings.json");
    let mut settings: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    settings["enabledPlugins"] = json!({ "lint@shop": true });
    fs::write(&file, settings.to_string()).unwrap();
    place.open("plugin/hooks/hooks.json").await;
    // What an administrator set is not run.
    let place = claude();
    place.write(
        "managed.json",
        r#"{"hooks": {"PreToolUse": [{"hooks": [{"command": "touch managed"}]}]}}"#,
    );
    let managed = place.path("managed.json");
    let mut configuration = place.configuration();
    configuration.files.push(managed.clone());
    configuration.managed = Some(managed);
    let proof = prove(place.program, &configuration).await;
    assert!(!proof.holds && proof.why.unwrap().contains("cannot be tried"));
    assert!(!place.path("managed").exists());

    let place = Place::new(Program::Gemini);
    place.connected("user", &[]);
    place.write(
        "user/extensions/x/hooks/hooks.json",
        r#"{"hooks": {"BeforeTool": []}}"#,
    );
    place.open("extensions/x/hooks/hooks.json").await;

    let place = Place::new(Program::OpenCode);
    place.connected("user", &[]);
    place.write("user/opencode.json", r#"{"plugin": []}"#);
    assert!(place.proof().await.holds);
    place.write(
        "project/plugin/other.ts",
        "export const Other = async () => ({})",
    );
    place.open("project/plugin/other.ts").await;
    let place = Place::new(Program::OpenCode);
    place.connected("user", &[]);
    place.write("user/opencode.json", r#"{"plugin": ["other"]}"#);
    place.open("opencode.json").await;
}

#[tokio::test]
async fn files_beside_the_settings_are_read() {
    let place = Place::new(Program::Copilot);
    place.connected("user", &[]);
    let rewrites = place.script("other", REWRITES);
    place.write(
        "user/other.json",
        &json!({ "hooks": { "preToolUse": [hook(&rewrites)] } }).to_string(),
    );
    place.open("user/other.json").await;
    let place = Place::new(Program::Codex);
    place.connected("user", &[]);
    let rewrites = place.script("other", REWRITES);
    place.write(
        "user/hooks.json",
        &json!({ "hooks": { "PreToolUse": [hook(&rewrites)] } }).to_string(),
    );
    place.open("user/hooks.json").await;
}

#[tokio::test]
async fn two_entries_hold_where_they_are_one_to_the_desk() {
    for program in WITH_FILES.into_iter().chain([Program::OpenCode]) {
        let place = Place::new(program);
        place.connected("user", &["--agent-json", "/agents/default.json"]);
        place.connected("project", &[]);
        assert_eq!(place.proof().await.holds, program.own_ids(), "{program:?}");
        if !program.own_ids() {
            place.open("is asked about twice").await;
        }
        place.connected("project", &["--timeout", "60"]);
        if program.own_ids() {
            place.open("with other options").await;
        }
    }
    let place = Place::new(Program::ClaudeCode);
    place.connected("user", &[]);
    place.connected("project", &["--agent-json", "/agents/another.json"]);
    place.open("with other options").await;
    // One file by two names is one.
    let place = Place::new(Program::Gemini);
    place.connected("user", &[]);
    std::os::unix::fs::symlink(place.path("user"), place.path("project")).unwrap();
    assert!(place.proof().await.holds);
}

#[tokio::test]
async fn an_entry_that_does_not_name_its_event_opens_the_gate() {
    for program in WITH_FILES {
        let place = Place::new(program);
        place.connected("user", &[]);
        let file = place.path(&place.file("user"));
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, text.replace(" --event before", "")).unwrap();
        place.open("no --event").await;
    }
}

#[tokio::test]
async fn a_version_that_nobody_tried_is_named() {
    for (version, holds) in [
        ([2, 1, 333], false),
        ([3, 0, 0], false),
        ([2, 1, 332], true),
        ([2, 0, 9], true),
    ] {
        let place = Place::new(Program::ClaudeCode);
        place.connected("user", &[]);
        let configuration = Configuration {
            version: Some(version),
            ..place.configuration()
        };
        let proof = prove(place.program, &configuration).await;
        assert_eq!((proof.holds, proof.unproven), (holds, !holds), "{proof:?}");
        assert!(holds || proof.why.unwrap().contains("nobody has tried its events"));
    }
}

#[tokio::test]
async fn cursor_has_one_kind_of_entries() {
    let place = Place::new(Program::Cursor);
    place.connected("user", &[]);
    let old = Configuration {
        version: Some([2, 3, 9]),
        ..place.configuration()
    };
    let proof = prove(place.program, &old).await;
    assert!(proof.why.unwrap().contains("before 2.4"));
    assert!(Program::Cursor.is_old(Some([2025, 12, 1])));
    assert!(!Program::Cursor.is_old(Some([2026, 2, 1])));
    let file = place.path("user/settings.json");
    let mut settings: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    settings["hooks"]["beforeShellExecution"] = settings["hooks"]["preToolUse"].clone();
    fs::write(&file, settings.to_string()).unwrap();
    place.open("is asked about twice").await;
    let wanted = crate::Wanted {
        command: ["countersign", "hook", "cursor"]
            .map(str::to_owned)
            .to_vec(),
        timeout: 60,
        prompt: false,
        old_cursor: false,
    };
    let text = fs::read_to_string(&file).unwrap();
    let mended = crate::connect(Program::Cursor, Some(&text), &wanted).unwrap();
    assert!(mended.contains("preToolUse") && !mended.contains("beforeShellExecution"));
}
