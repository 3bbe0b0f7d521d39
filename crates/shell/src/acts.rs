//! Options and subcommands by which a harmless program runs or writes something. One table.

use crate::script::Word;

/// Where an option counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Before the subcommand.
    Global,
    /// Behind this subcommand.
    Behind(&'static str),
    /// Anywhere.
    Any,
    /// The subcommand itself, and what the words behind it say.
    Subcommand,
}

use Place::{Any, Behind, Global, Subcommand};

/// Program, place, options. An option with one dash and several letters is one word (`find -delete`).
pub const ACTS: &[(&str, Place, &str)] = &[
    ("git", Global, "-c --config-env --exec-path -p --paginate"),
    (
        "git",
        Any,
        "--upload-pack --receive-pack --exec --output --ext-diff --textconv --open-files-in-pager --extcmd --tool --gpg-sign",
    ),
    ("git", Behind("grep"), "-O"),
    ("git", Behind("difftool"), "-x -t"),
    ("git", Behind("mergetool"), "-t"),
    ("git", Behind("rebase"), "-x -i --interactive"),
    ("git", Behind("clone"), "-u -c --config --template"),
    ("git", Behind("init"), "--template"),
    ("git", Behind("archive"), "-o --remote"),
    ("git", Behind("format-patch"), "-o --output-directory"),
    ("git", Subcommand, "filter-branch config"),
    ("git", Behind("submodule"), "foreach"),
    ("git", Behind("bisect"), "run"),
    (
        "tar",
        Any,
        "--to-command --checkpoint-action -I --use-compress-program -F --info-script --new-volume-script --rsh-command --rmt-command",
    ),
    (
        "sort",
        Any,
        "-o --output --compress-program -T --temporary-directory",
    ),
    ("sed", Any, "-i --in-place -f --file -s --separate"),
    ("find", Any, "-delete -fprint -fprint0 -fprintf -fls"),
    ("rg", Any, "--pre --hostname-bin --search-zip-with"),
    ("ssh", Any, "-o -F"),
    ("scp", Any, "-S -o -F"),
    ("sftp", Any, "-S -o -F"),
    ("rsync", Any, "-e --rsh --rsync-path"),
    ("man", Any, "-P --pager -H --html"),
    ("zip", Any, "-T -TT --unzip-command"),
    ("fd", Any, "-x --exec -X --exec-batch"),
    ("fdfind", Any, "-x --exec -X --exec-batch"),
    ("split", Any, "--filter"),
    (
        "curl",
        Any,
        "-o --output -O --remote-name --remote-name-all --output-dir -K --config -T --upload-file -D --dump-header -c --cookie-jar --trace --trace-ascii --stderr --libcurl --engine",
    ),
    (
        "wget",
        Any,
        "-O --output-document -i --input-file --use-askpass -o --output-file -a --append-output -P --directory-prefix -e --execute --config",
    ),
    ("make", Any, "-f --file --makefile --eval"),
    ("gmake", Any, "-f --file --makefile --eval"),
    ("cargo", Any, "--config"),
    ("npm", Any, "--script-shell --node-options"),
    (
        "pnpm",
        Any,
        "--script-shell --node-options --shell-emulator",
    ),
    (
        "node",
        Any,
        "-r --require --import --loader --experimental-loader",
    ),
    ("go", Any, "-toolexec -exec --toolexec --exec"),
    ("docker", Global, "-H --host -c --context --config"),
    ("awk", Any, "-f --file -i --include -l --load -E --exec"),
    ("gawk", Any, "-f --file -i --include -l --load -E --exec"),
    (
        "less",
        Any,
        "-o -O --log-file --LOG-FILE -k --lesskey-file --lesskey-src",
    ),
    ("yq", Any, "-i --inplace"),
    ("perl", Any, "-i"),
    ("ruby", Any, "-i"),
    ("jq", Any, "-L --library-path"),
    ("tsc", Any, "--outFile --outDir --project"),
];

/// Programs whose operands are written.
pub const WRITES_OPERANDS: [&str; 1] = ["tee"];

/// Options that take a value of any form: a quoted expansion behind one is no option.
const VALUED: &[(&str, &str, &str)] = &[
    ("git", "commit", "-m --message --author --date"),
    ("git", "tag", "-m --message"),
    ("git", "stash", "-m --message"),
    ("git", "merge", "-m"),
    ("git", "notes", "-m"),
    (
        "git",
        "log",
        "--author --grep --since --until --format --pretty",
    ),
    (
        "gh",
        "",
        "-t --title -b --body -n --notes -m --message -R --repo",
    ),
    (
        "curl",
        "",
        "-d --data -H --header --data-raw --data-binary -A --user-agent -e --referer",
    ),
    ("sed", "", "-e --expression"),
    ("rg", "", "-e --regexp -g --glob"),
    ("find", "", "-name -iname -path -ipath -regex -newer"),
];

/// Programs that act by one of their words, so that a word that is not known may be one.
#[must_use]
pub fn may_act(program: &str) -> bool {
    ACTS.iter().any(|(name, ..)| *name == program)
}

/// Whether the word at `at` is the value of an option that takes one.
#[must_use]
pub fn is_value(program: &str, words: &[Word], at: usize) -> bool {
    let Some(option) = at.checked_sub(1).and_then(|before| words[before].literal()) else {
        return false;
    };
    VALUED.iter().any(|(name, sub, options)| {
        *name == program
            && (sub.is_empty() || words.get(1).is_some_and(|word| word.text == *sub))
            && options
                .split(' ')
                .any(|known| known == option || is_cluster_of(option, known))
    })
}

/// `-am` ends with the option `-m`.
fn is_cluster_of(word: &str, option: &str) -> bool {
    let single = option.len() == 2 && word.starts_with('-') && !word.starts_with("--");
    single && word.len() == 3 && word.ends_with(&option[1..])
}

/// Whether the word at `at` is one by which this program runs or writes; `subcommand` is where that is.
#[must_use]
pub fn acts(program: &str, words: &[Word], at: usize, subcommand: Option<usize>) -> bool {
    let text = words[at].text.as_str();
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
            counts && options.split(' ').any(|option| is_option(text, option))
        })
}

/// Whether a word is this option: with its value, cut short, or in a cluster.
fn is_option(word: &str, option: &str) -> bool {
    if let Some(long) = option.strip_prefix("--") {
        let name = word.split_once('=').map_or(word, |(name, _)| name);
        let cut = name
            .strip_prefix("--")
            .is_some_and(|name| name.len() > 1 && long.starts_with(name));
        return cut || name == option;
    }
    let Some(letter) = option.strip_prefix('-') else {
        return word == option;
    };
    if letter.len() > 1 {
        return word == option || word.split_once('=').is_some_and(|(name, _)| name == option);
    }
    word.starts_with('-') && !word.starts_with("--") && word.contains(letter)
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
