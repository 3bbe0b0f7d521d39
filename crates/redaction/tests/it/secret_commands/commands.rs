//! Commands and the credentials in them.

/// A command, and what must not be seen of it.
pub(super) const COMMANDS: &[(&str, &str)] = &[
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
