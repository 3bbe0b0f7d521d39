//! Where the settings of a program are, and how they are replaced.

use std::env;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use countersign_hooks::{Program, Version, is_connected};
use time::OffsetDateTime;
use time::macros::format_description;
use tokio::process::Command;
use tokio::time::timeout;

use super::super::args::SettingsScope as Scope;
use super::super::failure::Failure;
use super::super::output::Output;
use super::invalid;

/// A program that takes longer to say its version is asked no further.
const FOR_A_VERSION: Duration = Duration::from_secs(10);

/// A file, and its text where it is there.
pub(crate) struct Target {
    /// The real file behind links.
    pub(super) file: PathBuf,
    pub(crate) text: Option<String>,
}

impl Target {
    pub(crate) fn read(file: &Path) -> Result<Self, Failure> {
        let real = match fs::canonicalize(file) {
            Ok(real) => real,
            Err(_) if file.is_symlink() => return Err(invalid(file, "it is a broken link")),
            Err(_) => std::path::absolute(file).map_err(|why| invalid(file, &why.to_string()))?,
        };
        let text = match fs::read_to_string(&real) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(invalid(&real, &error.to_string())),
        };
        Ok(Self { file: real, text })
    }

    pub(crate) fn unreadable(&self, why: &str) -> Failure {
        invalid(&self.file, why)
    }

    /// Copies what is there, then replaces it, or removes it for None. The copy, and whether anything changed.
    pub(crate) fn write(&self, new: Option<&str>) -> Result<(Option<PathBuf>, bool), Failure> {
        if self.text.as_deref() == new {
            return Ok((None, false));
        }
        // A new file in its place would undo what somebody meant by that.
        if fs::metadata(&self.file).is_ok_and(|about| about.permissions().readonly()) {
            return Err(invalid(&self.file, "it is read-only"));
        }
        let done = || -> io::Result<Option<PathBuf>> {
            let backup = self
                .text
                .as_ref()
                .map(|text| self.back_up(text))
                .transpose()?;
            let Some(new) = new else {
                fs::remove_file(&self.file)?;
                return Ok(backup);
            };
            let folder = self.file.parent().unwrap_or(Path::new("."));
            fs::create_dir_all(folder)?;
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            file.write_all(new.as_bytes())?;
            if let Ok(about) = fs::metadata(&self.file) {
                file.as_file().set_permissions(about.permissions())?;
            }
            file.as_file().sync_all()?;
            file.persist(&self.file)?;
            Ok(backup)
        };
        let backup = done().map_err(|error| invalid(&self.file, &error.to_string()))?;
        Ok((backup, true))
    }

    fn back_up(&self, text: &str) -> io::Result<PathBuf> {
        let format = format_description!("[year][month][day]T[hour][minute][second]");
        let now = now().format(&format).unwrap_or_default();
        let mut backup = self.file.clone().into_os_string();
        backup.push(format!(".countersign-{now}.bak"));
        let backup = PathBuf::from(backup);
        fs::write(&backup, text)?;
        fs::set_permissions(&backup, fs::Permissions::from_mode(0o600))?;
        Ok(backup)
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the name of a copy; nothing is judged by it"
)]
pub(crate) fn now() -> OffsetDateTime {
    OffsetDateTime::now_utc()
}

/// The settings files of a program here with their scopes, those that count less first.
pub(crate) fn files(program: Program) -> Vec<(Scope, PathBuf)> {
    let scopes = [Scope::User, Scope::Project, Scope::Local].into_iter();
    let file = |scope| Some((scope, file_of(program, scope).ok()?));
    scopes.filter_map(file).collect()
}

