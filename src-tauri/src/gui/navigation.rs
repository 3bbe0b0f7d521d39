//! Navigation of the window: to its own page only.
//!
//! Every other address is refused: a link or a file that is dropped on the window must not take the desk's place, and
//! only this program's pages are drawn in a window of this name.

use tauri::Url;

/// Whether an address is of the page that is built into the program.
pub(super) fn is_own(url: &Url) -> bool {
    // Windows has no schemes of a program's own.
    matches!(
        (url.scheme(), url.host_str()),
        ("tauri", Some("localhost")) | ("http" | "https", Some("tauri.localhost"))
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_the_page_of_the_program_is_its_own() {
        let table = [
            ("tauri://localhost/", true),
            ("tauri://localhost/#/rules?ws=acme", true),
            ("http://tauri.localhost/", true),
            ("tauri://localhost.evil.example/", false),
            ("https://evil.example/#tauri://localhost/", false),
            ("http://localhost/", false),
            ("file:///home/maria/invoice.html", false),
            ("data:text/html,hello", false),
            ("javascript:alert(1)", false),
        ];
        for (url, own) in table {
            assert_eq!(is_own(&Url::parse(url).unwrap()), own, "{url}");
        }
    }
}
