//! Removes, overwrites or formats without return.

use countersign_shell::options::operands_behind;
use countersign_shell::{How, Word};

use super::{Act, Line};
use crate::finding::Code;
use crate::leaf::among;
use crate::paths::{is_system, plain};

const MAIN: &str = "main master production prod trunk develop release stable";

pub(crate) fn act(line: &Line<'_>) -> Option<Act> {
    let what = removes(line)
        .or_else(|| mirrors(line))
        .or_else(|| disks(line))
        .or_else(|| git(line))
        .or_else(|| clusters(line))
        .or_else(|| clouds(line))
        .or_else(|| databases(line))?;
    Some(Act::stop(Code::DestructiveCommand, line.shape(), what))
}

fn removes(line: &Line<'_>) -> Option<String> {
    match line.name.as_str() {
        "rm" if line.has("rR", "recursive") => {
            let target = line.operands().find(|word| is_grave(word, line))?;
            Some(format!("removes {} and everything in it", named(target)))
        }
        "rmdir" | "rd" | "del"
            if line
                .words
                .iter()
                .any(|word| word.text.eq_ignore_ascii_case("/s")) =>
        {
            Some(format!(
                "removes a folder and everything in it: {}",
                line.shown()
            ))
        }
        "remove-item"
            if line
                .options()
                .any(|option| option.to_lowercase().starts_with("-r")) =>
        {
            let target = line.operands().find(|word| is_grave(word, line))?;
            Some(format!("removes {} and everything in it", named(target)))
        }
        "find" if line.words.iter().any(|word| word.text == "-delete") && !is_narrow(line) => {
            Some("deletes everything that find finds (-delete)".to_owned())
        }
        "rm" if line.parent.as_deref() == Some("find") => {
            Some("removes everything that find finds".to_owned())
        }
        "rm" if line.parent.as_deref() == Some("xargs") && line.command.how == How::Wrapped => {
            Some("removes every file that it receives (xargs rm)".to_owned())
        }
        "mv" if line
            .words
            .last()
            .is_some_and(|word| word.text == "/dev/null") =>
        {
            Some("deletes files by moving them to /dev/null".to_owned())
        }
        _ => None,
    }
}

/// A name, an age or a type other than a star alone.
fn is_narrow(line: &Line<'_>) -> bool {
    line.words.windows(2).any(|two| {
        among("-mtime -mmin -newer -empty -atime", &two[0].text)
            || (among("-name -iname -path", &two[0].text) && !two[1].text.contains('*'))
    })
}

/// What cannot be known, the root, a home or system folder, everything here.
fn is_grave(word: &Word, line: &Line<'_>) -> bool {
    let text = word.text.as_str();
    let whole = [
        ".", "..", "*", "./*", "../*", "./", "../", ".*", "~", "/*", ".git", "./.git",
    ];
    if !word.dynamic {
        let in_folder = match &line.folder {
            Some(folder) if !text.starts_with(['/', '~']) => is_system(&format!("{folder}/{text}")),
            _ => false,
        };
        return whole.contains(&text)
            || plain(text).split('/').all(|part| part == "..")
            || is_system(text)
            || in_folder
            || text.ends_with("/.git");
    }
    if !word.gives.is_empty() {
        return word
            .gives
            .iter()
            .any(|text| is_system(text) || whole.contains(&text.as_str()));
    }
    // Everything in a folder near the root; deeper ones belong to a build or a cache.
    let folder = text.trim_end_matches('/');
    if text.starts_with('/') && text.ends_with('/') && folder.matches('/').count() <= 2 {
        return !["/tmp/", "/var/tmp/", "/var/cache/"]
            .iter()
            .any(|own| text.starts_with(own));
    }
    if text.starts_with("/var/lib/apt/lists/") || text.starts_with("/var/cache/") {
        return false;
    }
    // Of a pattern or variable the beginning is known: below a folder of its own it stays there.
    let known = text.trim_start_matches("./");
    let folder = known.rsplit_once('/').map_or("", |(folder, _)| folder);
    let own = !folder.is_empty()
        && !is_system(folder)
        && !folder.split('/').any(|part| part == "..")
        && !folder.starts_with('$');
    // Neither a name with a pattern behind it: `build-*`.
    let named =
        !known.is_empty() && !known.starts_with(['/', '~', '*', '$', '.']) && !known.contains('/');
    !(own || named)
}

/// A mirror that deletes, from a folder that is new, empty or temporary.
fn mirrors(line: &Line<'_>) -> Option<String> {
    let mirrors = line.name == "rsync"
        && line.options().any(|option| option.starts_with("--delete"))
        || line.name == "rclone" && line.texts().first() == Some(&"sync")
        || line.name == "aws" && line.texts().contains(&"sync") && line.has("", "delete")
        || line.name == "robocopy"
            && line
                .words
                .iter()
                .any(|word| word.text.eq_ignore_ascii_case("/mir"));
    let from = line.operands().find(|word| !among("sync s3", &word.text))?;
    let made = line.script.commands.iter().any(|command| {
        super::line::name_of(command) == "mkdir"
            && command.words.iter().any(|word| {
                !word.text.is_empty()
                    && word.text.trim_end_matches('/') == from.text.trim_end_matches('/')
            })
    });
    let temporary = line
        .substituted()
        .any(|command| super::line::name_of(command) == "mktemp")
        || from.text.starts_with("/tmp/")
        || from.text.contains("empty")
        || made;
    (mirrors && temporary).then(|| {
        format!(
            "mirrors a folder that is new or empty, and deletes what it lacks: {}",
            line.shown()
        )
    })
}

