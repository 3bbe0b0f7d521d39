//! JSON pointers (RFC 6901).

use std::borrow::Cow;

/// A name as one step of a JSON pointer, without the `/` before it.
#[must_use]
pub fn step(name: &str) -> Cow<'_, str> {
    if name.contains(['~', '/']) {
        Cow::Owned(name.replace('~', "~0").replace('/', "~1"))
    } else {
        Cow::Borrowed(name)
    }
}

/// The pointer of what `name` holds in the object at `pointer`.
#[must_use]
pub fn below(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", step(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_found_again_by_its_pointer() {
        for name in ["a", "a/b", "~", "~1", "/~0/", ""] {
            let value = serde_json::json!({ name: 1 });
            let found = value.pointer(&below("", name));
            assert_eq!(found, Some(&serde_json::json!(1)), "{name}");
        }
    }
}
