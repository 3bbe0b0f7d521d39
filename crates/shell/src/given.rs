//! What a program is given that its rule's author cannot have meant: options that run something, places and
//! addresses elsewhere. One reader of options and their values for all of it.

use crate::acts::values;
use crate::launched::is_read;
use crate::options::{GLOBALS, has, is_option, subcommands};
pub use crate::plain::is_reader;
use crate::plain::{COMPILERS, PLAIN, system_name};
use crate::script::{Before, Command, HOLE, How, Kind, Script, Word};
use crate::wrappers::WRAPPERS;

/// (a) Words of an option's name by which a program runs its value.
const RUNS: &str = "plugin require hook exec eval shell wrapper program command cmd prog pager editor proxy kubeconfig";
/// (b) Those by which it reads what it then runs.
const READS: &str = "config file include directory import init load module manifest prefix";
/// (c) Those that may be in a temporary folder; and the options without such a word.
const TEMPORARY: &str = "out output outdir dest destdir target report result junit junitxml xml log trace cache cov coverage coverprofile cpuprofile memprofile temp tmp tmpdir basetemp data db input";
const TEMPORARY_OPTIONS: &[(&str, &str)] = rows! {
    "tar", "-C -f"; "unzip", "-d"; "cmake", "-B"; "kubectl", "-f"; "dd", "if of";
};
/// (d) Programs whose business is other machines.
const CLIENTS: &str = "curl wget http https xh ssh scp sftp rsync ping traceroute mtr dig host nslookup whois nc ncat telnet openssl gh glab aws gcloud gsutil az psql pg_dump mysql mysqldump redis-cli mongosh grpcurl websocat wscat nats ab wrk hey k6 newman lighthouse playwright open xdg-open yt-dlp skopeo crane";
/// (f) Program, subcommands or options, and of subcommands the words behind.
const FORMS: &[(&str, &str, &str)] = rows! {
    "pytest", "--pdbcls", ""; "cmake", "-E", ""; "helm", "--post-renderer", ""; "bazel", "--run_under", "";
    "jobs", "-x", ""; "npm pnpm yarn", "--browser --viewer", "";
    "git", "filter-repo merge-index remote-ext remote-fd instaweb", "";
    "gh", "alias", "set import"; "gh", "extension", "install exec upgrade"; "gh", "config", "set";
    "npm pnpm yarn", "explore", ""; "npm pnpm yarn", "config pkg c conf", "set"; "npm pnpm yarn", "config", "edit";
    "npm", "set", ""; "uv", "tool", "run"; "docker podman", "container", "exec run";
};
/// Programs that run something in some forms only.
const RUN: &str = "find git awk python python3 perl node ruby php lua osascript deno source . trap";
/// Options without a value.
const FLAGS: &str =
    "-v -q -y --verbose --quiet --yes --force --fix --write --check --all --watch --coverage";
const FLAG_BEGINS: [&str; 4] = ["--no-", "--disable-", "--skip-", "--without-"];
/// Values that are data: program, subcommand, options.
const DATA: &[(&str, &str, &str)] = rows! {
    "", "", "-name -path -glob -g --env-file --from-env-file --cacert";
    "zip", "", "-x"; "tree", "", "-I"; "ssh scp", "", "-i"; "gh", "", "-F --body-file --notes-file";
    "docker podman nerdctl docker-compose", "", "-w --workdir"; "git", "commit", "-F"; "git", "tag", "-F";
    "curl", "", "-d --data -H --header"; COMPILERS, "", "-I -L -isystem";
};
const DATA_WORDS: &str = "exclude ignore skip";
/// Variables and words of options whose value is a program of the system.
const TOOLS: &str = "CC CXX PYTHON";
const TOOL_WORDS: &str = "python compiler interpreter";
/// Devices that are nowhere.
const DEVICES: &str = "/dev/null /dev/zero /dev/full /dev/random /dev/urandom";
/// Programs that take commands on standard input.
const INTERPRETS: &str = "psql mysql mariadb sqlite3 duckdb mongosh redis-cli ed ex vim at batch crontab gdb lldb tclsh sftp ftp lftp gnuplot";

