//! Build script of the application: generates Tauri's context, which only the window needs.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=migrations");
    commit();
    #[cfg(feature = "gui")]
    window();
}

/// What `--version` names. A debug build keeps the commit that it was first built from: to follow each commit would
/// compile the program again after each.
fn commit() {
    println!("cargo:rerun-if-env-changed=COUNTERSIGN_COMMIT");
    let named = env::var("COUNTERSIGN_COMMIT").ok();
    let named = named.filter(|commit| !commit.is_empty());
    let commit = named.or_else(|| git(&["rev-parse", "--short=12", "HEAD"]));
    if env::var("PROFILE").as_deref() == Ok("release")
        && let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"])
    {
        println!("cargo:rerun-if-changed={log}");
    }
    let commit = commit.unwrap_or_else(|| "unknown".to_owned());
    println!("cargo:rustc-env=COUNTERSIGN_COMMIT={commit}");
    let target = env::var("TARGET").unwrap_or_default();
    println!("cargo:rustc-env=COUNTERSIGN_TARGET={target}");
}

fn git(words: &[&str]) -> Option<String> {
    let asked = Command::new("git").args(words).output().ok()?;
    let word = String::from_utf8(asked.stdout).ok()?.trim().to_owned();
    (asked.status.success() && !word.is_empty()).then_some(word)
}

#[cfg(feature = "gui")]
#[allow(
    clippy::expect_used,
    reason = "a build script has nobody to return an error to"
)]
fn window() {
    println!("cargo:rerun-if-changed=src-tauri/capabilities");
    println!("cargo:rerun-if-changed=tauri.conf.json");
    println!("cargo:rerun-if-changed=ui/dist");
    // Naming the commands makes each of them forbidden until a capability allows it.
    let manifest = tauri_build::AppManifest::new().commands(&["call", "subscribe"]);
    let attributes = tauri_build::Attributes::new()
        .capabilities_path_pattern("./src-tauri/capabilities/**/*")
        .app_manifest(manifest);
    tauri_build::try_build(attributes).expect("tauri.conf.json, capabilities and icons must fit");
}
