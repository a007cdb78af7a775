//! `[audit]` of a project: what is accepted, left out and pinned.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use warpsmith_core::did_you_mean;

use crate::document::quoted_list;

const NAMES: [&str; 3] = ["allow", "exclude", "pins"];

/// A text with its place in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key, or the pattern.
    pub name: String,
    /// What it is set to; empty for a pattern.
    pub value: String,
    /// Bytes of the name in the file.
    pub span: Range<usize>,
}

/// What a project says about its audit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    /// Codes that are accepted, with the reason.
    pub allow: Vec<Entry>,
    /// Paths that are not judged, as in `.gitignore`.
    pub exclude: Vec<Entry>,
    /// Commits for actions.
    pub pins: Vec<Entry>,
}

type Problem = (Range<usize>, String);

pub(crate) fn read(table: &DeTable<'_>) -> Result<Audit, Problem> {
    let mut audit = Audit::default();
    for (name, value) in table {
        match name.get_ref().as_ref() {
            "allow" => audit.allow = pairs(value, "a table of codes with reasons")?,
            "pins" => audit.pins = pairs(value, "a table of actions with commits")?,
            "exclude" => audit.exclude = patterns(value)?,
            other => {
                let list = format!("there are {}", quoted_list(&NAMES));
                let advice = did_you_mean(other, NAMES, &list);
                let problem = format!("`[audit]` has no key `{other}`; {advice}");
                return Err((name.span(), problem));
            }
        }
    }
    Ok(audit)
}

fn pairs(value: &Spanned<DeValue<'_>>, what: &str) -> Result<Vec<Entry>, Problem> {
    let Some(table) = value.get_ref().as_table() else {
        return Err((value.span(), format!("must be {what}")));
    };
    table
        .iter()
        .map(|(name, value)| match value.get_ref().as_str() {
            Some(text) => Ok(Entry {
                name: name.get_ref().to_string(),
                value: text.to_owned(),
                span: name.span(),
            }),
            None => Err((value.span(), "must be a text in quotes".to_owned())),
        })
        .collect()
}

fn patterns(value: &Spanned<DeValue<'_>>) -> Result<Vec<Entry>, Problem> {
    let Some(list) = value.get_ref().as_array() else {
        return Err((value.span(), "must be a list of patterns".to_owned()));
    };
    list.iter()
        .map(|pattern| match pattern.get_ref().as_str() {
            Some(text) => Ok(Entry {
                name: text.to_owned(),
                value: String::new(),
                span: pattern.span(),
            }),
            None => Err((pattern.span(), "must be a text in quotes".to_owned())),
        })
        .collect()
}