/// Where a path is, seen from the agent's folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lies {
    /// The folder, or below it.
    Inside,
    /// A folder around it.
    Around,
    /// Elsewhere.
    Outside,
}
/// Where a path is.
type Reach<'r> = &'r dyn Fn(&str) -> Lies;

/// A value that a command is given.
struct Given {
    /// Where its option is, or it itself.
    option: usize,
    at: usize,
    /// The option's or variable's name; empty for an operand, `@` for a file of arguments.
    name: String,
    text: String,
}

impl Given {
    /// The parts between commas, of an option also what is behind their names.
    fn members(&self) -> Vec<&str> {
        let mut found = Vec::new();
        for member in self.text.split(',') {
            let named = member.split_once('=').filter(|_| !self.name.is_empty());
            found.push(member);
            found.extend(named.map(|(_, value)| value));
        }
        found
    }

    /// An option whose value is run.
    fn is_run(&self) -> bool {
        self.name.starts_with('-') && has_word(&self.name, RUNS)
    }

    /// A program of the system where one is asked for.
    fn is_program(&self) -> bool {
        let tool = has(TOOLS, &self.name) || has_word(&self.name, TOOL_WORDS);
        tool && self.text.starts_with('/') && system_name(&self.text).is_some()
    }
}

/// A command, its program's name and the words that are its own.
struct Own<'s> {
    script: &'s Script,
    command: &'s Command,
    program: String,
    words: &'s [Word],
    subcommand: Option<usize>,
    /// Options with a value and without one, as far as tables say.
    lists: Vec<(&'static str, &'static str)>,
}

impl<'s> Own<'s> {
    fn of(script: &'s Script, at: usize) -> Option<Self> {
        let command = &script.commands[at];
        let inner = script.commands[at + 1..].iter();
        let inner = inner.filter(|of| of.inside == Some(at) && of.how == How::Wrapped);
        let end = inner.filter_map(|of| of.from).min();
        let words = &command.words[..end.unwrap_or(command.words.len())];
        let name = command.name()?;
        let module = words.windows(2).find(|two| two[0].text == "-m");
        let module = module.filter(|_| name.starts_with("python"));
        let program = module.map_or(name, |two| two[1].text.clone());
        let subcommand = subcommands(&program, words).0.first().copied();
        let wrapper = WRAPPERS.iter().filter(|row| has(row.names, &program));
        let globals = GLOBALS.iter().filter(|(name, ..)| *name == program);
        let lists = wrapper.map(|row| (row.values, row.flags));
        let lists = lists.chain(globals.map(|of| (of.1, of.2))).collect();
        Some(Self {
            script,
            command,
            program,
            words,
            subcommand,
            lists,
        })
    }

    fn is(&self, names: &str) -> bool {
        has(names, &self.program)
    }

    fn sub(&self) -> &str {
        let word = self.subcommand.map(|at| &self.words[at]);
        word.map_or("", |word| word.text.as_str())
    }

    fn is_data(&self, name: &str) -> bool {
        let named = |(names, sub, options): &(&str, &str, &str)| {
            let own = names.is_empty() || self.is(names);
            own && (sub.is_empty() || *sub == self.sub()) && has(options, name)
        };
        DATA.iter().any(named) || has_word(name, DATA_WORDS)
    }

    fn is_volume(&self, name: &str) -> bool {
        self.is("docker podman nerdctl docker-compose") && has("-v --volume --mount", name)
    }

    fn may_be_temporary(&self, name: &str) -> bool {
        let own = TEMPORARY_OPTIONS
            .iter()
            .filter(|(program, _)| self.is(program));
        let mut own = own.flat_map(|(_, options)| options.split(' '));
        name == "-o" || has_word(name, TEMPORARY) || own.any(|of| is_option(name, of))
    }

    /// Whether an option takes the next word: surely, or perhaps.
    fn takes(&self, name: &str) -> (bool, bool) {
        let listed = self.lists.iter().any(|(values, _)| has(values, name));
        let listed = listed || self.is_data(name) || self.is_volume(name);
        let named = [RUNS, READS, TOOL_WORDS]
            .iter()
            .any(|words| has_word(name, words));
        let sure = listed || named || self.may_be_temporary(name);
        let flag = self.lists.iter().any(|(_, flags)| has(flags, name))
            || FLAG_BEGINS.iter().any(|begin| name.starts_with(begin));
        if !listed && (flag || has(FLAGS, name)) {
            return (false, false);
        }
        let utility = PLAIN.iter().take(2).any(|(names, _)| self.is(names));
        (sure, sure || !utility)
    }

