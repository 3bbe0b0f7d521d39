//! Commands with a credential in them: a program's own option, or a token by its issuer's form.
//!
//! All of them are made up. `~` is taken out, so that no scanner of repositories takes them for real.

use countersign_redaction::{Hiding, secret_spans};
use serde_json::json;

/// A command, and what must not be seen of it.
const COMMANDS: &[(&str, &str)] = &[
    // Programs.
    ("curl -u admin:Hunter2secret http://x", "Hunter2secret"),
    ("curl -sSfu admin:Hunter2secret http://x", "Hunter2secret"),
    ("curl -uadmin:Hunter2secret http://x", "Hunter2secret"),
    ("curl --user=admin:Hunter2secret http://x", "Hunter2secret"),
    (
        "curl http://x --user 'admin:Hunter 2 secret'",
        "Hunter 2 secret",
    ),
    (
        "curl -s \\\n  -u \"admin:Hunter2secret\" \\\n  http://x",
        "Hunter2secret",
    ),
    (
        "/usr/bin/curl -k -U proxy:Hunter2secret http://x",
        "Hunter2secret",
    ),
    (
        "curl -E client.pem:Hunter2secret https://x",
        "Hunter2secret",
    ),
    ("curl -b 'session=Hunter2secret' https://x", "Hunter2secret"),
    (
        "cd /srv && bash -c \"curl -u ada:Hunter2secret http://x\"",
        "Hunter2secret",
    ),
    ("http -a ada:Hunter2secret GET https://x", "Hunter2secret"),
    (
        "aws configure set aws_secret_access_key Yib2eNUS0hYib2eNUS0hYib2eNUS0hYib2eNUS0h",
        "Yib2eNUS0hYib2",
    ),
    (
        "aws configure set --profile prod aws_session_token Yib2eNUS0hYib2eNUS0h",
        "Yib2eNUS0h",
    ),
    (
        "aws ssm put-parameter --name /db --type SecureString --value Hunter2secret",
        "Hunter2secret",
    ),
    ("mysql -uroot -pHunter2secret db", "Hunter2secret"),
    (
        "mysql -u root -p'Hunter 2 secret' -e 'show tables'",
        "Hunter 2 secret",
    ),
    (
        "mysqldump -h db -pHunter2secret shop > dump.sql",
        "Hunter2secret",
    ),
    ("mysqladmin -u root password Hunter2secret", "Hunter2secret"),
    ("mariadb -pHunter2secret", "Hunter2secret"),
    (
        "mysql -e \"ALTER USER 'a'@'%' IDENTIFIED BY 'Hunter2secret'\"",
        "Hunter2secret",
    ),
    (
        "psql -c \"CREATE ROLE a LOGIN PASSWORD 'Hunter2secret'\"",
        "Hunter2secret",
    ),
    (
        "psql 'host=db user=a password=Hunter2secret'",
        "Hunter2secret",
    ),
    ("PGPASSWORD=Hunter2secret psql -h db", "Hunter2secret"),
    ("sshpass -p Hunter2secret ssh root@host", "Hunter2secret"),
    ("sshpass -pHunter2secret scp a b:", "Hunter2secret"),
    (
        "docker login -u ada -p Hunter2secret registry.example",
        "Hunter2secret",
    ),
    (
        "podman login -p=Hunter2secret registry.example",
        "Hunter2secret",
    ),
    (
        "helm registry login -u ada -p Hunter2secret registry.example",
        "Hunter2secret",
    ),
    (
        "echo Hunter2secret | docker login --password-stdin registry.example",
        "Hunter2secret",
    ),
    (
        "echo 'Hunter2secret' | sudo -S apt-get update",
        "Hunter2secret",
    ),
    ("echo root:Hunter2secret | chpasswd", "Hunter2secret"),
    ("sudo -S id <<< 'Hunter2secret'", "Hunter2secret"),
    ("redis-cli -h cache -a Hunter2secret ping", "Hunter2secret"),
    ("redis-cli AUTH Hunter2secret", "Hunter2secret"),
    (
        "redis-cli -u redis://default:Hunter2secret@cache:6379",
        "Hunter2secret",
    ),
    ("mongosh -u ada -p Hunter2secret --host db", "Hunter2secret"),
    (
        "mongodump --uri 'mongodb+srv://ada:Hunter2secret@cluster.example/shop'",
        "Hunter2secret",
    ),
    (
        "sqlcmd -S db -U sa -P Hunter2secret -Q 'select 1'",
        "Hunter2secret",
    ),
    ("sqlplus scott/Hunter2secret@orcl", "Hunter2secret"),
    (
        "ldapsearch -x -D cn=admin -w Hunter2secret -b dc=example",
        "Hunter2secret",
    ),
    (
        "smbclient //srv/share -U ada%Hunter2secret",
        "Hunter2secret",
    ),
    (
        "mount -t cifs //srv/share /mnt -o username=ada,password=Hunter2secret",
        "Hunter2secret",
    ),
    ("xfreerdp /v:host /u:ada /p:Hunter2secret", "Hunter2secret"),
    ("zip -r -P Hunter2secret out.zip dir", "Hunter2secret"),
    ("7z a -pHunter2secret out.7z dir", "Hunter2secret"),
    (
        "openssl rsa -in key.pem -passin pass:Hunter2secret",
        "Hunter2secret",
    ),
    (
        "gpg --batch --passphrase Hunter2secret -d file.gpg",
        "Hunter2secret",
    ),
    (
        "ssh-keygen -t ed25519 -N Hunter2secret -f key",
        "Hunter2secret",
    ),
    (
        "keytool -list -keystore ks.jks -storepass Hunter2secret",
        "Hunter2secret",
    ),
    (
        "security unlock-keychain -p Hunter2secret login.keychain",
        "Hunter2secret",
    ),
    (
        "kubectl create secret generic db --from-literal=value=Hunter2secret",
        "Hunter2secret",
    ),
    (
        "kubectl config set-credentials ada --token=Hunter2secret",
        "Hunter2secret",
    ),
    (
        "az login --service-principal -u app -p Hunter2secret --tenant t",
        "Hunter2secret",
    ),
    (
        "az storage blob list --account-key Hunter2secret",
        "Hunter2secret",
    ),
    ("gh secret set DEPLOY --body Hunter2secret", "Hunter2secret"),
    ("fly secrets set DATABASE=Hunter2secret", "Hunter2secret"),
    (
        "vault kv put secret/app value=Hunter2secret",
        "Hunter2secret",
    ),
    ("vault login Hunter2secret", "Hunter2secret"),
    (
        "npm config set //registry.npmjs.org/:_authToken Hunter2secret",
        "Hunter2secret",
    ),
    (
        "twine upload -u ada -p Hunter2secret dist/*",
        "Hunter2secret",
    ),
    (
        "dotnet nuget push a.nupkg -k Hunter2secret -s nuget.org",
        "Hunter2secret",
    ),
    ("cargo login Hunter2secret", "Hunter2secret"),
    ("ngrok config add-authtoken Hunter2secret", "Hunter2secret"),
    ("htpasswd -nb ada Hunter2secret", "Hunter2secret"),
    (
        "nmcli dev wifi connect home password Hunter2secret",
        "Hunter2secret",
    ),
    ("rabbitmqctl add_user ada Hunter2secret", "Hunter2secret"),
    (
        "mc alias set s3 https://s3.example ACCESS Hunter2secret",
        "Hunter2secret",
    ),
    ("lftp -u ada,Hunter2secret sftp://host", "Hunter2secret"),
    (
        "pulumi config set --secret dbSetting Hunter2secret",
        "Hunter2secret",
    ),
    ("tailscale up --authkey Hunter2secret", "Hunter2secret"),
    (
        "wget --http-password=Hunter2secret https://x",
        "Hunter2secret",
    ),
    (
        "git clone https://ada:Hunter2secret@git.example/r.git",
        "Hunter2secret",
    ),
    (
        "curl -H 'X-Api-Key: Hunter2secret' https://x",
        "Hunter2secret",
    ),
    // Tokens.
    (
        "X hvs.~CNWiP3sFd67JikEAvstqVVPqzPptEJQzhkPkenG5ZFJoC6aaBBccDDee",
        "CNWiP3sFd67",
    ),
    ("X s.~CNWiP3sFd67JikEAvstqVVPq", "CNWiP3sFd67"),
    ("X dckr_pat_~mtX0moDoqW4sg8NFNl5oFA6Qd8M", "mtX0moDoqW"),
    (
        "X gsk_~mtX0moDoqW4sg8NFNl5oWGdyb3FYmtX0moDoqW4sg8NFNl5oFA6Q",
        "mtX0moDoqW",
    ),
    (
        "X lin_api_~mtX0moDoqW4sg8NFNl5oFA6Qd8MmtX0moDoqW4sg",
        "mtX0moDoqW",
    ),
    (
        "X ntn_~12345678901mtX0moDoqW4sg8NFNl5oFA6Qd8MmtX0moD",
        "mtX0moDoqW",
    ),
    (
        "X secret_~mtX0moDoqW4sg8NFNl5oFA6Qd8MmtX0moDoqW4sg8NF",
        "mtX0moDoqW",
    ),
    (
        "X dapi~0123456789abcdef0123456789abcdef",
        "0123456789abcdef",
    ),
    (
        "X sbp_~0123456789abcdef0123456789abcdef01234567",
        "0123456789abcdef",
    ),
    ("X sb_secret_~mtX0moDoqW4sg8NFNl5oFA6Qd8M_abc", "mtX0moDoqW"),
    ("X SK~0123456789abcdef0123456789abcdef", "0123456789abcdef"),
    (
        "curl -u AC0123456789abcdef0123456789abcdef:fedcba9876543210fedcba9876543210 https://api.twilio.com",
        "fedcba9876543210",
    ),
    (
        "X key-~0123456789abcdef0123456789abcdef",
        "0123456789abcdef",
    ),
    (
        "X 0123456789abcdef0123456789abcdef-~01234567-89abcdef",
        "0123456789abcdef",
    ),
    (
        "curl -s --user 'api:key-~0123456789abcdef0123456789abcdef' https://api.mailgun.net",
        "0123456789abcdef",
    ),
    (
        "X https://discord.com/api/webhooks/~016849340722470451/w9xfogoEmvnEN5N1aE6PwZPf1Qh6yYTWmE4lBYOvfZ8UzDw9xfogoEmvnEN5N1aE6PwZP",
        "w9xfogoEmv",
    ),
    (
        "X https://discordapp.com/api/v10/webhooks/~016849340722470451/w9xfogoEmvnEN5N1aE6PwZPf",
        "w9xfogoEmv",
    ),
    (
        "X https://hooks.slack.com/services/~T00000000/B00000000/w9xfogoEmvnEN5N1aE6PwZPf",
        "w9xfogoEmv",
    ),
    (
        "azcopy copy 'https://a.blob.core.windows.net/c?sv=2024-11-04&sig=~w9xfogoEmvnEN5N1aE6PwZPf%3D' .",
        "w9xfogoEmv",
    ),
    (
        "X https://b.s3.amazonaws.com/k?X-Amz-Expires=300&X-Amz-Signature=~0123456789abcdef0123456789abcdef",
        "0123456789abcdef",
    ),
    ("X abc8Q~~w9xfogoEmvnEN5N1aE6PwZPf1Qh6yYTWm", "w9xfogoEmv"),
    ("X gh~p_mtX0moDoqW4sg8NFNl5oFA6Qd8MmtX0moDoq", "mtX0moDoqW"),
    ("X glpat-~mtX0moDoqW4sg8NFNl5o", "mtX0moDoqW"),
    (
        "X xoxb-~1234567890-1234567890-mtX0moDoqW4sg8NFNl5oFA6Q",
        "mtX0moDoqW",
    ),
    (
        "X sk-ant-api03-~mtX0moDoqW4sg8NFNl5oFA6Qd8M-mtX0moDoqW",
        "mtX0moDoqW",
    ),
    (
        "X sk-proj-~mtX0moDoqW4sg8NFNl5oFA6Qd8MmtX0moDoqW4sg8NF",
        "mtX0moDoqW",
    ),
    ("X AKIA~Z7EXAMPLEKEYSQ2T", "Z7EXAMPLEKEYSQ2T"),
    ("X AIza~SyA0moDoqW4sg8NFNl5oFA6Qd8MmtX0moDoqW", "moDoqW4sg8"),
    ("X GOCSPX-~mtX0moDoqW4sg8NFNl5oFA6Qd8Mm", "mtX0moDoqW"),
    ("X sk_live_~mtX0moDoqW4sg8NFNl5oFA6Q", "mtX0moDoqW"),
    ("X whsec_~mtX0moDoqW4sg8NFNl5oFA6Qd8MmtX0m", "mtX0moDoqW"),
    (
        "X SG.~mtX0moDoqW4sg8NFNl5oFA.mtX0moDoqW4sg8NFNl5oFA6Qd8MmtX0moDoqW4sg8NF",
        "mtX0moDoqW",
    ),
    ("X npm_~mtX0moDoqW4sg8NFNl5oFA6Qd8MmtX0moDoq", "mtX0moDoqW"),
    (
        "X pypi-~AgEIcHlwaS5vcmcmtX0moDoqW4sg8NFNl5oFA6Qd8M",
        "mtX0moDoqW",
    ),
    (
        "X rubygems_~0123456789abcdef0123456789abcdef0123456789abcdef",
        "0123456789abcdef",
    ),
    ("X hf_~mtXAmoDoqWxsgyNFNlzoFAxQdyMmtXAmoD", "mtXAmoDoqW"),
    (
        "X dop_v1_~0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        "0123456789abcdef",
    ),
    (
        "X ATATT3~xFfGF0mtX0moDoqW4sg8NFNl5oFA6Qd8M-mtX0moDoqW=12345678",
        "mtX0moDoqW",
    ),
    (
        "X shpat_~0123456789abcdef0123456789abcdef",
        "0123456789abcdef",
    ),
    (
        "X glsa_~mtX0moDoqW4sg8NFNl5oFA6Qd8MmtX0m_01234567",
        "mtX0moDoqW",
    ),
    (
        "X PMAK-~0123456789abcdef01234567-0123456789abcdef0123456789abcdef01",
        "0123456789abcdef",
    ),
    (
        "X figd_~mtX0moDoqW4sg8NFNl5oFA6Qd8MmtX0moDoqW4sg",
        "mtX0moDoqW",
    ),
    (
        "X xkeysib-~0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef-mtX0moDoqW4sg8NF",
        "mtX0moDoqW",
    ),
    (
        "X pul-~0123456789abcdef0123456789abcdef01234567",
        "0123456789abcdef",
    ),
    (
        "X dp.pt.~mtX0moDoqW4sg8NFNl5oFA6Qd8MmtX0moDoqW4sg8NF",
        "mtX0moDoqW",
    ),
    ("X NRAK-~MTX0MODOQW4SG8NFNL5OFA6QD8M", "MTX0MODOQW"),
    (
        "X sntryu_~0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        "0123456789abcdef",
    ),
    (
        "X tskey-auth-~kmtX0moDoqW4-sg8NFNl5oFA6Qd8MmtX0moDoqW4sg8",
        "mtX0moDoqW",
    ),
    (
        "curl https://api.telegram.org/bot~123456789:AAmtX0moDoqW4sg8NFNl5oFA6Qd8MmtX0mo/getMe",
        "mtX0moDoqW",
    ),
    (
        "X eyJ~hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.mtX0moDoqW4sg8NFNl5oFA6Qd8M",
        "mtX0moDoqW",
    ),
    (
        "X AGE-SECRET-KEY-~1QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7LQPZRY9X8GF2TVDW0S3JN54KHCE",
        "QPZRY9X8GF",
    ),
];

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
