//! The file that wisdom is kept in: one per machine, written whole or not at all.
//!
//! A file that cannot be used is never an obstacle and never lost: it is left where it is, said to
//! be useless, and the model takes over.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use warpsmith_formats::write_output;

use super::error::ChooserError;
use super::identity::Identity;
use super::wisdom::Wisdom;

/// Larger than any wisdom; what is larger is something else.
const LARGEST: u64 = 16 << 20;

/// Where the wisdom of a machine lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WisdomFile {
    path: PathBuf,
}

/// The right to measure a machine, see [`WisdomFile::claim`].
#[derive(Debug)]
pub struct Claim {
    _file: File,
}

/// What became of reading it.
#[derive(Clone, Debug, PartialEq)]
pub enum Loaded {
    /// There is wisdom of this machine.
    Found(Wisdom),
    /// There is no file.
    Absent,
    /// There is one that cannot be used, and why.
    Useless(String),
}

impl WisdomFile {
    /// The file of this machine: `WARPSMITH_STATE_DIR`, else `$XDG_STATE_HOME/warpsmith`, else
    /// `~/.local/state/warpsmith`; in it `wisdom/`, a file per identity.
    pub fn of(identity: &Identity) -> Self {
        let variable = |name: &str| {
            std::env::var_os(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let state = variable("WARPSMITH_STATE_DIR")
            .or_else(|| variable("XDG_STATE_HOME").map(|home| home.join("warpsmith")))
            .or_else(|| variable("HOME").map(|home| home.join(".local/state/warpsmith")))
            .unwrap_or_else(|| PathBuf::from(".warpsmith"));
        Self::in_folder(&state.join("wisdom"), identity)
    }

    /// The file of a machine in a folder.
    pub fn in_folder(folder: &Path, identity: &Identity) -> Self {
        Self {
            path: folder.join(format!("{}.json", identity.digest())),
        }
    }

    /// A file by its name.
    pub fn at(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
        }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads it for a machine. Never fails: what cannot be used is said to be so.
    pub fn load(&self, identity: &Identity) -> Loaded {
        match fs::metadata(&self.path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Loaded::Absent,
            Err(error) => return Loaded::Useless(error.to_string()),
            Ok(facts) if !facts.is_file() || facts.len() > LARGEST => {
                return Loaded::Useless("it is not a file of a sensible size".to_owned());
            }
            Ok(_) => {}
        }
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) => return Loaded::Useless(error.to_string()),
        };
        match Wisdom::parse(&text) {
            Err(problem) => Loaded::Useless(problem),
            Ok(wisdom) => match identity.difference(&wisdom.identity) {
                Some(difference) => {
                    Loaded::Useless(format!("it is of another machine: {difference}"))
                }
                None => Loaded::Found(wisdom),
            },
        }
    }

    /// Reads it whatever machine it is of; for `import` and `show`.
    pub fn read(&self) -> Result<Wisdom, ChooserError> {
        let facts = fs::metadata(&self.path).map_err(self.failed("read"))?;
        let content = |problem: String| ChooserError::Content {
            path: self.path.clone(),
            problem,
        };
        if facts.len() > LARGEST {
            return Err(content(format!("{} bytes", facts.len())));
        }
        let text = fs::read_to_string(&self.path).map_err(self.failed("read"))?;
        Wisdom::parse(&text).map_err(content)
    }

    /// Writes it under a temporary name and renames it, so that readers and other writers see one
    /// or the other, whole.
    pub fn save(&self, wisdom: &Wisdom) -> Result<(), ChooserError> {
        wisdom.check().map_err(|problem| ChooserError::Content {
            path: self.path.clone(),
            problem,
        })?;
        let failed = self.failed("write");
        let folder = self.path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder).map_err(&failed)?;
        let text = serde_json::to_string_pretty(wisdom).map_err(|error| failed(error.into()))?;
        write_output(&self.path, text.as_bytes()).map_err(|error| failed(error.into()))
    }

    /// Claims the right to measure this machine: two at once would measure each other. `None` where
    /// another process has it. It is given back when the claim is dropped or the process ends.
    pub fn claim(&self) -> Result<Option<Claim>, ChooserError> {
        let path = self.path.with_extension("lock");
        let failed = |source| ChooserError::File {
            attempted: "lock",
            path: path.clone(),
            source,
        };
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder).map_err(&failed)?;
        let file = File::create(&path).map_err(&failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Claim { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    /// Removes it; `false` where there was none.
    pub fn forget(&self) -> Result<bool, ChooserError> {
        match fs::remove_file(&self.path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(self.failed("remove")(error)),
        }
    }

    fn failed(&self, attempted: &'static str) -> impl Fn(std::io::Error) -> ChooserError + use<> {
        let path = self.path.clone();
        move |source| ChooserError::File {
            attempted,
            path: path.clone(),
            source,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wisdom_survives_the_file_and_strange_files_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let here = Identity::here();
        let file = WisdomFile::in_folder(folder.path(), &here);
        assert_eq!(file.load(&here), Loaded::Absent);
        assert!(!file.forget().unwrap());
        let wisdom = Wisdom::empty(here.clone());
        file.save(&wisdom).unwrap();
        assert_eq!(file.load(&here), Loaded::Found(wisdom.clone()));
        let mut elsewhere = here.clone();
        elsewhere.cores += 1;
        let Loaded::Useless(why) = file.load(&elsewhere) else {
            panic!("wisdom of another machine was used");
        };
        assert!(why.contains("another machine: cores"), "{why}");
        for junk in [&b""[..], b"{", b"\xff\xfe", b"[1,2,3]", b"{\"format\":99}"] {
            fs::write(file.path(), junk).unwrap();
            assert!(matches!(file.load(&here), Loaded::Useless(_)), "{junk:?}");
            assert!(file.read().is_err());
            assert_eq!(fs::read(file.path()).unwrap(), junk);
        }
        assert!(file.forget().unwrap());
    }

    #[test]
    fn two_writers_leave_a_whole_file() {
        let folder = tempfile::tempdir().unwrap();
        let here = Identity::here();
        let file = WisdomFile::in_folder(folder.path(), &here);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        file.save(&Wisdom::empty(here.clone())).unwrap();
                    }
                });
            }
        });
        assert!(matches!(file.load(&here), Loaded::Found(_)));
    }

    #[test]
    fn one_measures_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let file = WisdomFile::in_folder(folder.path(), &Identity::here());
        let claim = file.claim().unwrap();
        assert!(claim.is_some());
        assert!(file.claim().unwrap().is_none());
        drop(claim);
        assert!(file.claim().unwrap().is_some());
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_an_error_with_its_name() {
        let file = WisdomFile::at(Path::new("/proc/nowhere/wisdom.json"));
        let error = file.save(&Wisdom::empty(Identity::here())).unwrap_err();
        assert!(
            error.to_string().contains("cannot write `/proc/nowhere"),
            "{error}"
        );
    }
}
