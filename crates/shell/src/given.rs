//! What a program is given that its rule's author cannot have meant: options that run something, places and
//! addresses elsewhere. One reader of options and their values for all of it.

use crate::acts::{is_option, values};
use crate::launched::is_read;
pub use crate::plain::is_reader;
use crate::plain::{COMPILERS, PLAIN, has, system_name};
use crate::script::{Command, HOLE, How, Script, Word};
use crate::wrappers::{GLOBALS, WRAPPERS, subcommands};

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

/// A command, its program's name and the words that are its own.
struct Own<'s> {
    script: &'s Script,
    command: &'s Command,
    program: String,
    words: &'s [Word],
    subcommand: Option<usize>,
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
        Some(Self {
            script,
            command,
            program,
            words,
            subcommand,
        })
    }

    fn is(&self, names: &str) -> bool {
        has(names, &self.program)
    }

    fn sub(&self) -> &str {
        self.subcommand
            .map_or("", |at| self.words[at].text.as_str())
    }

    fn is_data(&self, name: &str) -> bool {
        let named = |(names, sub, options): &(&str, &str, &str)| {
            (names.is_empty() || self.is(names))
                && (sub.is_empty() || *sub == self.sub())
                && has(options, name)
        };
        DATA.iter().any(named) || has_word(name, DATA_WORDS)
    }

    fn may_be_temporary(&self, name: &str) -> bool {
        let own = TEMPORARY_OPTIONS
            .iter()
            .find(|(program, _)| self.is(program));
        name == "-o"
            || has_word(name, TEMPORARY)
            || own.is_some_and(|(_, options)| options.split(' ').any(|of| is_option(name, of)))
    }

    /// Whether an option takes the next word: surely, or perhaps.
    fn takes(&self, name: &str) -> (bool, bool) {
        let globals = GLOBALS.iter().find(|(program, ..)| self.is(program));
        let wrapper = WRAPPERS.iter().filter(|row| self.is(row.names));
        let lists = wrapper
            .map(|row| (row.values, row.flags))
            .chain(globals.map(|of| (of.1, of.2)));
        let (values, flags): (Vec<_>, Vec<_>) = lists.unzip();
        let listed =
            self.is_data(name) || self.is_volume(name) || values.iter().any(|list| has(list, name));
        let sure = listed
            || self.may_be_temporary(name)
            || [RUNS, READS, TOOL_WORDS]
                .iter()
                .any(|words| has_word(name, words));
        let utility = PLAIN.iter().take(2).any(|(names, _)| self.is(names));
        let flag = FLAG_BEGINS.iter().any(|begin| name.starts_with(begin))
            || flags.iter().any(|list| has(list, name));
        let none = !listed && (flag || has(FLAGS, name));
        (sure && !none, (sure || !utility) && !none)
    }

    fn is_volume(&self, name: &str) -> bool {
        self.is("docker podman nerdctl docker-compose") && has("-v --volume --mount", name)
    }

    /// Every value, in each way that it may be one; and for each word whether it is data.
    fn given(&self) -> (Vec<Given>, Vec<bool>) {
        let mut found = Vec::new();
        let mut data = values(&self.program, self.words);
        data[0] = true;
        let mut ended = false;
        let mut taken = 0;
        for (at, word) in self.words.iter().enumerate().skip(1) {
            data[at] |= is_read(self.command, &word.text);
            if data[at] {
                continue;
            }
            for text in self.script.forms(word) {
                let mut add = |option, at, name: &str, text: &str| {
                    let (name, text) = (name.to_owned(), text.to_owned());
                    found.push(Given {
                        option,
                        at,
                        name,
                        text,
                    });
                };
                if ended || !text.starts_with('-') || text.len() < 2 {
                    match text.split_once('=') {
                        Some((name, value)) if is_variable(name) => add(at, at, name, value),
                        _ => {}
                    }
                    if let Some(file) = text.strip_prefix('@') {
                        add(at, at, "@", file);
                    }
                    if taken != at {
                        add(at, at, "", &text);
                    }
                    continue;
                }
                ended |= text == "--";
                let value = text.split_once('=');
                let name = value.map_or(text.as_str(), |(name, _)| name);
                let short =
                    (!text.starts_with("--")).then(|| text.chars().take(2).collect::<String>());
                let glued = short.as_deref().map(|short| (short, &text[short.len()..]));
                let glued = glued.filter(|(_, value)| !value.is_empty());
                data[at] |= value.is_some() && self.is_data(name)
                    || glued.is_some_and(|(short, _)| self.is_data(short));
                if let Some((name, value)) = value {
                    add(at, at, name, value);
                }
                if let Some((name, value)) = glued {
                    add(at, at, name, value);
                }
                let (sure, may) = self.takes(name);
                let next = self
                    .words
                    .get(at + 1)
                    .filter(|_| value.is_none() && may && !ended);
                let values = next.map_or_else(Vec::new, |next| self.script.forms(next));
                for text in values
                    .iter()
                    .filter(|text| *text == "-" || !text.starts_with('-'))
                {
                    add(at, at + 1, name, text);
                    taken = if sure { at + 1 } else { taken };
                    if self.is_data(name) {
                        data[at + 1] = true;
                    }
                }
            }
        }
        found.retain(|of| !data[of.at] && !data[of.option]);
        (found, data)
    }

    fn is_client(&self) -> bool {
        self.is(CLIENTS)
            || (self.is("git") && has("clone fetch pull push ls-remote remote", self.sub()))
    }

    /// Whether an address is another machine's, and not a client's business.
    fn is_elsewhere(&self, text: &str) -> bool {
        let installs = self.is("npm pnpm yarn bun pip pip3 uv poetry cargo gem go")
            && has("add ci i install update", self.sub());
        let near = !installs && !self.is("docker helm");
        !self.is_client() && address(text).is_some_and(|host| !(near && is_local(host)))
    }

    fn asks(&self, of: &Given, reach: Reach<'_>) -> bool {
        let text = of.text.as_str();
        if runs_value(self, text) || self.is_form(of, reach) {
            return true;
        }
        if of.name.is_empty() {
            return self.is_elsewhere(text);
        }
        if is_program(of) {
            return false;
        }
        if has_word(&of.name, RUNS)
            && of.name.starts_with('-')
            && !(self.is("psql") && of.name == "--command")
        {
            return true;
        }
        let volume = self.is_volume(&of.name);
        let mut members = text.split(',').flat_map(|member| {
            let named = member.split_once('=');
            let host = named.is_none_or(|(name, _)| has("src source", name));
            let whole = if volume {
                member.split(':').next().unwrap_or(member)
            } else {
                member
            };
            let value = named.map(|(_, value)| value).filter(|_| !volume || host);
            [(!volume || named.is_none()).then_some(whole), value]
                .into_iter()
                .flatten()
        });
        let read_only = has_word(&of.name, READS) && !has_word(&of.name, TEMPORARY);
        let temporary = !read_only && self.may_be_temporary(&of.name);
        members.any(|value| {
            let known = value.split(HOLE).next().unwrap_or_default();
            let path = known.strip_prefix("file://").unwrap_or(known);
            let below = |folder: &&str| {
                path.strip_prefix(*folder)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            let climbs = path.split('/').any(|part| part == "..");
            let fine = temporary && !climbs && ["/tmp", "/var/tmp"].iter().any(below);
            self.is_elsewhere(value)
                || (address(path).is_none()
                    && !has(DEVICES, path)
                    && !fine
                    && reach(path) != Lies::Inside)
        })
    }

    /// (f), for values.
    fn is_form(&self, of: &Given, reach: Reach<'_>) -> bool {
        let (name, text) = (of.name.as_str(), of.text.as_str());
        let operand =
            name.is_empty() && reach(text.split("::").next().unwrap_or(text)) != Lies::Inside;
        match self.program.as_str() {
            "pytest" => {
                let ini = has("-o --override-ini", name) && text.starts_with("addopts");
                (name == "-p" && !text.starts_with("no:")) || ini || operand
            }
            "cmake" => operand && reach(text) != Lies::Around,
            "docker" | "podman" => self.sub() == "compose" && name == "-f" && text == "-",
            "make" => {
                let first = text
                    .split_whitespace()
                    .next()
                    .filter(|_| text.contains(char::is_whitespace));
                let runs = first.is_some_and(|first| {
                    has(RUN, first) || WRAPPERS.iter().any(|row| has(row.names, first))
                });
                !name.starts_with('-')
                    && is_variable(name)
                    && (text.contains(['$', '`', ';', '|', '&', '\n', HOLE]) || runs)
            }
            "go" => self.sub() == "run" && name.is_empty() && text.contains('@'),
            _ => false,
        }
    }

    /// (f), for options and subcommands: the places that a pattern has to write.
    fn forms(&self) -> Vec<[usize; 2]> {
        let mut found = Vec::new();
        for (_, words, behind) in FORMS.iter().filter(|(names, ..)| self.is(names)) {
            let option = |at: &usize| {
                words
                    .split(' ')
                    .any(|of| of.starts_with('-') && is_option(&self.words[*at].text, of))
            };
            let options = (1..self.words.len()).filter(option);
            found.extend(options.map(|at| [at, (at + 1).min(self.words.len() - 1)]));
            let Some(sub) = self
                .subcommand
                .filter(|at| has(words, &self.words[*at].text))
            else {
                continue;
            };
            let next = self.words[sub + 1..]
                .iter()
                .position(|word| has(behind, &word.text) || word.dynamic);
            match behind.is_empty() {
                true => found.push([sub, sub]),
                false => found.extend(next.map(|next| [sub, sub + 1 + next])),
            }
        }
        found
    }
}