    /// Every value, in each way that it may be one.
    fn given(&self) -> Vec<Given> {
        let mut found = Vec::new();
        let mut data = values(&self.program, self.words);
        let mut taken = 0;
        for (at, word) in self.words.iter().enumerate().skip(1) {
            data[at] |= is_read(self.command, &word.text);
            if data[at] {
                continue;
            }
            let mut add = |at, name: &str, text: &str, option| {
                let (name, text) = (name.to_owned(), text.to_owned());
                found.push(Given {
                    option,
                    at,
                    name,
                    text,
                });
            };
            for text in self.script.forms(word) {
                let operand = text.len() < 2 || !text.starts_with('-');
                let value = text.split_once(if operand { &['='][..] } else { &['=', ':'] });
                if operand {
                    let value = value.filter(|(name, _)| is_variable(name));
                    value
                        .into_iter()
                        .for_each(|(name, value)| add(at, name, value, at));
                    text.strip_prefix('@')
                        .into_iter()
                        .for_each(|file| add(at, "@", file, at));
                    if taken != at {
                        add(at, "", &text, at);
                    }
                    continue;
                }
                let name = value.map_or(text.as_str(), |(name, _)| name);
                let end = text
                    .char_indices()
                    .nth(2)
                    .map_or(text.len(), |(end, _)| end);
                let glued = Some(text.split_at(end))
                    .filter(|(short, rest)| *short != "--" && !rest.is_empty());
                for (name, value) in value.into_iter().chain(glued) {
                    data[at] |= self.is_data(name);
                    add(at, name, value, at);
                }
                let (sure, may) = self.takes(name);
                let next = self.words.get(at + 1).filter(|_| value.is_none() && may);
                let values = next.map_or_else(Vec::new, |next| self.script.forms(next));
                for text in values
                    .iter()
                    .filter(|text| *text == "-" || !text.starts_with('-'))
                {
                    add(at + 1, name, text, at);
                    taken = if sure { at + 1 } else { taken };
                    data[at + 1] |= self.is_data(name);
                }
            }
        }
        found.retain(|of| !data[of.at] && !data[of.option]);
        found
    }

    /// Whether an address is another machine's, and not a client's business.
    fn is_elsewhere(&self, text: &str) -> bool {
        let client = self.is("git") && has("clone fetch pull push ls-remote remote", self.sub());
        let installs = self.is("npm pnpm yarn bun pip pip3 uv poetry cargo gem go")
            && has("add ci i install update", self.sub());
        let near = !installs && !self.is("docker helm");
        let host = address(text).filter(|_| !client && !self.is(CLIENTS));
        host.is_some_and(|host| !(near && is_local(host)))
    }

    fn asks(&self, of: &Given, reach: Reach<'_>) -> bool {
        let text = of.text.as_str();
        if runs_value(&self.program, text) || self.is_form(of, reach) {
            return true;
        }
        if of.name.is_empty() || of.is_program() {
            return of.name.is_empty() && self.is_elsewhere(text);
        }
        if of.is_run() && !(self.is("psql") && of.name == "--command") {
            return true;
        }
        let (volume, temporary) = (self.is_volume(&of.name), self.may_be_temporary(&of.name));
        let temporary = temporary && (has_word(&of.name, TEMPORARY) || !has_word(&of.name, READS));
        let host = |member: &&str| {
            let named = text.split(',').find(|whole| whole.ends_with(*member));
            let name = named.and_then(|whole| whole.split_once('='));
            !volume || name.is_none_or(|(name, value)| value == *member && has("src source", name))
        };
        of.members().into_iter().filter(host).any(|value| {
            let known = value.split(HOLE).next().unwrap_or_default();
            let host = known.split(':').next().filter(|_| volume);
            let path = host
                .or_else(|| known.strip_prefix("file://"))
                .unwrap_or(known);
            let mut parts = path.split('/');
            let below = path.starts_with("/tmp/")
                || path.starts_with("/var/tmp/")
                || has("/tmp /var/tmp", path);
            let fine = has(DEVICES, path) || (temporary && below && parts.all(|part| part != ".."));
            self.is_elsewhere(value)
                || (address(path).is_none() && !fine && reach(path) != Lies::Inside)
        })
    }

