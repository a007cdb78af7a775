//! What `git` says about commits, so that nobody has to type hashes.

use std::process::Command;

use anyhow::{Context, Result, bail};

/// A commit with the time at which it was made.
pub(super) struct Commit {
    pub(super) name: String,
    /// Seconds since 1970; `None` where git does not know the commit.
    pub(super) at: Option<i64>,
}

/// The commit that was named, or the one that is checked out. A name that git does not know is
/// kept where a commit could have it: results may come from elsewhere.
pub(super) fn commit(named: Option<&str>) -> Result<Commit> {
    match named {
        Some(name) => look_up(name).or_else(|_| {
            check_name(name)?;
            Ok(Commit {
                name: name.to_owned(),
                at: None,
            })
        }),
        None => look_up("HEAD").context("no commit is checked out here: name one with `--commit`"),
    }
}

/// Refuses what no system of version control calls a commit, a tag or a branch: a line of a file, a
/// variable of CI that is empty, a path.
fn check_name(name: &str) -> Result<()> {
    const LONGEST: usize = 200;
    let fits = |c: char| c.is_alphanumeric() || "._-/+:@".contains(c);
    let shown: String = name.chars().take(40).collect();
    let fix = "name a hash, a tag or a branch";
    match name {
        "" => bail!("`--commit` is empty: {fix}, or leave it out for the one that is checked out"),
        _ if name.len() > LONGEST => {
            bail!("`--commit {shown}…` has more than {LONGEST} characters: {fix}")
        }
        _ if name.contains("..") || !name.starts_with(char::is_alphanumeric) => {
            bail!(
                "`--commit {}` is no name of a commit: {fix}",
                shown.escape_debug()
            )
        }
        _ => match name.chars().find(|c| !fits(*c)) {
            Some(c) => bail!(
                "`--commit {}` is no name of a commit because of {c:?}: {fix}",
                shown.escape_debug()
            ),
            None => Ok(()),
        },
    }
}

fn look_up(name: &str) -> Result<Commit> {
    // After `--end-of-options` a name cannot pass for an option.
    let line = git(&["show", "-s", "--format=%H %ct", "--end-of-options", name])?;
    let (hash, at) = line
        .trim()
        .split_once(' ')
        .context("git printed no commit")?;
    Ok(Commit {
        name: hash.to_owned(),
        at: Some(at.parse()?),
    })
}

/// Whether tracked files differ from the commit that is checked out.
pub(super) fn is_changed() -> bool {
    git(&["status", "--porcelain", "--untracked-files=no"]).is_ok_and(|text| !text.is_empty())
}

/// The commits after `good` up to and with `bad`, oldest first, along the first parents.
pub(super) fn range(good: &str, bad: &str) -> Result<Vec<String>> {
    let (good, bad) = (look_up(good)?.name, look_up(bad)?.name);
    let listed = git(&[
        "rev-list",
        "--reverse",
        "--first-parent",
        &format!("{good}..{bad}"),
    ])?;
    let commits: Vec<String> = listed.lines().map(str::to_owned).collect();
    if commits.is_empty() {
        bail!("there is no commit between {good} and {bad}");
    }
    Ok(commits)
}

fn git(words: &[&str]) -> Result<String> {
    let output = Command::new("git")
        .args(words)
        .output()
        .context("cannot start `git`")?;
    if !output.status.success() {
        bail!(
            "`git {}` failed: {}",
            words[0],
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(String::from_utf8(output.stdout)?)
}
