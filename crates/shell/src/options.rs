//! What a program's words mean: options, their values, operands, the subcommand.

use crate::script::Word;

/// Options before the subcommand: those with a value, and those without.
pub const GLOBALS: &[(&str, &str, &str)] = rows! {
    "git", "-C -c --git-dir --work-tree --namespace --config-env --super-prefix --attr-source", "-p -P --paginate --no-pager --bare --no-replace-objects --no-optional-locks --literal-pathspecs --exec-path --html-path --no-lazy-fetch";
    "cargo", "--config -Z --color -C --manifest-path", "-v -q --verbose --quiet --locked --offline --frozen";
    "gh", "-R --repo --hostname", "";
    "docker", "-H --host -c --context --config -l --log-level --tlscacert --tlscert --tlskey", "-D --debug --tls --tlsverify";
    "podman", "-c --connection --url --identity --root --runroot --log-level --storage-driver --cgroup-manager --module", "-r --remote";
    "nerdctl", "-a --address -H --host -n --namespace --snapshotter --data-root", "--debug";
    "docker-compose", "-f --file -p --project-name --profile --env-file --project-directory --ansi --parallel", "--compatibility --dry-run";
    "compose", "-f --file -p --project-name --profile --env-file --project-directory --ansi --parallel", "--compatibility --dry-run";
    "kubectl", "-n --namespace --context --cluster --user --kubeconfig -s --server --token --as --as-group --request-timeout --cache-dir -v", "--insecure-skip-tls-verify --match-server-version --warnings-as-errors";
    "helm", "-n --namespace --kube-context --kubeconfig --kube-apiserver --kube-token --registry-config --repository-config", "--debug";
    "npm", "--prefix -w --workspace -C --userconfig --globalconfig --registry --loglevel --script-shell --node-options --cache", "-g -s -q -d --global --silent --workspaces -ws --include-workspace-root --if-present --ignore-scripts --quiet";
    "pnpm", "-C --dir -F --filter --prefix --loglevel --config", "-r -w -s --recursive --workspace-root --silent --stream --parallel";
    "yarn", "--cwd --registry --cache-folder", "--silent -s --offline --frozen-lockfile";
    "bun", "--cwd --config -c -r --preload", "--bun --silent --watch --hot";
    "terraform", "", "-help -version";
    "tofu", "", "-help -version";
    "systemctl", "-H --host -M --machine -t --type --root -p --property -s --signal -n -o", "--user --system --now --no-pager -q --quiet -f --force -l --full -a --all";
    "aws", "--profile --region --output --endpoint-url --query --ca-bundle --color --cli-read-timeout --cli-connect-timeout", "--debug --no-verify-ssl --no-paginate --no-sign-request --no-cli-pager";
    "gcloud", "--project --account --configuration --format --verbosity --impersonate-service-account --log-http", "-q --quiet";
    "uv", "--directory --project --config-file --cache-dir --color -p --python", "-q -v --quiet --verbose --offline --no-cache";
    "poetry", "-C --directory -P --project", "-q -v -n --quiet --no-interaction";
    "make", "", "";
};

/// The places where the first operand may be, from `from` on; none of an option that is not known either way is
/// left out. The second says that a dynamic word may be an option.
#[must_use]
pub fn operands(words: &[Word], from: usize, values: &str, flags: &str) -> (Vec<usize>, bool) {
    let mut places = Vec::new();
    let mut seen = vec![false; words.len() + 3];
    let mut waiting = vec![from];
    let mut unsure = false;
    while let Some(at) = waiting.pop() {
        if std::mem::replace(&mut seen[at.min(words.len() + 2)], true) {
            continue;
        }
        let Some(word) = words.get(at) else { continue };
        if word.dynamic && word.could_be_option() {
            unsure = true;
            continue;
        }
        let text = word.text.as_str();
        match text {
            "--" => places.push(at + 1),
            _ if has(flags, text) => waiting.push(at + 1),
            _ if has(values, text) => waiting.push(at + 2),
            _ if !text.starts_with('-') || text == "-" => places.push(at),
            _ if text.starts_with("--") => {
                waiting.push(at + 1);
                if !text.contains('=') {
                    waiting.push(at + 2);
                }
            }
            _ => cluster(text, at, values, flags, &mut waiting),
        }
    }
    places.retain(|at| *at < words.len());
    places.sort_unstable();
    (places, unsure)
}

