//! A job file into a [`Layer`]: known keys and right shapes, each value with its place.

use super::{
    keys::{KEYS, KeyInfo, SECTIONS, Shape},
    layer::{Layer, Origin, Value},
};
use crate::document::{Document, DocumentError, nearest};
use std::{ops::Range, sync::Arc};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// Reads the text of a job file.
///
/// # Errors
/// Broken TOML, an unknown table or key (with the nearest known one), a value of the wrong shape.
pub(crate) fn read(text: &Arc<Document>) -> Result<Layer, DocumentError> {
    let document = DeTable::parse(&text.content).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        let help = "strings want quotes: gpu = \"4090x8\"".to_owned();
        DocumentError::at(
            text,
            span,
            error.message(),
            "TOML stops being readable here",
            Some(help),
        )
    })?;
    let mut layer = Layer::of_file(Arc::clone(text));
    for (name, value) in document.get_ref() {
        if let Some(info) = find("", name.get_ref()) {
            insert(&mut layer, text, info, value)?;
            continue;
        }
        if !SECTIONS.contains(&name.get_ref().as_ref()) {
            return Err(unknown(text, name.span(), "", name.get_ref()));
        }
        let DeValue::Table(table) = value.get_ref() else {
            return Err(DocumentError::at(
                text,
                value.span(),
                format!(
                    "{} is a table, not a {}",
                    name.get_ref(),
                    value.get_ref().type_str()
                ),
                "not a table",
                Some(format!("write [{}] on a line of its own", name.get_ref())),
            ));
        };
        for (key, value) in table {
            let Some(info) = find(name.get_ref(), key.get_ref()) else {
                return Err(unknown(text, key.span(), name.get_ref(), key.get_ref()));
            };
            insert(&mut layer, text, info, value)?;
        }
    }
    Ok(layer)
}

fn find(section: &str, name: &str) -> Option<&'static KeyInfo> {
    KEYS.iter()
        .find(|info| info.section == section && info.name == name)
}

/// An unknown key: perhaps misspelt, perhaps right but in the wrong table.
fn unknown(text: &Document, span: Range<usize>, section: &str, name: &str) -> DocumentError {
    let elsewhere = KEYS.iter().find(|info| info.name == name);
    let siblings = KEYS
        .iter()
        .filter(|info| info.section == section)
        .map(|info| info.name)
        .chain(SECTIONS.into_iter().filter(|_| section.is_empty()));
    let help = if let Some(info) = elsewhere {
        match info.section {
            "" => format!("'{name}' stands at the top of the file, before the first [table]"),
            section => format!("'{name}' belongs under [{section}]"),
        }
    } else if let Some(similar) = nearest(name, siblings.clone()) {
        format!("did you mean '{similar}'?")
    } else if let Some(info) = nearest(name, KEYS.iter().map(|info| info.name))
        .and_then(|similar| KEYS.iter().find(|info| info.name == similar))
    {
        format!("did you mean '{}'?", info.path())
    } else {
        format!("known here: {}", siblings.collect::<Vec<_>>().join(", "))
    };
    let place = match section {
        "" => String::new(),
        section => format!(" in [{section}]"),
    };
    DocumentError::at(
        text,
        span,
        format!("unknown key '{name}'{place}"),
        "unknown key",
        Some(help),
    )
}

fn insert(
    layer: &mut Layer,
    text: &Document,
    info: &KeyInfo,
    value: &Spanned<DeValue<'_>>,
) -> Result<(), DocumentError> {
    let read = match (info.shape, value.get_ref()) {
        (Shape::Text | Shape::Quantity | Shape::Command, DeValue::String(string)) => {
            Some(Value::Text(string.to_string()))
        }
        (Shape::Integer | Shape::Quantity, DeValue::Integer(number)) if number.radix() == 10 => {
            Some(Value::Number(number.as_str().to_owned()))
        }
        (Shape::Quantity, DeValue::Float(number)) => {
            Some(Value::Number(number.as_str().to_owned()))
        }
        (Shape::List | Shape::Command, DeValue::Array(items)) => items
            .iter()
            .map(|item| item.get_ref().as_str().map(str::to_owned))
            .collect::<Option<_>>()
            .map(Value::List),
        (Shape::Pairs, DeValue::Table(table)) => table
            .iter()
            .map(|(name, value)| Some((name.get_ref().to_string(), scalar(value.get_ref())?)))
            .collect::<Option<_>>()
            .map(Value::Pairs),
        _ => None,
    };
    let Some(read) = read else {
        let found = value.get_ref().type_str();
        return Err(DocumentError::at(
            text,
            value.span(),
            format!("{} wants {}", info.path(), wanted(info.shape)),
            format!("this is a {found}"),
            Some(info.help.to_owned()),
        ));
    };
    layer.insert(info.key, read, Origin::File(value.span()));
    Ok(())
}

fn wanted(shape: Shape) -> &'static str {
    match shape {
        Shape::Text => "a string",
        Shape::Integer => "a whole number",
        Shape::Quantity => "a number or a string",
        Shape::List => "a list of strings",
        Shape::Pairs => "a table of name = value, the values strings, numbers or true/false",
        Shape::Command => "a list of strings, or one string for the shell",
    }
}

/// A value of the engine's own options as the engine's command line spells it.
fn scalar(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(string) => Some(string.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().to_owned()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        DeValue::Boolean(flag) => Some(flag.to_string()),
        _ => None,
    }
}
