//! Settings from files and variables in a folder of their own.

use super::*;
use crate::settings::KeyPlace;
use rust_decimal_macros::dec;
use secrecy::ExposeSecret;
use std::{
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, text: &str, mode: u32) -> PathBuf {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(&path, text).expect("a writable folder");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("own file");
        path
    }

    fn load(&self, variables: &[(&str, &str)]) -> Result<Settings, DocumentError> {
        let mut environment = Environment::fixed([("HOME", &*self.path().to_string_lossy())]);
        for (name, value) in variables {
            environment.set(name, value);
        }
        Settings::load(&environment)
    }
}

fn source<'a>(settings: &'a Settings, path: &str) -> &'a Source {
    let (_, _, source) = settings
        .sources
        .iter()
        .find(|(known, ..)| *known == path)
        .expect("a known setting");
    source
}

#[test]
fn without_a_file_the_defaults_of_the_table_are_those_of_a_job() {
    let home = Home::new();
    let settings = home.load(&[]).expect("nothing to object to");
    assert_eq!(settings.defaults, Defaults::default());
    let builtin = LocalConfig::new(home.path().join(".local/state/gpurun/local"));
    assert_eq!(format!("{:?}", settings.local), format!("{builtin:?}"));
    assert_eq!(source(&settings, "poll"), &Source::Default);
}

#[test]
fn variables_win_over_the_file_and_the_file_over_defaults() {
    let home = Home::new();
    let text = "provider = 'local'\npoll = '5s'\n[stop]\nmax_hours = 16\nmax_cost = '$60'\n";
    let path = home.write(".config/gpurun/config.toml", text, 0o644);
    let settings = home
        .load(&[("GPURUN_MAX_HOURS", "90m")])
        .expect("a good configuration");
    let stop = &settings.defaults.stop;
    assert_eq!(stop.max_hours, Some(Hours::new(dec!(1.5))));
    assert_eq!(stop.max_cost, Some(Money::new(dec!(60))));
    assert_eq!(stop.poll_seconds, 5);
    assert_eq!(settings.defaults.provider.as_deref(), Some("local"));
    assert_eq!(
        source(&settings, "stop.max_hours"),
        &Source::Variable("GPURUN_MAX_HOURS")
    );
    assert_eq!(source(&settings, "poll"), &Source::File(path));
    assert_eq!(source(&settings, "stop.grace"), &Source::Default);
}

#[test]
fn a_price_is_dated_by_the_file_that_names_it() {
    let home = Home::new();
    let text = "[providers.local]\nprice = 0\ngpu_price = '$1.10'\ndisk = 40\n";
    let path = home.write(".config/gpurun/config.toml", text, 0o644);
    let settings = home.load(&[]).expect("a good configuration");
    assert_eq!(settings.local.running, HourlyRate::ZERO);
    assert_eq!(settings.local.per_gpu, HourlyRate::new(dec!(1.10)));
    assert_eq!(settings.local.source, path.display().to_string());
    assert_eq!(settings.local_disk, Some(Gigabytes::new(dec!(40))));
}

#[test]
fn an_unknown_setting_points_at_its_line() {
    let home = Home::new();
    home.write(
        ".config/gpurun/config.toml",
        "[stop]\nmax_hour = 3\n",
        0o644,
    );
    let error = home.load(&[]).expect_err("an unknown setting");
    let message = error.to_string();
    assert!(
        message.contains("config.toml:2:1: unknown setting 'stop.max_hour'"),
        "{message}"
    );
    let help = miette::Diagnostic::help(&error)
        .expect("a remedy")
        .to_string();
    assert_eq!(help, "did you mean 'stop.max_hours'?");
}

#[test]
fn a_wrong_value_names_its_line_or_its_variable() {
    let home = Home::new();
    home.write(".config/gpurun/config.toml", "poll = 'often'\n", 0o644);
    let error = home.load(&[]).expect_err("no duration").to_string();
    assert!(
        error.contains("config.toml:1:8: poll: 'often' can't be read"),
        "{error}"
    );
    let error = home
        .load(&[("GPURUN_POLL", "0")])
        .expect_err("no duration")
        .to_string();
    assert!(error.contains("$GPURUN_POLL (poll)"), "{error}");
}

