//! The configuration files of a project and of a user.

use std::path::Path;

use warpsmith_config::{Configuration, Document, Owner};
use warpsmith_doctor::{AuditOptions, audit_project, check_codes};

use super::Target;
use crate::scratch;

pub(super) const CONFIG: Target = Target {
    name: "config",
    run: |data| {
        if let Ok(text) = std::str::from_utf8(data) {
            for owner in [Owner::User, Owner::Project] {
                match Document::parse(Path::new("fuzz.toml"), owner, text.to_owned()) {
                    Ok(document) => {
                        let _ = check_codes(&document);
                        let _ = Configuration::of(&[document], &|_| None);
                    }
                    // The line with its mark is cut out of foreign text.
                    Err(error) => drop(error.to_string()),
                }
            }
        }
        scratch::tree(".warpsmith.toml", data, |root| {
            let _ = audit_project(root, &AuditOptions::default());
        });
    },
    dictionary: &[
        "device = \"cuda:0\"\n",
        "cache = \"~/\"\n",
        "[measure]\n",
        "budget = ",
        "\"500ms\"",
        "target = 1e309\n",
        "margin = -0\n",
        "[report]\noutput = ",
        "[telemetry]\ninterval = ",
        "[audit]\nexclude = [\"",
        "!a/**/[b-a]\"]\n",
        "[audit.allow]\nDKR001 = ",
        "[audit.pins]\n\"actions/checkout\" = ",
        "\"\"\"",
        "\u{feff}",
        "{ a = 1 }",
        "0x",
        "1979-05-27T07:32:00Z",
    ],
};
