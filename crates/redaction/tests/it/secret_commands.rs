//! Commands with a credential in them: a program's own option, or a token by its issuer's form.
//!
//! All of them are made up. `~` is taken out, so that no scanner of repositories takes them for real.

mod commands;

use countersign_redaction::{Hiding, secret_spans};
use serde_json::json;

use commands::COMMANDS;

/// A value without a shape of its own.
const RANDOM: &str = "q7Zp3vN8xK2mR5tW9yB4";

/// Commands that show it by a name that ends in `key`, or at a place for values that are often secret.
const PLACES: &[&str] = &[
    "KEY=\"q7Zp3vN8xK2mR5tW9yB4\" ./run",
    "OPENROUTER_KEY=q7Zp3vN8xK2mR5tW9yB4 node x.js",
    "export KEY=q7Zp3vN8xK2mR5tW9yB4",
    "sbx secret set-custom s --host api.example.com --env SOME_KEY --value q7Zp3vN8xK2mR5tW9yB4",
    "vercel env add X production <<< q7Zp3vN8xK2mR5tW9yB4",
    "wrangler secret put X <<< q7Zp3vN8xK2mR5tW9yB4",
    "heroku config:set X_KEY=q7Zp3vN8xK2mR5tW9yB4",
    "az keyvault secret set --name x --value q7Zp3vN8xK2mR5tW9yB4",
    "git remote set-url origin https://q7Zp3vN8xK2mR5tW9yB4@github.com/a/b",
    "curl 'https://api.example.com/x?key=q7Zp3vN8xK2mR5tW9yB4'",
    "curl 'https://api.example.com/x?a=1&key=q7Zp3vN8xK2mR5tW9yB4&b=2'",
    "gem push -k q7Zp3vN8xK2mR5tW9yB4",
    "consul kv put x q7Zp3vN8xK2mR5tW9yB4",
    "sed -i 's/KEY=.*/KEY=q7Zp3vN8xK2mR5tW9yB4/' .env",
    "net user x q7Zp3vN8xK2mR5tW9yB4",
    "net user x q7Zp3vN8xK2mR5tW9yB4 /add",
    "deploy --key q7Zp3vN8xK2mR5tW9yB4",
    "deploy --value=q7Zp3vN8xK2mR5tW9yB4",
    "echo q7Zp3vN8xK2mR5tW9yB4 | vercel env add X production",
    "pass insert -e mail <<< 'q7Zp3vN8xK2mR5tW9yB4'",
    "etcdctl put /x/y q7Zp3vN8xK2mR5tW9yB4",
    "set -gx ROUTER_KEY q7Zp3vN8xK2mR5tW9yB4",
    "git clone https://q7Zp3vN8xK2mR5tW9yB4:@github.com/a/b",
    "echo '{\"key\": \"q7Zp3vN8xK2mR5tW9yB4\"}' > c.json",
    "d['key'] = 'q7Zp3vN8xK2mR5tW9yB4'",
];

/// Places where any value, `~`, is one.
const NAMED: &[&str] = &[
    "GH_PAT=~ ./run",
    "export MY_PAT=~",
    "set -gx API_KEY ~",
    "set -Ux DB_PASSWORD ~",
    "setenv API_KEY ~",
    "[Environment]::SetEnvironmentVariable('API_KEY','~')",
    "[Environment]::SetEnvironmentVariable(\"API_KEY\", \"~\", 'User')",
    "python -c \"import os; os.environ['API_KEY']='~'\"",
    "python -c 'import os; os.environ[\"API_KEY\"] = \"~\"'",
    "python -c \"import os; os.putenv('API_KEY', '~')\"",
    "node -e \"process.env['API_KEY'] = '~'\"",
    "poetry publish -u ada -p ~",
    "poetry config pypi-token.x ~",
    "poetry config http-basic.x ada ~",
    "composer config http-basic.x user ~",
    "composer config --global github-oauth.github.com ~",
    "rclone config create r s3 provider Minio secret_access_key ~",
    "git clone https://~:x-oauth-basic@github.com/a/b",
    "printf '%s' ~ | gh secret set X",
    "printf ~ | gh secret set X",
    "printf \"%s\\n\" ~ | wrangler secret put X",
    "gh secret set X <<< ~",
];

/// How a command is seen: as it came, as an argument, as an argument that is JSON itself, as the bytes of a request.
fn shown(command: &str) -> [String; 5] {
    let hiding = Hiding::new([7; 32]);
    let args = json!({ "command": command, "description": "run it" });
    [
        hiding.text(command),
        hiding.escape_lines(command).plain(),
        hiding.json_shown(&args).plain(),
        hiding.text(&args.to_string()),
        hiding.text(&format!("first\n{command}\nlast")),
    ]
}

#[test]
fn no_command_shows_its_credential() {
    let mut open = Vec::new();
    let issued = COMMANDS.iter().map(|(command, secret)| {
        let command = command.replacen('~', "", 1);
        (command, *secret)
    });
    let placed = PLACES.iter().map(|command| ((*command).to_owned(), RANDOM));
    let named = ["hunter", RANDOM].into_iter().flat_map(|secret| {
        let named = NAMED.iter().map(move |of| of.replace('~', secret));
        named.map(move |command| (command, secret))
    });
    for (command, secret) in issued.chain(placed).chain(named) {
        assert!(command.contains(secret), "{command}");
        open.extend(
            shown(&command)
                .into_iter()
                .filter(|text| text.contains(secret)),
        );
    }
    assert!(open.is_empty(), "{}: {open:#?}", open.len());
    assert!(COMMANDS.len() >= 70);
}

/// What surrounds a credential is read by whoever decides.
#[test]
fn nothing_but_the_credential_is_hidden() {
    for (command, secrets) in [
        (
            "curl -u admin:Hunter2secret http://x -o out.json",
            &["Hunter2secret"][..],
        ),
        (
            "curl -u 'admin':'Hunter2secret' http://x && rm -rf out",
            &["Hunter2secret"],
        ),
        (
            "mysql -uroot -pHunter2secret db -e 'drop table t'",
            &["Hunter2secret"],
        ),
        (
            "sshpass -p Hunter2secret ssh -p 2222 root@host",
            &["Hunter2secret"],
        ),
        (
            "docker login -u ada -p Hunter2secret && docker run -p 80:80 x",
            &["Hunter2secret"],
        ),
        (
            "htpasswd -cb users ada Hunter2secret; cat users",
            &["Hunter2secret"],
        ),
        (
            "sqlplus scott/Hunter2secret@orcl @script.sql",
            &["Hunter2secret"],
        ),
        (
            "fly secrets set A=onesecret B=twosecret --app x",
            &["onesecret", "twosecret"],
        ),
        ("curl -u ada:$PASS http://x", &[]),
        ("curl -u \"ada:${PASS}\" http://x", &[]),
        ("curl -u ada http://x:8080/", &[]),
        ("mysql -u root -p db", &[]),
        ("mysql -p\"$DB_PASS\" db", &[]),
        ("docker login -u ada --password-stdin registry.example", &[]),
        ("ssh-keygen -t ed25519 -N '' -f key", &[]),
        ("redis-cli -h cache -p 6379 ping", &[]),
        ("vault login -method=oidc", &[]),
        ("openssl enc -d -in file -pass env:SECRET", &[]),
        ("htpasswd users ada", &[]),
    ] {
        let found: Vec<&str> = secret_spans(command)
            .into_iter()
            .map(|at| &command[at])
            .collect();
        assert_eq!(found, secrets, "{command}");
    }
}
