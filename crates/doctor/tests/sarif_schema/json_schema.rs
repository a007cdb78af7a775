//! As much of JSON Schema as SARIF's schema (draft 7) and the report's (2020-12) use. A keyword that it does not know fails,
//! so that a newer schema is not half checked.

use serde_json::Value;

/// Keywords that describe and demand nothing of an instance; `format` is one by the standard.
const ANNOTATIONS: [&str; 8] = [
    "$defs",
    "$id",
    "$schema",
    "default",
    "definitions",
    "description",
    "format",
    "title",
];

/// What is wrong with `value`, as `path: why`.
pub(crate) fn violations(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(schema, schema, value, "$", &mut found);
    found
}

fn check(root: &Value, schema: &Value, value: &Value, path: &str, found: &mut Vec<String>) {
    let Some(keywords) = schema.as_object() else {
        return;
    };
    for (keyword, demand) in keywords {
        let mut fail = |why: String| found.push(format!("{path}: {why}"));
        match keyword.as_str() {
            word if ANNOTATIONS.contains(&word) => {}
            "$ref" => {
                let pointer = demand.as_str().and_then(|d| d.strip_prefix('#'));
                match pointer.and_then(|p| root.pointer(p)) {
                    Some(target) => check(root, target, value, path, found),
                    None => fail(format!("the schema refers to {demand}")),
                }
            }
            "type" => {
                if !types(demand).any(|name| is_of(value, name)) {
                    fail(format!("is not of type {demand}"));
                }
            }
            "enum" => {
                if !demand.as_array().is_some_and(|all| all.contains(value)) {
                    fail(format!("{value} is none of {demand}"));
                }
            }
            "const" => {
                if value != demand {
                    fail(format!("{value} is not {demand}"));
                }
            }
            "minimum" | "maximum" => {
                if let (Some(number), Some(bound)) = (value.as_f64(), demand.as_f64()) {
                    let below = number < bound;
                    if number != bound && below == (keyword == "minimum") {
                        fail(format!("{number} is beyond the {keyword} {bound}"));
                    }
                }
            }
            "pattern" => {
                if let Some(text) = value.as_str()
                    && !follows(demand.as_str().unwrap_or(""), text)
                {
                    fail(format!("`{text}` does not follow {demand}"));
                }
            }
            "required" => {
                for name in demand.as_array().into_iter().flatten() {
                    if value.is_object() && value.get(name.as_str().unwrap_or("")).is_none() {
                        fail(format!("{name} is missing"));
                    }
                }
            }
            "properties" => {
                for (name, below) in demand.as_object().into_iter().flatten() {
                    if let Some(inner) = value.get(name) {
                        check(root, below, inner, &format!("{path}.{name}"), found);
                    }
                }
            }
            "additionalProperties" => {
                let known = schema.get("properties");
                for (name, inner) in value.as_object().into_iter().flatten() {
                    if known.is_some_and(|k| k.get(name).is_some()) {
                        continue;
                    }
                    if demand == &Value::Bool(false) {
                        found.push(format!("{path}: has no property {name}"));
                    } else {
                        check(root, demand, inner, &format!("{path}.{name}"), found);
                    }
                }
            }
            "items" => {
                for (n, inner) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, demand, inner, &format!("{path}[{n}]"), found);
                }
            }
            "prefixItems" => {
                let pairs = demand.as_array().into_iter().flatten();
                for (n, (below, inner)) in pairs
                    .zip(value.as_array().into_iter().flatten())
                    .enumerate()
                {
                    check(root, below, inner, &format!("{path}[{n}]"), found);
                }
            }
            "maxItems" => {
                let most = demand.as_u64().unwrap_or(u64::MAX);
                if value.as_array().is_some_and(|v| (v.len() as u64) > most) {
                    fail(format!("has more than {most} items"));
                }
            }
            "minItems" => {
                let least = demand.as_u64().unwrap_or(0);
                if value.as_array().is_some_and(|v| (v.len() as u64) < least) {
                    fail(format!("has fewer than {least} items"));
                }
            }
            "uniqueItems" => {
                let items = value.as_array().map_or(&[][..], Vec::as_slice);
                let twice = (1..items.len()).any(|n| items[..n].contains(&items[n]));
                if demand == &Value::Bool(true) && twice {
                    fail("has an item twice".into());
                }
            }
            "anyOf" | "oneOf" => {
                let fitting = demand
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter(|one| {
                        let mut wrong = Vec::new();
                        check(root, one, value, path, &mut wrong);
                        wrong.is_empty()
                    })
                    .count();
                if fitting == 0 || (keyword == "oneOf" && fitting > 1) {
                    fail(format!("fits {fitting} of {keyword}"));
                }
            }
            other => fail(format!(
                "the schema uses `{other}`, which is not checked here"
            )),
        }
    }
}

fn types(demand: &Value) -> impl Iterator<Item = &str> {
    let many = demand.as_array().map_or(&[][..], Vec::as_slice);
    demand
        .as_str()
        .into_iter()
        .chain(many.iter().filter_map(Value::as_str))
}

fn is_of(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        _ => value.is_null(),
    }
}

/// The two kinds of pattern in SARIF's schema that our reports meet: identifiers made of hexadecimal
/// digits in groups, and a media type. Another pattern counts as broken.
fn follows(pattern: &str, text: &str) -> bool {
    if pattern.contains("[0-9a-fA-F]{8}") {
        let groups: Vec<&str> = text.split('-').collect();
        groups.iter().map(|g| g.len()).eq([8, 4, 4, 4, 12])
            && text.chars().all(|c| c == '-' || c.is_ascii_hexdigit())
    } else {
        pattern == "[^/]+/.+"
            && text
                .split_once('/')
                .is_some_and(|(a, b)| !a.is_empty() && !b.is_empty())
    }
}
