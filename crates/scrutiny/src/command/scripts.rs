//! The commands of a call, read.

use countersign_shell::{Script, Shell, from_words, read};
use serde_json::Value;

use crate::call::Call;
use crate::leaf::{Leaf, among};
use crate::role::is_command;

/// The commands of a call, read.
pub(crate) fn scripts<'l, 'a>(call: &'l Call<'a>) -> Vec<(&'l Leaf<'a>, String, Script)> {
    let shell = Shell::of_tool(call.tool);
    let mut found: Vec<(&Leaf<'_>, String, Script)> = Vec::new();
    let mut lists: Vec<(String, Vec<&'l str>)> = Vec::new();
    for leaf in &call.leaves {
        let Value::String(text) = leaf.value.as_ref() else {
            continue;
        };
        let is_list = leaf.place.ends_with("/*");
        let argv = is_list && leaf.named("args argv arguments command cmd");
        if argv {
            let list = leaf.at.rsplit_once('/').map_or("", |(list, _)| list);
            match lists.last_mut().filter(|(at, _)| at == list) {
                Some((_, words)) => words.push(text),
                None => lists.push((list.to_owned(), vec![text])),
            }
        } else if is_command(leaf, call) && !text.trim().is_empty() {
            found.push((leaf, leaf.at.clone(), read(text, shell)));
        }
    }
    for (at, mut words) in lists {
        let Some(leaf) = call.leaves.iter().find(|leaf| leaf.at.starts_with(&at)) else {
            continue;
        };
        // `git` with `["push", "--force"]`: the program is the tool, or another argument.
        if leaf.named("args argv arguments") {
            let program = call
                .leaves
                .iter()
                .find(|leaf| leaf.named("program executable binary"))
                .and_then(Leaf::text);
            let of_tool = call
                .tool_words
                .iter()
                .map(String::as_str)
                .find(|word| among("git kubectl docker terraform aws helm", word));
            words.splice(0..0, program.or(of_tool));
        }
        // `["bash", "-c", "…"]` and a list of whole commands.
        if leaf.named("command cmd") && words.len() == 1 {
            found.push((leaf, leaf.at.clone(), read(words[0], shell)));
        } else {
            found.push((leaf, at, from_words(words)));
        }
    }
    found
}
