//! The Settings screen's view of a console.
//!
//! Of a key it shows the public half, and an address without its password.

use countersign_core::bus::Credentials;
use countersign_core::domain::StallLimits;
use countersign_core::domain::retention::{Kind, Retention};
use countersign_view::{
    FolderView, LoginKind, OtlpView, OwnKey, SettingsView, StallView, StoreLimit,
};

use crate::gui::desk::Desk;
use crate::otlp;
use countersign_view::Production;
use countersign_view::window::escape;

/// As the screen shows it.
pub(crate) fn settings_view(desk: &Desk, folders: Vec<FolderView>) -> SettingsView {
    let app = &desk.app;
    let options = app.options();
    let identity = app.identity();
    let file = |path: &Option<std::path::PathBuf>| path.as_ref().map(|p| p.display().to_string());
    let key = |role: &str, key: String| OwnKey {
        role: role.to_owned(),
        key,
    };
    SettingsView {
        own_server: options.nats_url.is_none(),
        login: login(options.nats_url.is_none(), &options.credentials),
        tls_ca: file(&options.tls.ca),
        tls_cert: file(&options.tls.cert),
        allow_single_account: options.allow_single_account,
        operator: escape(&identity.operator),
        workspace: options.workspace.to_string(),
        production: match &desk.production {
            Production::ByName => None,
            Production::Listed(names) => Some(names.iter().map(ToString::to_string).collect()),
        },
        console: identity.console_id.to_string(),
        realm: app.realm().map(|realm| realm.to_string()),
        keys: vec![
            key("human", identity.human_key().to_string()),
            key("auto", identity.auto_key().to_string()),
            key("login", identity.login.public_key()),
        ],
        key_place: identity.key_place().as_str().to_owned(),
        key_place_why: identity.kept().why.clone(),
        folders,
        retention: limits(&options.retention),
        stalls: stalls(options.stall_limits),
        waiting_limit: options.waiting_limit,
        otlp: desk.otlp.clone(),
        metrics: desk.metrics.clone(),
    }
}

/// What was switched on.
pub(crate) fn otlp_view(settings: &otlp::Settings) -> OtlpView {
    let receiver = settings.receiver.as_ref();
    OtlpView {
        http: receiver.and_then(|of| of.http).map(|at| at.to_string()),
        grpc: receiver.and_then(|of| of.grpc).map(|at| at.to_string()),
        allow_remote: receiver.is_some_and(|of| of.allow_remote),
        require_token: receiver.is_some_and(|of| of.require_token),
        export: settings.export.as_ref().map(|to| to.endpoint.clone()),
    }
}

fn login(own_server: bool, credentials: &Credentials) -> LoginKind {
    match credentials {
        _ if own_server => LoginKind::OwnServer,
        Credentials::NkeySeed(_) | Credentials::NkeyFile(_) => LoginKind::Nkey,
        Credentials::CredsFile(_) => LoginKind::Creds,
        Credentials::UrlUserPassword => LoginKind::Url,
        Credentials::None => LoginKind::None,
    }
}

fn limits(retention: &Retention) -> Vec<StoreLimit> {
    let limit = |kind: Kind| {
        let limit = retention.of(kind);
        StoreLimit {
            kind: kind.as_str().to_owned(),
            days: limit.days,
            mib: limit.mib,
        }
    };
    Kind::ALL.into_iter().map(limit).collect()
}

fn stalls(limits: StallLimits) -> StallView {
    StallView {
        on_bus_s: limits.on_bus_ms / 1_000,
        received_s: limits.received_ms / 1_000,
        executed_s: limits.executed_ms / 1_000,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_login_is_told_by_its_kind_and_never_by_its_secret() {
        let table = [
            (true, Credentials::None, LoginKind::OwnServer),
            (false, Credentials::None, LoginKind::None),
            (
                false,
                Credentials::NkeySeed("SUSECRET".into()),
                LoginKind::Nkey,
            ),
            (
                false,
                Credentials::CredsFile("/a.creds".into()),
                LoginKind::Creds,
            ),
            (false, Credentials::UrlUserPassword, LoginKind::Url),
        ];
        for (own, credentials, kind) in table {
            assert_eq!(login(own, &credentials), kind);
        }
    }

    #[test]
    fn what_listens_and_sends_is_shown_and_no_header() {
        let settings = otlp::Settings {
            receiver: Some(otlp::Listening {
                http: "127.0.0.1:4318".parse().ok(),
                grpc: None,
                allow_remote: false,
                require_token: true,
                workspace: "acme".parse().unwrap(),
                token_files: Vec::new(),
            }),
            export: None,
        };
        let view = otlp_view(&settings);
        assert_eq!(view.http.as_deref(), Some("127.0.0.1:4318"));
        assert_eq!(
            (view.grpc, view.require_token, view.export),
            (None, true, None)
        );
        assert_eq!(otlp_view(&otlp::Settings::default()), OtlpView::default());
    }
}
