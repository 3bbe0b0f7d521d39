//! What a value is, by its name and its shape.

use countersign_shell::patch::takes_patches;
use serde_json::Value;

use crate::call::Call;
use crate::ibans;
use crate::leaf::Leaf;
use crate::leaf::among;
use crate::net::{self, Mail};

/// What a value names.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Role {
    /// One or more mail addresses.
    Mails(Vec<Mail>),
    /// The host of a URL, or by itself.
    Host(String),
    /// Bank account, VAT id, wallet; in capitals without blanks.
    Account(String),
    /// Whom a payment or an order is for; in lower case.
    Payee(String),
    /// Environment, context, cluster, branch, database, namespace.
    Where(String),
    /// A path, a pattern of paths or a range of addresses.
    Path(String),
    /// How much.
    Amount(f64),
}

const ACCOUNTS: &str = "iban account account_number account_no account_id bank_account konto kontonummer payout_account \
    to_account destination_account target_account wallet wallet_address vat vat_id vat_number ust_id \
    beneficiary_account creditor_account arn_account";
const PAYEES: &str = "payee beneficiary creditor supplier vendor customer merchant company contractor biller employee \
    creditor_name recipient client";
const PLACES: &str = "environment env context cluster branch database db namespace stage dbname base kube_context target_env \
    deploy_env ns catalog connection";
const PATHS: &str = "path paths file files filename filepath dir directory folder pattern patterns glob prefix src dst source \
    destination target root cwd include attachments";
const HOSTS: &str = "host hosts hostname server servers domain domains endpoint registry remote fqdn relay site proxy";
const AMOUNTS: &str = "amount total price sum cost fee budget quantity qty count size replicas credits refund units volume \
    salary payout value bonus discount deposit payment cents shares nodes instances seats copies";
/// Numbers that are no amounts whatever else their names say.
const NO_AMOUNTS: &str = "id ids ttl port percent percentage pct time timeout seconds minutes hours days ms date year month day \
    page limit offset index number no version rate ratio timestamp duration interval line lines position \
    depth centre center";

/// Names of what a person reads, not what names something.
pub(crate) fn is_prose(leaf: &Leaf<'_>) -> bool {
    const PROSE: &str = "body text message content description note notes comment summary subject title html markdown new_string \
    old_string diff patch prompt reason justification explanation purpose";
    leaf.named(PROSE) || leaf.has_word("body html markdown message description")
}

/// What a value of this call names.
pub(crate) fn role(leaf: &Leaf<'_>, call: &Call<'_>) -> Option<Role> {
    leaf.role.get_or_init(|| named(leaf, call)).clone()
}

fn named(leaf: &Leaf<'_>, call: &Call<'_>) -> Option<Role> {
    match leaf.value.as_ref() {
        Value::String(text) => text_role(leaf, text.trim(), call),
        Value::Number(number) if is_amount(leaf) => Some(Role::Amount(number.as_f64()?)),
        _ => None,
    }
}

fn text_role(leaf: &Leaf<'_>, text: &str, call: &Call<'_>) -> Option<Role> {
    if text.is_empty() || text.len() > 2_000 || text.contains('\n') {
        return None;
    }
    let mails = net::mails(text);
    if !mails.is_empty() {
        return Some(Role::Mails(mails));
    }
    if is_command(leaf, call) || is_sql_name(leaf) || is_prose(leaf) {
        return None;
    }
    if let Some(url) = net::url(text) {
        return net::host_of(&url).map(Role::Host);
    }
    let last = leaf.words.last().map(String::as_str).unwrap_or_default();
    let blank = text.contains(char::is_whitespace);
    if leaf.named(ACCOUNTS)
        || leaf.has_word("iban")
        || (ibans::has_shape(text) && ibans::is_right(text))
    {
        return Some(Role::Account(account(text)));
    }
    let deployed = leaf.named("workspace stack") && call.tool_is("terraform tofu opentofu pulumi");
    if leaf.named(PLACES) || among(PLACES, last) || deployed {
        return (!blank && text.len() <= 200).then(|| Role::Where(text.to_owned()));
    }
    let record = call.tool_is("dns record records") && leaf.named("value data zone name");
    let host_name = leaf.has_word(HOSTS) || record;
    if let Some(host) = net::host_alone(text).filter(|_| host_name) {
        return Some(Role::Host(host));
    }
    let id = among("name id no number", last);
    // `creditor: {name, iban}`.
    let inside = leaf.named("name") && among(PAYEES, &leaf.parent());
    let payee = leaf.named(PAYEES)
        || (id && leaf.has_word(PAYEES))
        || leaf.named("paid_to pay_to")
        || inside;
    if payee && text.len() <= 200 {
        return Some(Role::Payee(text.to_lowercase()));
    }
    // `amount: {value, currency}`.
    let of_money = leaf.named("value") && leaf.parent().split('_').any(|word| among(MONEY, word));
    if is_amount(leaf) && (leaf.has_word(MONEY) || of_money) {
        let number: f64 = text.replace(',', "").parse().ok()?;
        return Some(Role::Amount(number));
    }
    is_path(leaf, text).then(|| Role::Path(text.to_owned()))
}

