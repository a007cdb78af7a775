//! Documents against the published schema, which knows every field and no other.

use serde_json::{Value, json};

use crate::fixtures;
use crate::json_schema::violations;

const SCHEMA: &str = include_str!("../../schema/report.schema.json");

fn schema() -> Value {
    serde_json::from_str(SCHEMA).expect("the schema is JSON")
}

#[test]
fn every_report_obeys_the_published_schema() {
    for (name, report) in fixtures::all() {
        let value = serde_json::to_value(&report).expect("a report");
        let wrong = violations(&schema(), &value);
        assert!(wrong.is_empty(), "{name}: {}", wrong.join("\n"));
    }
}

#[test]
fn a_report_that_is_broken_is_refused_where_it_is() {
    let report = serde_json::to_value(fixtures::named("healthy-gpu")).expect("a report");
    let broken: [(&str, Value); 5] = [
        ("/body/verdict/state", json!("splendid")),
        ("/body/chapters/0/light", json!("green")),
        ("/body/numbers/0/share", json!(["90 %"])),
        ("/body/subject/seconds", json!("301")),
        ("/body/sections/0/status", json!({"done": 1})),
    ];
    for (pointer, value) in broken {
        let mut changed = report.clone();
        *changed.pointer_mut(pointer).expect("a place") = value;
        assert!(!violations(&schema(), &changed).is_empty(), "{pointer}");
    }
    let mut more = report.clone();
    more["body"]["surprise"] = json!(1);
    assert_eq!(
        violations(&schema(), &more),
        ["$.body: has no property surprise"]
    );
    let mut less = report;
    less["body"]
        .as_object_mut()
        .expect("an object")
        .remove("verdict");
    assert_eq!(
        violations(&schema(), &less),
        ["$.body: \"verdict\" is missing"]
    );
}

#[test]
fn the_published_copy_is_the_schema() {
    let published = include_str!("../../../../docs/reference/report.schema.json");
    assert_eq!(
        published, SCHEMA,
        "copy crates/report/schema to docs/reference"
    );
}

#[test]
fn a_report_reads_back_as_it_was() {
    for (name, report) in fixtures::all() {
        let text = serde_json::to_string(&report).expect("a report");
        let read: warpsmith_core::Report<warpsmith_report::Document> =
            serde_json::from_str(&text).expect("a report again");
        // Recordings are in the page alone.
        let written = serde_json::to_value(&report).expect("a report");
        let again = serde_json::to_value(&read).expect("a report");
        assert!(is_same(&written, &again), "{name}");
    }
}

/// The same up to the last bit of a number: the reader of JSON does not promise that one.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            (a - b).abs() <= 1e-15 * a.abs()
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, a)| b.get(key).is_some_and(|b| is_same(a, b)))
        }
        _ => a == b,
    }
}
