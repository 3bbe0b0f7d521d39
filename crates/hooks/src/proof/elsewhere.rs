//! Hooks outside of the settings that `connect` writes: files beside them, and plugins, extensions, skills and agents,
//! whose hooks cannot be run as the program runs them.

use std::fs;
use std::path::{Path, PathBuf};
use std::slice;

use regex::Regex;
use serde_json::Value;

use crate::program::Program;

/// Files of hooks that a program reads beside this one.
pub(super) fn files_beside(program: Program, file: &PathBuf) -> Vec<PathBuf> {
    match program {
        Program::Copilot => found(slice::from_ref(file), &["*.json"]),
        Program::Codex => found(slice::from_ref(file), &["hooks.json"]),
        _ => Vec::new(),
    }
}

/// Files with a hook of this event that only the program itself can run, as far as the places of its settings, and the
/// settings themselves, lead to them.
pub(super) fn hooks(
    program: Program,
    event: &str,
    places: &[PathBuf],
    files: &[(&PathBuf, Value)],
) -> Vec<PathBuf> {
    let mut all = match program {
        Program::ClaudeCode => found(
            places,
            &["skills/*/SKILL.md", "agents/**/*.md", "commands/**/*.md"],
        ),
        Program::Codex => found(places, &["plugins/cache/*/*/*/hooks/hooks.json"]),
        Program::Gemini => found(places, &["extensions/*/hooks/hooks.json"]),
        // A plugin is code: whatever is there may change a call.
        Program::OpenCode => {
            let mut all = found(places, &["../plugin/*.[jt]s", "../plugins/*.[jt]s"]);
            let own = real(places);
            all.retain(|file| !own.contains(file));
            let packages = found(places, &["../opencode.json*", "../../opencode.json*"]);
            let named = |file: &PathBuf| has(file, r#""plugin"\s*:\s*\[\s*[^\s\]]"#);
            all.extend(packages.into_iter().filter(named));
            return all;
        }
        Program::Cursor | Program::Copilot => Vec::new(),
    };
    for folder in plugins(places, files) {
        all.push(folder.join("hooks/hooks.json"));
        all.push(folder.join(".claude-plugin/plugin.json"));
    }
    let names = format!(r#"\b{event}["']?\s*:"#);
    all.retain(|file| has(file, &names));
    all
}

/// Folders of the plugins of Claude Code that these settings turn on.
fn plugins(places: &[PathBuf], files: &[(&PathBuf, Value)]) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for list in found(places, &["plugins/installed_plugins.json"]) {
        let text = fs::read(list).unwrap_or_default();
        let list: Value = serde_json::from_slice(&text).unwrap_or_default();
        for (name, installed) in list["plugins"].as_object().into_iter().flatten() {
            let mut settings = files.iter().rev();
            let on = settings.find_map(|(_, of)| of["enabledPlugins"][name].as_bool());
            let installed = installed.as_array().into_iter().flatten();
            let paths = installed.filter_map(|of| of["installPath"].as_str());
            folders.extend(paths.filter(|_| on == Some(true)).map(PathBuf::from));
        }
    }
    folders
}

/// Of Markdown only its front matter is looked at. What cannot be read counts as one that has it.
fn has(file: &Path, pattern: &str) -> bool {
    let matches = || {
        let text = fs::read_to_string(file).ok()?;
        let text = match file.extension().is_some_and(|end| end == "md") {
            true => text.split("---").nth(1).unwrap_or_default(),
            false => &text,
        };
        Some(Regex::new(pattern).ok()?.is_match(text))
    };
    file.is_file() && matches().unwrap_or(true)
}

/// Files by these patterns in the folders of the places.
fn found(places: &[PathBuf], patterns: &[&str]) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for folder in places.iter().filter_map(|file| file.parent()) {
        let folder = glob::Pattern::escape(&folder.display().to_string());
        for pattern in patterns {
            let path = Path::new(&folder).join(pattern).display().to_string();
            all.extend(glob::glob(&path).into_iter().flatten().flatten());
        }
    }
    real(&all)
}

fn real(files: &[PathBuf]) -> Vec<PathBuf> {
    let real = files.iter().filter_map(|file| fs::canonicalize(file).ok());
    real.collect()
}
