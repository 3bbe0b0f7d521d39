//! Patterns of paths: `**` over folders, `*` within one, `~` home.

use countersign_shell::given::Lies;

use super::pattern::glob;
use super::protected::is_beyond;
use super::reading::WorkingFolder;
use crate::unsure::Unsure;

/// A pattern of paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathPattern {
    source: String,
    parts: Vec<String>,
    root: Root,
}

/// What a path begins at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Root {
    /// `/`, or a drive.
    Absolute,
    /// `~`
    Home,
    /// Neither.
    Relative,
}

impl PathPattern {
    /// Reads a pattern.
    pub fn new(source: &str) -> Result<Self, String> {
        let text = source.replace('\\', "/");
        let (root, parts) = split(&text);
        if parts.is_empty() && root == Root::Relative {
            return Err("must be a path".to_owned());
        }
        if parts.iter().any(|part| part == "..") {
            return Err("a pattern of paths has no `..`".to_owned());
        }
        if parts.iter().any(|part| part.contains("**") && part != "**") {
            return Err("`**` is a whole part of a path".to_owned());
        }
        Ok(Self {
            source: source.to_owned(),
            parts,
            root,
        })
    }

    /// Whether it names a protected place: nothing but a pattern that a person wrote approves such a one.
    pub(crate) fn is_protected(&self) -> bool {
        is_beyond(&self.parts, &[])
    }

    /// As it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.source
    }

    /// Whether an approve matches this value: only where it is known which file that is.
    pub(super) fn approves(&self, value: &str, place: &WorkingFolder) -> bool {
        // Somebody else's home is not this one.
        let home = value
            .strip_prefix('~')
            .is_none_or(|rest| rest.is_empty() || rest.starts_with('/'));
        let unclear = value.contains(['\\', '\0', '\n', '$', '`']) || value.contains("://");
        if !home || value.is_empty() || unclear {
            return false;
        }
        let Some((root, parts)) = resolved(value, place) else {
            return false;
        };
        if matches!(parts.first().map(String::as_str), Some("proc" | "dev")) {
            return false;
        }
        let home = place.home.as_deref().map(|home| split(home).1);
        let below_home = |parts: &[String]| -> Option<Vec<String>> {
            let home = home.as_ref()?;
            parts.strip_prefix(home.as_slice()).map(<[String]>::to_vec)
        };
        // The same file from its home and from the root.
        let mut forms = vec![(root, parts.clone())];
        match root {
            Root::Absolute => forms.extend(below_home(&parts).map(|parts| (Root::Home, parts))),
            Root::Home => forms.extend(
                home.as_ref()
                    .map(|home| (Root::Absolute, [home.as_slice(), &parts].concat())),
            ),
            Root::Relative => return false,
        }
        let pattern = match self.root {
            Root::Relative => match place.cwd.as_deref() {
                Some(cwd) => (
                    Root::Absolute,
                    [split(cwd).1.as_slice(), &self.parts].concat(),
                ),
                None => return false,
            },
            root => (root, self.parts.clone()),
        };
        let beyond = forms.iter().any(|(_, parts)| is_beyond(parts, &self.parts));
        !beyond
            && forms
                .iter()
                .any(|(root, parts)| *root == pattern.0 && matches(&pattern.1, parts))
    }

    /// Whether a deny or an ask matches this value.
    pub(super) fn holds(&self, value: &str, place: &WorkingFolder) -> Result<bool, Unsure> {
        let value = value.to_lowercase().replace('\\', "/");
        // The folder that the shell is in.
        let value = match value.strip_prefix("~+") {
            Some(rest) => format!(".{rest}"),
            None => value,
        };
        let pattern: Vec<String> = self.parts.iter().map(|part| part.to_lowercase()).collect();
        let place = WorkingFolder {
            cwd: place.cwd.as_deref().map(str::to_lowercase),
            home: place.home.as_deref().map(str::to_lowercase),
        };
        let mut forms = Vec::new();
        for value in [&value, &as_windows(&value)] {
            forms.push(split(value));
            forms.extend(resolved(value, &place));
        }
        for form in &forms {
            let of_root = |home: &[String]| [home, &form.1].concat();
            let is = match (self.root, form.0) {
                // At any depth.
                (Root::Relative, _) => {
                    (0..=form.1.len()).any(|at| matches(&pattern, &form.1[at..]))
                }
                (Root::Absolute, Root::Absolute) | (Root::Home, Root::Home) => {
                    matches(&pattern, &form.1)
                }
                (Root::Home, Root::Absolute) => {
                    homes(&form.1, place.home.as_deref()).any(|rest| matches(&pattern, rest))
                }
                (Root::Absolute, Root::Home) => {
                    let any = ["home", "users"].iter().any(|top| {
                        matches(&pattern, &of_root(&[(*top).to_owned(), "*".to_owned()]))
                    });
                    any || place
                        .home
                        .as_deref()
                        .is_some_and(|home| matches(&pattern, &of_root(&split(home).1)))
                }
                _ => false,
            };
            if is {
                return Ok(true);
            }
        }
        let links = ["/proc/", "/dev/fd/", "/dev/stdin"];
        let relative = forms.iter().all(|(root, _)| *root == Root::Relative);
        let climbs = value.split('/').any(|part| part == "..");
        // Which file that is, nobody knows.
        let ends = relative && self.root != Root::Relative && {
            let named = |rest: &[String]| rest.iter().any(|part| !part.contains('*'));
            let (_, parts) = split(&value);
            (0..pattern.len()).any(|at| named(&pattern[at..]) && matches(&pattern[at..], &parts))
                || climbs
        };
        match ends || links.iter().any(|link| value.starts_with(link)) {
            true => Err(Unsure::UnknownPath),
            false => Ok(false),
        }
    }
}