    /// (f), for values.
    fn is_form(&self, of: &Given, reach: Reach<'_>) -> bool {
        let (name, text) = (of.name.as_str(), of.text.as_str());
        let path = text.split("::").next().unwrap_or(text);
        let outside = || name.is_empty() && reach(path) != Lies::Inside;
        match self.program.as_str() {
            "pytest" if name == "-p" => !text.starts_with("no:"),
            "pytest" => {
                (has("-o --override-ini", name) && text.starts_with("addopts")) || outside()
            }
            "cmake" => outside() && reach(text) != Lies::Around,
            "docker" | "podman" => self.sub() == "compose" && name == "-f" && text == "-",
            "make" if is_variable(name) && !name.starts_with('-') => {
                let first = text
                    .split_once(char::is_whitespace)
                    .map_or("", |(first, _)| first);
                let wraps = WRAPPERS.iter().any(|row| has(row.names, first));
                wraps || has(RUN, first) || text.contains(['$', '`', ';', '|', '&', '\n', HOLE])
            }
            "go" => self.sub() == "run" && name.is_empty() && text.contains('@'),
            _ => false,
        }
    }

    /// (f), for options and subcommands: the places that a pattern has to write.
    fn forms(&self) -> Vec<[usize; 2]> {
        let mut found = Vec::new();
        let last = self.words.len() - 1;
        for (_, words, behind) in FORMS.iter().filter(|(names, ..)| self.is(names)) {
            let is = |word: &str, of: &str| of.starts_with('-') && is_option(word, of);
            let option = |at: &usize| words.split(' ').any(|of| is(&self.words[*at].text, of));
            found.extend((1..=last).filter(option).map(|at| [at, last.min(at + 1)]));
            let Some(sub) = self.subcommand.filter(|_| has(words, self.sub())) else {
                continue;
            };
            let next = |at: &usize| has(behind, &self.words[*at].text) || self.words[*at].dynamic;
            match behind.is_empty() {
                true => found.push([sub, sub]),
                false => found.extend((sub + 1..=last).find(next).map(|at| [sub, at])),
            }
        }
        found
    }
}

/// (e) What begins like this is run.
fn runs_value(program: &str, text: &str) -> bool {
    let (sign, harmless) = match program {
        "sqlite3" => (
            '.',
            has(
                ".tables .schema .indexes .databases .headers .mode .dump",
                text,
            ),
        ),
        "psql" => (
            '\\',
            has("\\l \\z \\x \\timing", text) || (text.starts_with("\\d") && !text.contains('\n')),
        ),
        _ => ('!', true),
    };
    let command = |line: &str| {
        let name = line.trim_start().strip_prefix(sign);
        name.is_some_and(|name| name.starts_with(char::is_alphabetic))
    };
    let begins = ["!", "\\!", "|", "-javaagent"];
    begins.iter().any(|begin| text.starts_with(begin)) || (!harmless && text.lines().any(command))
}

fn is_variable(name: &str) -> bool {
    let own = |c: char| c.is_ascii_alphanumeric() || "_.-:".contains(c);
    !name.is_empty() && name.chars().all(own)
}

/// Whether an option's name has one of these words: cut at `-`, `_` and capitals; a plural counts.
fn has_word(name: &str, words: &str) -> bool {
    let mut cut = String::new();
    for c in name.chars() {
        if c.is_uppercase() && cut.ends_with(char::is_lowercase) {
            cut.push(' ');
        }
        cut.push(if "-_".contains(c) { ' ' } else { c });
    }
    let mut cut = cut.split_whitespace().map(str::to_lowercase);
    cut.any(|word| has(words, &word) || has(words, word.strip_suffix('s').unwrap_or_default()))
}

