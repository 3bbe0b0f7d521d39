//! Where a call goes: the server's command and folder, or its address.

use std::env;
use std::ffi::OsString;

use countersign_wire::Sha256Digest;

/// The server that an approval is for.
#[derive(Debug, Clone, Default)]
pub struct Place {
    /// For the card: of headers and variables their names, of an address nothing that may be secret.
    pub(crate) shown: String,
    /// The same for the same server alone.
    pub(crate) digest: String,
    variables: Vec<String>,
}

impl Place {
    /// A server that is another one where one of these variables has another value.
    pub fn with(variables: Vec<String>) -> Self {
        Self {
            variables,
            ..Self::default()
        }
    }

    /// It is started here.
    pub(crate) fn of_command(self, command: &[OsString]) -> Self {
        let plain = |word: &&str| !word.is_empty() && !word.contains([' ', '"', '\'', '\n']);
        let words = command
            .iter()
            .map(|word| match word.to_str().filter(plain) {
                Some(plain) => plain.to_owned(),
                None => format!("{word:?}"),
            });
        let words = words.collect::<Vec<_>>().join(" ");
        self.of(words, &format!("{command:?}"), &[])
    }

    /// It has this address, `shown` without what is secret in it, and these headers.
    pub(crate) fn of_address(self, shown: String, url: &str, headers: &[(&str, &[u8])]) -> Self {
        let names: Vec<_> = headers.iter().map(|(name, _)| (*name).to_owned()).collect();
        self.of(shown, &format!("{url} {headers:?}"), &names)
    }

    fn of(self, server: String, whole: &str, headers: &[String]) -> Self {
        let folder = env::current_dir().unwrap_or_default();
        let mut shown = format!("{server}, in {}", folder.display());
        let names = [headers, &self.variables].concat();
        if !names.is_empty() {
            shown += &format!(", with {}", names.join(", "));
        }
        let values: Vec<_> = self.variables.iter().map(env::var_os).collect();
        let whole = format!("{whole} {folder:?} {:?} {values:?}", self.variables);
        let digest = Sha256Digest::of_bytes(whole.as_bytes()).hex();
        Self {
            shown,
            digest,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::Remote;

    fn remote(url: &str, headers: &[(&str, &str)]) -> Place {
        let headers: Vec<_> = headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let remote = Remote::new(url, &headers).unwrap_or_else(|why| panic!("{why}"));
        remote.place(Place::default())
    }

    fn command(words: &[&str], variables: &[&str]) -> Place {
        let words: Vec<_> = words.iter().map(OsString::from).collect();
        let variables: Vec<_> = variables.iter().map(|&name| name.to_owned()).collect();
        Place::with(variables).of_command(&words)
    }

    #[test]
    fn two_servers_that_differ_in_anything_are_two_places() {
        let places = [
            command(&["python3", "a.py"], &[]),
            command(&["python3", "b.py"], &[]),
            command(&["python3", "a.py", ""], &[]),
            command(&["python3 a.py"], &[]),
            command(&["python3", "a.py"], &["PATH"]),
            command(&["python3", "a.py"], &["HOME"]),
            command(&["python3", "a.py"], &["NO_SUCH_VARIABLE"]),
            remote("https://a.example/mcp", &[]),
            remote("https://b.example/mcp", &[]),
            remote("https://a.example/mcp?k=1", &[]),
            remote("https://a.example/mcp?k=2", &[]),
            remote("https://u:p@a.example/mcp", &[]),
            remote("https://u:q@a.example/mcp", &[]),
            remote("https://a.example/mcp", &[("authorization", "a")]),
            remote("https://a.example/mcp", &[("authorization", "b")]),
        ];
        for (at, one) in places.iter().enumerate() {
            for other in &places[..at] {
                assert_ne!(one.digest, other.digest, "{one:?}");
            }
        }
        let same = remote("https://a.example/mcp", &[("Authorization", "a")]);
        assert_eq!(same.digest, places[13].digest);
    }

    #[test]
    fn a_card_names_command_and_folder_and_no_value_that_may_be_secret() {
        let folder = env::current_dir().unwrap_or_default();
        let folder = folder.display();
        for (place, shown) in [
            (
                command(&["python3", "a.py"], &[]),
                format!("python3 a.py, in {folder}"),
            ),
            (
                command(&["a b", "", "it's"], &["PATH"]),
                format!("\"a b\" \"\" \"it's\", in {folder}, with PATH"),
            ),
            (
                remote(
                    "https://user:EXAMPLE@a.example:8443/mcp?api_key=EXAMPLE#EXAMPLE",
                    &[("X-Key", "EXAMPLE"), ("accept", "EXAMPLE")],
                ),
                format!("https://a.example:8443/mcp?hidden, in {folder}, with accept, x-key"),
            ),
            (
                remote("http://127.0.0.1:9/mcp", &[]),
                format!("http://127.0.0.1:9/mcp, in {folder}"),
            ),
        ] {
            assert_eq!(place.shown, shown);
            assert!(!format!("{place:?}").contains("EXAMPLE"));
        }
    }
}
