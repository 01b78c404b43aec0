//! train_config.yaml: flat, so a few lines write it.

use super::settings::Setting;

/// The record as YAML, one key a line, lists in block form as PyYAML writes them.
pub fn to_yaml(record: &[(&str, Setting)]) -> String {
    let mut yaml = String::new();
    for (key, setting) in record {
        let value = match setting {
            Setting::Null => " null".to_owned(),
            Setting::Text(text) => format!(" {}", quoted(text)),
            Setting::Floats(floats) => floats
                .iter()
                .map(|float| format!("\n- {float:?}"))
                .collect(),
            Setting::Ints(ints) => ints.iter().map(|int| format!("\n- {int}")).collect(),
            other => format!(" {other}"),
        };
        yaml.push_str(&format!("{key}:{value}\n"));
    }
    yaml
}

/// Bare when no YAML reader could take it for anything but this text; else as JSON, which YAML contains.
fn quoted(text: &str) -> String {
    let is_plain = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c))
        && !matches!(
            text.to_ascii_lowercase().as_str(),
            "true" | "false" | "yes" | "no" | "on" | "off" | "null" | "y" | "n"
        );
    if is_plain {
        text.to_owned()
    } else {
        serde_json::Value::from(text).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_pyyamls() {
        let record = [
            ("size", Setting::Text("t".to_owned())),
            ("classes", Setting::Null),
            ("kept", Setting::Ints(vec![0, 3])),
            ("lr0", Setting::Float(0.01)),
            ("degrees", Setting::Float(0.0)),
            ("mosaic_scale", Setting::Floats(vec![0.5, 1.5])),
            ("ema", Setting::Bool(true)),
            ("data", Setting::Text("a: b #c".to_owned())),
            ("name", Setting::Text("no".to_owned())),
            ("device", Setting::Text("0".to_owned())),
        ];
        assert_eq!(
            to_yaml(&record),
            "size: t\nclasses: null\nkept:\n- 0\n- 3\nlr0: 0.01\ndegrees: 0.0\nmosaic_scale:\n- 0.5\n- 1.5\nema: true\n\
             data: \"a: b #c\"\nname: \"no\"\ndevice: \"0\"\n"
        );
    }
}
