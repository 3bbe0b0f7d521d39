//! The desktop's Secret Service over D-Bus, as far as seeds need it.
//!
//! It never waits for a person: what asks for a prompt is dismissed and counts as locked. Names and signatures are
//! those of the freedesktop.org Secret Service API, draft 0.2.

use std::collections::HashMap;

use zbus::{Connection, ObjectPath, OwnedObjectPath, OwnedVariant, Variant};

const SERVICE: &str = "org.freedesktop.secrets";
const SERVICE_PATH: &str = "/org/freedesktop/secrets";
const IS_SERVICE: &str = "org.freedesktop.Secret.Service";
const IS_COLLECTION: &str = "org.freedesktop.Secret.Collection";
const IS_ITEM: &str = "org.freedesktop.Secret.Item";
const IS_PROMPT: &str = "org.freedesktop.Secret.Prompt";
const PROPERTIES: &str = "org.freedesktop.DBus.Properties";
/// What the service writes in place of a missing object.
const NO_OBJECT: &str = "/";

/// By which items are found.
pub(super) type Attributes<'a> = HashMap<&'a str, &'a str>;
/// Session, parameters of its cipher, value, type of the content.
type Secret = (OwnedObjectPath, Vec<u8>, Vec<u8>, String);

/// Why the service gives or takes nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum SecretError {
    #[error("it does not answer ({0})")]
    Bus(#[from] zbus::Error),
    #[error("it is locked")]
    Locked,
    #[error("it has no collection to keep secrets in")]
    NoCollection,
    #[error("it holds something that is not text")]
    NoText,
}

/// A conversation with the service; nothing in it is limited in time.
pub(super) struct DesktopSecrets {
    bus: Connection,
    session: OwnedObjectPath,
}

impl DesktopSecrets {
    /// Meets the service on the session's bus. The secrets pass as they are: the bus is a socket that
    /// only the same user opens, and he may ask the service himself.
    pub(super) async fn connect() -> Result<Self, SecretError> {
        let bus = Connection::session().await?;
        let reply = bus
            .call_method(
                Some(SERVICE),
                SERVICE_PATH,
                Some(IS_SERVICE),
                "OpenSession",
                &("plain", Variant::from("")),
            )
            .await?;
        let (_, session): (OwnedVariant, OwnedObjectPath) = reply.body().deserialize()?;
        Ok(Self { bus, session })
    }

    /// The collection that takes new items, if it can now.
    pub(super) async fn collection(&self) -> Result<OwnedObjectPath, SecretError> {
        let reply = self
            .bus
            .call_method(
                Some(SERVICE),
                SERVICE_PATH,
                Some(IS_SERVICE),
                "ReadAlias",
                &("default",),
            )
            .await?;
        let collection: OwnedObjectPath = reply.body().deserialize()?;
        if collection.as_str() == NO_OBJECT {
            return Err(SecretError::NoCollection);
        }
        let reply = self
            .bus
            .call_method(
                Some(SERVICE),
                &*collection,
                Some(PROPERTIES),
                "Get",
                &(IS_COLLECTION, "Locked"),
            )
            .await?;
        let locked: OwnedVariant = reply.body().deserialize()?;
        match *locked {
            Variant::Bool(false) => Ok(collection),
            _ => Err(SecretError::Locked),
        }
    }

    /// The secret with these attributes, none where there is none.
    pub(super) async fn get(
        &self,
        attributes: &Attributes<'_>,
    ) -> Result<Option<String>, SecretError> {
        let Some(item) = self.find(attributes).await? else {
            return Ok(None);
        };
        let reply = self
            .bus
            .call_method(
                Some(SERVICE),
                &*item,
                Some(IS_ITEM),
                "GetSecret",
                &(&*self.session,),
            )
            .await?;
        let ((_, _, value, _),): (Secret,) = reply.body().deserialize()?;
        let text = String::from_utf8(value).map_err(|_| SecretError::NoText)?;
        Ok(Some(text))
    }

    /// Keeps a secret in the place of the one with the same attributes.
    pub(super) async fn put(
        &self,
        attributes: &Attributes<'_>,
        label: &str,
        text: &str,
    ) -> Result<(), SecretError> {
        let collection = self.collection().await?;
        let properties = HashMap::from([
            (
                "org.freedesktop.Secret.Item.Label",
                Variant::from(label.to_owned()),
            ),
            (
                "org.freedesktop.Secret.Item.Attributes",
                Variant::from(attributes.clone()),
            ),
        ]);
        let secret: (&ObjectPath<'_>, &[u8], &[u8], &str) =
            (&self.session, &[], text.as_bytes(), "text/plain");
        let reply = self
            .bus
            .call_method(
                Some(SERVICE),
                &*collection,
                Some(IS_COLLECTION),
                "CreateItem",
                &(properties, secret, true),
            )
            .await?;
        let (_, prompt): (OwnedObjectPath, OwnedObjectPath) = reply.body().deserialize()?;
        self.without(&prompt).await
    }

    /// Removes the secret with these attributes, if there is one.
    pub(super) async fn remove(&self, attributes: &Attributes<'_>) -> Result<(), SecretError> {
        let Some(item) = self.find(attributes).await? else {
            return Ok(());
        };
        let reply = self
            .bus
            .call_method(Some(SERVICE), &*item, Some(IS_ITEM), "Delete", &())
            .await?;
        let prompt: OwnedObjectPath = reply.body().deserialize()?;
        self.without(&prompt).await
    }

    async fn find(
        &self,
        attributes: &Attributes<'_>,
    ) -> Result<Option<OwnedObjectPath>, SecretError> {
        let reply = self
            .bus
            .call_method(
                Some(SERVICE),
                SERVICE_PATH,
                Some(IS_SERVICE),
                "SearchItems",
                &(attributes,),
            )
            .await?;
        let (open, locked): (Vec<OwnedObjectPath>, Vec<OwnedObjectPath>) =
            reply.body().deserialize()?;
        match open.into_iter().next() {
            Some(item) => Ok(Some(item)),
            None if !locked.is_empty() => Err(SecretError::Locked),
            // A locked collection may hide what it holds: only an open one can say that there is none.
            None => self.collection().await.map(|_| None),
        }
    }

    async fn without(&self, prompt: &ObjectPath<'_>) -> Result<(), SecretError> {
        if prompt.as_str() == NO_OBJECT {
            return Ok(());
        }
        self.bus
            .call_method(Some(SERVICE), prompt, Some(IS_PROMPT), "Dismiss", &())
            .await?;
        Err(SecretError::Locked)
    }
}
