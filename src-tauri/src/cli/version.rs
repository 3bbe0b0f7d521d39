//! What this program is: version, edition, and where its package is from.

use std::fs;
use std::path::Path;

use countersign_core::store::last_step;

/// Of what agents and consoles say to each other.
const PROTOCOL: u8 = 1;

/// The version, then a line each for what a report of a fault should name.
pub(super) fn long() -> String {
    let edition = match cfg!(feature = "gui") {
        true => "window",
        false => "headless",
    };
    format!(
        "{}\ncommit   {}\nedition  {edition}\ntarget   {}\nprotocol {PROTOCOL}\nstore    {}",
        env!("CARGO_PKG_VERSION"),
        env!("COUNTERSIGN_COMMIT"),
        env!("COUNTERSIGN_TARGET"),
        last_step()
    )
}

/// Which package this program came with, and what updates it.
pub(super) fn installed() -> String {
    let executable = std::env::current_exe().unwrap_or_default();
    let from = installed_by(&executable);
    let update = match from.as_str() {
        "deb" => "`sudo apt install ./countersign_VERSION_amd64.deb` with a newer file",
        "rpm" => "`sudo dnf install` or `sudo zypper install` with a newer .rpm",
        "tarball" => "unpack a newer one and run its install.sh",
        "pypi" => "`pipx upgrade countersign-desk` or `uv tool upgrade countersign-desk`",
        "npm" => "`npm install -g countersign-desk@latest`",
        "image" => "load a newer image and make the container again, with the same volume",
        "source" => "`git pull`, then build again",
        _ => "ask whoever made this package",
    };
    let version = env!("CARGO_PKG_VERSION");
    format!(
        "Countersign {version} from {from}; to update: {update}. It never looks for updates by itself."
    )
}

/// The word that the package of this executable left, `source` where there is none.
fn installed_by(executable: &Path) -> String {
    let prefix = executable.parent().and_then(Path::parent);
    let word = prefix.map(|prefix| fs::read_to_string(prefix.join("lib/countersign/installed-by")));
    match word {
        Some(Ok(word)) => word.trim().to_owned(),
        _ => "source".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_a_word_and_a_value_on_each_line() {
        let text = format!("countersign {}", long());
        let lines: Vec<Vec<&str>> = text
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert!(lines.iter().all(|words| words.len() == 2), "{text}");
        let words: Vec<&str> = lines.iter().map(|words| words[0]).collect();
        assert_eq!(
            words,
            [
                "countersign",
                "commit",
                "edition",
                "target",
                "protocol",
                "store"
            ]
        );
    }

    #[test]
    fn a_program_is_from_its_package_or_from_source() {
        let prefix = tempfile::tempdir().unwrap();
        let executable = prefix.path().join("bin/countersign");
        assert_eq!(installed_by(&executable), "source");
        fs::create_dir_all(prefix.path().join("lib/countersign")).unwrap();
        fs::write(prefix.path().join("lib/countersign/installed-by"), "deb\n").unwrap();
        assert_eq!(installed_by(&executable), "deb");
    }
}
