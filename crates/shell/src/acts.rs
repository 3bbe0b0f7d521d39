//! Options and subcommands by which a harmless program runs or writes something. One table.

use crate::options::{is_option, operands};
use crate::script::Word;

/// Where an option counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionScope {
    /// Before the subcommand.
    Global,
    /// Behind this subcommand.
    Behind(&'static str),
    /// Anywhere.
    Any,
    /// The subcommand itself, and what the words behind it say.
    Subcommand,
}

use OptionScope::{Any, Behind, Global, Subcommand};

/// Program, place, options. An option with one dash and several letters is one word (`find -delete`); `x*` is a
/// beginning of a word, `*x*` a part of it. Those behind `|` only write or read.
pub const ACTS: &[(&str, OptionScope, &str)] = rows! {
    "git", Global, "-c --config-env --exec-path -p --paginate";
    "git", Any, "--upload-pack --receive-pack --exec --ext-diff --textconv --open-files-in-pager --extcmd --tool --gpg-sign ext::* | --output";
    "git", Behind("grep"), "-O";
    "git", Behind("difftool"), "-x -t";
    "git", Behind("mergetool"), "-t";
    "git", Behind("rebase"), "-x -i --interactive";
    "git", Behind("clone"), "-u -c --config --template";
    "git", Behind("init"), "--template";
    "git", Behind("archive"), "--remote | -o";
    "git", Behind("format-patch"), "| -o --output-directory";
    "git", Subcommand, "filter-branch config instaweb send-email web--browse";
    "git", Behind("submodule"), "foreach";
    "git", Behind("bisect"), "run";
    "tar", Any, "--to-command --checkpoint-action -I --use-compress-program -F --info-script --new-volume-script --rsh-command --rmt-command";
    "sort", Any, "--compress-program | -o --output -T --temporary-directory";
    "sed", Any, "-f --file | -i --in-place -s --separate";
    "find", Any, "| -delete -fprint -fprint0 -fprintf -fls";
    "rg", Any, "--pre --hostname-bin";
    "ssh", Any, "-o -F -I -E";
    "scp", Any, "-S -o -F -D";
    "sftp", Any, "-S -o -F -D";
    "rsync", Any, "-e --rsh --rsync-path";
    "man", Any, "-P --pager -H --html";
    "zip", Any, "-T -TT --unzip-command";
    "fd", Any, "-x --exec -X --exec-batch";
    "split", Any, "--filter";
    "curl", Any, "-K --config --engine | -o --output -O --remote-name --remote-name-all --output-dir -T --upload-file -D --dump-header -c --cookie-jar --trace --trace-ascii --stderr --libcurl --etag-save --hsts --alt-svc *%output{*";
    "wget", Any, "--use-askpass -e --execute --config | -O --output-document -i --input-file -o --output-file -a --append-output -P --directory-prefix --save-cookies";
    "make", Any, "-f --file --makefile -E --eval SHELL=* .SHELLFLAGS=* MAKEFILES=* MAKEFLAGS=*";
    "cargo", Any, "--config";
    "npm", Any, "--script-shell --node-options --userconfig --globalconfig";
    "pnpm", Any, "--script-shell --node-options --shell-emulator";
    "node", Any, "-r --require --import --loader --experimental-loader";
    "go", Any, "-toolexec -exec -vettool --toolexec --exec --vettool";
    "docker", Global, "-H --host -c --context --config";
    "awk", Any, "-f --file -i --include -l --load -E --exec";
    "less", Any, "-k --lesskey-file --lesskey-src +* | -o -O --log-file --LOG-FILE";
    "yq", Any, "| -i --inplace";
    "perl", Any, "-i";
    "ruby", Any, "-i";
    "jq", Any, "-L --library-path";
    "tsc", Any, "| --outFile --outDir --project";
};

/// Programs that write or remove their operands.
pub const WRITERS: &str = "tee cp mv ln install touch mkdir chmod chown truncate dd rm rmdir unlink rsync scp \
    remove-item set-content add-content out-file copy-item move-item new-item rename-item tee-object";

/// Options that take a value of any form: a quoted expansion behind one is not an option.
const VALUED: &[(&str, &str, &str)] = rows! {
    "git", "commit", "-m --message --author --date";
    "git", "tag", "-m --message";
    "git", "stash", "-m --message";
    "git", "merge", "-m";
    "git", "notes", "-m";
    "git", "log", "--author --grep --since --until --format --pretty -S -G -L -n --max-count --skip";
    "gh", "", "-t --title -b --body -n --notes -m --message -R --repo";
    "curl", "", "-d --data -H --header --data-raw --data-binary -A --user-agent -e --referer";
    "sed", "", "-e --expression";
    "rg", "", "-e --regexp -g --glob";
    "find", "", "-name -iname -path -ipath -regex -newer";
};

/// Programs that act by one of their words, so that a word that is not known may be one.
#[must_use]
pub fn may_act(program: &str) -> bool {
    ACTS.iter().any(|(name, ..)| *name == program)
}

