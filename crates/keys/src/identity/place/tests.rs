use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use nkeys::KeyPair;

use super::super::*;
use super::*;

/// A keychain in memory that may be locked, and whose process is killed after so many changes.
#[derive(Clone)]
struct Fake {
    seeds: Arc<Mutex<BTreeMap<SeedName, String>>>,
    locked: Arc<AtomicBool>,
    left: Arc<AtomicUsize>,
}

impl Fake {
    fn new() -> Self {
        Self {
            seeds: Arc::default(),
            locked: Arc::default(),
            left: Arc::new(AtomicUsize::new(usize::MAX)),
        }
    }

    fn with(seeds: &[(SeedName, &str)], left: &Arc<AtomicUsize>) -> Self {
        let held = seeds.iter().map(|(name, seed)| (*name, (*seed).to_owned()));
        Self {
            seeds: Arc::new(Mutex::new(held.collect())),
            locked: Arc::default(),
            left: Arc::clone(left),
        }
    }

    fn held(&self) -> BTreeMap<SeedName, String> {
        self.seeds.lock().unwrap().clone()
    }

    fn look(&self) -> Result<(), SeedError> {
        match self.locked.load(SeqCst) {
            true => Err(error("it is locked")),
            false => Ok(()),
        }
    }

    fn change(&self) -> Result<(), SeedError> {
        self.look()?;
        step(&self.left)
    }

    fn open(&self) -> impl Fn(Uuid) -> Arc<dyn SeedStore> + use<> {
        let fake = self.clone();
        move |_| Arc::new(fake.clone())
    }
}

fn error(why: &str) -> SeedError {
    SeedError {
        place: KeyPlace::Keychain,
        at: "the keychain".into(),
        why: why.into(),
    }
}

fn step(left: &AtomicUsize) -> Result<(), SeedError> {
    let step = left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1));
    step.map(drop).map_err(|_| error("killed"))
}

impl SeedStore for Fake {
    fn place(&self) -> KeyPlace {
        KeyPlace::Keychain
    }
    fn describe(&self, name: SeedName) -> String {
        format!("fake {}", name.as_str())
    }
    fn usable(&self) -> Result<(), SeedError> {
        self.look()
    }
    fn get(&self, name: SeedName) -> Result<Option<String>, SeedError> {
        self.look()?;
        Ok(self.held().get(&name).cloned())
    }
    fn put(&self, name: SeedName, seed: &str) -> Result<(), SeedError> {
        self.change()?;
        self.seeds.lock().unwrap().insert(name, seed.to_owned());
        Ok(())
    }
    fn remove(&self, name: SeedName) -> Result<(), SeedError> {
        self.change()?;
        self.seeds.lock().unwrap().remove(&name);
        Ok(())
    }
}

fn start(data: &DataDir, choice: KeyChoice, keychain: &Fake) -> Result<Identity, IdentityError> {
    Identity::read(data, "Ada", Missing::Make, choice, &keychain.open())
}

fn folder() -> (tempfile::TempDir, DataDir) {
    let folder = tempfile::tempdir().unwrap();
    let data = DataDir::open(folder.path()).unwrap();
    (folder, data)
}

fn files(data: &DataDir) -> bool {
    data.keys().join("human.nk").exists() || data.keys().join("auto.nk").exists()
}

#[test]
fn a_new_console_keeps_its_seeds_where_it_can_and_says_why() {
    use KeyChoice::{Auto, File, Keychain};
    for (choice, locked, place) in [
        (Auto, false, Some(KeyPlace::Keychain)),
        (Auto, true, Some(KeyPlace::File)),
        (File, false, Some(KeyPlace::File)),
        (Keychain, false, Some(KeyPlace::Keychain)),
        (Keychain, true, None),
    ] {
        let (_folder, data) = folder();
        let keychain = Fake::new();
        keychain.locked.store(locked, SeqCst);
        let made = start(&data, choice, &keychain);
        assert_eq!(
            made.as_ref().ok().map(Identity::key_place),
            place,
            "{choice:?}"
        );
        assert_eq!(files(&data), place == Some(KeyPlace::File), "{choice:?}");
        assert_eq!(
            keychain.held().len(),
            2 * usize::from(place == Some(KeyPlace::Keychain))
        );
        if let Ok(made) = made {
            assert_eq!(Kept::of(&data).as_ref(), Some(made.kept()));
            assert!(
                !locked || made.kept().why.contains("it is locked"),
                "{:?}",
                made.kept()
            );
        }
    }
}

