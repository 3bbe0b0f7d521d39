//! Programs that are known to be harmless: what they run of what they are given is nothing, or they only read.

use crate::acts::{acts, is_quiet_sed, runs, values};
use crate::given::runs_by;
use crate::options::{has, is_option, subcommands};
use crate::script::{How, Script, Word};

/// Programs, and of each the subcommands that run nothing they are given; none: the program itself, `!x`: all
/// but `x`, `a%b`: `b` as a program behind `a`.
pub(crate) const PLAIN: &[(&str, &str)] = rows! {
    "[ [[ : b2sum base32 base64 basename bat bc cal cat cd cksum clear cmp column comm cp csplit curl cut date dd declare df diff diff3 dig dirname dirs du echo egrep exa exit expand export expr eza factor false fd fgrep file find fold free getconf getent grep groups gunzip gzip hash head help hexdump history host hostname iconv id install jobs join jq kill less ln local locale locate ls lsblk lsof man md5sum mkdir mkfifo mktemp more mv nl nm nproc nslookup objdump od paste ping popd pr printenv printf ps pstree pushd pwd read readelf readlink readonly realpath return rev rg rm rmdir rsync scp sed seq set sha1sum sha256sum sha512sum shift shopt shred shuf sleep sort split stat strings sync tac tail tar tee test times touch tr tree true truncate tty type typeset ulimit umask unalias uname unexpand uniq unlink unset unxz unzip uptime wait wc wget which who whoami xxd xz yes yq zcat zip zstd awk gawk mawk", "";
    COMPILERS, "";
    "actionlint black clang-format eslint flake8 gofmt hadolint isort markdownlint mypy prettier pylint pyright ruff rustfmt shellcheck shfmt stylelint tsc yamllint", "";
    "git", "add am annotate apply archive blame branch bundle cat-file check-ignore checkout cherry cherry-pick clean clone commit describe diff fetch for-each-ref format-patch fsck gc grep init log ls-files ls-remote ls-tree merge merge-base mv notes pull push range-diff reflog remote reset restore rev-list rev-parse revert rm shortlog show show-ref stash status switch tag worktree";
    "gh", "api auth browse cache gist issue label pr project release run search secret status variable workflow";
    "npm pnpm yarn bun", "add audit cache ci deprecate diff dist-tag docs explain fund help i info install link list login logout ls outdated owner pack ping prune publish rebuild remove rm root search uninstall unlink unpublish up update version view whoami why";
    "cargo", "add audit build check clean clippy doc fetch fix fmt info init install metadata new outdated owner package publish remove search tree uninstall update vendor yank";
    "docker podman", "cp diff events export history images image info inspect kill load login logout logs network pause port ps pull push rename restart rm rmi save search start stats stop system tag unpause version volume wait";
    "docker%compose podman%compose", "build config down events images kill logs ls pause port ps pull push restart rm start stop top unpause up version";
    "kubectl", "annotate api-resources apply auth certificate cluster-info config cordon cp delete describe diff drain events explain expose get label logs patch port-forward rollout scale taint top uncordon version wait";
    "go", "build clean doc env fix fmt get install list mod version vet work";
    "pip pip3", "cache check download freeze hash index inspect install list show uninstall wheel";
    "uv", "add lock pip remove sync tree venv";
    "uv%tool", "install list upgrade uninstall";
    "poetry", "add install lock remove show update";
    "aws", "!configure";
    "terraform tofu", "apply destroy fmt force-unlock get graph import init output plan providers refresh show state taint untaint validate version workspace";
};
/// Compilers.
pub(crate) const COMPILERS: &str = "cc c++ clang clang++ g++ gcc javac ld rustc strip";
/// Programs that only read, as in `PLAIN`.
const READERS: &[(&str, &str)] = rows! {
    "cat head tail wc file stat ls grep rg fd find diff cmp jq awk sed less more du tree sort cut nl uniq tr od hexdump strings bat realpath readlink basename dirname test [ md5sum sha1sum sha224sum sha256sum sha384sum sha512sum echo printf pwd cd which type true shellcheck yamllint actionlint hadolint", "";
    "git", "add blame cat-file check-ignore commit describe diff grep log ls-files ls-tree rev-parse shortlog show status";
};
/// Options by which a reader writes.
const WRITES: &[(&str, &str)] = rows! { "tree", "-o"; "file", "-C"; "less", "-o -O --log-file"; };
/// Folders of the system's programs.
const BIN: &str = "/bin /usr/bin /usr/local/bin /opt/homebrew/bin";
/// Where a name is a script's, a unit's or a package's.
const NAMED_BEHIND: &[(&str, &str)] =
    rows! { "npm pnpm yarn bun", "run workspace"; "systemctl", "status"; };

/// The name of a program of the system's own folders, or of one that is looked for.
pub(crate) fn system_name(program: &str) -> Option<&str> {
    match program.rsplit_once('/') {
        Some((folder, name)) => has(BIN, folder).then_some(name),
        None => Some(program),
    }
}