/// For each word, whether it is the value of an option that takes one of any form.
#[must_use]
pub fn values(program: &str, words: &[Word]) -> Vec<bool> {
    let sub = |name: &str| name.is_empty() || words.get(1).is_some_and(|word| word.text == name);
    let rows: Vec<_> = VALUED
        .iter()
        .filter(|(name, of, _)| *name == program && sub(of))
        .collect();
    let takes = |option: &str| {
        let mut letters = option.chars();
        let four = [(); 4].map(|()| letters.next());
        // `-am`: the letter before has no value.
        let last = match four {
            [Some('-'), Some('a' | 's' | 'q' | 'v' | 'n'), last, None] if program == "git" => last,
            _ => None,
        };
        let is = |known: &str| known == option || last.is_some_and(|c| known.chars().eq(['-', c]));
        rows.iter().any(|(_, _, known)| known.split(' ').any(is))
    };
    let mut next = false;
    let mut found = Vec::with_capacity(words.len());
    for word in words {
        found.push(next);
        next = !next && !rows.is_empty() && word.literal().is_some_and(takes);
    }
    found
}

/// Whether the word at `at` is one by which this program runs or writes; `subcommand` is where that is.
#[must_use]
pub fn acts(program: &str, words: &[Word], at: usize, subcommand: Option<usize>) -> bool {
    acts_by(program, words, at, subcommand, |options| options)
}

/// Whether the word at `at` is one by which this program runs something.
pub(crate) fn runs(program: &str, words: &[Word], at: usize, subcommand: Option<usize>) -> bool {
    let before = |options: &'static str| options.split('|').next().unwrap_or_default();
    acts_by(program, words, at, subcommand, before)
}

fn acts_by(
    program: &str,
    words: &[Word],
    at: usize,
    subcommand: Option<usize>,
    part: impl Fn(&'static str) -> &'static str,
) -> bool {
    let text = words[at].text.as_str();
    // The first word of `tar` needs no dash.
    let dashed = format!("-{text}");
    let bundle = program == "tar" && at == 1 && !text.starts_with('-');
    let npm = program.ends_with("npm")
        && text.starts_with('-')
        && !text.starts_with("--")
        && text.len() > 2;
    let forms = [
        Some(text),
        bundle.then_some(dashed.as_str()),
        npm.then_some(dashed.as_str()),
    ];
    let sub = subcommand
        .and_then(|at| words.get(at))
        .map_or("", |word| word.text.as_str());
    ACTS.iter()
        .filter(|(name, ..)| *name == program)
        .any(|(_, place, options)| {
            let counts = match place {
                Any => true,
                Global => subcommand.is_none_or(|sub| at < sub),
                Behind(name) => *name == sub && subcommand.is_some_and(|sub| at > sub),
                Subcommand => subcommand == Some(at),
            };
            let mut options = part(options).split_whitespace().filter(|of| *of != "|");
            counts
                && options.any(|option| forms.iter().flatten().any(|text| is_option(text, option)))
        })
}

/// Where the scripts of a `sed` are, and whether these are all of them.
#[must_use]
pub fn sed_scripts(words: &[Word]) -> (Vec<usize>, bool) {
    let (places, unsure) = operands(
        words,
        1,
        "-e --expression -l --line-length",
        "-n -E -r -u -z --quiet --silent --regexp-extended --posix --debug",
    );
    let (mut scripts, mut glued) = (Vec::new(), false);
    for (place, word) in words.iter().enumerate().skip(1) {
        let text = word.text.as_str();
        let long = text.starts_with("--e");
        if long || is_option(text, "-e") {
            scripts.push(place + 1);
            glued |= text.contains('=') || (!long && !text.ends_with('e'));
        }
    }
    if scripts.is_empty() {
        scripts.extend(places.first());
    }
    (scripts, !unsure && !glued)
}

/// Whether a script of `sed` only prints and replaces.
#[must_use]
pub fn is_quiet_sed(script: &str) -> bool {
    script.split([';', '\n']).all(|command| {
        let command = command.trim();
        let address = |c: char| c.is_ascii_digit() || ",$!~+ ".contains(c);
        let rest = command.trim_start_matches(address);
        if rest.is_empty()
            || matches!(
                rest,
                "p" | "d" | "q" | "=" | "h" | "H" | "g" | "G" | "x" | "n" | "N" | "D" | "P"
            )
        {
            return true;
        }
        let rest = match rest.strip_prefix('/') {
            // A pattern as address.
            Some(behind) => match behind.split_once('/') {
                Some((pattern, rest)) if !pattern.contains('\\') => {
                    rest.trim_start_matches([',', '!', ' '])
                }
                _ => return false,
            },
            None => rest,
        };
        if matches!(rest, "p" | "d" | "q" | "=") {
            return true;
        }
        let mut letters = rest.chars();
        if !matches!(letters.next(), Some('s' | 'y')) {
            return false;
        }
        let Some(divider) = letters.next().filter(|c| !c.is_alphanumeric()) else {
            return false;
        };
        let parts: Vec<&str> = letters.as_str().split(divider).collect();
        let quiet = |flags: &str| {
            flags
                .trim()
                .chars()
                .all(|c| c.is_ascii_digit() || "gpiIMm".contains(c))
        };
        // An escaped divider is not looked into.
        matches!(parts.as_slice(), [pattern, with, flags]
            if !pattern.ends_with('\\') && !with.ends_with('\\') && quiet(flags))
    })
}
