//! Places that no wildcard approves: what is written there runs later, or says what may run.

use countersign_shell::{ANY, ANY_LETTER};

/// Folders: everything below them.
const FOLDERS: &str = ".git git~1 .claude .codex .cursor .vscode .idea .husky .ssh .gnupg .aws .kube .cargo .devcontainer .yarn .mvn \
    cron.d cron.daily cron.hourly cron.weekly cron.monthly crontabs systemd .config/git .config/systemd .config/autostart \
    .github/workflows library/launchagents library/launchdaemons spool/cron";
/// Folders of the whole machine.
const TOP: &str = "etc usr boot";
/// Files, wherever they are.
const FILES: &str = ".bashrc .bash_profile .bash_login .bash_aliases .bash_logout .profile .zshrc .zshenv .zprofile .zlogin .zlogout .envrc \
    .npmrc .pypirc .netrc .env* .gitconfig .gitmodules .mcp.json .claude.json .devcontainer.json .yarnrc* .pnp.* \
    .pnpmfile.cjs bunfig.toml gradle-wrapper.properties maven-wrapper.properties .bazelrc .bazeliskrc \
    .pre-commit-config.yaml lefthook.* .lefthook.* .ripgreprc pyrightconfig.json crontab *.service *.timer";

/// Whether a path is protected and the pattern does not name that part of it literally.
pub(super) fn is_beyond(path: &[String], pattern: &[String]) -> bool {
    let lower = |parts: &[String]| {
        parts
            .iter()
            .map(|part| part.trim_end_matches(['.', ' ']).to_lowercase())
            .collect::<Vec<_>>()
    };
    let (path, pattern) = (lower(path), lower(pattern));
    let named = |part: &String| pattern.contains(part);
    let top = path
        .first()
        .is_some_and(|first| TOP.split(' ').any(|known| may_be(known, first)) && !named(first));
    // A glob gives no name that begins with a dot, and counts only for one that does.
    let globbed = |part: &str| part.contains([ANY, ANY_LETTER]);
    let meets = |known: &str, part: &str, counts: bool| {
        (!globbed(part) || (counts && !part.starts_with([ANY, ANY_LETTER]))) && may_be(known, part)
    };
    let file = path.iter().any(|part| {
        let mut known = FILES.split_whitespace();
        known.any(|known| meets(known, part, known.starts_with('.'))) && !named(part)
    });
    let folder = FOLDERS.split_whitespace().any(|known| {
        let names: Vec<&str> = known.split('/').collect();
        path.windows(names.len()).any(|window| {
            let mut both = window.iter().zip(&names);
            let is = both.all(|(part, name)| meets(name, part, known.starts_with('.')));
            is && !window.iter().all(named)
        })
    });
    top || file || folder
}

/// The most globs of one name that are looked at; one with more may be any.
const GLOBS_MAX: usize = 4;

/// Whether a name, in which `*` is any run of letters, may be what a part with globs comes to.
fn may_be(known: &str, part: &str) -> bool {
    let globs = part.matches([ANY, ANY_LETTER]).count();
    let letters = |text: &str| text.chars().collect::<Vec<_>>();
    globs > GLOBS_MAX || meet(&letters(known), &letters(part))
}

fn meet(known: &[char], part: &[char]) -> bool {
    match (known, part) {
        ([], []) => true,
        (['*', rest @ ..], _) if meet(rest, part) => true,
        (['*', ..], [_, part @ ..]) => meet(known, part),
        (_, [ANY, rest @ ..]) if meet(known, rest) => true,
        ([_, known @ ..], [ANY, ..]) => meet(known, part),
        ([one, known @ ..], [other, part @ ..]) => {
            (one == other || *other == ANY_LETTER) && meet(known, part)
        }
        _ => false,
    }
}
