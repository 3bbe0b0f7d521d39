//! The `.creds` file of NATS: a JWT and the seed of its key, each between dashed lines.
//!
//! It does not guess: a section that does not begin as it should is ignored.

/// The user JWT of a `.creds` file.
#[must_use]
pub fn creds_jwt(text: &str) -> Option<&str> {
    section(text, "NATS USER JWT")
}

/// The seed of a `.creds` file.
#[must_use]
pub fn creds_seed(text: &str) -> Option<&str> {
    section(text, "USER NKEY SEED")
}

/// The line between `-----BEGIN NAME-----` and the next dashes.
fn section<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = text.lines().map(str::trim);
    lines.find(|line| line.starts_with('-') && line.contains(&format!("BEGIN {name}")))?;
    let line = lines.find(|line| !line.is_empty())?;
    (!line.starts_with('-')).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_creds_file_is_read_section_by_section() {
        let file = "-----BEGIN NATS USER JWT-----\nJWT\n------END NATS USER JWT------\n\n\
                    *** IMPORTANT ***\n-----BEGIN USER NKEY SEED-----\nSEED\n------END USER NKEY SEED------\n";
        assert_eq!(creds_jwt(file), Some("JWT"));
        assert_eq!(creds_seed(file), Some("SEED"));
        assert_eq!(creds_seed(&file[..60]), None);
        assert_eq!(creds_jwt("-----BEGIN NATS USER JWT-----\n-----"), None);
    }
}