/// A cluster of short options: `-it`, `-n5`, `-uroot`.
fn cluster(text: &str, at: usize, values: &str, flags: &str, waiting: &mut Vec<usize>) {
    let has = |list: &str, letter: char| {
        list.split(' ').any(|known| {
            known
                .strip_prefix('-')
                .is_some_and(|rest| rest.chars().eq([letter]))
        })
    };
    let letters: Vec<char> = text.chars().skip(1).collect();
    for (place, letter) in letters.iter().enumerate() {
        let last = place + 1 == letters.len();
        if has(values, *letter) {
            waiting.push(at + if last { 2 } else { 1 });
            return;
        }
        if !has(flags, *letter) {
            waiting.push(at + 1);
            // Also as the last of them, it may take the next word.
            waiting.push(at + 2);
            return;
        }
    }
    waiting.push(at + 1);
}

/// Where a program's subcommand may be: behind its global options. The second says that a dynamic word may be one
/// of these.
#[must_use]
pub fn subcommands(program: &str, words: &[Word]) -> (Vec<usize>, bool) {
    let known = GLOBALS.iter().find(|(name, _, _)| *name == program);
    let (values, flags) = known.map_or(("", ""), |(_, values, flags)| (*values, *flags));
    let toolchain = usize::from(
        program == "cargo" && words.get(1).is_some_and(|word| word.text.starts_with('+')),
    );
    operands(words, 1 + toolchain, values, flags)
}

/// Whether a word is this option: with its value, cut short, or in a cluster.
#[must_use]
pub fn is_option(word: &str, option: &str) -> bool {
    if let Some(begin) = option.strip_suffix('*') {
        return match begin.strip_prefix('*') {
            Some(part) => word.contains(part),
            None => word.starts_with(begin),
        };
    }
    if let Some(long) = option.strip_prefix("--") {
        let name = word.split_once('=').map_or(word, |(name, _)| name);
        return name
            .strip_prefix("--")
            .is_some_and(|name| !name.is_empty() && long.starts_with(name));
    }
    let Some(letter) = option.strip_prefix('-') else {
        return word == option;
    };
    if letter.len() > 1 {
        return word == option || word.split_once('=').is_some_and(|(name, _)| name == option);
    }
    word.starts_with('-') && !word.starts_with("--") && word.contains(letter)
}

/// The words behind a program, but for the `--` that ends its options; of each whether it is an option.
pub fn sorted(words: &[Word]) -> impl Iterator<Item = (&Word, bool)> {
    let mut ended = false;
    words.iter().filter_map(move |word| {
        let ends = !ended && !word.dynamic && word.text == "--";
        let option = !ended && word.text.len() > 1 && word.text.starts_with('-');
        ended |= ends;
        (!ends).then_some((word, option))
    })
}

/// The words behind a program that are neither options nor the values of these.
pub fn operands_behind<'w>(words: &'w [Word], values: &str) -> impl Iterator<Item = &'w Word> {
    let mut value = false;
    sorted(words).filter_map(move |(word, option)| {
        let taken = std::mem::replace(&mut value, option && has(values, &word.text));
        (!option && !taken).then_some(word)
    })
}

/// Whether an option is there: one of these letters in a cluster, or one of these names, with a value or without.
#[must_use]
pub fn has_option(words: &[Word], letters: &str, names: &str) -> bool {
    let options = sorted(words).filter(|(_, option)| *option);
    options
        .into_iter()
        .any(|(word, _)| match word.text.strip_prefix("--") {
            Some(name) => has(names, name.split('=').next().unwrap_or(name)),
            None => {
                let cluster = &word.text[1..];
                let mut own = cluster.chars().take_while(char::is_ascii_alphanumeric);
                own.any(|letter| letters.contains(letter)) || has(names, cluster)
            }
        })
}

/// The value of one of these options: behind its `=`, or the next word.
#[must_use]
pub fn value<'w>(words: &'w [Word], names: &str) -> Option<&'w str> {
    let glued = words.iter().find_map(|word| {
        let (name, value) = word.text.split_once('=')?;
        has(names, name).then_some(value)
    });
    let next = || {
        let place = words.iter().position(|word| has(names, &word.text))?;
        words.get(place + 1).map(|word| word.text.as_str())
    };
    glued.or_else(next)
}

/// Whether a list of words between blanks has this one.
pub(crate) fn has(list: &str, word: &str) -> bool {
    !word.is_empty() && list.split(' ').any(|known| known == word)
}
