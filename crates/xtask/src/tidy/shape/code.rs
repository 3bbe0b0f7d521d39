//! The product's modules: their code lines without tests and comments.

use super::super::tree::Source;

/// One file of a crate.
#[derive(Debug)]
pub(super) struct Module {
    /// The crate's folder from the workspace root, such as `crates/core`.
    pub(super) folder: String,
    /// The path of the module in its crate; empty for the crate itself.
    pub(super) path: Vec<String>,
    pub(super) text: String,
}

/// Folders that are no product, or test it.
const LEFT_OUT: [&str; 8] = [
    "tests", "test", "testkit", "model", "benches", "fuzz", "examples", "xtask",
];

pub(super) fn modules(sources: &[Source]) -> Vec<Module> {
    sources.iter().filter_map(module).collect()
}

fn module(source: &Source) -> Option<Module> {
    let (folder, inside) = source.path.split_once("/src/")?;
    let is_crate = folder.starts_with("crates/") || ["src-tauri", "sdk/rust"].contains(&folder);
    let inside = inside.strip_suffix(".rs")?;
    let mut path: Vec<_> = inside.split('/').map(str::to_owned).collect();
    let tests = |part: &str| {
        LEFT_OUT.contains(&part) || part.ends_with("_tests") || part.ends_with("_test")
    };
    if !is_crate
        || folder
            .split('/')
            .chain(path.iter().map(String::as_str))
            .any(tests)
    {
        return None;
    }
    if matches!(
        path.last().map(String::as_str),
        Some("mod" | "lib" | "main")
    ) {
        path.pop();
    }
    Some(Module {
        folder: folder.to_owned(),
        path,
        text: without_tests(&source.text),
    })
}

/// The lines that are no comment and not under `#[cfg(test)]`.
fn without_tests(text: &str) -> String {
    let mut kept = String::new();
    // Inside of a test item: how deep its braces are, and whether the first one is still to come.
    let mut item: Option<(i64, bool)> = None;
    for raw in text.lines() {
        let line = raw.trim();
        if line.starts_with("//") {
            continue;
        }
        if let Some((depth, waiting)) = &mut item {
            let count = |brace: char| i64::try_from(line.matches(brace).count()).unwrap_or(0);
            *depth += count('{') - count('}');
            *waiting = *waiting && !line.contains('{');
            if (!*waiting && *depth <= 0) || (*waiting && line.ends_with(';')) {
                item = None;
            }
        } else if line.starts_with("#[cfg(test)]") {
            item = Some((0, true));
        } else {
            kept.push_str(raw);
            kept.push('\n');
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_and_comments_are_left_out() {
        let text = "// a\nfn a() {}\n#[cfg(test)]\nmod far;\nfn b() {}\n#[cfg(test)]\nmod tests {\n    fn c() {}\n}\nfn d() {}\n";
        assert_eq!(without_tests(text), "fn a() {}\nfn b() {}\nfn d() {}\n");
    }

    #[test]
    fn files_of_the_product_have_a_module_path() {
        let path = |at: &str| module(&Source::new(at, "")).map(|module| module.path.join("::"));
        assert_eq!(
            path("crates/core/src/ops/job.rs").as_deref(),
            Some("ops::job")
        );
        assert_eq!(path("crates/core/src/lib.rs").as_deref(), Some(""));
        for at in [
            "crates/core/src/ops/model/bus.rs",
            "crates/core/tests/a.rs",
            "crates/xtask/src/main.rs",
            "ui/src/a.ts",
        ] {
            assert_eq!(path(at), None, "{at}");
        }
    }
}
