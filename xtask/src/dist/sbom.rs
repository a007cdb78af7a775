//! What the program is made of, as CycloneDX 1.5: every crate that is linked, with its licence and the
//! registry's checksum.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::build::target;
use crate::workspace;

/// The bill of the package `warpsmith` on this machine's target.
pub(super) fn of_program() -> Result<Value> {
    let arguments = [
        "metadata",
        "--format-version=1",
        "--locked",
        "--filter-platform",
        target(),
    ];
    let text = workspace::stdout(Path::new("cargo"), &arguments)?;
    let metadata: Value = serde_json::from_str(&text).context("cargo's metadata are not JSON")?;
    let lock = std::fs::read_to_string(workspace::root().join("Cargo.lock"))?;
    bill(&metadata, &checksums(&lock))
}

/// (name, version) → SHA-256 of the package, from `Cargo.lock`.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let mut found = BTreeMap::new();
    for package in lock.split("[[package]]").skip(1) {
        let field = |name: &str| {
            let line = package
                .lines()
                .find(|line| line.starts_with(&format!("{name} = ")))?;
            Some(line.split('"').nth(1)?.to_owned())
        };
        if let (Some(name), Some(version), Some(sum)) =
            (field("name"), field("version"), field("checksum"))
        {
            found.insert((name, version), sum);
        }
    }
    found
}

fn bill(metadata: &Value, sums: &BTreeMap<(String, String), String>) -> Result<Value> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages: BTreeMap<String, Value> = list(&metadata["packages"])
        .into_iter()
        .map(|package| (word(&package["id"]), package))
        .collect();
    let edges: BTreeMap<String, Vec<String>> = list(&metadata["resolve"]["nodes"])
        .iter()
        .map(|node| {
            // What only tests and build scripts use is not in the program.
            let linked = list(&node["deps"]).into_iter().filter(|dependency| {
                list(&dependency["dep_kinds"])
                    .iter()
                    .any(|kind| kind["kind"].is_null())
            });
            (
                word(&node["id"]),
                linked.map(|one| word(&one["pkg"])).collect(),
            )
        })
        .collect();
    let root = packages
        .iter()
        .find(|(_, package)| package["name"] == "warpsmith")
        .map(|(id, _)| id.clone())
        .context("the workspace has no package `warpsmith`")?;
    let mut linked = BTreeSet::new();
    let mut open = vec![root.clone()];
    while let Some(id) = open.pop() {
        if linked.insert(id.clone()) {
            open.extend(edges.get(&id).into_iter().flatten().cloned());
        }
    }
    let reference = |id: &str| {
        let package = &packages[id];
        format!(
            "pkg:cargo/{}@{}",
            word(&package["name"]),
            word(&package["version"])
        )
    };
    let component = |id: &str, kind: &str| {
        let package = &packages[id];
        let (name, version) = (word(&package["name"]), word(&package["version"]));
        let mut entry = json!({
            "type": kind,
            "bom-ref": reference(id),
            "name": name,
            "version": version,
            "purl": reference(id),
        });
        if let Some(licence) = package["license"].as_str() {
            // Cargo's old form has a slash where SPDX has a word.
            entry["licenses"] = json!([{ "expression": licence.replace('/', " OR ") }]);
        }
        if let Some(sum) = sums.get(&(name, version)) {
            entry["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
        }
        entry
    };
    let others: Vec<&String> = linked.iter().filter(|id| **id != root).collect();
    let dependencies: Vec<Value> = linked
        .iter()
        .map(|id| {
            let below: BTreeSet<String> = edges
                .get(id)
                .into_iter()
                .flatten()
                .map(|below| reference(below))
                .collect();
            json!({ "ref": reference(id), "dependsOn": below })
        })
        .collect();
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": component(&root, "application") },
        "components": others.iter().map(|id| component(id, "library")).collect::<Vec<_>>(),
        "dependencies": dependencies,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bill_has_what_is_linked_and_nothing_of_the_tests() {
        let bill = of_program().unwrap();
        let names: Vec<&str> = bill["components"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["name"].as_str().unwrap())
            .collect();
        assert!(names.contains(&"clap") && names.contains(&"warpsmith-core"));
        assert!(!names.contains(&"libtest-mimic") && !names.contains(&"xtask"));
        let clap = bill["components"]
            .as_array()
            .unwrap()
            .iter()
            .find(|one| one["name"] == "clap");
        let clap = clap.unwrap();
        assert_eq!(clap["hashes"][0]["content"].as_str().unwrap().len(), 64);
        assert!(
            clap["licenses"][0]["expression"]
                .as_str()
                .unwrap()
                .contains("MIT")
        );
        let references: BTreeSet<&str> = bill["dependencies"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["ref"].as_str().unwrap())
            .collect();
        assert_eq!(references.len(), names.len() + 1);
    }
}
