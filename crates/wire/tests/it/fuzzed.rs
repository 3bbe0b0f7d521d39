//! The fuzz targets on what is known: the published examples, the kept corpus, and each cut short. `make fuzz` looks
//! for more.

use std::fs;
use std::path::Path;

#[path = "../../../../fuzz/src/lib.rs"]
#[expect(unreachable_pub, reason = "the fuzz programs call them too")]
mod targets;

type Target = fn(&[u8]);

const TARGETS: [(&str, Target); 7] = [
    ("request", targets::request),
    ("decision", targets::decision),
    ("event", targets::event),
    ("digest", targets::digest),
    ("shown", targets::shown),
    ("realm_entry", targets::realm_entry),
    ("passkey", targets::passkey),
];

fn files(folder: &Path) -> Vec<Vec<u8>> {
    fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| fs::read(entry.unwrap().path()).unwrap())
        .collect()
}

#[test]
fn every_fuzz_target_holds_for_the_examples_and_the_corpus() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let examples = files(&root.join("docs/protocol/examples"));
    assert!(examples.len() > 20);
    for (name, target) in TARGETS {
        let corpus = files(&root.join("fuzz/corpus").join(name));
        assert!(!corpus.is_empty(), "{name}");
        for input in examples.iter().chain(&corpus) {
            target(input);
            target(&input[..input.len() / 2]);
        }
    }
}