#[test]
fn keys_in_a_file_others_can_read_are_refused() {
    let home = Home::new();
    let text = "[providers.vast]\nkey = 'top-secret'\n";
    home.write(".config/gpurun/config.toml", text, 0o640);
    let error = home.load(&[]).expect_err("readable by the group");
    assert!(error.to_string().contains("mode 0640"), "{error}");
    assert!(!format!("{error:?}").contains("top-secret"));

    let path = home.write(".config/gpurun/config.toml", text, 0o600);
    let settings = home.load(&[]).expect("a private file");
    let credential = settings.credential("vast").expect("the key of the file");
    assert_eq!(credential.place, KeyPlace::Config(path));
    assert_eq!(credential.parts[0].expose_secret(), "top-secret");
    assert!(!format!("{settings:?}").contains("top-secret"));
}

#[test]
fn keys_are_found_where_the_vendors_put_them() {
    let home = Home::new();
    home.write(".config/vastai/vast_api_key", "v-1\n", 0o600);
    home.write(
        ".runpod/config.toml",
        "[default]\napi_key = \"r-1\"\n",
        0o600,
    );
    home.write(".lambda_cloud/lambda_keys", "api_key = l-1\n", 0o600);
    let modal = "[old]\ntoken_id='o'\ntoken_secret='o'\n[new]\ntoken_id='m-1'\ntoken_secret='m-2'\nactive=true\n";
    home.write(".modal.toml", modal, 0o600);
    let settings = home
        .load(&[
            ("BEAM_TOKEN", "b-1"),
            ("RUNPOD_API_KEY", ""),
            ("VERDA_CLIENT_ID", "d-1"),
            ("VERDA_CLIENT_SECRET", "d-2"),
        ])
        .expect("keys, no configuration");
    let parts = |cloud: &str| -> Vec<&str> {
        let credential = settings.credential(cloud).expect(cloud);
        credential
            .parts
            .iter()
            .map(|part| part.expose_secret())
            .collect()
    };
    assert_eq!(parts("vast"), ["v-1"]);
    assert_eq!(parts("runpod"), ["r-1"]);
    assert_eq!(parts("lambda"), ["l-1"]);
    assert_eq!(parts("verda"), ["d-1", "d-2"]);
    assert_eq!(parts("modal"), ["m-1", "m-2"]);
    assert_eq!(parts("beam"), ["b-1"]);
    assert_eq!(settings.clouds_without_key().count(), 0);
}

#[test]
fn a_cloud_without_a_key_says_where_it_goes() {
    let settings = Home::new()
        .load(&[("MODAL_TOKEN_ID", "half")])
        .expect("no configuration");
    let missing: Vec<String> = settings
        .clouds_without_key()
        .map(|cloud| format!("{}: {}", cloud.name, cloud.where_the_key_goes()))
        .collect();
    assert_eq!(missing.len(), 6);
    assert_eq!(
        missing[0],
        "vast: $VAST_API_KEY, ~/.config/vastai/vast_api_key, or key under [providers.vast] in config.toml"
    );
    assert_eq!(
        missing[3],
        "verda: $VERDA_CLIENT_ID and $VERDA_CLIENT_SECRET, or client_id and client_secret under [providers.verda] in config.toml"
    );
    assert!(
        missing[4].starts_with("modal: $MODAL_TOKEN_ID and $MODAL_TOKEN_SECRET, ~/.modal.toml")
    );
}

#[test]
fn a_key_is_sent_to_safe_addresses_only() {
    let home = Home::new();
    for wrong in [
        "http://vast.example",
        "ftp://127.0.0.1",
        "http://127.0.0.1.evil.example",
        "",
    ] {
        if let Ok(settings) = home.load(&[("VAST_URL", wrong), ("VAST_API_KEY", "k")]) {
            assert!(wrong.is_empty(), "{wrong} was taken");
            let config = &settings.clouds()["vast"];
            assert_eq!(config.base_url.as_deref(), Some("https://console.vast.ai"));
        }
    }
    let settings = home
        .load(&[
            ("VAST_URL", "http://127.0.0.1:8080"),
            ("VAST_API_KEY", "k"),
            ("GPURUN_RATE_LIMITS", "off"),
        ])
        .expect("a simulator");
    let config = &settings.clouds()["vast"];
    assert_eq!(config.base_url.as_deref(), Some("http://127.0.0.1:8080"));
    assert!(!config.rate_limits);
    assert!(!settings.clouds().contains_key("lambda"), "there is no key");
}

#[test]
fn a_market_that_is_open_to_all_needs_no_key() {
    let home = Home::new();
    let settings = home.load(&[]).expect("nothing to object to");
    assert!(settings.clouds().is_empty());
    let markets = settings.markets();
    assert_eq!(markets.keys().collect::<Vec<_>>(), ["vast"]);
    assert!(markets["vast"].key.is_empty() && markets["vast"].rate_limits);
}