/// The host of an address: `x://…`, `user@host:`.
fn address(text: &str) -> Option<&str> {
    if text.contains(char::is_whitespace) {
        return None;
    }
    if let Some((scheme, rest)) = text.split_once("://") {
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let host = host.rsplit('@').next();
        return host.filter(|_| !scheme.is_empty() && scheme != "file");
    }
    let (user, rest) = text.split_once('@')?;
    let (host, _) = rest.split_once(':')?;
    let plain = |part: &str| !part.is_empty() && !part.contains(['/', ':']);
    (plain(user) && plain(host) && host != "sha256").then_some(host)
}

fn is_local(host: &str) -> bool {
    let name = host.split(':').next().unwrap_or_default();
    let number = name.strip_prefix("127.").unwrap_or("x");
    let number = number.chars().all(|c| c.is_ascii_digit() || c == '.');
    name.eq_ignore_ascii_case("localhost") || host.starts_with("[::1]") || number
}

/// Whether a command has an option or a setting of (a) or a form of (f): it may run what it is given.
pub(crate) fn runs_by(script: &Script, at: usize) -> bool {
    let is_run = |of: &Given| has_word(&of.name, RUNS);
    let runs = |own: Own<'_>| own.given().iter().any(is_run) || !own.forms().is_empty();
    Own::of(script, at).is_none_or(runs)
}

/// What a pattern has to write before it approves a command.
#[derive(Debug, Default)]
pub struct Unmeant {
    /// Places of words, each an option or operand and its value.
    pub places: Vec<[usize; 2]>,
    /// What may be a path, with the place of its word, and whether it is the whole of a value.
    pub paths: Vec<(usize, String, bool)>,
    /// It takes commands on standard input: no pattern approves it.
    pub is_fed: bool,
}

/// Looks through a command's words.
#[must_use]
pub fn unmeant(script: &Script, at: usize, reach: Reach<'_>) -> Unmeant {
    let mut found = Unmeant::default();
    let Some(own) = Own::of(script, at) else {
        return found;
    };
    let reads = is_reader(script, at);
    let moves = |of: &Given| own.is("git") && has("-C --git-dir --work-tree", &of.name);
    found.is_fed = is_fed(script, at);
    for of in own.given().iter().filter(|of| !reads || moves(of)) {
        if own.asks(of, reach) {
            found.places.push([of.option, of.at]);
        }
        let stream = of.text == "-" || is_stream(&of.text);
        found.is_fed |= own.is("make") && has("-f --file --makefile", &of.name) && stream;
        if reads || address(&of.text).is_some() || of.is_program() {
            continue;
        }
        let members = of.members().into_iter().map(str::to_owned);
        found
            .paths
            .extend(members.map(|member| (of.at, member, false)));
        found.paths.push((of.at, of.text.clone(), true));
    }
    if !reads {
        found.places.extend(own.forms());
    }
    found
}

fn is_stream(path: &str) -> bool {
    let streams = ["/dev/stdin", "/dev/fd/", "/proc/"];
    streams.iter().any(|begin| path.starts_with(begin))
}

/// Whether a program takes commands from a text or pipe that it is given.
fn is_fed(script: &Script, at: usize) -> bool {
    let commands = &script.commands;
    if !has(INTERPRETS, &commands[at].name().unwrap_or_default()) {
        return false;
    }
    let given = |of: &Command| {
        let text = of.redirections.iter().any(|of| match of.kind {
            Kind::Here => true,
            Kind::Read => of.target.dynamic || is_stream(&of.target.text),
            _ => false,
        });
        text || of.before == Before::Pipe
    };
    let mut outer = Some(at);
    while let Some(place) = outer {
        // A group has its commands deeper, and its redirections behind it.
        let depth = commands[place].depth;
        let mut before = commands[..place]
            .iter()
            .rev()
            .take_while(|of| depth > 1 && of.depth >= depth);
        let mut behind = commands[place + 1..].iter();
        let group = behind.find(|of| of.words.is_empty() && of.depth < depth);
        if given(&commands[place]) || before.any(given) || group.is_some_and(given) {
            return true;
        }
        outer = commands[place].inside;
    }
    false
}