/// Names of amounts that are written as texts too.
const MONEY: &str = "amount total price sum cost fee quantity qty refund payout";

fn is_amount(leaf: &Leaf<'_>) -> bool {
    leaf.has_word(AMOUNTS) && !leaf.has_word(NO_AMOUNTS)
}

pub(crate) fn is_path(leaf: &Leaf<'_>, text: &str) -> bool {
    let last = leaf.words.last().map(String::as_str).unwrap_or_default();
    let written = ["/", "~/", "./", "../", "s3://"]
        .iter()
        .any(|start| text.starts_with(start))
        || is_range(text)
        || drive(text);
    let named = among(PATHS, last) || leaf.named(PATHS);
    let blank = text.contains(char::is_whitespace);
    // `/approve`, `/deploy now` are words that begin with a slash.
    (written && !blank && text.len() > 1)
        || (named
            && (text.contains(['/', '*', '\\']) || has_extension(text))
            && text.len() <= 1_000)
}

fn has_extension(text: &str) -> bool {
    let dot = text.rfind('.').filter(|at| *at > 0 || text.len() > 1);
    dot.is_some_and(|at| text.len() - at <= 6 && !text.contains(char::is_whitespace))
}

fn drive(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(|at| at.is_ascii_alphabetic())
        && letters.next() == Some(':')
        && letters.next() == Some('\\')
}

/// `10.0.0.0/8`.
pub(crate) fn is_range(text: &str) -> bool {
    range(text).is_some()
}

/// Address as a number of 128 bits, and how many of its first bits count.
pub(crate) fn range(text: &str) -> Option<(u128, u32, u32)> {
    let (address, bits) = text.split_once('/')?;
    let bits: u32 = bits.parse().ok()?;
    let (number, width) = match address.parse::<std::net::IpAddr>().ok()? {
        std::net::IpAddr::V4(four) => (u128::from(four.to_bits()), 32),
        std::net::IpAddr::V6(six) => (six.to_bits(), 128),
    };
    (bits <= width).then_some((number, bits, width))
}

/// An account as it is compared.
pub(crate) fn account(text: &str) -> String {
    let kept = text.chars().filter(|at| at.is_alphanumeric());
    kept.flat_map(char::to_uppercase).collect()
}

/// A shell command, by its name or its tool.
pub(crate) fn is_command(leaf: &Leaf<'_>, call: &Call<'_>) -> bool {
    const NAMES: &str = "command cmd shell_command script commands bash run shell command_line";
    const SHELLS: &str = "bash shell sh terminal exec command powershell pwsh ssh";
    let code = leaf.named("code input line") && call.tool_is(SHELLS);
    let other = leaf.named("run script shell bash")
        && leaf
            .text()
            .is_some_and(|text| !text.contains(char::is_whitespace));
    ((leaf.named(NAMES) && !other) || code) && !takes_patches(call.tool)
}

/// The same by a name and its words.
pub(crate) fn is_sql_name_of(name: &str, words: &[String]) -> bool {
    words.iter().any(|word| word == "sql")
        || among("query statement statements migration queries ddl", name)
}

/// A statement of SQL, by its name.
pub(crate) fn is_sql_name(leaf: &Leaf<'_>) -> bool {
    is_sql_name_of(&leaf.name, &leaf.words)
}