fn is_listed(table: &[(&str, &str)], name: &str, words: &[Word]) -> bool {
    let rows = |name: &str| {
        let found = table.iter().filter(|(names, _)| has(names, name));
        found.map(|(_, subs)| *subs).collect::<Vec<_>>()
    };
    let own = rows(name);
    if own.is_empty() || own.contains(&"") {
        return !own.is_empty();
    }
    let program = name.rsplit('%').next().unwrap_or(name);
    let (places, unsure) = subcommands(program, words);
    !unsure
        && places.iter().all(|at| {
            let Some(sub) = words[*at].literal() else {
                return false;
            };
            let listed = |subs: &&str| match subs.strip_prefix('!') {
                Some(other) => !has(other, sub),
                None => has(subs, sub),
            };
            let nested = format!("{name}%{sub}");
            own.iter().any(listed)
                || (sub == "workspace" && is_listed(table, name, &words[at + 1..]))
                || (!rows(&nested).is_empty() && is_listed(table, &nested, &words[*at..]))
        })
}

/// Whether a command gives commands of its own.
pub(crate) fn wraps(script: &Script, at: usize) -> bool {
    let behind = script.commands[at + 1..].iter();
    let mut inner = behind.filter(|of| of.inside == Some(at));
    inner.any(|of| matches!(of.how, How::Wrapped | How::Text))
}

/// Whether a command runs nothing of what it is given.
pub(crate) fn is_plain(script: &Script, at: usize) -> bool {
    let command = &script.commands[at];
    let words = &command.words;
    let Some(name) = command.program().and_then(system_name) else {
        return false;
    };
    let asks = |word: &&Word| word.text.starts_with('-') && word.text.contains(['v', 'V']);
    if name == "command" && words.get(1).filter(asks).is_some() {
        return true;
    }
    if !is_listed(PLAIN, name, words) || wraps(script, at) {
        return false;
    }
    let valued = values(name, words);
    let first = subcommands(name, words).0.first().copied();
    let end = words
        .iter()
        .position(|word| word.text == "--")
        .unwrap_or(words.len());
    let by_option = (1..end).any(|at| !valued[at] && runs(name, words, at, first));
    let by_text = name == "sed" && sed_runs(words);
    !(by_option || by_text || runs_by(script, at))
}

/// Whether a script of `sed` may run something.
fn sed_runs(words: &[Word]) -> bool {
    let loud = |text: &str| text.contains('e') && !is_quiet_sed(text);
    let by_option =
        |word: &Word| is_option(&word.text, "-e") || is_option(&word.text, "--expression");
    let given: Vec<usize> = (1..words.len())
        .filter(|at| by_option(&words[*at]))
        .collect();
    let glued = |at: &usize| {
        let text = words[*at].text.as_str();
        let behind = text.split_once(if text.starts_with("--") { '=' } else { 'e' });
        behind.is_some_and(|(_, script)| loud(script))
    };
    let first = (1..words.len()).find(|at| !words[*at].text.starts_with('-'));
    let next = given.iter().map(|at| at + 1);
    let mut scripts = next.chain(first.filter(|_| given.is_empty()));
    let unknown = |word: &Word| word.dynamic || loud(&word.text);
    given.iter().any(glued) || scripts.any(|at| words.get(at).is_some_and(unknown))
}

/// Whether a command only reads, with these options.
#[must_use]
pub fn is_reader(script: &Script, at: usize) -> bool {
    let command = &script.commands[at];
    let words = &command.words;
    let Some(name) = command.program().and_then(system_name) else {
        return false;
    };
    if name == "prettier" {
        return words.iter().any(|word| word.text == "--check");
    }
    let own = command.name().unwrap_or_default();
    let valued = values(&own, words);
    let first = subcommands(&own, words).0.first().copied();
    let end = words
        .iter()
        .position(|word| word.text == "--")
        .unwrap_or(words.len());
    let by_option = (1..end).any(|at| !valued[at] && acts(&own, words, at, first));
    let writes = |word: &Word| {
        let mut rows = WRITES.iter().filter(|(known, _)| *known == own);
        rows.any(|(_, options)| options.split(' ').any(|of| is_option(&word.text, of)))
    };
    let operands = words[1..]
        .iter()
        .filter(|word| !word.text.starts_with('-'))
        .count();
    is_listed(READERS, &own, words)
        && !by_option
        && !words[1..].iter().any(writes)
        && (own != "uniq" || operands < 2)
}

/// Whether the word at `at` is a name that stands behind its subcommand.
pub(crate) fn is_named(name: &str, words: &[Word], at: usize) -> bool {
    let row = NAMED_BEHIND.iter().find(|(names, _)| has(names, name));
    row.is_some_and(|(_, subs)| at > 1 && has(subs, &words[at - 1].text))
}