#[test]
fn a_console_with_seeds_keeps_them_where_they_are_whatever_is_asked_for() {
    for (first, then, place) in [
        (KeyChoice::File, KeyChoice::Keychain, KeyPlace::File),
        (KeyChoice::Keychain, KeyChoice::File, KeyPlace::Keychain),
    ] {
        let (_folder, data) = folder();
        let keychain = Fake::new();
        let made = start(&data, first, &keychain).unwrap();
        let again = start(&data, then, &keychain).unwrap();
        assert_eq!(again.key_place(), place);
        assert_eq!(again.human_key(), made.human_key());
    }
    // From before there was a choice: files, and nothing that names a place.
    let (_folder, data) = folder();
    let keychain = Fake::new();
    let made = start(&data, KeyChoice::File, &keychain).unwrap();
    fs::remove_file(data.keys().join(PLACE_FILE)).unwrap();
    let again = start(&data, KeyChoice::Auto, &keychain).unwrap();
    assert_eq!(
        (again.key_place(), again.auto_key()),
        (KeyPlace::File, made.auto_key())
    );
}

#[test]
fn a_keychain_that_does_not_answer_or_lost_a_key_makes_no_new_console() {
    let (_folder, data) = folder();
    let keychain = Fake::new();
    let made = start(&data, KeyChoice::Auto, &keychain).unwrap();
    keychain.locked.store(true, SeqCst);
    let refused = start(&data, KeyChoice::Auto, &keychain).err().unwrap();
    assert!(matches!(refused, IdentityError::Seed(_)), "{refused}");
    assert!(
        refused.to_string().contains("keys move --to file"),
        "{refused}"
    );
    keychain.locked.store(false, SeqCst);
    assert_eq!(
        start(&data, KeyChoice::Auto, &keychain)
            .unwrap()
            .human_key(),
        made.human_key()
    );
    keychain.seeds.lock().unwrap().remove(&SeedName::Auto);
    let refused = start(&data, KeyChoice::Auto, &keychain).err().unwrap();
    assert!(matches!(refused, IdentityError::Gone { .. }), "{refused}");
    assert!(!files(&data));
    assert_eq!(keychain.held().len(), 1, "nothing was made");
}

#[test]
fn a_first_start_that_was_cut_off_goes_on_with_the_seeds_it_made() {
    let (_folder, data) = folder();
    let keychain = Fake::new();
    keychain.left.store(1, SeqCst);
    assert!(start(&data, KeyChoice::Auto, &keychain).is_err());
    let made = keychain.held();
    keychain.left.store(usize::MAX, SeqCst);
    let again = start(&data, KeyChoice::Auto, &keychain).unwrap();
    let human = KeyPair::from_seed(&made[&SeedName::Human]).unwrap();
    assert_eq!(again.human_key().as_str(), human.public_key());
}

#[test]
fn seeds_move_between_file_and_keychain_and_the_keys_stay() {
    let (_folder, data) = folder();
    let keychain = Fake::new();
    let made = start(&data, KeyChoice::File, &keychain).unwrap();
    assert_eq!(
        made.relocate_with(KeyPlace::Keychain, &keychain.open())
            .unwrap(),
        None
    );
    assert!(!files(&data));
    let there = start(&data, KeyChoice::Auto, &keychain).unwrap();
    assert_eq!(there.key_place(), KeyPlace::Keychain);
    assert_eq!(there.human_key(), made.human_key());
    assert_eq!(
        there
            .relocate_with(KeyPlace::File, &keychain.open())
            .unwrap(),
        None
    );
    assert!(keychain.held().is_empty());
    let back = start(&data, KeyChoice::Auto, &keychain).unwrap();
    assert_eq!(
        (back.key_place(), back.auto_key()),
        (KeyPlace::File, made.auto_key())
    );
    // A keychain that takes nothing leaves everything as it was.
    keychain.locked.store(true, SeqCst);
    assert!(
        back.relocate_with(KeyPlace::Keychain, &keychain.open())
            .is_err()
    );
    assert!(files(&data));
}

#[test]
fn a_move_killed_between_any_two_steps_leaves_every_seed_in_the_place_that_is_remembered() {
    use SeedName::{Auto, Human, NextAuto, NextHuman};
    let seeds = [(Human, "h"), (Auto, "a"), (NextHuman, "n")];
    let whole: BTreeMap<_, _> = seeds
        .iter()
        .map(|(name, s)| (*name, (*s).to_owned()))
        .collect();
    let mut ended_well = false;
    for steps in 0..20 {
        let left = Arc::new(AtomicUsize::new(steps));
        let from = Fake::with(&seeds, &left);
        // What an earlier move has left there.
        let to = Fake::with(&[(Human, "older"), (NextAuto, "older")], &left);
        let moved = Cell::new(false);
        let done = relocate(&from, &to, || {
            step(&left)?;
            moved.set(true);
            Ok(())
        });
        let remembered = if moved.get() { &to } else { &from };
        assert_eq!(remembered.held(), whole, "killed after {steps} steps");
        ended_well = matches!(done, Ok(None));
        left.store(usize::MAX, SeqCst);
        match moved.get() {
            true => assert_eq!(clear(&from), None),
            false => assert_eq!(relocate(&from, &to, || Ok(())).unwrap(), None),
        }
        assert_eq!(
            (to.held(), from.held().len()),
            (whole.clone(), 0),
            "moved again after {steps}"
        );
    }
    assert!(ended_well, "with enough steps it ends");
}