/// (e) What begins like this is run.
fn runs_value(own: &Own<'_>, text: &str) -> bool {
    let command = |sign: char, line: &str| {
        let mut letters = line.trim_start().chars();
        letters.next() == Some(sign) && letters.next().is_some_and(char::is_alphabetic)
    };
    let harmless = match own.program.as_str() {
        "sqlite3" => {
            has(
                ".tables .schema .indexes .databases .headers .mode .dump",
                text,
            ) || !text.lines().any(|line| command('.', line))
        }
        "psql" => {
            text.starts_with("\\d") && !text.contains('\n')
                || has("\\l \\z \\x \\timing", text)
                || !text.lines().any(|line| command('\\', line))
        }
        _ => true,
    };
    ["!", "\\!", "|", "-javaagent"]
        .iter()
        .any(|begin| text.starts_with(begin))
        || !harmless
}

/// A program of the system where one is asked for.
fn is_program(of: &Given) -> bool {
    let tool = has(TOOLS, &of.name) || has_word(&of.name, TOOL_WORDS);
    tool && of.text.starts_with('/') && system_name(&of.text).is_some()
}

fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_.-:".contains(c))
}

/// Whether an option's name has one of these words: cut at `-`, `_` and capitals; a plural counts.
fn has_word(name: &str, words: &str) -> bool {
    let mut cut = String::new();
    let mut small = false;
    for c in name.chars() {
        if small && c.is_uppercase() {
            cut.push(' ');
        }
        small = c.is_lowercase();
        cut.push(if "-_".contains(c) {
            ' '
        } else {
            c.to_ascii_lowercase()
        });
    }
    cut.split_whitespace()
        .any(|word| has(words, word) || word.strip_suffix('s').is_some_and(|one| has(words, one)))
}

