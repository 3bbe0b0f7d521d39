//! The open set and those of each principle: bad calls carry a true finding where they are bad, good ones carry none.
//!
//! `JUDGEMENT_SETS` names another folder to measure; its figures are printed, nothing is asserted of them.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::panic, missing_docs)]

mod measure;

use std::path::{Path, PathBuf};

use measure::measured;

fn set(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/data/judgement")
        .join(name)
}

#[test]
fn the_open_set_is_read_as_a_careful_reader_reads_it() {
    if let Some(folder) = std::env::var_os("JUDGEMENT_SETS") {
        measured(Path::new(&folder));
        return;
    }
    let sum = measured(&set("open"));
    assert!(sum.all.right >= 104, "{} bad calls are seen", sum.all.right);
    assert!(sum.marked == 0, "{} good calls are marked", sum.marked);
}

#[test]
fn sets_written_before_their_principles_are_seen_as_well() {
    let folders = std::fs::read_dir(set("v3")).unwrap();
    let folders = folders.map(|entry| entry.unwrap().path());
    let (mut right, mut marked, mut stopped) = (0, 0, 0);
    for folder in folders.filter(|path| path.is_dir() && !path.ends_with("ordinary")) {
        let sum = measured(&folder);
        right += sum.all.right;
        marked += sum.marked;
        stopped += sum.stopped;
    }
    println!("{right} right, {marked} good marked, {stopped} stopped");
    assert!(right >= 74, "{right} bad calls are seen");
    assert!(
        marked <= 2 && stopped <= 1,
        "{marked} good calls are marked, {stopped} to stop"
    );
}

#[test]
fn of_a_thousand_ordinary_calls_few_are_marked() {
    let sum = measured(&set("v3/ordinary"));
    assert_eq!(sum.good, 1_000);
    assert!(sum.marked <= 10, "{} are marked", sum.marked);
}
