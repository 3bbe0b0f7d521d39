//! Checks that options of a command switch off.

use super::{Act, Line};
use crate::finding::Code;
use crate::leaf::among;

/// Options that switch a check off, whatever the program.
const ANY: &str = "--no-verify --insecure --no-check-certificate --no-gpg-check --no-gpg-checks --nogpgcheck \
    --allow-unauthenticated --skip-tests --disable-ssl-verification --no-verify-ssl \
    --insecure-skip-tls-verify";

pub(crate) fn act(line: &Line<'_>) -> Option<Act> {
    let any = line.options().find(|option| {
        among(ANY, option.split('=').next().unwrap_or(option)) && !option.ends_with("=false")
    });
    let skip = || {
        line.options().find(|option| {
            option.starts_with("--skip-")
                && [
                    "check",
                    "verif",
                    "valid",
                    "test",
                    "review",
                    "confirm",
                    "backup",
                    "ssl",
                    "tls",
                    "signature",
                ]
                .iter()
                .any(|what| option.contains(what))
        })
    };
    let short = || match line.name.as_str() {
        "curl" => line.options().find(|option| {
            !option.starts_with("--")
                && option.len() <= 6
                && option[1..]
                    .chars()
                    .take_while(|at| !"oXHdFTubAemw".contains(*at))
                    .any(|at| at == 'k')
        }),
        "git" => line
            .has("n", "")
            .then_some("-n")
            .filter(|_| line.texts().first() == Some(&"commit")),
        "ssh" | "scp" => line
            .words
            .iter()
            .map(|word| word.text.as_str())
            .find(|text| {
                text.trim_start_matches("-o")
                    .eq_ignore_ascii_case("StrictHostKeyChecking=no")
            }),
        "pip" | "pip3" => line
            .options()
            .find(|option| option.starts_with("--trusted-host")),
        "npm" => line
            .words
            .iter()
            .map(|word| word.text.as_str())
            .find(|text| *text == "strict-ssl=false" || *text == "--strict-ssl=false"),
        "terraform" | "tofu" | "terragrunt" => line.options().find(|option| {
            ["-auto-approve", "--auto-approve", "-auto-approve=true"].contains(option)
        }),
        "mvn" | "gradle" => line.options().find(|option| {
            option.starts_with("-DskipTests") || option.starts_with("-Dmaven.test.skip")
        }),
        _ => None,
    };
    let variable = || {
        let named = |name: &str, value: &str| match name {
            "GIT_SSL_NO_VERIFY" => value != "0",
            "NODE_TLS_REJECT_UNAUTHORIZED" | "PYTHONHTTPSVERIFY" | "HUSKY" => value == "0",
            _ => false,
        };
        line.command
            .assignments
            .iter()
            .find(|set| named(&set.name, &set.value.text))
            .map(|set| set.name.as_str())
            .or_else(|| {
                let exported = line.is("export env set declare");
                let words = line.words.iter().filter(|_| exported);
                let pair = |text: &'_ str| {
                    let (name, value) = text.split_once('=')?;
                    named(name, value).then_some(name.len())
                };
                words
                    .map(|word| word.text.as_str())
                    .find_map(|text| Some(&text[..pair(text)?]))
            })
    };
    let git = || {
        let setting =
            |text: &&str| line.name == "git" && text.eq_ignore_ascii_case("http.sslVerify=false");
        line.words
            .iter()
            .map(|word| word.text.as_str())
            .find(setting)
    };
    let option = any
        .or_else(skip)
        .or_else(short)
        .or_else(variable)
        .or_else(git)?;
    let same = format!("{} {option}", line.name);
    Some(Act::look(
        Code::SafeguardOff,
        same,
        format!("switches a check off: {}", crate::shown::shown(option)),
    ))
}
