use super::*;

#[test]
fn an_identity_is_made_once_and_its_three_keys_differ() {
    let folder = tempfile::tempdir().unwrap();
    let data = DataDir::open(folder.path()).unwrap();
    assert!(
        Identity::load(&data, "Ada").is_err(),
        "nobody reads what nobody made"
    );
    let lock = data.try_lock().unwrap().unwrap();
    let first = Identity::load_or_create(&data, "Ada", KeyChoice::File, &lock).unwrap();
    let second = Identity::load(&data, "Ada").unwrap();
    assert_eq!(first.console_id, second.console_id);
    assert_eq!(first.human_key(), second.human_key());
    assert_ne!(first.human_key(), first.auto_key());
    assert_ne!(first.login.public_key(), first.human_key().as_str());
}

#[test]
fn a_damaged_key_is_an_error_and_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let data = DataDir::open(folder.path()).unwrap();
    let lock = data.try_lock().unwrap().unwrap();
    fs::create_dir(data.keys()).unwrap();
    fs::write(data.keys().join("human.nk"), "nonsense").unwrap();
    assert!(matches!(
        Identity::load_or_create(&data, "Ada", KeyChoice::File, &lock),
        Err(IdentityError::NotAKey { .. })
    ));
    assert_eq!(
        fs::read_to_string(data.keys().join("human.nk")).unwrap(),
        "nonsense"
    );
}

#[test]
fn a_console_whose_id_cannot_be_read_does_not_become_another_one() {
    let folder = tempfile::tempdir().unwrap();
    let data = DataDir::open(folder.path()).unwrap();
    let lock = data.try_lock().unwrap().unwrap();
    let open = || Identity::load_or_create(&data, "Ada", KeyChoice::File, &lock);
    open().unwrap();
    let file = data.keys().join("console-id");
    for damaged in [&b"nonsense"[..], b"", b"\xff\xfe"] {
        fs::write(&file, damaged).unwrap();
        let error = open().err().unwrap().to_string();
        assert!(error.contains("console-id"), "{error}");
        assert_eq!(fs::read(&file).unwrap(), damaged);
    }
}

/// A place that fails after so many changes, as a console that is killed then.
struct Dies {
    files: SeedFiles,
    left: std::sync::atomic::AtomicUsize,
}

impl Dies {
    fn step(&self) -> Result<(), SeedError> {
        use std::sync::atomic::Ordering::SeqCst;
        let left = self
            .left
            .fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1));
        left.map(drop).map_err(|_| SeedError {
            place: KeyPlace::File,
            at: "here".into(),
            why: "killed".into(),
        })
    }
}

impl SeedStore for Dies {
    fn place(&self) -> KeyPlace {
        KeyPlace::File
    }
    fn describe(&self, name: SeedName) -> String {
        self.files.describe(name)
    }
    fn get(&self, name: SeedName) -> Result<Option<String>, SeedError> {
        self.files.get(name)
    }
    fn put(&self, name: SeedName, seed: &str) -> Result<(), SeedError> {
        self.step()?;
        self.files.put(name, seed)
    }
    fn remove(&self, name: SeedName) -> Result<(), SeedError> {
        self.step()?;
        self.files.remove(name)
    }
}

/// Six changes: two new seeds kept, the list written, and for each role the seed moved and its old
/// place emptied. Killed after any of them, the next start has the keys that the list names.
#[test]
fn a_rotation_killed_between_any_two_steps_leaves_a_console_that_works() {
    for steps in 0..=6 {
        let folder = tempfile::tempdir().unwrap();
        let data = DataDir::open(folder.path()).unwrap();
        let mut dying = Identity::open(&data, "Ada", KeyChoice::File).unwrap();
        let old = [dying.human_key(), dying.auto_key()];
        let hidden = dying.hiding().key();
        dying.seeds = Arc::new(Dies {
            files: SeedFiles::new(data.keys()),
            left: steps.into(),
        });
        let next: Result<Vec<_>, _> = ROLES.into_iter().map(|role| dying.next(role)).collect();
        // The list is written only when both are kept.
        let listed: Option<Vec<PublicKey>> = next.ok().map(|pairs| {
            pairs
                .iter()
                .map(|pair| PublicKey::of(pair).unwrap())
                .collect()
        });
        let takes_over = |_: &PublicKey, new: &PublicKey| {
            listed.as_ref().is_some_and(|listed| listed.contains(new))
        };
        if listed.is_some() {
            assert!(dying.follow(takes_over).unwrap());
            let _ = dying.settle();
        }
        drop(dying);
        let again = Identity::load(&data, "Ada").unwrap();
        again.follow(takes_over).unwrap();
        again.settle().unwrap();
        let now = vec![again.human_key(), again.auto_key()];
        match &listed {
            None => assert_eq!(now, old, "killed after {steps} steps"),
            Some(listed) => assert_eq!(&now, listed, "killed after {steps} steps"),
        }
        assert_eq!(again.hiding().key(), hidden, "hidden values look as before");
        let once_more = Identity::load(&data, "Ada").unwrap();
        assert_eq!(once_more.human_key(), now[0]);
        assert!(!once_more.follow(takes_over).unwrap());
    }
}

#[test]
fn a_rotation_that_was_cut_off_goes_on_with_the_same_keys() {
    let folder = tempfile::tempdir().unwrap();
    let data = DataDir::open(folder.path()).unwrap();
    let identity = Identity::open(&data, "Ada", KeyChoice::File).unwrap();
    for role in ROLES {
        let next = identity.next(role).unwrap();
        let again = Identity::load(&data, "Ada").unwrap().next(role).unwrap();
        assert_eq!(next.public_key(), again.public_key());
        assert_ne!(next.public_key(), identity.signing().key(role).as_str());
    }
    assert!(
        !identity.follow(|_, _| false).unwrap(),
        "the list does not name them yet"
    );
}
