//! The guide's examples are rules that read.

use crate::read_file;

#[test]
fn every_rule_in_the_guide_reads() {
    let guide = include_str!("../../../../docs/rules.md");
    let blocks: Vec<&str> = guide
        .split("```toml\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert!(!blocks.is_empty());
    for block in blocks {
        let rules = read_file(block).unwrap_or_else(|problems| panic!("{problems:?}"));
        assert!(rules.len() >= 3, "{block}");
    }
}
