//! Paths by what they mean on a machine: home and system folders, credentials, what runs later on its own.

use std::borrow::Cow;

use crate::leaf::among;

/// A path without `//`, `/./`, trailing `/`; `$HOME` is `~`, `..` is resolved.
pub(crate) fn plain(path: &str) -> Cow<'_, str> {
    let path = path.trim();
    let mut parts = path.strip_prefix('/').unwrap_or(path).split('/');
    if !path.contains(['\\', '$']) && parts.all(|part| !matches!(part, "" | "." | "..")) {
        return Cow::Borrowed(path);
    }
    let path = path.replace('\\', "/");
    let path = path.replace("${HOME}", "~").replace("$HOME", "~");
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    Cow::Owned(match (rooted, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    })
}

/// The root, a home folder, a folder of the system: nothing in it can be lost.
pub(crate) fn is_system(path: &str) -> bool {
    let path = plain(path);
    let path = path.trim_end_matches("/*").trim_end_matches('/');
    let deep = path.matches('/').count();
    let below = |folders: &str| {
        folders
            .split(' ')
            .any(|folder| path == folder || path.starts_with(&format!("{folder}/")))
    };
    let home = path == "~"
        || (path.starts_with('~') && !path.contains('/'))
        || path.strip_prefix('/') == Some("root");
    let of_somebody = (path.starts_with("/home/") || path.starts_with("/Users/")) && deep == 2;
    path.is_empty()
        || (path.starts_with('/') && deep == 1 && path != "/tmp")
        || home
        || of_somebody
        || below("/etc /usr /boot /bin /sbin /lib /lib64 /sys /proc /dev /var/lib /System /Library")
        || (below("/var") && deep == 2 && path != "/var/tmp")
        || among(
            "~/.ssh ~/.aws ~/.kube ~/.gnupg ~/.config ~/Documents ~/Desktop",
            path,
        )
        || path.to_lowercase().starts_with("c:/windows")
        || path.eq_ignore_ascii_case("c:")
}

/// A file that holds a key, a password or a token.
pub(crate) fn is_credential(path: &str) -> bool {
    let path = plain(path).to_lowercase();
    let name = path.rsplit('/').next().unwrap_or_default();
    const NAMES: &str = ".env .netrc .npmrc .pypirc .pgpass .git-credentials credentials credentials.json id_rsa id_ed25519 \
    id_ecdsa id_dsa shadow passwd secrets.json secrets.yaml secrets.yml kubeconfig authorized_keys \
    service-account.json .htpasswd key.json";
    let ends = [
        ".pem",
        ".key",
        ".p12",
        ".pfx",
        ".kdbx",
        ".jks",
        ".keystore",
        ".ovpn",
    ];
    let folder = [
        "/.ssh/",
        "/.aws/",
        "/.gnupg/",
        "/.kube/config",
        "/.docker/config.json",
        "/.config/gcloud/",
        "/run/secrets/",
        "/.azure/",
    ];
    let example = ["example", "sample", "template", ".pub", "dist"]
        .iter()
        .any(|end| name.ends_with(end));
    let full = format!("/{}", path.trim_start_matches('/'));
    !example
        && (among(NAMES, name)
            || (name.starts_with(".env.") && name.len() > 5)
            || ends.iter().any(|end| name.ends_with(end))
            || folder.iter().any(|at| full.contains(at)))
}

/// A file that something runs later on its own, and what that is.
pub(crate) fn runs_later(path: &str) -> Option<&'static str> {
    let path = plain(path);
    let full = format!("/{}", path.trim_start_matches('/'));
    let name = full.rsplit('/').next().unwrap_or_default();
    const STARTS: &str = ".bashrc .bash_profile .bash_login .bash_aliases .bash_logout .profile .zshrc .zshenv .zprofile .zlogin \
    .envrc config.fish .xinitrc .xprofile Microsoft.PowerShell_profile.ps1";
    const CI: &str = ".gitlab-ci.yml Jenkinsfile azure-pipelines.yml .drone.yml bitbucket-pipelines.yml .travis.yml \
    cloudbuild.yaml";
    const AGENT: &str = ".claude.json .mcp.json CLAUDE.md AGENTS.md .cursorrules GEMINI.md";
    let in_any = |folders: &[&str]| folders.iter().any(|folder| full.contains(folder));
    if among(STARTS, name)
        || in_any(&[
            "/etc/profile.d/",
            "/etc/rc.local",
            "/etc/bash.bashrc",
            "/etc/environment",
            "/etc/ld.so.preload",
        ])
        || full == "/etc/profile"
    {
        Some("a shell startup file")
    } else if in_any(&["/etc/cron", "/var/spool/cron", "/etc/anacrontab"]) {
        Some("the cron table")
    } else if in_any(&[
        "/etc/systemd/",
        "/systemd/user/",
        "/lib/systemd/",
        "/LaunchAgents/",
        "/LaunchDaemons/",
        "/etc/init.d/",
        "/.config/autostart/",
        "/Startup/",
    ]) {
        Some("a service that starts automatically")
    } else if in_any(&["/.ssh/authorized_keys", "/etc/sudoers"]) {
        Some("which controls who may log in or become root")
    } else if in_any(&["/.git/hooks/", "/.husky/", "/.pre-commit-config"]) {
        Some("a git hook")
    } else if in_any(&[
        "/.github/workflows/",
        "/.circleci/",
        "/.gitea/workflows/",
        "/.buildkite/",
    ]) || among(CI, name)
    {
        Some("a CI file")
    } else if in_any(&[
        "/.claude/",
        "/.codex/",
        "/.cursor/",
        "/.vscode/settings",
        "/.vscode/tasks",
        "/.gemini/",
    ]) || among(AGENT, name)
    {
        Some("an agent's own settings")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_known_however_they_are_written() {
        for (path, system) in [
            ("/", true),
            ("//", true),
            ("/.", true),
            ("/srv/..", true),
            ("/*", true),
            ("~", true),
            ("$HOME", true),
            ("~/", true),
            ("/home/ada", true),
            ("/etc/nginx", true),
            ("/var/lib/postgresql", true),
            ("/tmp", false),
            ("/tmp/x", false),
            ("/home/ada/app/build", false),
            ("node_modules", false),
            ("./dist", false),
            ("/srv/app/cache", false),
            ("/opt/x/y", false),
        ] {
            assert_eq!(is_system(path), system, "{path}");
        }
        for (path, credential) in [
            (".env", true),
            ("app/.env.production", true),
            (".env.example", false),
            ("~/.ssh/id_ed25519", true),
            ("id_rsa.pub", false),
            ("/etc/shadow", true),
            ("report.pdf", false),
            ("keyboard.txt", false),
            ("server.pem", true),
        ] {
            assert_eq!(is_credential(path), credential, "{path}");
        }
        for (path, later) in [
            ("~/.bashrc", true),
            (".github/workflows/ci.yml", true),
            (".git/hooks/pre-commit", true),
            ("docs/cron.md", false),
            (".github/CODEOWNERS", false),
            ("src/profile.rs", false),
            ("/etc/cron.d/x", true),
            ("~/.claude/settings.json", true),
        ] {
            assert_eq!(runs_later(path).is_some(), later, "{path}");
        }
    }
}
