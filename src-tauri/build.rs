//! Build script of the application: generates Tauri's context, which only the window needs.

fn main() {
    println!("cargo:rerun-if-changed=migrations");
    #[cfg(feature = "gui")]
    window();
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
