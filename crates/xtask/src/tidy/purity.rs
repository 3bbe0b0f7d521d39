//! The domain names nothing of `std` that reaches outside the process. Clocks are banned in `clippy.toml`.

use regex::Regex;

use super::Finding;
use super::tree::Source;

pub(super) fn check(sources: &[Source]) -> anyhow::Result<Vec<Finding>> {
    let impure = Regex::new(r"std::(?:\{[^}]*\b)?(env|fs|io|net|process|thread)\b")?;
    let mut findings = Vec::new();
    for source in sources {
        if let Some(found) = impure.captures(&source.text)
            && source.path.starts_with("crates/domain/src/")
        {
            let message = format!("names `std::{}`: the domain does no I/O", &found[1]);
            findings.push(Finding::new(&source.path, message));
        }
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reaches_outside_is_found_in_the_domain_alone() {
        let count = |path: &str, text: &str| check(&[Source::new(path, text)]).unwrap().len();
        let domain = "crates/domain/src/life.rs";
        for text in [
            "use std::fs;",
            "use std::{fmt, io};",
            "fn f() { std::process::exit(1) }",
        ] {
            assert_eq!(count(domain, text), 1, "{text}");
            assert_eq!(count("crates/keys/src/life.rs", text), 0, "{text}");
        }
        assert_eq!(
            count(domain, "use std::fmt; use std::{iter, time::Duration};"),
            0
        );
    }
}
