//! What a statement does that cannot be undone, or that gives rights away.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Action, AlterRoleOperation, AlterTableOperation, CopyTarget, Expr, GranteesType, Privileges,
    RoleOption, Statement, TableFactor, visit_statements,
};

use super::condition::constant;

/// Something remarkable that a statement does.
pub(crate) enum Act {
    /// Loses data.
    Destroys { what: String, shape: String },
    /// Gives rights to everybody, or all of them.
    Opens { what: String, shape: String },
    /// Runs what is known only then.
    Unknown(&'static str),
}

/// The acts of all statements, those inside of others too, in order. Not of what is only explained or rolled back, nor
/// what happens to a table that the same text made.
pub(crate) fn acts(statements: &[Statement]) -> Vec<Act> {
    let begun = matches!(statements.first(), Some(Statement::StartTransaction { .. }));
    let undone = matches!(
        statements.last(),
        Some(Statement::Rollback {
            savepoint: None,
            ..
        })
    );
    let commits = |of: &Statement| matches!(of, Statement::Commit { .. });
    if begun && undone && !statements.iter().any(commits) {
        return Vec::new();
    }
    let (mut found, mut made) = (Vec::new(), Vec::new());
    for statement in statements {
        match statement {
            Statement::Explain {
                analyze: false,
                options: None,
                ..
            } => continue,
            Statement::CreateTable(table)
                if table.temporary || !(table.if_not_exists || table.or_replace) =>
            {
                made.push(table.name.to_string().to_lowercase());
            }
            _ => {}
        }
        let targets = targets(statement);
        if !targets.is_empty() && targets.iter().all(|target| made.contains(target)) {
            continue;
        }
        let _: ControlFlow<()> = visit_statements(statement, |statement| {
            found.extend(act(statement));
            ControlFlow::Continue(())
        });
    }
    found
}

/// The tables that a statement empties, changes or drops, in small letters.
fn targets(statement: &Statement) -> Vec<String> {
    let targets: Vec<String> = match statement {
        Statement::Drop { names, .. } => names.iter().map(ToString::to_string).collect(),
        Statement::Truncate(of) => of
            .table_names
            .iter()
            .map(|of| of.name.to_string())
            .collect(),
        Statement::Delete(delete) => vec![delete.from.to_string()],
        Statement::Update(update) => vec![update.table.to_string()],
        Statement::AlterTable(alter) => vec![alter.name.to_string()],
        _ => Vec::new(),
    };
    let plain = |name: String| name.trim_start_matches("FROM ").to_lowercase();
    targets.into_iter().map(plain).collect()
}

fn destroys(what: String) -> Option<Act> {
    let shape = what.clone();
    Some(Act::Destroys { what, shape })
}

fn opens(what: String) -> Option<Act> {
    let shape = what.clone();
    Some(Act::Opens { what, shape })
}

fn names<T: ToString>(names: &[T]) -> String {
    let names: Vec<String> = names.iter().take(3).map(ToString::to_string).collect();
    crate::shown::shown(&names.join(", "))
}

/// ", for x is true for all".
fn condition_of(selection: Option<&sqlparser::ast::Expr>) -> String {
    selection.map_or_else(String::new, |of| {
        format!(
            "; {} is true for all",
            crate::shown::shown(&of.to_string().to_lowercase())
        )
    })
}

fn act(statement: &Statement) -> Option<Act> {
    match statement {
        Statement::Drop {
            object_type,
            names: of,
            cascade,
            temporary: false,
            ..
        } => {
            let more = if *cascade {
                " with everything that depends on it"
            } else {
                ""
            };
            destroys(format!(
                "drops {} {}{more}",
                object_type.to_string().to_lowercase(),
                names(of)
            ))
        }
        Statement::DropFunction(_)
        | Statement::DropProcedure { .. }
        | Statement::DropTrigger(_)
        | Statement::DropDomain(_)
        | Statement::DropPolicy(_)
        | Statement::DropExtension(_) => destroys(format!(
            "drops: {}",
            crate::shown::shown(&statement.to_string())
        )),
        Statement::Truncate(truncate) => destroys(format!(
            "empties {}",
            names(
                &truncate
                    .table_names
                    .iter()
                    .map(|table| table.name.to_string())
                    .collect::<Vec<_>>()
            )
        )),
        Statement::Delete(delete) => {
            let joined = delete.using.is_some() && delete.selection.is_some();
            let every = is_every(delete.selection.as_ref());
            (every && !joined).then(|| {
                destroys(format!(
                    "deletes every row: {}{}",
                    crate::shown::shown(&delete.from.to_string()),
                    condition_of(delete.selection.as_ref())
                ))
            })?
        }
        Statement::Update(update) => {
            let joined = !update.table.joins.is_empty();
            let every =
                is_every(update.selection.as_ref()) && !(joined && update.selection.is_none());
            every.then(|| {
                destroys(format!(
                    "changes every row of {}",
                    crate::shown::shown(&update.table.relation_name())
                ))
            })?
        }
        Statement::AlterTable(alter) => {
            alter
                .operations
                .iter()
                .find_map(|operation| match operation {
                    AlterTableOperation::DropColumn { column_names, .. } => destroys(format!(
                        "drops column {} of {}",
                        names(column_names),
                        crate::shown::shown(&alter.name.to_string())
                    )),
                    AlterTableOperation::DropPartitions { .. } => destroys(format!(
                        "drops partitions of {}",
                        crate::shown::shown(&alter.name.to_string())
                    )),
                    _ => None,
                })
        }
        Statement::Copy {
            target: CopyTarget::Program { command },
            ..
        } => destroys(format!(
            "runs a program on the server: {}",
            crate::shown::shown(command)
        )),
        Statement::Grant(grant) => {
            let everybody = grant.grantees.iter().any(|to| {
                matches!(to.grantee_type, GranteesType::Public)
                    || to
                        .name
                        .as_ref()
                        .is_some_and(|name| name.to_string().eq_ignore_ascii_case("public"))
            });
            let super_user = matches!(&grant.privileges, Privileges::Actions(actions) if actions.iter().any(|action| matches!(action, Action::Role { role } if is_super(&role.to_string()))));
            if everybody {
                opens("gives rights to PUBLIC".to_owned())
            } else if matches!(grant.privileges, Privileges::All { .. }) {
                opens(format!("gives all rights to {}", names(&grant.grantees)))
            } else if super_user {
                opens("makes a superuser".to_owned())
            } else {
                None
            }
        }
        Statement::AlterRole {
            operation: AlterRoleOperation::WithOptions { options },
            ..
        } => options
            .iter()
            .any(|option| matches!(option, RoleOption::SuperUser(true)))
            .then(|| opens("makes a superuser".to_owned()))?,
        Statement::CreateRole(role) => {
            (role.superuser == Some(true)).then(|| opens("makes a superuser".to_owned()))?
        }
        Statement::Execute {
            immediate: true, ..
        } => Some(Act::Unknown("runs a text as SQL")),
        Statement::Prepare { .. } => Some(Act::Unknown("prepares a statement for later")),
        _ => None,
    }
}

fn is_super(role: &str) -> bool {
    [
        "superuser",
        "postgres",
        "rds_superuser",
        "db_owner",
        "sysadmin",
    ]
    .contains(&role.to_lowercase().as_str())
}

/// No condition, or one that is true for every row.
fn is_every(selection: Option<&Expr>) -> bool {
    selection.is_none_or(|condition| constant(condition) == Some(true))
}

trait RelationName {
    fn relation_name(&self) -> String;
}

impl RelationName for sqlparser::ast::TableWithJoins {
    fn relation_name(&self) -> String {
        match &self.relation {
            TableFactor::Table { name, .. } => name.to_string(),
            _ => "a table".to_owned(),
        }
    }
}
