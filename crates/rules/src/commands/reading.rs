//! What a request's commands and paths are read as: once for all rules.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;

use countersign_shell::folders::{Folder, folders};
use countersign_shell::launched::{Launched, launched};
use countersign_shell::patch::takes_patches;
use countersign_shell::{Script, Shell, from_words, read, same_program};
use countersign_wire::KeptJson;
use serde_json::Value;

use super::pattern::known_as;
use super::reach::unmeant;
use crate::unsure::Unsure;

/// A command as it was read.
#[derive(Debug)]
pub(crate) struct Read {
    pub(super) shell: Shell,
    pub(super) script: Script,
    /// The folder of each command.
    pub(super) folders: Vec<Folder>,
    /// Names of programs, without paths and in small letters.
    pub(super) names: HashSet<String>,
    /// A program's name is not known.
    pub(super) unknown_name: bool,
    /// Changes to a folder and runs git.
    pub(super) moved_git: bool,
    /// What its programs may run.
    launched: OnceCell<Launched>,
    /// Of each command the places that a pattern has to write.
    unmeant: Vec<OnceCell<Vec<[usize; 2]>>>,
}

/// Where the agent works, as the request says.
#[derive(Debug, Default)]
pub(crate) struct WorkingFolder {
    pub(super) cwd: Option<String>,
    pub(super) home: Option<String>,
}

type Key = (String, bool);
type Kept = Result<Rc<Read>, Unsure>;

/// The commands of one request by their pointers.
#[derive(Default)]
pub(crate) struct Reading<'a> {
    native: Option<&'a KeptJson>,
    /// Its tool takes patches.
    patch: bool,
    place: OnceCell<WorkingFolder>,
    read: RefCell<BTreeMap<Key, Kept>>,
}

impl<'a> Reading<'a> {
    pub(crate) fn of(native: Option<&'a KeptJson>) -> Self {
        Self {
            native,
            ..Self::default()
        }
    }

    pub(crate) fn of_tool(self, tool: Option<&str>) -> Self {
        let patch = tool.is_some_and(takes_patches);
        Self { patch, ..self }
    }

    /// Whether the call is a patch, and no command.
    pub(super) fn is_patch(&self) -> bool {
        self.patch
    }

    pub(super) fn place(&self) -> &WorkingFolder {
        self.place.get_or_init(|| {
            let native = self.native.and_then(KeptJson::value);
            let text = |name: &str| native.as_ref()?.get(name)?.as_str().map(str::to_owned);
            let absolute = |path: &String| path.starts_with('/');
            WorkingFolder {
                cwd: text("cwd").filter(absolute),
                home: text("home").filter(absolute),
            }
        })
    }

    /// The command at a pointer.
    pub(super) fn command(&self, pointer: &str, value: Option<&Value>, shell: Shell) -> Kept {
        let key = (pointer.to_owned(), shell == Shell::PowerShell);
        if let Some(known) = self.read.borrow().get(&key) {
            return known.clone();
        }
        let read = script(value, shell).map(|script| Rc::new(Read::of(script, shell)));
        self.read.borrow_mut().insert(key, read.clone());
        read
    }
}

/// A text, or a list of words that are one command.
fn script(value: Option<&Value>, shell: Shell) -> Result<Script, Unsure> {
    match value.ok_or(Unsure::Missing)? {
        Value::String(text) => Ok(read(text, shell)),
        Value::Array(list) => {
            let words: Option<Vec<&str>> = list.iter().map(Value::as_str).collect();
            let words = words.ok_or(Unsure::WrongType)?;
            Ok(from_words(words))
        }
        _ => Err(Unsure::WrongType),
    }
}

impl Read {
    pub(super) fn of(script: Script, shell: Shell) -> Self {
        let mut names = HashSet::new();
        let mut unknown_name = false;
        for word in script
            .commands
            .iter()
            .filter_map(|command| command.words.first())
        {
            if word.dynamic {
                unknown_name = true;
            }
            let name = known_as(shell, &word.text).to_lowercase();
            names.extend(same_program(&name).map(str::to_owned));
            names.insert(name);
        }
        let (folders, count) = (folders(&script), script.commands.len());
        let moved = folders.iter().any(|folder| *folder != Folder::Same);
        let moved_git = moved && names.contains("git");
        Self {
            shell,
            script,
            folders,
            names,
            unknown_name,
            moved_git,
            launched: OnceCell::new(),
            unmeant: vec![OnceCell::new(); count],
        }
    }

    pub(super) fn launched(&self) -> &Launched {
        self.launched.get_or_init(|| match self.shell {
            Shell::Posix => launched(&self.script),
            Shell::PowerShell => Launched::default(),
        })
    }

    /// The places of a command's words that a pattern has to write.
    pub(super) fn unmeant(&self, at: usize, place: &WorkingFolder) -> &[[usize; 2]] {
        self.unmeant[at].get_or_init(|| unmeant(self, at, place))
    }
}
