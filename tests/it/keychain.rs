//! The seeds of the signing keys in a real keychain: GNOME Keyring on a session bus of the test's own.
//!
//! Bus and folders are the test's, apart from the keychain of the person who runs the tests.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::sys::signal::Signal;
use tokio::time::Instant;

use crate::desk::{Console, Desk, LIMIT, Running, eventually};

/// A session bus, and a folder for the keychain on it.
struct Session {
    folder: tempfile::TempDir,
    keychain: Option<Running>,
    _bus: Running,
}

impl Session {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("bus");
        // Without service files: nothing is started because somebody asks for it.
        let config = folder.path().join("bus.conf");
        let text = format!(
            "<busconfig><type>session</type><listen>unix:path={}</listen><policy context=\"default\">\
             <allow send_destination=\"*\" eavesdrop=\"true\"/><allow eavesdrop=\"true\"/><allow own=\"*\"/>\
             </policy></busconfig>",
            socket.display()
        );
        fs::write(&config, text).unwrap();
        let bus = Command::new("dbus-daemon")
            .args(["--nofork", "--nopidfile"])
            .arg(format!("--config-file={}", config.display()))
            .spawn()
            .expect("dbus-daemon is there: scripts/setup.sh keychain installs it");
        let session = Self {
            folder,
            keychain: None,
            _bus: Running(bus),
        };
        eventually(|| socket.exists().then_some(()).ok_or("no bus"));
        session
    }

    fn address(&self) -> String {
        format!("unix:path={}", self.folder.path().join("bus").display())
    }

    /// Starts the keychain: open, or locked as before its person logged in.
    fn keychain(&mut self, open: bool) {
        self.keychain = None;
        let home: PathBuf = self.folder.path().join("home");
        let control = self.folder.path().join("run");
        for folder in [&home, &control] {
            fs::create_dir_all(folder).unwrap();
            // It takes no folder that others may look into.
            fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
        }
        let mut command = Command::new("gnome-keyring-daemon");
        command
            .args(["--foreground", "--components=secrets"])
            .arg(format!("--control-directory={}", control.display()))
            .env("HOME", &home)
            .env("XDG_RUNTIME_DIR", &control)
            .env("DBUS_SESSION_BUS_ADDRESS", self.address())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        for name in [
            "XDG_DATA_HOME",
            "XDG_CONFIG_HOME",
            "XDG_CACHE_HOME",
            "DISPLAY",
        ] {
            command.env_remove(name);
        }
        if open {
            command.arg("--unlock");
        }
        let mut child = command
            .spawn()
            .expect("gnome-keyring-daemon is there: scripts/setup.sh keychain installs it");
        let mut password = child.stdin.take().unwrap();
        password.write_all(b"a password of the test\n").unwrap();
        drop(password);
        // It prints where it listens, and is on the bus a moment later.
        let mut first = [0; 1];
        child
            .stdout
            .as_mut()
            .unwrap()
            .read_exact(&mut first)
            .unwrap();
        self.keychain = Some(Running(child));
        eventually(|| match self.has_secrets() {
            true => Ok(()),
            false => Err("no keychain on the bus"),
        });
    }

    fn has_secrets(&self) -> bool {
        let asked = Command::new("dbus-send")
            .arg(format!("--bus={}", self.address()))
            .args(["--print-reply=literal", "--dest=org.freedesktop.DBus"])
            .args(["/", "org.freedesktop.DBus.NameHasOwner"])
            .arg("string:org.freedesktop.secrets")
            .output()
            .expect("dbus-send is there: scripts/setup.sh keychain installs it");
        String::from_utf8_lossy(&asked.stdout).contains("true")
    }

    fn desk(&self) -> Desk {
        Desk::new()
            .with("DBUS_SESSION_BUS_ADDRESS", self.address())
            .with("COUNTERSIGN_KEYS", "auto")
    }
}

fn seed_files(desk: &Desk) -> bool {
    let keys: &Path = &desk.path().join("keys");
    keys.join("human.nk").exists() || keys.join("auto.nk").exists()
}

