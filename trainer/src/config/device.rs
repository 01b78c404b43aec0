//! The device key: one device, or a list with one process for each.

/// The devices of a list such as `0,1,2,3` or `cpu,cpu`; none for a single device.
pub fn device_list(names: &str) -> Option<Vec<String>> {
    let names: Vec<String> = names
        .trim_matches(['[', ']', '(', ')'])
        .split(',')
        .map(|name| name.trim().to_owned())
        .collect();
    (names.len() > 1).then_some(names)
}

/// What is wrong with a value of the key, if anything.
pub(super) fn check(value: &str) -> Result<(), String> {
    let Some(names) = device_list(value) else {
        if matches!(value, "auto" | "cpu" | "cuda") || is_card(value) {
            return Ok(());
        }
        return Err(format!(
            "must be auto, cpu, cuda, a GPU's number or several as in 0,1,2,3; got `{value}`"
        ));
    };
    let cpus = names.iter().filter(|name| *name == "cpu").count();
    if cpus > 0 && cpus < names.len() {
        return Err("names both CPU and GPUs".to_owned());
    }
    for (index, name) in names.iter().enumerate() {
        if name != "cpu" && !is_card(name) {
            return Err(format!("names `{name}`, which is no GPU's number"));
        }
        if name != "cpu" && names[..index].contains(name) {
            return Err(format!("names GPU {name} twice"));
        }
    }
    Ok(())
}

fn is_card(name: &str) -> bool {
    let number = name.strip_prefix("cuda:").unwrap_or(name);
    number.parse::<u32>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read() {
        assert_eq!(device_list("auto"), None);
        assert_eq!(device_list("cuda:0"), None);
        assert_eq!(device_list("0, 1,2").unwrap(), ["0", "1", "2"]);
        assert_eq!(device_list("[0,1]").unwrap(), ["0", "1"]);
        assert_eq!(device_list("cpu,cpu").unwrap().len(), 2);
    }

    #[test]
    fn nonsense_is_named() {
        for good in ["auto", "cpu", "3", "cuda:1", "0,1", "cpu,cpu,cpu"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for (wrong, named) in [
            ("0,0", "GPU 0 twice"),
            ("cpu,0", "both"),
            ("0,", "``"),
            ("0,tpu", "`tpu`"),
            ("tpu", "`tpu`"),
        ] {
            let why = check(wrong).unwrap_err();
            assert!(why.contains(named), "{wrong}: {why}");
        }
    }
}