/// Whether a path is one that no wildcard approves. `whole`: the folder that it is in counts too.
pub(super) fn is_protected(path: &str, place: &WorkingFolder, whole: bool) -> bool {
    let own = split(path);
    let below = own.0 == Root::Relative && own.1.first().is_none_or(|first| first != "..");
    let forms = [Some(own), resolved(path, place).filter(|_| whole || !below)];
    forms.into_iter().flatten().any(|(root, mut parts)| {
        if root != Root::Absolute {
            parts.insert(0, String::new());
        }
        is_beyond(&parts, &[])
    })
}

/// Where a path is, seen from the agent's folder.
pub(super) fn lies(path: &str, place: &WorkingFolder) -> Lies {
    let Some(own) = place.cwd.as_deref().map(|cwd| split(cwd).1) else {
        let (root, parts) = split(path);
        let inside = root == Root::Relative && !parts.iter().any(|part| part == "..");
        return if inside { Lies::Inside } else { Lies::Outside };
    };
    let parts = match (resolved(path, place), place.home.as_deref()) {
        (Some((Root::Home, rest)), Some(home)) => [split(home).1, rest].concat(),
        (Some((Root::Absolute, parts)), _) => parts,
        _ => return Lies::Outside,
    };
    match (parts.starts_with(&own), own.starts_with(&parts)) {
        (true, _) => Lies::Inside,
        (_, true) => Lies::Around,
        _ => Lies::Outside,
    }
}

/// What a path begins at, and its parts; `.` and `..` are resolved where that is known.
fn split(text: &str) -> (Root, Vec<String>) {
    let drive = text.as_bytes().get(1) == Some(&b':')
        && text.starts_with(|c: char| c.is_ascii_alphabetic());
    let named_home = text
        .strip_prefix('~')
        .map(|rest| rest.split_once('/').map_or("", |(_, rest)| rest));
    let variable = ["$home", "${home}", "$HOME", "${HOME}"]
        .iter()
        .find_map(|name| text.strip_prefix(name));
    let (root, rest) = match (named_home, variable) {
        (Some(rest), _) | (None, Some(rest)) => (Root::Home, rest),
        _ if text.starts_with('/') || drive => (Root::Absolute, text),
        _ => (Root::Relative, text),
    };
    let mut parts: Vec<String> = Vec::new();
    for part in rest.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| last != "..") => {
                parts.pop();
            }
            ".." if root == Root::Absolute => {}
            part => parts.push(part.to_owned()),
        }
    }
    (root, parts)
}

