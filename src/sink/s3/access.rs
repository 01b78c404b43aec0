//! Who we are to an object store, and where it is.

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::settings::Environment;

/// An access key, and the store it is for. Nothing of the key shows in `Debug` output.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Access {
    key_id: String,
    secret: String,
    #[serde(default)]
    session_token: Option<String>,
    pub(super) region: String,
    /// Of another store than Amazon's.
    #[serde(default)]
    pub(super) endpoint: Option<String>,
}

/// Where an access key goes, for people.
pub(crate) const WHERE_THE_KEY_GOES: &str = "$AWS_ACCESS_KEY_ID and $AWS_SECRET_ACCESS_KEY, or ~/.aws/credentials ($AWS_PROFILE names another of its profiles)";

/// What Amazon's clients assume too.
const USUAL_REGION: &str = "us-east-1";

impl Access {
    /// As the vendor's own tools find it: variables, then the profile in `~/.aws`. The endpoint is `$AWS_ENDPOINT_URL_S3`,
    /// `$AWS_ENDPOINT_URL`, or the profile's `endpoint_url`. `None` without a key.
    pub(crate) fn find(environment: &Environment) -> Option<Self> {
        let variable = |name: &str| environment.variable(name);
        let profile = variable("AWS_PROFILE").unwrap_or_else(|| "default".to_owned());
        let file = |name: &str, variable_name: &str| {
            let usual = environment.home().join(".aws").join(name);
            let path = variable(variable_name).map_or(usual, std::path::PathBuf::from);
            read(&path)
        };
        let config = file("config", "AWS_CONFIG_FILE");
        let section = match profile.as_str() {
            "default" => "default".to_owned(),
            name => format!("profile {name}"),
        };
        let of_profile = |key: &str| value(&config, &section, key);
        let (key_id, secret, session_token) = match (
            variable("AWS_ACCESS_KEY_ID"),
            variable("AWS_SECRET_ACCESS_KEY"),
        ) {
            (Some(id), Some(secret)) => (id, secret, variable("AWS_SESSION_TOKEN")),
            _ => {
                let credentials = file("credentials", "AWS_SHARED_CREDENTIALS_FILE");
                let named =
                    |key: &str| value(&credentials, &profile, key).or_else(|| of_profile(key));
                (
                    named("aws_access_key_id")?,
                    named("aws_secret_access_key")?,
                    named("aws_session_token"),
                )
            }
        };
        Some(Self {
            key_id,
            secret,
            session_token,
            region: variable("AWS_REGION")
                .or_else(|| variable("AWS_DEFAULT_REGION"))
                .or_else(|| of_profile("region"))
                .unwrap_or_else(|| USUAL_REGION.to_owned()),
            endpoint: variable("AWS_ENDPOINT_URL_S3")
                .or_else(|| variable("AWS_ENDPOINT_URL"))
                .or_else(|| of_profile("endpoint_url")),
        })
    }

    pub(super) fn credentials(&self) -> aws_sdk_s3::config::Credentials {
        aws_sdk_s3::config::Credentials::new(
            &self.key_id,
            &self.secret,
            self.session_token.clone(),
            None,
            "gpurun",
        )
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access")
            .field("region", &self.region)
            .field("endpoint", &self.endpoint)
            .finish_non_exhaustive()
    }
}

/// A file that isn't there has no values.
fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// `key = value` under `[section]`, as the vendor's files have it.
fn value(text: &str, section: &str, key: &str) -> Option<String> {
    let mut here = false;
    for line in text.lines().map(str::trim) {
        if let Some(name) = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            here = name.trim() == section;
            continue;
        }
        let Some((name, value)) = line.split_once('=') else {
            continue;
        };
        if here && name.trim() == key && !value.trim().is_empty() {
            return Some(value.trim().to_owned());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_where_the_vendors_tools_find_them() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join(".aws")).unwrap();
        let credentials = "[default]\naws_access_key_id = d-id\naws_secret_access_key=d-secret\n[other]\naws_access_key_id = o-id\naws_secret_access_key = o-secret\n";
        std::fs::write(home.path().join(".aws/credentials"), credentials).unwrap();
        let config =
            "[default]\nregion = eu-north-1\n[profile other]\nendpoint_url = http://127.0.0.1:9\n";
        std::fs::write(home.path().join(".aws/config"), config).unwrap();
        let home = home.path().display().to_string();
        let mut environment = Environment::fixed([("HOME", home.as_str())]);
        let found = Access::find(&environment).expect("the default profile");
        assert_eq!(
            (found.key_id.as_str(), found.region.as_str()),
            ("d-id", "eu-north-1")
        );
        environment.set("AWS_PROFILE", "other");
        let found = Access::find(&environment).expect("the other profile");
        assert_eq!(
            (found.secret.as_str(), found.region.as_str()),
            ("o-secret", USUAL_REGION)
        );
        assert_eq!(found.endpoint.as_deref(), Some("http://127.0.0.1:9"));
        environment.set("AWS_ACCESS_KEY_ID", "v-id");
        environment.set("AWS_SECRET_ACCESS_KEY", "v-secret");
        environment.set("AWS_ENDPOINT_URL", "http://127.0.0.1:8");
        let found = Access::find(&environment).expect("variables");
        assert_eq!(found.key_id, "v-id");
        assert_eq!(found.endpoint.as_deref(), Some("http://127.0.0.1:8"));
        assert!(!format!("{found:?}").contains("v-secret"));
        assert_eq!(
            Access::find(&Environment::fixed([("HOME", "/nowhere")])),
            None
        );
    }
}