/// The host of an address: `x://…`, `user@host:`.
fn address(text: &str) -> Option<&str> {
    if text.contains(char::is_whitespace) {
        return None;
    }
    if let Some((scheme, rest)) = text.split_once("://") {
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        return (!scheme.is_empty() && scheme != "file")
            .then(|| host.rsplit('@').next().unwrap_or(host));
    }
    let (user, rest) = text.split_once('@')?;
    let (host, _) = rest.split_once(':')?;
    let plain = |part: &str| !part.is_empty() && !part.contains(['/', ':']);
    (plain(user) && plain(host) && host != "sha256").then_some(host)
}

fn is_local(host: &str) -> bool {
    let name = host
        .split_once(']')
        .map_or_else(|| host.split(':').next().unwrap_or(host), |(name, _)| name);
    name.eq_ignore_ascii_case("localhost")
        || name == "[::1"
        || (name.starts_with("127.") && name.chars().all(|c| c.is_ascii_digit() || c == '.'))
}

/// Whether a command has an option or text of (a), (e) or (f): it may run what it is given.
pub(crate) fn runs_by(script: &Script, at: usize) -> bool {
    let Some(own) = Own::of(script, at) else {
        return true;
    };
    let runs = |of: &Given| has_word(&of.name, RUNS) && of.name.starts_with('-');
    own.given().0.iter().any(runs) || !own.forms().is_empty()
}

