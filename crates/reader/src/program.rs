//! The programs that the console knows: where they are, how they are started, and where they send what they read.

use std::env;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::launch::Line;

/// A program that can read without any settings of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Known {
    /// Claude Code, with the login that it has.
    ClaudeCode,
    /// Ollama on this machine.
    Ollama,
    /// LM Studio on this machine.
    LmStudio,
}

/// Below the home folder, where programs of one's own often are; and for everybody.
const FOLDERS: [&str; 3] = [".local/bin", ".npm-global/bin", "/usr/local/bin"];
/// What Claude Code may know of the console's environment.
const ENVIRONMENT: &str = "HOME PATH LANG HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy \
     CLAUDE_CONFIG_DIR CLAUDE_CODE_OAUTH_TOKEN ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN ANTHROPIC_BASE_URL";
/// Its words, divided by `|`. No tool, no hook, no settings of the user, no memory: a text in the arguments finds
/// nothing to use. The system text follows.
const CLAUDE: &str = r#"-p|--restricted|--output-format|json|--tools||--strict-mcp-config|--setting-sources||--settings|{"permissions":{"deny":["*"]},"disableAllHooks":true}|--no-session-persistence|--system-prompt"#;

countersign_wire::words!(Known {
    ClaudeCode => "claude-code", Ollama => "ollama", LmStudio => "lm-studio",
});

impl Known {
    /// The host beyond this machine that gets what it reads.
    #[must_use]
    pub fn outside(self, model: Option<&str>) -> Option<&'static str> {
        let (_, tag) = model.and_then(|model| model.rsplit_once(':')).unzip();
        let in_the_cloud = tag.is_some_and(|tag| tag.ends_with("cloud"));
        match self {
            Self::ClaudeCode => Some("api.anthropic.com"),
            Self::Ollama => in_the_cloud.then_some("ollama.com"),
            Self::LmStudio => None,
        }
    }
}

/// The words with which Claude Code reads a card.
pub(crate) fn claude_words(system: &str, model: Option<&str>) -> Vec<String> {
    let more = model.iter().flat_map(|model| ["--model", model]);
    let words = CLAUDE.split('|').chain([system]).chain(more);
    words.map(str::to_owned).collect()
}

/// Claude Code with these words, where it is found.
pub(crate) fn claude(words: Vec<String>) -> Option<Line> {
    let mut line = with_environment(locate("claude")?, words, ENVIRONMENT);
    let off = ["DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER"];
    line.env
        .extend(off.map(|name| (name.to_owned(), "1".into())));
    Some(line)
}

/// Whether the help of a program has every option of the line: one that is missing may be ignored and open something.
pub(crate) fn has_every_option(help: &str) -> bool {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    let words: Vec<&str> = help.split(|letter| !is_part(letter)).collect();
    let options = CLAUDE.split('|').chain(["--model"]);
    let mut options = options.filter(|word| word.starts_with('-'));
    options.all(|option| words.contains(&option))
}

/// The line of a program of one's own, where it is found.
pub(crate) fn own(words: &[String]) -> Option<Line> {
    let (name, words) = words.split_first()?;
    let path = Path::new(name);
    let program = match name.contains('/') {
        true => Some(path.to_owned()).filter(|path| path.is_absolute() && is_program(path)),
        false => locate(name),
    };
    Some(with_environment(program?, words.to_vec(), "PATH LANG"))
}

/// The line with these variables of the console's environment.
fn with_environment(program: PathBuf, words: Vec<String>, names: &str) -> Line {
    let value = |name: &str| Some((name.to_owned(), env::var_os(name)?));
    Line {
        program,
        words,
        env: names.split_whitespace().filter_map(value).collect(),
    }
}

/// Where a program is: never in a folder that depends on where the console was started.
#[must_use]
pub fn locate(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let home = PathBuf::from(env::var_os("HOME").unwrap_or_default());
    let folders = env::split_paths(&path).chain(FOLDERS.map(|folder| home.join(folder)));
    let mut found = folders
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name));
    found.find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    let about = path.metadata();
    about.is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests;
