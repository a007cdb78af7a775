//! Where the files lie.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The name of a project's file, in its root.
pub const PROJECT_FILE: &str = ".warpsmith.toml";

/// The user's file: `WARPSMITH_CONFIG`, else `warpsmith/config.toml` in `XDG_CONFIG_HOME` or `~/.config`.
/// An empty `WARPSMITH_CONFIG` is no file at all.
pub fn user_file(variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    if let Some(path) = variable("WARPSMITH_CONFIG") {
        return (!path.is_empty()).then(|| path.into());
    }
    let given = |name| {
        variable(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    // The specification has relative folders ignored.
    let folder = given("XDG_CONFIG_HOME")
        .filter(|folder| folder.is_absolute())
        .or_else(|| Some(given("HOME")?.join(".config")))?;
    Some(folder.join("warpsmith/config.toml"))
}

/// The file of the project that `folder` belongs to: the nearest one in it or above it, up to the root
/// of its git tree. Outside of one, only the folder itself is looked into: whoever may write to `/tmp`
/// has no say in what runs below it.
pub fn project_file(folder: &Path) -> Option<PathBuf> {
    let root = folder
        .ancestors()
        .find(|above| above.join(".git").exists())
        .unwrap_or(folder);
    folder
        .ancestors()
        .take_while(|above| above.starts_with(root))
        .map(|above| above.join(PROJECT_FILE))
        .find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_users_file_follows_the_specification() {
        let with = |pairs: &[(&str, &str)]| {
            let pairs: Vec<(String, String)> = pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect();
            let variable = move |name: &str| {
                let found = pairs.iter().find(|(known, _)| known == name);
                found.map(|(_, value)| OsString::from(value))
            };
            user_file(&variable)
        };
        let expect = |path: &str| Some(PathBuf::from(path));
        assert_eq!(
            with(&[("HOME", "/h")]),
            expect("/h/.config/warpsmith/config.toml")
        );
        assert_eq!(
            with(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "/x")]),
            expect("/x/warpsmith/config.toml")
        );
        assert_eq!(
            with(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "x")]),
            expect("/h/.config/warpsmith/config.toml")
        );
        assert_eq!(with(&[("WARPSMITH_CONFIG", "c.toml")]), expect("c.toml"));
        assert_eq!(with(&[("WARPSMITH_CONFIG", ""), ("HOME", "/h")]), None);
        assert_eq!(with(&[]), None);
    }

    #[test]
    fn a_projects_file_counts_below_it_and_no_further_up_than_its_tree() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("project");
        let deep = root.join("src/kernels");
        fs::create_dir_all(&deep).unwrap();
        fs::write(place.path().join(PROJECT_FILE), "").unwrap();
        assert_eq!(project_file(&deep), None);
        fs::write(root.join(PROJECT_FILE), "").unwrap();
        assert_eq!(
            project_file(&deep),
            None,
            "no tree, so only the folder itself"
        );
        fs::create_dir(root.join(".git")).unwrap();
        assert_eq!(project_file(&deep), Some(root.join(PROJECT_FILE)));
        fs::remove_file(root.join(PROJECT_FILE)).unwrap();
        assert_eq!(project_file(&deep), None);
    }
}
