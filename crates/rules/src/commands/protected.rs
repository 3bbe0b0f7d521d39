//! Places that no wildcard approves: what is written there runs later, or says what may run.

use super::pattern::glob;

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
        .is_some_and(|first| TOP.split(' ').any(|known| known == first) && !named(first));
    let file = path
        .iter()
        .any(|part| FILES.split_whitespace().any(|known| glob(known, part)) && !named(part));
    let folder = FOLDERS.split_whitespace().any(|known| {
        let names: Vec<&str> = known.split('/').collect();
        path.windows(names.len()).any(|window| {
            window.iter().zip(&names).all(|(part, name)| part == name) && !window.iter().all(named)
        })
    });
    top || file || folder
}
