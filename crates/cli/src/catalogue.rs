//! Every workload of the product: its table of contents.

use std::borrow::Cow;

use anyhow::{Result, bail};
use warpsmith_workload::Workload;

/// All workloads, sorted by id.
pub(crate) fn workloads() -> Vec<Box<dyn Workload>> {
    let mut all = warpsmith_machine::workloads();
    all.extend(warpsmith_md::workloads());
    all.extend(warpsmith_lattice::workloads());
    all.extend(warpsmith_synth::workloads());
    all.extend(warpsmith_training::workloads());
    all.extend(warpsmith_voice::workloads());
    all.sort_by_key(|workload| workload.id());
    all
}

/// The workloads that `names` ask for: an id, or an area that stands for all of it; all of them
/// where `names` is empty.
pub(crate) fn choose(names: &[String]) -> Result<Vec<Box<dyn Workload>>> {
    let mut all = workloads();
    if names.is_empty() {
        return Ok(all);
    }
    let asked_for = |id: &str, name: &str| {
        let name = today(name);
        id.strip_prefix(&*name)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    for name in names {
        if !all.iter().any(|workload| asked_for(workload.id(), name)) {
            bail!("there is no workload `{name}`; `warpsmith bench --list` names them all");
        }
    }
    all.retain(|workload| names.iter().any(|name| asked_for(workload.id(), name)));
    Ok(all)
}

/// The workload of this id.
pub(crate) fn named(id: &str) -> Result<Box<dyn Workload>> {
    let now = today(id);
    match workloads()
        .into_iter()
        .find(|workload| workload.id() == now)
    {
        Some(workload) => Ok(workload),
        None => bail!("there is no workload `{id}`; `warpsmith bench --list` names them all"),
    }
}

/// A name as it is today: what is called `machine` was called `device` once, in scripts that still run.
fn today(name: &str) -> Cow<'_, str> {
    match name.strip_prefix("device") {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("machine{rest}").into(),
        _ => name.into(),
    }
}

/// Reads `--set name=value` for a workload.
pub(crate) fn parse_setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("`{text}` is not `name=value`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_an_area_stands_for_all_of_it() {
        let ids: Vec<_> = workloads().iter().map(|workload| workload.id()).collect();
        let mut unique = ids.clone();
        unique.dedup();
        assert_eq!(ids, unique);
        assert_eq!(choose(&["machine".into()]).unwrap().len(), 3);
        assert_eq!(choose(&["machine/copy".into()]).unwrap().len(), 1);
        assert!(choose(&["dev".into()]).is_err());
    }

    #[test]
    fn the_former_name_of_an_area_still_stands_for_it() {
        let ids = |names: &[&str]| -> Vec<&str> {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            let chosen = choose(&names).unwrap();
            chosen.iter().map(|workload| workload.id()).collect()
        };
        assert_eq!(ids(&["device"]), ids(&["machine"]));
        assert_eq!(ids(&["device/copy"]), ["machine/copy"]);
        assert_eq!(named("device/saxpy").unwrap().id(), "machine/saxpy");
        // The error repeats what was typed.
        for unknown in ["devices", "device/none"] {
            let error = named(unknown).err().unwrap().to_string();
            assert!(error.contains(&format!("`{unknown}`")), "{error}");
            let error = choose(&[unknown.to_owned()]).err().unwrap().to_string();
            assert!(error.contains(&format!("`{unknown}`")), "{error}");
        }
    }
}
