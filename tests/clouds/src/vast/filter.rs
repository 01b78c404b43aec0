//! `{field: {op: value}}`, as offers and instances are searched.

use rust_decimal::Decimal;
use serde_json::{Map, Value};

use super::refuse::refuse;
use crate::{Reply, decimal};

/// Fields that can be searched for and aren't shown under that name.
const HIDDEN: [&str; 3] = ["verified", "datacenter", "driver_version"];

/// The objects that pass all conditions, or the refusal of a search for a field that doesn't exist.
pub(crate) fn select(
    objects: impl Iterator<Item = Map<String, Value>>,
    query: &Map<String, Value>,
) -> Result<Vec<Map<String, Value>>, Reply> {
    let mut selected = Vec::new();
    for object in objects {
        match passes(&object, query) {
            Ok(true) => selected.push(object),
            Ok(false) => {}
            Err(field) => {
                let message =
                    format!("Error in query parameters: {field} is not a valid search key");
                return Err(refuse(400, "invalid_request", &message));
            }
        }
    }
    Ok(selected)
}

/// Whether an object passes all conditions; `Err` names a field that doesn't exist.
pub(crate) fn passes(
    object: &Map<String, Value>,
    query: &Map<String, Value>,
) -> Result<bool, String> {
    for (field, conditions) in query {
        let Some(conditions) = conditions.as_object() else {
            return Err(field.clone());
        };
        if !HIDDEN.contains(&field.as_str()) && !object.contains_key(field) {
            return Err(field.clone());
        }
        let found = value_of(object, field);
        for (operator, wanted) in conditions {
            match holds(field, &found, operator, wanted) {
                Some(true) => {}
                Some(false) => return Ok(false),
                None => return Err(format!("{field}.{operator}")),
            }
        }
    }
    Ok(true)
}

fn value_of(object: &Map<String, Value>, field: &str) -> Value {
    let of = |name: &str| object.get(name).cloned().unwrap_or(Value::Null);
    match field {
        "verified" => Value::Bool(of("verification") == "verified"),
        "datacenter" => Value::Bool(of("hosting_type") == 1),
        "driver_version" => of("driver_vers"),
        other => of(other),
    }
}

/// `None`: there is no such operator.
fn holds(field: &str, found: &Value, operator: &str, wanted: &Value) -> Option<bool> {
    let member = || {
        let list = wanted.as_array().map(Vec::as_slice).unwrap_or_default();
        list.iter().any(|it| equal(field, found, it))
    };
    let compare = |test: fn(Decimal, Decimal) -> bool| {
        // An offer without a contract's end has no end.
        let found = decimal(found).or((field == "duration").then_some(Decimal::MAX));
        matches!((found, decimal(wanted)), (Some(found), Some(wanted)) if test(found, wanted))
    };
    Some(match operator {
        "eq" => equal(field, found, wanted),
        "neq" => !equal(field, found, wanted),
        "in" => member(),
        "notin" => !member(),
        "gt" => compare(|found, wanted| found > wanted),
        "gte" => compare(|found, wanted| found >= wanted),
        "lt" => compare(|found, wanted| found < wanted),
        "lte" => compare(|found, wanted| found <= wanted),
        _ => return None,
    })
}

/// Numbers and booleans come as strings too; a place is found by its country.
fn equal(field: &str, found: &Value, wanted: &Value) -> bool {
    if field == "geolocation"
        && let (Some(found), Some(wanted)) = (found.as_str(), wanted.as_str())
    {
        return found == wanted || found.ends_with(&format!(", {wanted}"));
    }
    if let (Some(found), Some(wanted)) = (truth(found), truth(wanted)) {
        return found == wanted;
    }
    if let (Some(found), Some(wanted)) = (decimal(found), decimal(wanted)) {
        return found == wanted;
    }
    found == wanted
}

fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Null => Some(false),
        Value::Bool(value) => Some(*value),
        Value::String(text) => match text.to_lowercase().as_str() {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(query: &Value) -> Result<bool, String> {
        let object = json!({"num_gpus": 8, "gpu_name": "RTX 4090", "verification": "verified",
            "external": null, "geolocation": "Sweden, SE", "driver_vers": 535_086_005_u64, "duration": null});
        passes(object.as_object().unwrap(), query.as_object().unwrap())
    }

    #[test]
    fn numbers_as_strings_and_nulls_as_false() {
        assert_eq!(
            check(&json!({"num_gpus": {"gte": "8"}, "external": {"eq": false}})),
            Ok(true)
        );
        assert_eq!(check(&json!({"num_gpus": {"lt": "8"}})), Ok(false));
        assert_eq!(
            check(&json!({"verified": {"eq": "true"}, "geolocation": {"in": ["NO", "SE"]}})),
            Ok(true)
        );
        assert_eq!(check(&json!({"duration": {"gt": 1e9}})), Ok(true));
    }

    #[test]
    fn what_does_not_exist_is_named() {
        assert_eq!(check(&json!({"gpus": {"eq": 8}})), Err("gpus".to_owned()));
        assert_eq!(
            check(&json!({"num_gpus": {"is": 8}})),
            Err("num_gpus.is".to_owned())
        );
    }
}
