//! A case as it was at another commit: its files in a folder that goes when the comparison is over.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

/// The case's own folder and everything below it, as a commit has them.
pub(super) struct AtRevision {
    /// The case in the folder.
    pub(super) case: PathBuf,
    /// Kept until the comparison is over.
    _folder: TempDir,
}

impl AtRevision {
    /// Takes the folder of the case out of the repository that it lies in.
    pub(super) fn of(case: &Path, revision: &str) -> Result<Self> {
        let case = std::path::absolute(case)?;
        let (Some(folder), Some(name)) = (case.parent(), case.file_name()) else {
            bail!("`{}` is no file", case.display());
        };
        if revision.starts_with('-') {
            bail!("`{revision}` is no revision");
        }
        // Named by the folder itself, so that paths inside are those beside the case.
        let prefix = git(folder, &["rev-parse", "--show-prefix"])
            .with_context(|| format!("`{}` lies in no git repository", case.display()))?;
        let tree = format!("{revision}:{}", prefix.trim_end());
        let tree = tree.trim_end_matches('/').to_owned();
        // From the top: inside a folder git looks for that folder in the tree.
        let top = git(folder, &["rev-parse", "--show-toplevel"])?;
        let top = Path::new(top.trim_end_matches(['\r', '\n']));
        let there = git(top, &["ls-tree", "--name-only", &tree])
            .with_context(|| format!("commit `{revision}` has no folder of the case"))?;
        if !there.lines().any(|line| line == name) {
            bail!(
                "`{}` is not part of commit `{revision}`",
                name.to_string_lossy()
            );
        }
        let copy = tempfile::tempdir()?;
        let mut archive = Command::new("git")
            .current_dir(top)
            .args(["archive", "--format=tar", &tree])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start `git`")?;
        let Some(tar) = archive.stdout.take() else {
            bail!("`git archive` has no output");
        };
        let unpacked = Command::new("tar")
            .args(["-x", "-C"])
            .arg(copy.path())
            .stdin(tar)
            .status()
            .context("cannot start `tar`")?;
        let archived = archive.wait()?;
        if !archived.success() || !unpacked.success() {
            bail!("cannot take `{tree}` out of the repository");
        }
        Ok(Self {
            case: copy.path().join(name),
            _folder: copy,
        })
    }
}

fn git(folder: &Path, words: &[&str]) -> Result<String> {
    let output = Command::new("git")
        .current_dir(folder)
        .args(words)
        .stdin(Stdio::null())
        .output()
        .context("cannot start `git`")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{}", said.trim().lines().next().unwrap_or("git failed"));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_a_case_comes_as_it_was() {
        let repository = tempfile::tempdir().unwrap();
        let folder = repository.path().join("kernels");
        std::fs::create_dir_all(&folder).unwrap();
        let run = |words: &[&str]| git(repository.path(), words).unwrap();
        run(&["init", "-q"]);
        std::fs::write(folder.join("a.toml"), "source = \"a.cu\"\n").unwrap();
        std::fs::write(folder.join("a.cu"), "// old\n").unwrap();
        run(&["add", "."]);
        let author = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
        run(&[&author[..], &["commit", "-q", "-m", "first"]].concat());
        std::fs::write(folder.join("a.cu"), "// new\n").unwrap();
        std::fs::write(folder.join("b.toml"), "").unwrap();
        let old = AtRevision::of(&folder.join("a.toml"), "HEAD").unwrap();
        let source = std::fs::read_to_string(old.case.with_file_name("a.cu")).unwrap();
        assert_eq!(source, "// old\n");
        let refused = |name: &str, revision: &str| {
            AtRevision::of(&folder.join(name), revision)
                .err()
                .map(|error| format!("{error:#}"))
                .unwrap()
        };
        assert!(refused("b.toml", "HEAD").contains("not part of commit"));
        assert!(refused("a.toml", "nowhere").contains("has no folder"));
        assert!(refused("a.toml", "--output=x").contains("no revision"));
    }
}