/// The operator's key of a console that was started and stopped.
fn operator_key(desk: &Desk) -> String {
    let console = Console::start(desk);
    let key = console.ready["operator_key"].as_str().unwrap().to_owned();
    assert_eq!(console.stop(Signal::SIGTERM).0, Some(0));
    key
}

#[test]
fn seeds_live_in_the_keychain_and_no_other_console_appears_when_it_does_not_answer() {
    let mut session = Session::start();
    session.keychain(true);
    let desk = session.desk();
    let key = operator_key(&desk);
    assert!(!seed_files(&desk));
    let shown = desk.json(&["keys", "show", "--json"]);
    assert_eq!(
        (&shown["place"], &shown["human"]),
        (&"keychain".into(), &key.clone().into())
    );
    assert_eq!(
        desk.json(&["status", "--json"])["keys"]["place"],
        "keychain"
    );

    // Gone, then there but locked: an error in time that says what to do, and nothing is made.
    session.keychain = None;
    for locked in [false, true] {
        if locked {
            session.keychain(false);
        }
        let begun = Instant::now();
        let (exit, code, message) = desk.run(&["serve", "--json"]).error();
        assert_eq!((exit, code.as_str()), (2, "environment"), "{message}");
        assert!(message.contains("keys move --to file"), "{message}");
        assert!(!locked || message.contains("it is locked"), "{message}");
        assert!(begun.elapsed() < LIMIT / 2);
        assert!(!seed_files(&desk));
    }
    // A new console beside a locked keychain uses files, and says why.
    let other = session.desk();
    operator_key(&other);
    let why = other.json(&["keys", "show", "--json"]);
    assert_eq!(why["place"], "file");
    assert!(
        why["why"].as_str().unwrap().contains("it is locked"),
        "{why}"
    );
    assert!(seed_files(&other));

    session.keychain(true);
    assert_eq!(operator_key(&desk), key);
}

#[test]
fn seeds_move_out_of_the_keychain_and_back_and_the_keys_stay() {
    let mut session = Session::start();
    session.keychain(true);
    let desk = session.desk();
    let console = Console::start(&desk);
    let key = console.ready["operator_key"].clone();
    let (_, _, message) = desk
        .run(&["keys", "move", "--to", "file", "--json"])
        .error();
    assert!(message.contains("stop it first"), "{message}");
    assert_eq!(console.stop(Signal::SIGTERM).0, Some(0));

    let moved = desk.json(&["keys", "move", "--to", "file", "--json"]);
    assert_eq!(
        (&moved["moved"], &moved["left"]),
        (&true.into(), &().into())
    );
    assert!(seed_files(&desk));
    // It needs the keychain no more.
    session.keychain = None;
    assert_eq!(operator_key(&desk), key);

    session.keychain(true);
    let moved = desk.json(&["keys", "move", "--to", "keychain", "--json"]);
    assert_eq!(
        (&moved["moved"], &moved["left"]),
        (&true.into(), &().into())
    );
    assert!(!seed_files(&desk));
    assert_eq!(operator_key(&desk), key);
    let again = desk.json(&["keys", "move", "--to", "keychain", "--json"]);
    assert_eq!(again["moved"], false);
    assert_eq!(desk.json(&["audit", "verify", "--json"])["ok"], true);
}

#[test]
fn a_backup_with_keys_brings_back_what_the_keychain_lost_and_one_without_leaves_it_there() {
    let mut session = Session::start();
    session.keychain(true);
    let desk = session.desk();
    let key = operator_key(&desk);
    let file = |name: &str| session.folder.path().join(name).display().to_string();
    let (with, without) = (file("with.backup"), file("without.backup"));
    desk.run(&["backup", &with, "--include-keys"]).success();
    desk.run(&["backup", &without]).success();
    desk.run(&["restore", &without, "--replace"]).success();
    assert_eq!(
        (operator_key(&desk), seed_files(&desk)),
        (key.clone(), false)
    );
    session.keychain = None;
    desk.run(&["restore", &with, "--replace"]).success();
    assert_eq!((operator_key(&desk), seed_files(&desk)), (key, true));
}
