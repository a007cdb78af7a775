//! Every workload of the product: its table of contents.

use std::borrow::Cow;
use std::path::Path;

use anyhow::{Result, bail};
use warpsmith_core::did_you_mean;
use warpsmith_workload::Workload;

/// All workloads, sorted by id.
pub fn workloads() -> Vec<Box<dyn Workload>> {
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
pub fn choose(names: &[String]) -> Result<Vec<Box<dyn Workload>>> {
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
            bail!("{}", unknown(name, &all));
        }
    }
    all.retain(|workload| names.iter().any(|name| asked_for(workload.id(), name)));
    Ok(all)
}

/// The workload of this id.
pub fn named(id: &str) -> Result<Box<dyn Workload>> {
    let now = today(id);
    let mut all = workloads();
    match all.iter().position(|workload| workload.id() == now) {
        Some(place) => Ok(all.swap_remove(place)),
        None => bail!("{}", unknown(id, &all)),
    }
}

/// The refusal of a name that no workload has: the nearest id or area, or where they are listed.
fn unknown(name: &str, all: &[Box<dyn Workload>]) -> String {
    if Path::new(name).is_dir() {
        return format!("`{name}` is a folder; name a case, a kernel's file or a workload");
    }
    if Path::new(name).exists() {
        return format!(
            "cannot tell what `{name}` is: a file ends in `.toml`, `.cu`, `.ptx` or `.py`; \
             `warpsmith bench --list` names the workloads"
        );
    }
    let ids = all.iter().map(|workload| workload.id());
    // Whoever forgets the area types the rest of the id.
    let rests = ids.clone().filter(|id| {
        let rest = id.split_once('/').map(|(_, rest)| rest);
        rest == Some(name)
    });
    let exact: Vec<String> = rests.map(|id| format!("`{id}`")).collect();
    if !exact.is_empty() {
        return format!(
            "there is no workload `{name}`; did you mean {}?",
            exact.join(" or ")
        );
    }
    let areas = ids.clone().filter_map(|id| Some(id.split_once('/')?.0));
    let advice = did_you_mean(
        name,
        ids.chain(areas),
        "`warpsmith bench --list` names them all",
    );
    format!("there is no workload `{name}`; {advice}")
}

/// A name as it is today: what is called `machine` was called `device` once, in scripts that still run.
fn today(name: &str) -> Cow<'_, str> {
    match name.strip_prefix("device") {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("machine{rest}").into(),
        _ => name.into(),
    }
}

/// Reads `--set name=value` for a workload.
pub fn parse_setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("`{text}` is not `name=value`")),
    }
}

#[cfg(test)]
mod tests {
    use warpsmith_workload::Parameters;

    use super::*;

    #[test]
    fn other_ways_are_parameters_that_no_default_has() {
        let mut count = 0;
        for workload in workloads() {
            let specs = workload.parameters();
            let usual = Parameters::resolve(specs, &[]).unwrap();
            for way in workload.other_ways() {
                let settings: Vec<_> = (way.iter())
                    .map(|&(name, value)| (name.to_owned(), value.to_owned()))
                    .collect();
                let parameters = Parameters::resolve(specs, &settings).unwrap();
                assert_ne!(
                    parameters.to_string(),
                    usual.to_string(),
                    "{}",
                    workload.id()
                );
                count += 1;
            }
        }
        assert!(count > 0);
    }

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
    fn a_mistyped_workload_names_its_neighbours() {
        let said = |name: &str| named(name).err().unwrap().to_string();
        assert!(said("machine/saxpi").ends_with("did you mean `machine/saxpy`?"));
        assert!(said("saxpy").ends_with("did you mean `machine/saxpy`?"));
        assert!(
            said("vioce").contains("did you mean `voice`"),
            "{}",
            said("vioce")
        );
        assert!(said("nothing/here").ends_with("names them all"));
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