fn named(word: &Word) -> String {
    match (word.dynamic, word.text.is_empty()) {
        (true, true) => "a path known only at run time".to_owned(),
        (true, false) => format!("{}…", crate::shown::shown(&word.text)),
        (false, _) => crate::shown::shown(&word.text),
    }
}

fn disks(line: &Line<'_>) -> Option<String> {
    let device = |text: &str| {
        text.starts_with("/dev/")
            && !among("/dev/null /dev/stdout /dev/stderr /dev/tty /dev/zero", text)
            && !text.starts_with("/dev/fd")
            && !text.starts_with("/dev/tcp")
            && !text.starts_with("/dev/udp")
            && !text.starts_with("/dev/shm")
    };
    if let Some(target) = line.written().find(|target| device(target)) {
        return Some(format!(
            "overwrites the device {}",
            crate::shown::shown(target)
        ));
    }
    let formats = line.name == "mkfs"
        || line.name.starts_with("mkfs.")
        || line.is("wipefs shred blkdiscard mke2fs format-volume clear-disk mkswap");
    if formats {
        return Some(format!("overwrites or formats: {}", line.shown()));
    }
    let of = line
        .words
        .iter()
        .find_map(|word| word.text.strip_prefix("of="));
    if line.name == "dd" && of.is_some_and(device) {
        return Some(format!(
            "overwrites the device {}",
            crate::shown::shown(of.unwrap_or_default())
        ));
    }
    (line.name == "sgdisk" && line.has("Zz", "zap-all"))
        .then(|| "erases a partition table".to_owned())
}

fn git(line: &Line<'_>) -> Option<String> {
    if line.name != "git" {
        return None;
    }
    let texts = sub(line, "-C -c --git-dir --work-tree");
    let rest = texts.get(1..).unwrap_or_default();
    match *texts.first()? {
        "reset" if line.has("", "hard") => {
            Some("throws away changes (git reset --hard)".to_owned())
        }
        "clean" if line.has("f", "force") && line.has("dxX", "") => {
            Some("removes untracked files (git clean)".to_owned())
        }
        "push" => {
            let force = line.has("f", "force force-with-lease");
            let branch = |text: &str| {
                let text = text.trim_start_matches('+');
                let to = text.rsplit_once(':').map_or(text, |(_, to)| to);
                to.trim_start_matches("refs/heads/").to_owned()
            };
            let main = |text: &&&str| {
                let branch = branch(text);
                among(MAIN, branch.as_str())
                    || branch.starts_with("release/")
                    || branch.starts_with("release-")
            };
            let forced = rest
                .iter()
                .skip(1)
                .find(|text| main(text) && (force || text.starts_with('+')));
            let gone = rest
                .iter()
                .skip(1)
                .find(|text| main(text) && (line.has("d", "delete") || text.starts_with(':')));
            if let Some(branch) = forced {
                return Some(format!(
                    "overwrites the history of {} on the remote",
                    crate::shown::shown(branch)
                ));
            }
            if let Some(branch) = gone {
                return Some(format!(
                    "removes the branch {} on the remote",
                    crate::shown::shown(branch)
                ));
            }
            line.has("", "mirror")
                .then(|| "overwrites every branch of the remote (--mirror)".to_owned())
        }
        _ => None,
    }
}

/// The operands, without the values of these options.
fn sub<'s>(line: &Line<'s>, with_value: &str) -> Vec<&'s str> {
    let operands = operands_behind(line.words, with_value);
    operands.map(|word| word.text.as_str()).collect()
}

fn clusters(line: &Line<'_>) -> Option<String> {
    const GLOBAL: &str =
        "-n --namespace --context --kubeconfig --cluster -f -H --host -l --selector";
    let texts = sub(line, GLOBAL);
    let first = texts.first().copied().unwrap_or_default();
    match line.name.as_str() {
        "kubectl" | "oc" | "k" => {
            let kind = texts
                .get(1)
                .map_or("", |kind| kind.split('/').next().unwrap_or(kind));
            if first == "delete"
                && (among(
                    "ns namespace namespaces project pv pvc persistentvolumeclaim crd",
                    kind,
                ))
            {
                return Some(format!(
                    "deletes a {kind} and everything in it: {}",
                    line.shown()
                ));
            }
            if first == "delete"
                && (line.has("A", "all all-namespaces") || kind == "all")
                && !line.options().any(|option| option == "--all=false")
            {
                return Some(format!("deletes all of a kind: {}", line.shown()));
            }
            let none = line.text_value("--replicas") == Some("0");
            none.then(|| "stops every copy (--replicas=0)".to_owned())
        }
        "docker" | "podman" | "nerdctl" => {
            let prune = texts.get(1) == Some(&"prune") && among("system volume", first);
            let volumes = first == "volume" && texts.get(1) == Some(&"rm");
            let down =
                first == "compose" && texts.get(1) == Some(&"down") && line.has("v", "volumes");
            (prune || volumes || down)
                .then(|| format!("removes containers, images or volumes: {}", line.shown()))
        }
        "docker-compose" => (first == "down" && line.has("v", "volumes"))
            .then(|| "removes volumes (down -v)".to_owned()),
        _ => None,
    }
}

