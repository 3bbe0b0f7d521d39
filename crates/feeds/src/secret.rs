//! Secrets of webhooks: files in the folder `feeds` of the data folder, made when they are first needed.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use countersign_domain::Timestamp;

use crate::config::FOLDER;

/// How long a secret that was replaced signs too, ms.
const OLD_MS: i64 = 24 * 3_600_000;

fn path(folder: &Path, name: &str, ending: &str) -> PathBuf {
    folder.join(FOLDER).join(format!("{name}.{ending}"))
}

/// Makes the folder of feeds, for nobody else.
///
/// # Errors
/// When it cannot be made.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder.join(FOLDER))
}

fn write(folder: &Path, at: &Path, text: &str, replace: bool) -> io::Result<()> {
    make_folder(folder)?;
    let new = at.with_added_extension(format!("{:08x}.new", rand::random::<u32>()));
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&new)?;
    writeln!(file, "{text}")?;
    file.sync_all()?;
    if replace {
        fs::rename(&new, at)?;
    } else {
        // Of two that make it, one does.
        let made = fs::hard_link(&new, at);
        fs::remove_file(&new)?;
        made.or_else(|error| {
            if error.kind() == io::ErrorKind::AlreadyExists {
                Ok(())
            } else {
                Err(error)
            }
        })?;
    }
    fs::File::open(folder.join(FOLDER))?.sync_all()
}

/// The secret of a feed.
///
/// # Errors
/// When it can be neither read nor made, or holds something else.
pub fn current(folder: &Path, name: &str) -> io::Result<String> {
    let at = path(folder, name, "secret");
    if !at.exists() {
        write(
            folder,
            &at,
            &countersign_post::secret(&rand::random()),
            false,
        )?;
    }
    let secret = fs::read_to_string(&at)?.trim().to_owned();
    if countersign_post::is_secret(&secret) {
        return Ok(secret);
    }
    let why = format!(
        "{} holds no secret; put it back, or remove it and give the receiver the new one",
        at.display()
    );
    Err(io::Error::new(io::ErrorKind::InvalidData, why))
}

/// The secrets that sign now: also the former one, for a day.
///
/// # Errors
/// As [`current`].
pub fn signing(folder: &Path, name: &str, now: i64) -> io::Result<Vec<String>> {
    let mut secrets = vec![current(folder, name)?];
    let old = fs::read_to_string(path(folder, name, "old")).unwrap_or_default();
    if let Some((secret, until)) = old.trim().split_once(' ')
        && Timestamp::parse(until).is_some_and(|until| now < until.0)
    {
        secrets.push(secret.to_owned());
    }
    Ok(secrets)
}

/// Makes a new secret. Returns it, and until when the former one signs too.
///
/// # Errors
/// When it cannot be written; the former one then stays.
pub fn rotate(folder: &Path, name: &str, now: i64) -> io::Result<(String, Timestamp)> {
    make_folder(folder)?;
    // One at a time: a secret that was printed would never sign.
    let alone = fs::File::open(folder.join(FOLDER))?;
    alone.lock()?;
    let (former, until) = (current(folder, name)?, Timestamp(now + OLD_MS));
    let new = countersign_post::secret(&rand::random());
    write(
        folder,
        &path(folder, name, "old"),
        &format!("{former} {}", until.rfc3339()),
        true,
    )?;
    write(folder, &path(folder, name, "secret"), &new, true)?;
    Ok((new, until))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_secret_is_made_once_and_a_former_one_signs_for_a_day() {
        let folder = tempfile::tempdir().unwrap();
        let first = current(folder.path(), "soc").unwrap();
        assert!(
            first.starts_with("whsec_") && first.len() == 6 + 44,
            "{first}"
        );
        assert_eq!(current(folder.path(), "soc").unwrap(), first);
        assert_ne!(current(folder.path(), "other").unwrap(), first);
        let mode = |file: &str| {
            fs::metadata(folder.path().join(file))
                .unwrap()
                .permissions()
                .mode()
                & 0o777
        };
        assert_eq!((mode("feeds"), mode("feeds/soc.secret")), (0o700, 0o600));
        let (second, until) = rotate(folder.path(), "soc", 1_000).unwrap();
        assert_eq!(until.0, 1_000 + OLD_MS);
        assert_eq!(
            signing(folder.path(), "soc", until.0 - 1).unwrap(),
            [second.clone(), first]
        );
        assert_eq!(signing(folder.path(), "soc", until.0).unwrap(), [second]);
        assert_eq!(mode("feeds/soc.old"), 0o600);
        assert_eq!(
            fs::read_dir(folder.path().join("feeds")).unwrap().count(),
            3
        );
    }

    #[test]
    fn of_two_that_rotate_at_once_each_new_secret_signs() {
        let folder = tempfile::tempdir().unwrap();
        for _ in 0..20 {
            let made = std::thread::scope(|scope| {
                let rotated = || rotate(folder.path(), "soc", 0).unwrap().0;
                let both = [scope.spawn(rotated), scope.spawn(rotated)];
                both.map(|one| one.join().unwrap())
            });
            let signing = signing(folder.path(), "soc", 1).unwrap();
            assert!(made.iter().all(|secret| signing.contains(secret)));
        }
    }

    #[test]
    fn a_damaged_secret_signs_nothing_and_is_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        current(folder.path(), "soc").unwrap();
        let file = folder.path().join("feeds/soc.secret");
        for damaged in ["", "whsec_", "whsec_AAAA", "whsec_ä", "AAAA"] {
            fs::write(&file, damaged).unwrap();
            assert!(signing(folder.path(), "soc", 0).is_err(), "{damaged}");
            assert!(rotate(folder.path(), "soc", 0).is_err(), "{damaged}");
            assert_eq!(fs::read_to_string(&file).unwrap(), damaged);
        }
    }
}
