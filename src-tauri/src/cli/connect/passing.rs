//! Whether this program stays where it is: hooks name its path, and a hook whose program is gone lets calls run.

use std::ffi::OsString;
use std::path::Path;

/// How long an executable is likely to be there.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stay {
    Lasting,
    /// A cache, which may be emptied at any time.
    Cache,
    /// A version of Node, which goes with that version.
    NodeVersion,
}

/// Where caches are, as the environment has it.
const CACHES: [&str; 3] = ["XDG_CACHE_HOME", "UV_CACHE_DIR", "npm_config_cache"];

/// Judges an executable's path with the variables of its process.
pub(super) fn stay(executable: &Path, variable: impl Fn(&str) -> Option<OsString>) -> Stay {
    let below = |name: &str| {
        let folder = variable(name).filter(|folder| !folder.is_empty());
        folder.is_some_and(|folder| {
            let real = std::fs::canonicalize(&folder).unwrap_or_else(|_| folder.clone().into());
            executable.starts_with(folder) || executable.starts_with(real)
        })
    };
    let words: Vec<_> = executable.iter().collect();
    if words
        .iter()
        .any(|word| *word == ".cache" || *word == "_npx")
        || CACHES.into_iter().any(below)
    {
        return Stay::Cache;
    }
    match words.windows(2).any(|pair| pair == ["versions", "node"]) {
        true => Stay::NodeVersion,
        false => Stay::Lasting,
    }
}

/// Why nothing is connected from a cache.
pub(super) const FROM_A_CACHE: &str = "this program runs from a cache, and a hook whose program is gone lets calls run; install it first, with `uv tool install countersign-desk`, `pipx install countersign-desk` or `npm install -g countersign-desk`, and connect with the installed one; nothing was changed";

/// What a person of a version manager should know.
pub(super) const OF_A_NODE: &str = "this program belongs to one version of Node and goes with it, and a hook whose program is gone lets calls run; the tarball or `pipx install countersign-desk` is independent of Node";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_is_known_by_its_name_and_by_the_environment() {
        let judged = |path: &str| {
            stay(Path::new(path), |name| match name {
                "UV_CACHE_DIR" => Some("/big/uv".into()),
                "npm_config_cache" => Some("".into()),
                _ => None,
            })
        };
        for path in [
            "/home/ada/.cache/uv/archive-v0/x/bin/countersign",
            "/home/ada/.npm/_npx/1f/node_modules/countersign-desk-linux-x64/root/bin/countersign",
            "/big/uv/archive-v0/x/bin/countersign",
        ] {
            assert_eq!(judged(path), Stay::Cache, "{path}");
        }
        for path in [
            "/usr/bin/countersign",
            "/home/ada/.local/share/pipx/venvs/countersign-desk/bin/countersign",
            "/home/ada/cache/bin/countersign",
            "/big/uvx/bin/countersign",
        ] {
            assert_eq!(judged(path), Stay::Lasting, "{path}");
        }
        let node = "/home/ada/.nvm/versions/node/v22.1.0/lib/node_modules/x/root/bin/countersign";
        assert_eq!(judged(node), Stay::NodeVersion);
    }
}
