//! A data folder that cannot be written, and a database that was changed.

use std::fs::Permissions;
use std::os::unix::fs::{FileExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;

use countersign_testkit::TempData;
use nix::sys::signal::Signal;
use sqlx::{Connection, SqliteConnection};

use crate::desk::{Agent, Console, Desk, Ended, ended_in_time};

/// A folder with one waiting request; no console runs in it.
async fn filled() -> Desk {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    agent.ask(&agent.request("r1").lasting(600_000)).await;
    desk.show_in_state("r1", "pending");
    console.stop(Signal::SIGTERM);
    desk
}

fn refused(ended: &Ended, why: &str) {
    let (exit, code, message) = ended.error();
    assert_eq!((exit, code.as_str()), (8, "read_only"), "{message}");
    assert!(message.contains(why), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_console_knew_when_it_ended_is_in_its_one_file() {
    let desk = filled().await;
    let copy = TempData::new();
    let file = copy.path().join("alone.db");
    std::fs::copy(desk.path().join("countersign.db"), &file).unwrap();
    let mut store = SqliteConnection::connect(&format!("sqlite://{}", file.display()))
        .await
        .unwrap();
    let known: Vec<String> = sqlx::query_scalar("SELECT request_id FROM requests")
        .fetch_all(&mut store)
        .await
        .unwrap();
    assert_eq!(known, ["r1"]);
    store.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_database_is_said_so_and_not_mended() {
    type Damage = fn(&Path);
    let damages: [(&str, Damage); 4] = [
        ("a wrong header", |path| {
            let file = std::fs::File::options().write(true).open(path).unwrap();
            file.write_all_at(b"not SQLite at all", 0).unwrap();
        }),
        ("cut in the middle", |path| {
            let file = std::fs::File::options().write(true).open(path).unwrap();
            let size = file.metadata().unwrap().len();
            file.set_len(size / 2).unwrap();
        }),
        ("pages of noise", |path| {
            let file = std::fs::File::options().write(true).open(path).unwrap();
            let size = usize::try_from(file.metadata().unwrap().len()).unwrap();
            file.write_all_at(&vec![0xA5; size - 8_192], 8_192).unwrap();
        }),
        ("empty", |path| {
            std::fs::File::create(path).unwrap();
        }),
    ];
    let desk = filled().await;
    let path = desk.path().join("countersign.db");
    let whole = std::fs::read(&path).unwrap();
    for (name, damage) in damages {
        std::fs::write(&path, &whole).unwrap();
        damage(&path);
        let broken = std::fs::read(&path).unwrap();
        for command in [
            &["serve", "--json"][..],
            &["deny", "r1", "--message", "no", "--json"],
        ] {
            let found = desk.run(command);
            refused(&found, "countersign restore");
            assert_eq!(std::fs::read(&path).unwrap(), broken, "{name}: mended");
        }
    }
    std::fs::write(&path, &whole).unwrap();
    let _console = Console::start(&desk);
    desk.show_in_state("r1", "pending");
}

/// Nobody writes where the superuser may: then the program runs as somebody else.
fn as_owner(desk: &Desk, arguments: &[&str]) -> Ended {
    const NOBODY: u32 = 65_534;
    let mut command = desk.command(arguments);
    if nix::unistd::geteuid().is_root() {
        for entry in walk(desk.path()) {
            chown(entry, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        command.uid(NOBODY).gid(NOBODY);
    }
    ended_in_time(command)
}

fn walk(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = vec![folder.to_owned()];
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        match entry.path().is_dir() {
            true => found.extend(walk(&entry.path())),
            false => found.push(entry.path()),
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_takes_no_writes_can_still_be_read() {
    let desk = filled().await;
    let file = desk.path().join("console.lock");
    let modes = [(desk.path().to_owned(), 0o500), (file, 0o400)];
    for (path, mode) in &modes {
        std::fs::set_permissions(path, Permissions::from_mode(*mode)).unwrap();
    }
    let shown = as_owner(&desk, &["show", "r1", "--json"]).success();
    assert_eq!(shown.lines()[0]["state"], "pending");
    let listed = as_owner(&desk, &["inbox", "--json"]).success();
    assert_eq!(listed.lines()[0]["request_id"], "r1");
    for command in [
        &["serve", "--json"][..],
        &["deny", "r1", "--message", "no", "--json"],
    ] {
        refused(&as_owner(&desk, command), "");
    }
    for (path, _) in &modes {
        std::fs::set_permissions(path, Permissions::from_mode(0o700)).unwrap();
    }
}
