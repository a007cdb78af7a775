//! The views of a report: what they say, and what they must never say.

#[path = "../fixtures/mod.rs"]
mod fixtures;
#[path = "../../../doctor/tests/sarif_schema/json_schema.rs"]
mod json_schema;
mod schema;
mod words;
