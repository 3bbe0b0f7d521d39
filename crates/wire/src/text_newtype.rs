//! One shape for every validated text type of the protocol.
//!
//! A value always matches its grammar, also when it is read from JSON.

/// Implements the traits which every validated text newtype has. The type must
/// be a tuple struct over `Arc<str>` with `fn check(&str) -> Result<(), $error>`.
macro_rules! text_newtype {
    ($name:ident, $error:ty, $pattern:expr, $about:expr) => {
        impl $name {
            /// The text itself.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = $error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::check(text)?;
                Ok(Self(std::sync::Arc::from(text)))
            }
        }

        impl TryFrom<String> for $name {
            type Error = $error;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                text.parse()
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(&self.0)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(from)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "description": $about,
                    "type": "string",
                    "pattern": $pattern,
                })
            }
        }

        crate::text_newtype::ts_as_string!($name);
    };
}

/// Shows a type to TypeScript as `string`.
macro_rules! ts_as_string {
    ($name:ident) => {
        #[cfg(feature = "typescript")]
        impl ts_rs::TS for $name {
            type WithoutGenerics = Self;
            type OptionInnerType = Self;

            fn name(_: &ts_rs::Config) -> String {
                "string".to_owned()
            }

            fn inline(_: &ts_rs::Config) -> String {
                "string".to_owned()
            }
        }
    };
}

pub(crate) use {text_newtype, ts_as_string};