/// The places of a command's words that a pattern has to write before it approves them: each an option or operand
/// and its value.
#[must_use]
pub fn unmeant(script: &Script, at: usize, reach: Reach<'_>) -> Vec<[usize; 2]> {
    let Some(own) = Own::of(script, at) else {
        return Vec::new();
    };
    let reads = is_reader(script, at);
    let moved =
        |of: &&Given| !reads || (own.is("git") && has("-C --git-dir --work-tree", &of.name));
    let given = own.given().0;
    let mut found: Vec<_> = given
        .iter()
        .filter(moved)
        .filter(|of| own.asks(of, reach))
        .map(|of| [of.option, of.at])
        .collect();
    if !reads {
        found.extend(own.forms());
    }
    found
}

/// The paths that a command may name, each with the place of its word, and whether it is the whole word.
#[must_use]
pub fn paths(script: &Script, at: usize) -> Vec<(usize, String, bool)> {
    let Some(own) = Own::of(script, at).filter(|_| !is_reader(script, at)) else {
        return Vec::new();
    };
    let (given, data) = own.given();
    let program = |at: usize| {
        given
            .iter()
            .any(|of| of.at == at && !of.name.is_empty() && is_program(of))
    };
    let mut found = Vec::new();
    for (at, word) in own
        .words
        .iter()
        .enumerate()
        .filter(|(at, _)| !data[*at] && !program(*at))
    {
        for text in own.script.forms(word) {
            if address(&text).is_some() {
                continue;
            }
            let value = text.split_once('=').map(|(_, value)| value);
            let glued = text.get(2..).filter(|_| text.starts_with('-'));
            let behind = text
                .split_once(':')
                .filter(|_| text.starts_with('-'))
                .map(|(_, value)| value);
            for part in [Some(text.as_str()), value, glued, behind]
                .into_iter()
                .flatten()
            {
                let members = part
                    .split(',')
                    .map(|member| member.split_once('=').map_or(member, |(_, value)| value));
                found.extend(members.map(|member| (at, member.to_owned(), false)));
                found.push((at, part.to_owned(), true));
            }
        }
    }
    found
}

/// Whether a program takes commands from a text or pipe that it is given.
#[must_use]
pub fn is_fed(script: &Script, at: usize) -> bool {
    use crate::script::{Before, Kind};
    let commands = &script.commands;
    let command = &commands[at];
    let name = command.name().unwrap_or_default();
    let streams = |word: &Word| {
        ["/dev/stdin", "/dev/fd/", "/proc/"]
            .iter()
            .any(|begin| word.text.contains(begin))
    };
    let makefile = |two: &[Word]| {
        (is_option(&two[0].text, "-f")
            || is_option(&two[0].text, "--file")
            || is_option(&two[0].text, "--makefile"))
            && (two[1].text == "-" || streams(&two[1]))
    };
    let glued = |word: &Word| {
        has("-f- --file=- --makefile=-", &word.text)
            || (word.text.starts_with('-') && streams(word))
    };
    let make = name == "make"
        && (command.words.windows(2).any(makefile) || command.words.iter().any(glued));
    if make {
        return true;
    }
    if !has(INTERPRETS, &name) {
        return false;
    }
    let given = |of: &Command| {
        let text = of.redirections.iter().any(|of| {
            of.kind == Kind::Here
                || (of.kind == Kind::Read && (of.target.dynamic || streams(&of.target)))
        });
        text || of.before == Before::Pipe
    };
    let mut outer = Some(at);
    while let Some(place) = outer {
        let own = &commands[place];
        let before = commands[..place]
            .iter()
            .rev()
            .take_while(|of| of.depth >= own.depth && own.depth > 1);
        let behind = commands[place + 1..]
            .iter()
            .find(|of| of.words.is_empty() && of.depth < own.depth);
        if given(own) || before.into_iter().any(given) || behind.is_some_and(given) {
            return true;
        }
        outer = own.inside;
    }
    false
}
