//! Arguments drawn as what they are: a change to a file, a shell command, an image.
//!
//! A look is an addition: the arguments are shown whole above, and a look that fails is left out.

mod change;
mod command;

use crate::{ArgLook, PartView};
use countersign_shell::Shell;
use countersign_shell::patch::takes_patches;
use serde_json::{Map, Value};

use super::hidden::escape;
use super::trace::image;

/// Looks at one card.
const LOOKS: usize = 20;

/// What can be drawn of a call's arguments, in their order.
pub(crate) fn looks(tool: &str, args: Option<&Value>) -> Vec<ArgLook> {
    let Some(Value::Object(args)) = args else {
        return Vec::new();
    };
    let shell = Shell::of_tool(tool);
    let mut found = Vec::new();
    change::changes(args, &mut found);
    for (name, value) in args {
        let Some(text) = value.as_str() else { continue };
        // What is hidden in the arguments is not drawn beside them.
        if countersign_redaction::hides_whole(Some(name), value) {
            continue;
        }
        if !takes_patches(tool) {
            found.extend(command::command((name, text), shell));
        }
        found.extend(picture(name, text));
    }
    found.truncate(LOOKS);
    found
}

/// An image in a data URL. Bytes without its head may be anything.
fn picture(name: &str, text: &str) -> Option<ArgLook> {
    if !text.starts_with("data:image/") {
        return None;
    }
    let PartView::Image {
        mime,
        data,
        width,
        height,
    } = image(text).ok()?
    else {
        return None;
    };
    Some(ArgLook::Image {
        place: escape(name),
        mime,
        data,
        width,
        height,
    })
}

/// The first of these names that holds a text.
fn text_at<'a>(map: &'a Map<String, Value>, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| map.get(*name)?.as_str())
}