fn clouds(line: &Line<'_>) -> Option<String> {
    let texts = line.texts();
    let first = texts.first().copied().unwrap_or_default();
    let said = match line.name.as_str() {
        "terraform" | "tofu" | "pulumi" | "cdk" | "terragrunt" => {
            texts.contains(&"destroy")
                || (first == "apply" && line.has("", "destroy"))
                || (first == "state" && texts.get(1) == Some(&"rm"))
        }
        "aws" => {
            let removes = texts.contains(&"rm") && line.has("", "recursive");
            let bucket = texts.contains(&"rb") && line.has("", "force");
            let gone = texts.iter().any(|text| {
                among("delete-db-instance delete-db-cluster delete-bucket terminate-instances delete-stack delete-table \
    schedule-key-deletion", text)
            });
            let sync = texts.contains(&"sync") && line.has("", "delete");
            removes || bucket || gone || sync
        }
        "gsutil" => texts.contains(&"rm") && line.has("rR", "recursive"),
        "gcloud" => {
            let objects = texts.contains(&"rm") && line.has("rR", "recursive");
            let of = |text: &&&str| among("projects sql clusters", text);
            objects || (texts.contains(&"delete") && texts.iter().any(|text| of(&text)))
        }
        "az" => texts.contains(&"delete") && (first == "group" || texts.contains(&"delete-batch")),
        "rclone" => among("purge delete", first),
        "helm" => among("uninstall delete", first),
        _ => false,
    };
    said.then(|| format!("deletes cloud resources: {}", line.shown()))
}

fn databases(line: &Line<'_>) -> Option<String> {
    let texts = line.texts();
    let lower = || texts.iter().map(|text| text.to_lowercase());
    let sql = match line.name.as_str() {
        "psql" => line.text_value("-c --command"),
        "mysql" | "mariadb" => line.text_value("-e --execute"),
        "sqlcmd" => line.text_value("-Q -q"),
        "sqlite3" | "duckdb" => texts.get(1).copied(),
        "clickhouse-client" | "clickhouse" => line.text_value("--query -q"),
        "snowsql" | "bq" => line.text_value("-q").or_else(|| texts.last().copied()),
        _ => None,
    };
    let here = line
        .command
        .redirections
        .iter()
        .find(|from| from.kind == countersign_shell::Kind::Here)
        .map(|from| from.target.text.as_str());
    let client = ["psql", "mysql", "mariadb", "sqlite3"].contains(&line.name.as_str());
    let piped = line
        .upstream()
        .into_iter()
        .filter(|_| client)
        .filter(|command| ["echo", "printf"].contains(&super::line::name_of(command).as_str()));
    let piped: Vec<&str> = piped
        .filter_map(|command| command.words.last()?.literal())
        .collect();
    if let Some(what) = sql
        .into_iter()
        .chain(here.filter(|_| client))
        .chain(piped)
        .find_map(crate::sql::destroys)
    {
        return Some(format!("{what} (by {})", line.name));
    }
    let said = match line.name.as_str() {
        "dropdb" | "dropuser" => true,
        "mysqladmin" => texts.contains(&"drop"),
        "redis-cli" | "valkey-cli" | "keydb-cli" => {
            lower().any(|text| text == "flushall" || text == "flushdb")
        }
        "mongo" | "mongosh" => line.words.iter().any(|word| {
            word.text.contains("dropDatabase")
                || word.text.contains(".drop(")
                || word.text.contains("deleteMany({})")
        }),
        "rails" | "rake" | "mix" => lower().any(|text| {
            among(
                "db:drop db:reset ecto.drop ecto.reset db:purge",
                text.as_str(),
            )
        }),
        "prisma" => texts.contains(&"reset") || line.has("", "force-reset"),
        "php" | "artisan" => {
            lower().any(|text| among("migrate:fresh migrate:reset db:wipe", text.as_str()))
        }
        "python" | "python3" | "manage.py" | "django-admin" => {
            texts
                .iter()
                .any(|text| *text == "flush" || *text == "reset_db")
                && (line.name != "python" || texts[0].ends_with("manage.py"))
        }
        "curl" => {
            line.has("X", "request")
                && line.text_value("-X --request") == Some("DELETE")
                && line
                    .words
                    .iter()
                    .any(|word| word.text.ends_with("/_all") || word.text.ends_with("/*"))
        }
        _ => false,
    };
    said.then(|| format!("drops or flushes a database: {}", line.shown()))
}
