//! What is wrong with the manifests by which Vulkan's loader finds drivers; the loader itself says a number.

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A manifest that is longer is none.
const MAX_BYTES: u64 = 1 << 20;

/// What is wrong with the manifests that the loader reads, a sentence each.
pub(super) fn complaints() -> Vec<String> {
    complaints_with(|variable| env::var_os(variable), &folders())
}

/// The same with these variables and folders. Two variables replace the folders, one adds to them.
fn complaints_with(
    variables: impl Fn(&str) -> Option<OsString>,
    folders: &[PathBuf],
) -> Vec<String> {
    let listed = |variable: &str| -> Option<Vec<String>> {
        let value = variables(variable).filter(|value| !value.is_empty())?;
        let paths = env::split_paths(&value).filter(|path| !path.as_os_str().is_empty());
        Some(paths.flat_map(|path| named(variable, &path)).collect())
    };
    for variable in ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"] {
        if let Some(found) = listed(variable) {
            return found;
        }
    }
    let mut found = listed("VK_ADD_DRIVER_FILES").unwrap_or_default();
    let manifests = folders.iter().flat_map(|folder| manifests_in(folder));
    found.extend(manifests.filter_map(|path| complaint(&path)));
    found
}

/// What is wrong with a path that a variable names: a manifest, or a folder of them.
fn named(variable: &str, path: &Path) -> Vec<String> {
    if path.is_dir() {
        let found = manifests_in(path);
        if found.is_empty() {
            let path = path.display();
            return vec![format!(
                "`{variable}` names the folder `{path}`, which has no manifest"
            )];
        }
        return found.iter().filter_map(|path| complaint(path)).collect();
    }
    if !path.exists() {
        let path = path.display();
        return vec![format!("`{variable}` names `{path}`, which does not exist")];
    }
    complaint(path).into_iter().collect()
}

/// Where the loader looks on Linux, in its order.
fn folders() -> Vec<PathBuf> {
    let home = env::var_os("HOME").map(PathBuf::from);
    let under_home = |variable: &str, below: &str| {
        let named = env::var_os(variable).filter(|value| !value.is_empty());
        let named = named.map(PathBuf::from);
        named.or_else(|| home.as_ref().map(|home| home.join(below)))
    };
    let list = |variable: &str, default: &str| {
        let value = env::var_os(variable).filter(|value| !value.is_empty());
        let value = value.unwrap_or_else(|| default.into());
        env::split_paths(&value).collect::<Vec<_>>()
    };
    let mut bases: Vec<PathBuf> = under_home("XDG_CONFIG_HOME", ".config")
        .into_iter()
        .collect();
    bases.extend(list("XDG_CONFIG_DIRS", "/etc/xdg"));
    bases.push(PathBuf::from("/etc"));
    bases.extend(under_home("XDG_DATA_HOME", ".local/share"));
    bases.extend(list("XDG_DATA_DIRS", "/usr/local/share:/usr/share"));
    bases
        .into_iter()
        .map(|base| base.join("vulkan/icd.d"))
        .collect()
}

fn manifests_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .collect();
    found.sort();
    found
}

/// The text of a file; nothing where it is none, or too long.
fn read(path: &Path) -> std::io::Result<Option<String>> {
    // A pipe would wait for a writer already when it is opened.
    let found = std::fs::metadata(path)?;
    if !found.is_file() || found.len() > MAX_BYTES {
        return Ok(None);
    }
    let mut text = String::new();
    File::open(path)?
        .take(MAX_BYTES)
        .read_to_string(&mut text)?;
    Ok(Some(text))
}

/// What is wrong with a manifest. A library without a folder in its name is the system's to find.
fn complaint(path: &Path) -> Option<String> {
    let shown = path.display();
    let text = match read(path) {
        Ok(Some(text)) => text,
        Ok(None) => return Some(format!("`{shown}` is not a file of a manifest's size")),
        Err(error) => return Some(format!("`{shown}` cannot be read: {error}")),
    };
    let manifest: serde_json::Value = match serde_json::from_str(&text) {
        Ok(manifest) => manifest,
        Err(error) => return Some(format!("`{shown}` is not valid JSON: {error}")),
    };
    let Some(library) = manifest["ICD"]["library_path"].as_str() else {
        return Some(format!("`{shown}` names no library (`ICD.library_path`)"));
    };
    let folder = path.parent().unwrap_or(Path::new(""));
    let is_missing = library.contains('/') && !folder.join(library).exists();
    is_missing.then(|| format!("`{shown}` names the library `{library}`, which does not exist"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_manifest_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("driver.json");
        let of = |text: &str| {
            std::fs::write(&path, text).unwrap();
            named("VK_DRIVER_FILES", &path).join("; ")
        };
        assert!(of("{").contains("driver.json` is not valid JSON: "));
        assert!(of("{}").contains("names no library"));
        assert!(
            of(r#"{"ICD": {"library_path": "./libgone.so"}}"#)
                .ends_with("names the library `./libgone.so`, which does not exist")
        );
        assert_eq!(of(r#"{"ICD": {"library_path": "libsystem.so.1"}}"#), "");
        std::fs::write(folder.path().join("libhere.so"), "").unwrap();
        assert_eq!(of(r#"{"ICD": {"library_path": "./libhere.so"}}"#), "");
        assert_eq!(named("VK_DRIVER_FILES", folder.path()).len(), 0);
        if cfg!(unix) {
            let endless = named("VK_DRIVER_FILES", Path::new("/dev/zero")).join("; ");
            assert!(
                endless.ends_with("is not a file of a manifest's size"),
                "{endless}"
            );
        }
        std::fs::remove_file(&path).unwrap();
        let gone = named("VK_DRIVER_FILES", &path).join("; ");
        assert!(
            gone.ends_with("driver.json`, which does not exist"),
            "{gone}"
        );
        let empty = named("VK_DRIVER_FILES", folder.path()).join("; ");
        assert!(empty.ends_with("which has no manifest"), "{empty}");
    }

    #[test]
    fn a_variable_adds_to_the_folders_and_others_replace_them() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("driver.json"), "{}").unwrap();
        let folders = [folder.path().to_owned()];
        let with = |set: &str| {
            let gone = |variable: &str| (variable == set).then(|| OsString::from("/gone.json"));
            complaints_with(gone, &folders)
        };
        assert_eq!(with("nothing").len(), 1);
        assert_eq!(with("VK_DRIVER_FILES").len(), 1);
        let added = with("VK_ADD_DRIVER_FILES");
        assert!(
            added[0].starts_with("`VK_ADD_DRIVER_FILES` names `/gone.json`"),
            "{added:?}"
        );
        assert!(
            added[1].contains("driver.json` names no library"),
            "{added:?}"
        );
    }
}