/// The settings file of a program.
pub(crate) fn file_of(program: Program, scope: Scope) -> Result<PathBuf, Failure> {
    let home = || {
        dirs::home_dir().ok_or_else(|| Failure::environment("no home folder was found; set HOME"))
    };
    let named = |name: &str, folder: &str| match env::var_os(name).filter(|path| !path.is_empty()) {
        Some(path) => Ok(PathBuf::from(path)),
        None => Ok::<_, Failure>(home()?.join(folder)),
    };
    if scope == Scope::Local && program != Program::ClaudeCode {
        return Err(Failure::usage("only Claude Code has --scope local"));
    }
    let user = scope == Scope::User;
    Ok(match program {
        Program::ClaudeCode if user => named("CLAUDE_CONFIG_DIR", ".claude")?.join("settings.json"),
        Program::ClaudeCode if scope == Scope::Local => ".claude/settings.local.json".into(),
        Program::ClaudeCode => ".claude/settings.json".into(),
        Program::Codex if user => named("CODEX_HOME", ".codex")?.join("config.toml"),
        Program::Codex => ".codex/config.toml".into(),
        Program::Gemini if user => home()?.join(".gemini/settings.json"),
        Program::Gemini => ".gemini/settings.json".into(),
        Program::Cursor if user => home()?.join(".cursor/hooks.json"),
        Program::Cursor => ".cursor/hooks.json".into(),
        Program::Copilot if user => {
            named("COPILOT_HOME", ".copilot")?.join("hooks/countersign.json")
        }
        Program::Copilot => ".github/hooks/countersign.json".into(),
        Program::OpenCode if user => {
            named("XDG_CONFIG_HOME", ".config")?.join("opencode/plugin/countersign.js")
        }
        Program::OpenCode => ".opencode/plugin/countersign.js".into(),
    })
}

/// What a person must know about this program.
pub(super) fn remarks(out: Output, program: Program, version: Option<Version>) {
    match program {
        Program::ClaudeCode if program.is_old(version) => out.caution("THIS CLAUDE CODE DOES NOT SUPPORT onFailure: IF A HOOK CRASHES, ITS CALL RUNS. UPDATE TO 2.1.295 OR LATER"),
        Program::Codex => out.remark("CODEX SILENTLY SKIPS HOOKS THAT YOU HAVE NOT TRUSTED: start codex, enter /hooks, and trust the hooks of countersign. Input to a running command (write_stdin) fires no hook"),
        Program::Cursor if program.is_old(version) => out.remark("Cursor before 2.4 runs no hook before it edits files: only shell commands and MCP calls are gated"),
        Program::Cursor if version.is_none() => out.remark("the version of Cursor could not be read: before 2.4 it runs no hook of these"),
        _ => {}
    }
}

/// Says what was wrong with entries of ours that were replaced.
pub(super) fn replaced(out: Output, program: Program, text: &str) {
    if !text.contains(&format!(" hook {}", program.name())) {
        return;
    }
    if !text.contains("--event before") {
        out.remark("the former entries did not say for which event they are: what they did not know could have run");
    }
    if program == Program::Cursor && text.contains("beforeShellExecution") {
        out.remark("the former entries were for Cursor's older events: beside preToolUse a call would be asked about twice");
    }
}

/// What a person may do next.
pub(super) fn last_line(out: Output, program: Program, target: &Target) -> Result<(), Failure> {
    if program == Program::ClaudeCode {
        let file = target.file.display();
        out.line(&format!(
            "import its permissions with: countersign rules import --from claude-code {file}"
        ))?;
    }
    Ok(())
}

/// Of the program that is installed, if there is one.
pub(crate) async fn version(program: Program) -> Option<Version> {
    for name in program.executables() {
        let mut command = Command::new(name);
        let asked = command
            .arg("--version")
            .stdin(Stdio::null())
            .kill_on_drop(true);
        if let Ok(Ok(reported)) = timeout(FOR_A_VERSION, asked.output()).await {
            let text = String::from_utf8_lossy(&reported.stdout).into_owned();
            let mut parts = text.split(|letter: char| !letter.is_ascii_digit());
            let mut part = || parts.find(|part| !part.is_empty())?.parse().ok();
            return Some([part()?, part()?, part()?]);
        }
    }
    None
}

/// Says where else the program is connected, for the same calls; refuses that where a call has no certain id.
pub(super) fn beside(
    out: Output,
    program: Program,
    scope: Scope,
    target: &Target,
) -> Result<(), Failure> {
    let name = program.name();
    if scope != Scope::User {
        out.remark(&format!(
            "sessions that start in folders below this one, or in worktrees, are not asked; to cover every session: countersign connect {name}"
        ));
    }
    for (other, file) in files(program) {
        let same = fs::canonicalize(&file).is_ok_and(|file| file == target.file);
        if same || !is_connected(program, &file) {
            continue;
        }
        let undo = format!("countersign disconnect {name} --scope {}", other.as_str());
        let file = file.display();
        match program.own_ids() {
            true => out.caution(&format!(
                "{name} is also connected in {file}: both entries ask, and one answer counts for both; to keep only this one: {undo}"
            )),
            false => {
                let why = format!("{name} is already connected in {file}, and each call would be asked about twice; first run `{undo}`");
                return Err(target.unreadable(&why));
            }
        }
    }
    Ok(())
}
