//! Files and folders that a user names to be read or filled, checked before any work: the error says
//! what is there instead, and what to type.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::builder::{PathBufValueParser, TypedValueParser};
use warpsmith_core::did_you_mean;
use warpsmith_formats::is_stdout;

/// Reads an argument that names a file to read; `-`, where the verb takes it, is standard input.
pub fn file() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| match path.as_os_str() == "-" {
        true => Ok(path),
        false => check_file(&path).map(|()| path),
    })
}

/// Checks that `path` is something to read that is not a folder.
pub fn check_file(path: &Path) -> Result<()> {
    match fs::metadata(path) {
        Ok(facts) if facts.is_dir() => {
            bail!("`{}` is a folder; name a file in it", path.display())
        }
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            bail!("there is no file `{}`{}", path.display(), neighbours(path))
        }
        Err(error) => bail!("cannot read `{}`: {error}", path.display()),
    }
}

/// Checks that `path` is a file that can be a case.
pub fn check_case(path: &Path) -> Result<()> {
    check_file(path)?;
    let ending = path.extension().and_then(|ending| ending.to_str());
    if let Some("cu" | "cuh" | "py" | "ptx") = ending {
        bail!(
            "`{0}` is a kernel, not a case; `warpsmith new {0}` writes a case for it",
            path.display()
        );
    }
    Ok(())
}

/// Checks that `path` can be a folder that is written to: a folder, or nothing yet.
pub fn check_output_folder(option: &str, path: &Path) -> Result<()> {
    if is_stdout(path) {
        bail!("`{option} -` is not possible: a folder is written, name one");
    }
    if path.exists() && !path.is_dir() {
        bail!("`{option} {}` is a file; name a folder", path.display());
    }
    Ok(())
}

/// Checks that `path` is a folder to read.
pub fn check_folder(path: &Path) -> Result<()> {
    match fs::metadata(path) {
        Ok(facts) if facts.is_dir() => Ok(()),
        Ok(_) => bail!("`{}` is a file; name a folder", path.display()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            bail!(
                "there is no folder `{}`{}",
                path.display(),
                neighbours(path)
            )
        }
        Err(error) => bail!("cannot read `{}`: {error}", path.display()),
    }
}

/// `; did you mean …?` with names of the same folder, where one is near.
fn neighbours(path: &Path) -> String {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    if !folder.is_dir() {
        return format!(", nor a folder `{}`", folder.display());
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names: Vec<String> = entries
        .take(2_000)
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let wanted = path.file_name().unwrap_or_default().to_string_lossy();
    match did_you_mean(&wanted, names.iter().map(String::as_str), "") {
        nothing if nothing.is_empty() => nothing,
        near => format!("; {near}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_or_of_the_other_kind_is_named() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::write(at("softmax.toml"), "").unwrap();
        fs::write(at("softmax.cu"), "").unwrap();
        fs::create_dir(at("folder")).unwrap();
        let said = |result: Result<()>| result.unwrap_err().to_string();
        assert!(said(check_file(&at("sofmax.toml"))).ends_with("did you mean `softmax.toml`?"));
        assert!(said(check_file(&at("none/a.cu"))).contains("nor a folder"));
        assert!(said(check_file(&at("folder"))).ends_with("is a folder; name a file in it"));
        assert!(said(check_case(&at("softmax.cu"))).contains("`warpsmith new "));
        assert!(said(check_folder(&at("softmax.cu"))).ends_with("is a file; name a folder"));
        assert!(said(check_output_folder("--output", &at("softmax.cu"))).contains("is a file"));
        assert!(said(check_output_folder("--output", Path::new("-"))).contains("name one"));
        check_file(&at("softmax.cu")).unwrap();
        check_case(&at("softmax.toml")).unwrap();
        check_output_folder("--output", &at("new")).unwrap();
        check_folder(&at("folder")).unwrap();
    }
}
