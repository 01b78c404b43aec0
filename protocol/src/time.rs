//! Timestamps as LibreYOLO writes them: RFC 3339, whole seconds, `+00:00`.

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Deserializer, Serializer, de::Error};

pub(crate) mod optional {
    use super::*;

    #[expect(clippy::ref_option, reason = "the signature serde's `with` asks for")]
    pub(crate) fn serialize<S: Serializer>(
        time: &Option<DateTime<Utc>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match time {
            Some(time) => {
                serializer.serialize_str(&time.to_rfc3339_opts(SecondsFormat::Secs, false))
            }
            None => serializer.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<DateTime<Utc>>, D::Error> {
        let Some(text) = Option::<String>::deserialize(deserializer)? else {
            return Ok(None);
        };
        DateTime::parse_from_rfc3339(&text)
            .map(|time| Some(time.to_utc()))
            .map_err(|e| D::Error::custom(format!("`{text}` is not an RFC 3339 time: {e}")))
    }
}
