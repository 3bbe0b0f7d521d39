//! The window's contract in TypeScript.
//!
//! Every type is covered: it follows every command to all that it carries.

use std::collections::BTreeMap;

use ts_rs::{Config, TS, TypeVisitor};

use crate::*;

macro_rules! declare {
    ($( $(#[$doc:meta])* $name:ident ( $args:ty ) -> $result:ty ),* $(,)?) => {
        /// Each command's name with its argument and its result.
        #[derive(TS)]
        #[ts(export_to = "generated.ts")]
        #[allow(dead_code, reason = "only its shape is read")]
        struct Commands {
            $( $(#[$doc])* $name: ($args, $result), )*
        }
    };
}
crate::with_ipc_commands!(declare);

struct Declarations<'a> {
    config: &'a Config,
    found: BTreeMap<String, String>,
}

impl TypeVisitor for Declarations<'_> {
    fn visit<T: TS + 'static + ?Sized>(&mut self) {
        let name = T::ident(self.config);
        if T::output_path().is_some() && !self.found.contains_key(&name) {
            let docs = T::docs().unwrap_or_default();
            let declaration = format!("{docs}export {}\n", T::decl(self.config));
            self.found.insert(name, declaration);
        }
        T::visit_generics(self);
        if T::output_path().is_some() {
            T::visit_dependencies(self);
        }
    }
}

/// The TypeScript of every type that the window's commands and events carry, in
/// the order of their names.
pub fn typescript() -> String {
    let config = Config::new().with_large_int("number");
    let mut declarations = Declarations {
        config: &config,
        found: BTreeMap::new(),
    };
    declarations.visit::<Commands>();
    declarations.visit::<InboxBatch>();
    declarations.visit::<IpcError>();
    let head = "// Written by `cargo xtask codegen` from crates/view. Do not edit.\n";
    let body: Vec<_> = declarations.found.into_values().collect();
    format!("{head}\n{}", body.join("\n"))
}
