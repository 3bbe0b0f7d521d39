//! Programs that run what they are given, and how to find it among their words. One table; a program that is not
//! in it is a program like any other.

use crate::options::is_option;
use crate::script::{How, Script, Word};

/// How a program is given what it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Its operands are the command.
    Operand,
    /// Its operands behind `--`, if there is one, are the command.
    Dashes,
    /// Its operands, joined by blanks, are a text for a shell.
    Joined,
    /// Each operand is a text for a shell.
    Each,
    /// The value of this option is a text for a shell; operands without it are the command.
    Option(&'static str),
    /// The value of this option is a text for a shell; other operands are none.
    OnlyOption(&'static str),
    /// A shell: `-c`, a file, or what it reads.
    Shell,
    /// PowerShell: `-Command`, `-EncodedCommand`, a file, or what it reads.
    PowerShell,
    /// Runs what nobody knows (a file, what it reads, an encoded text).
    Unknown,
}

/// One row of the table. Lists are words between blanks.
#[derive(Debug, Clone, Copy)]
pub struct Wrapper {
    /// Programs.
    pub names: &'static str,
    /// Subcommands of which one must follow; none: the program itself.
    pub subs: &'static str,
    /// Options with a value.
    pub values: &'static str,
    /// Options without one; an option in neither list is read both ways.
    pub flags: &'static str,
    /// Operands before the command.
    pub skip: usize,
    /// Where the command is.
    pub form: Form,
}

const fn row(
    names: &'static str,
    subs: &'static str,
    values: &'static str,
    flags: &'static str,
    skip: usize,
    form: Form,
) -> Wrapper {
    Wrapper {
        names,
        subs,
        values,
        flags,
        skip,
        form,
    }
}

use Form::{Dashes, Each, Joined, OnlyOption, Operand, Option as Of, Unknown};

/// The table.
pub const WRAPPERS: &[Wrapper] = rows! { row:
    // They run their operand.
    "sudo", "", "-u --user -g --group -h --host -p --prompt -C --close-from -r --role -t --type -T --command-timeout -U --other-user -D --chdir -R --chroot", "-n -E -H -S -k -K -b -A -P -i -s --non-interactive --preserve-env --login --shell --set-home --background", 0, Operand;
    "doas", "", "-u -C", "-n -L -s", 0, Operand;
    "su runuser", "", "-s --shell -g --group -G --supp-group -u --user -w --whitelist-environment -T --pty", "- -l -m -p -f --login --preserve-environment", 1, Of("-c --command --session-command");
    "runuser", "", "-s --shell -g --group -G --supp-group -u --user -w", "-l -m -p -f", 0, Operand;
    "pkexec", "", "--user", "--keep-cwd --disable-internal-agent", 0, Operand;
    "env", "", "-u --unset -C --chdir -a --argv0", "-i -0 -v --ignore-environment --null --debug", 0, Of("-S --split-string");
    "nice", "", "-n --adjustment", "-0 -1 -2 -3 -4 -5 -6 -7 -8 -9", 0, Operand;
    "ionice", "", "-c --class -n --classdata -p --pid -P --pgid -u --uid", "-t --ignore", 0, Operand;
    "nohup setsid builtin busybox toybox noglob nocorrect rtk -", "", "", "-c -f -w --ctty --fork --wait", 0, Operand;
    "exec", "", "-a", "-c -l", 0, Operand;
    "command", "", "", "-p", 0, Operand;
    "repeat", "", "", "", 1, Operand;
    "time", "", "-f --format -o --output", "-p -a -v -q --portability --append --verbose --quiet", 0, Operand;
    "timeout gtimeout", "", "-s --signal -k --kill-after", "-v -f -p --foreground --preserve-status --verbose", 1, Operand;
    "stdbuf", "", "-i --input -o --output -e --error", "", 0, Operand;
    "watch", "", "-n --interval -q --equexit", "-b -c -d -e -g -p -t -w -x --beep --color --differences --errexit --chgexit --precise --no-title --exec", 0, Joined;
    "flock", "", "-w --wait --timeout -E --conflict-exit-code", "-s -x -e -u -n -o -F --shared --exclusive --nonblock --nb --close --no-fork --verbose", 1, Of("-c --command");
    "xargs gxargs", "", "-a --arg-file -d --delimiter -E -I -L -n --max-args -P --max-procs -s --max-chars --process-slot-var", "-0 -r -t -p -x -o --null --no-run-if-empty --verbose --interactive --exit --open-tty", 0, Operand;
    "parallel", "", "-j --jobs -a --arg-file -I --replace -N --max-args --colsep -C --delay --timeout --joblog --results --tempdir --workdir -S --sshlogin", "-k -0 -m -X -v --keep-order --null --dry-run --bar --progress --will-cite --halt-on-error", 0, Joined;
    "chroot", "", "--userspec --groups", "--skip-chdir", 1, Operand;
    "unshare", "", "--propagation --setgroups -S --setuid -G --setgid -R --root -w --wd", "-m -u -i -n -p -U -C -T -f -r -c --mount --uts --ipc --net --pid --user --fork --map-root-user", 0, Operand;
    "nsenter", "", "-t --target -S --setuid -G --setgid", "-a -m -u -i -n -p -U -C -F --all --mount --uts --ipc --net --pid --user", 0, Operand;
    "strace ltrace", "", "-a -b -e -E -I -l -n -o -O -p -P -s -S -u -U -X -F --output", "-c -C -d -f -ff -h -i -k -q -r -t -tt -T -v -V -w -x -y -z -Z --follow-forks", 0, Operand;
    "script", "", "-E --echo -I --log-in -O --log-out -B --log-io -T --log-timing -m --logging-format -o --output-limit -t", "-a -e -f -q --append --return --flush --force --quiet", 1, Of("-c --command");
    "systemd-run", "", "-p --property -u --unit --slice -E --setenv --uid --gid --nice --working-directory -M --machine -H --host --description --on-active --on-calendar --service-type", "-t -P -q -d -G -S --user --scope --pty --pipe --wait --collect --quiet --no-block --same-dir --shell --remain-after-exit", 0, Operand;
    "at batch", "", "-q -t", "-m -M -k -V -v", 9, Unknown;
    "tmux", "", "-c -f -L -S -T", "-2 -C -l -N -u -v -D", 9, Unknown;
    "screen", "", "-c -e -h -p -s -S -t -T", "-a -A -d -D -L -m -dm -dmS -q -U -x", 0, Operand;
    "expect", "", "", "", 9, Unknown;
    "hyperfine", "", "-w --warmup -m --min-runs -M --max-runs -r --runs -S --shell -n --command-name --export-json --export-csv --export-markdown -P --parameter-scan -L --parameter-list --style --output", "-i -N --ignore-failure --show-output", 0, Each;
    "hyperfine", "", "", "", 9, OnlyOption("-p --prepare -s --setup -c --cleanup -C --conclude");
    "entr", "", "", "-a -c -d -n -p -r -s -z", 0, Joined;
    "watchexec", "", "-w --watch -e --exts -f --filter -i --ignore -s --signal -d --debounce --shell --workdir -E --env", "-c -r -q -n -p --clear --restart --quiet --postpone --no-vcs-ignore", 0, Joined;
    "nodemon", "", "-w --watch -e --ext -i --ignore -d --delay -s --signal -C", "-q -V -L -I --quiet --verbose", 9, Of("-x --exec");
    "coproc", "", "", "", 0, Operand;
    // They run a text.
    "sh bash zsh dash ksh ash mksh rbash fish", "", "", "", 0, Form::Shell;
    "pwsh powershell", "", "", "", 0, Form::PowerShell;
    "eval", "", "", "", 0, Joined;
    "wsl", "", "-d --distribution -u --user --cd --shell-type", "-e --exec", 0, Dashes;
    "mapfile readarray complete compgen", "", "-d -n -O -s -u -c -A -F -G -W -P -S -X -o -V", "-t -p -r -D -E -I -a -b -e -f -g -j -k", 99, OnlyOption("-C");
    "fc", "", "", "", 9, Unknown;
    // Elsewhere.
    "ssh", "", "-B -b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -P -Q -R -S -W -w", "-4 -6 -A -a -C -f -G -g -K -k -M -N -n -q -s -T -t -V -v -X -x -Y -y", 1, Joined;
    "docker podman nerdctl docker%container podman%container", "exec", "-e --env --env-file -u --user -w --workdir --detach-keys", "-d -i -t -it -ti --detach --interactive --tty --privileged", 1, Operand;
    "docker podman nerdctl docker%container podman%container", "run", "-a -c -e -h -l -m -p -u -v -w --add-host --name --entrypoint --env --env-file --network --net --user --volume --workdir --publish --platform --pull --memory --cpus --mount --hostname --label --link --restart --gpus --ipc --pid --cap-add --cap-drop --security-opt --device --shm-size --ulimit --tmpfs --log-driver --dns --runtime --userns --cgroupns", "-d -i -t -P --rm --init --detach --interactive --tty --privileged --read-only --no-healthcheck", 1, Operand;
    "docker-compose docker%compose podman%compose", "exec run", "-e --env -u --user -w --workdir --index --entrypoint --name -v --volume -p --publish -l --label", "-d -T -i -t -P --detach --no-TTY --rm --no-deps --build --service-ports --use-aliases --privileged --interactive --quiet-pull", 1, Operand;
    "kubectl oc", "exec", "-c --container -n --namespace -f --filename --pod-running-timeout", "-i -t -it -ti -q --stdin --tty --quiet", 1, Dashes;
    "vagrant", "ssh", "", "", 9, OnlyOption("-c --command");
    "lxc incus", "exec", "--env --mode --user --group --cwd", "-n -t -T --disable-stdin --force-interactive", 1, Dashes;
    // Package runners.
    "npx bunx pnpx", "", "-p --package --node-options", "-y --yes --no --no-install -q --quiet --bun", 0, Of("-c --call");
    "uvx", "", "--from --with --with-editable --with-requirements -p --python --index --index-url --directory", "-q -v --isolated --no-cache --offline --refresh", 0, Operand;
    "pipx", "run", "--spec --python --pip-args --index-url", "--no-cache --verbose --quiet", 0, Operand;
    "npm", "exec x", "-p --package -w --workspace", "-y --yes --no --workspaces -ws", 0, Of("-c --call");
    "pnpm yarn bun yarn%workspace", "exec x dlx", "--package -C --dir -F --filter -p", "-r -w -c --recursive --silent --parallel -q --quiet --bun", 0, Dashes;
    "uv uv%tool poetry pipenv devbox rye hatch pdm", "run", "--with --with-editable --with-requirements -p --python --extra --group --env-file --directory --project --package -e --env -C -P", "-q -v --isolated --no-sync --frozen --locked --all-extras --no-dev --dev --offline --active", 0, Operand;
    "conda mamba micromamba", "run", "-n --name -p --prefix --cwd", "-v --no-capture-output --live-stream -s", 0, Operand;
    "bundle mise rtx asdf", "exec x", "--gemfile -j --jobs -C --cd", "--keep-file-descriptors -q -v -y", 0, Dashes;
    "direnv", "exec", "", "", 1, Operand;
    "nix", "run shell develop", "", "", 99, Of("-c --command");
    "nix-shell", "", "", "", 99, OnlyOption("--run --command");
};

/// Wrappers that need no pattern of their own.
const TRANSPARENT: &str = "timeout time nice nohup stdbuf xargs";

/// Whether a program, by its name, needs no pattern where it is a wrapper.
#[must_use]
pub fn is_transparent(name: &str) -> bool {
    TRANSPARENT.split(' ').any(|known| known == name)
}

/// Whether a command is such a wrapper, and nothing beside: `xargs` without options, `time` without a file.
#[must_use]
pub fn needs_no_pattern(script: &Script, at: usize) -> bool {
    let command = &script.commands[at];
    let inner = script.commands.iter().filter(|of| of.inside == Some(at));
    let inner: Vec<_> = inner.filter(|of| of.how == How::Wrapped).collect();
    let Some(name) = command.program().filter(|_| !inner.is_empty()) else {
        return false;
    };
    let end = inner.iter().filter_map(|of| of.from).min();
    let own = &command.words[1..end.unwrap_or(command.words.len())];
    let writes = |word: &Word| is_option(&word.text, "-o") || is_option(&word.text, "--output");
    is_transparent(name)
        && match name {
            "xargs" => !command.words.get(1).is_some_and(Word::could_be_option),
            "time" => !own.iter().any(writes),
            _ => true,
        }
}