/// A value made absolute; none where that is not known.
fn resolved(value: &str, place: &WorkingFolder) -> Option<(Root, Vec<String>)> {
    let (root, parts) = match split(value).0 {
        Root::Relative => split(&format!("{}/{value}", place.cwd.as_deref()?)),
        _ => split(value),
    };
    // Above its home nothing is known.
    (!parts.iter().any(|part| part == "..")).then_some((root, parts))
}

/// The rest of a path behind each folder that may be a home.
fn homes<'p>(path: &'p [String], home: Option<&str>) -> impl Iterator<Item = &'p [String]> {
    let own = home.map(|home| split(home).1);
    let known = match path {
        [first, _, rest @ ..] if first == "home" || first == "users" => Some(rest),
        [first, second, rest @ ..] if first == "var" && second == "root" => Some(rest),
        [first, rest @ ..] if first == "root" => Some(rest),
        _ => None,
    };
    let own = own.and_then(|own| path.strip_prefix(own.as_slice()));
    known.into_iter().chain(own)
}

/// What Windows, and what runs beside it, takes a path in small letters for: without a scheme, the sign of a device, a
/// share of a whole drive; of each part without what is behind a `:` and without dots and blanks at its end.
fn as_windows(path: &str) -> String {
    let path = path.strip_prefix("file://").unwrap_or(path);
    let device = ["//?/", "//./"]
        .iter()
        .find_map(|sign| path.strip_prefix(sign));
    let path = device.unwrap_or(path);
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let (drive, rest) = match (path.starts_with('/'), parts.as_slice()) {
        (true, [_, share, rest @ ..]) if letter(share, "$").is_some() => (letter(share, "$"), rest),
        (true, ["mnt" | "cygdrive", name, rest @ ..] | [name, rest @ ..])
            if letter(name, "").is_some() =>
        {
            (letter(name, ""), rest)
        }
        (_, [name, rest @ ..]) if letter(name, ":").is_some() => (letter(name, ":"), rest),
        (_, parts) => (None, parts),
    };
    let cut = rest.iter().map(|part| {
        let name = part.split(':').next().unwrap_or_default();
        match name.trim_end_matches(['.', ' ']) {
            "" => *part,
            name => name,
        }
    });
    let rest = cut.collect::<Vec<_>>().join("/");
    match drive {
        Some(drive) => format!("{drive}:/{rest}"),
        None if path.starts_with('/') => format!("/{rest}"),
        None => rest,
    }
}

/// The letter of a drive before this sign.
fn letter<'n>(name: &'n str, sign: &str) -> Option<&'n str> {
    let letter = name.strip_suffix(sign)?;
    (letter.len() == 1 && letter.starts_with(|c: char| c.is_ascii_alphabetic())).then_some(letter)
}

/// Whether parts match a pattern of parts.
fn matches(pattern: &[String], parts: &[String]) -> bool {
    match (pattern, parts) {
        ([], rest) => rest.is_empty(),
        ([first, rest @ ..], _) if first == "**" => {
            (0..=parts.len()).any(|at| matches(rest, &parts[at..]))
        }
        ([first, rest @ ..], [part, others @ ..]) => glob(first, part) && matches(rest, others),
        _ => false,
    }
}

/// One that is sure of it; else one that is unsure.
pub(super) fn any(mut answers: impl Iterator<Item = Result<bool, Unsure>>) -> Result<bool, Unsure> {
    let mut unsure = None;
    let found = answers.any(|answer| match answer {
        Ok(is) => is,
        Err(why) => {
            unsure.get_or_insert(why);
            false
        }
    });
    match (found, unsure) {
        (true, _) => Ok(true),
        (false, Some(why)) => Err(why),
        (false, None) => Ok(false),
    }
}
