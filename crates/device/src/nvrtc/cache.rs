//! Compiled code kept on disk, keyed by everything that decides it: source, name, options, headers,
//! compiler version and architecture.
//!
//! Invariants: an entry carries the hash of its own contents, and one that does not match is
//! compiled again; an entry is written under a temporary name and renamed, so readers see all of it
//! or nothing; trouble with the cache never stops a compilation.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use sha2::{Digest, Sha256};
use warpsmith_formats::write_output;

use super::binding::Nvrtc;
use super::compile::{CompileOptions, Compiled};
use crate::error::DeviceError;

const MAGIC: &[u8] = b"warpsmith kernel 1\n";

/// The folder that the user's configuration names.
static CONFIGURED: Mutex<Option<PathBuf>> = Mutex::new(None);

/// A folder of compiled code.
#[derive(Clone, Debug)]
pub struct CompileCache {
    folder: PathBuf,
}

impl CompileCache {
    /// The cache in `folder`, which is made when the first entry is written.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// The user's cache: `WARPSMITH_CACHE_DIR`, else what the configuration says, else the system's
    /// place for caches.
    pub fn for_user() -> Self {
        let configured = || {
            let folder = CONFIGURED.lock().unwrap_or_else(PoisonError::into_inner);
            folder.clone()
        };
        let folder = std::env::var_os("WARPSMITH_CACHE_DIR")
            .map(PathBuf::from)
            .or_else(configured)
            .or_else(|| {
                let base = std::env::var_os("XDG_CACHE_HOME")
                    .map(PathBuf::from)
                    .or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".cache")))?;
                Some(base.join("warpsmith"))
            });
        Self::new(
            folder
                .unwrap_or_else(|| std::env::temp_dir().join("warpsmith"))
                .join("kernels"),
        )
    }

    /// Names the folder for every later [`for_user`](Self::for_user) of this process; `None` is the
    /// system's place again.
    pub fn configure(folder: Option<PathBuf>) {
        *CONFIGURED.lock().unwrap_or_else(PoisonError::into_inner) = folder;
    }

    /// Where the entries lie.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Compiles `source`, or takes the result of an earlier compilation of the same.
    pub fn compile(
        &self,
        nvrtc: &Nvrtc,
        file: &str,
        source: &str,
        options: &CompileOptions,
    ) -> Result<Compiled, DeviceError> {
        let path = self
            .folder
            .join(key(nvrtc.version(), file, source, options));
        let trouble = match self.read(&path) {
            Ok(Some(code)) => {
                return Ok(Compiled {
                    code,
                    log: String::new(),
                    from_cache: true,
                    cache_trouble: None,
                });
            }
            Ok(None) => None,
            Err(error) => Some(error),
        };
        let mut compiled = nvrtc.compile(file, source, options)?;
        compiled.cache_trouble = self.write(&path, &compiled.code).err().or(trouble);
        Ok(compiled)
    }

    /// The result of an earlier compilation of the same, if it is whole.
    pub fn kept(
        &self,
        nvrtc: &Nvrtc,
        file: &str,
        source: &str,
        options: &CompileOptions,
    ) -> Option<Compiled> {
        let name = key(nvrtc.version(), file, source, options);
        let code = self.read(&self.folder.join(name)).ok()??;
        Some(Compiled {
            code,
            log: String::new(),
            from_cache: true,
            cache_trouble: None,
        })
    }

    fn read(&self, path: &Path) -> Result<Option<Vec<u8>>, DeviceError> {
        let unreadable = |source| DeviceError::File {
            attempted: "read from the kernel cache",
            path: path.to_owned(),
            source,
        };
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unreadable(error)),
        };
        let entry = bytes
            .strip_prefix(MAGIC)
            .and_then(|rest| rest.split_at_checked(32));
        match entry {
            Some((hash, code)) if hash == Sha256::digest(code).as_slice() => {
                Ok(Some(code.to_vec()))
            }
            _ => Err(unreadable(io::Error::new(
                io::ErrorKind::InvalidData,
                "the entry is corrupt; it was compiled again",
            ))),
        }
    }

    fn write(&self, path: &Path, code: &[u8]) -> Result<(), DeviceError> {
        let write = || -> io::Result<()> {
            fs::create_dir_all(&self.folder)?;
            let entry = [MAGIC, Sha256::digest(code).as_slice(), code].concat();
            Ok(write_output(path, &entry)?)
        };
        write().map_err(|source| DeviceError::File {
            attempted: "write to the kernel cache",
            path: path.to_owned(),
            source,
        })
    }
}

fn key(version: (i32, i32), file: &str, source: &str, options: &CompileOptions) -> String {
    let mut hasher = Sha256::new();
    let mut add = |text: &str| {
        // The length keeps neighbouring texts apart.
        hasher.update((text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    };
    add(&format!("{}.{}", version.0, version.1));
    add(file);
    add(source);
    for argument in options.arguments() {
        add(&argument);
    }
    for (name, text) in &options.headers {
        add(name);
        add(text);
    }
    hasher
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nvrtc::Target;

    #[test]
    fn everything_that_decides_the_code_is_in_the_key() {
        let options = |target| CompileOptions::new(target);
        let base = key((12, 0), "a.cu", "source", &options(Target::Ptx(70)));
        assert_eq!(
            base,
            key((12, 0), "a.cu", "source", &options(Target::Ptx(70)))
        );
        let mut with_header = options(Target::Ptx(70));
        with_header.headers.push(("h".into(), "text".into()));
        for other in [
            key((12, 9), "a.cu", "source", &options(Target::Ptx(70))),
            key((12, 0), "b.cu", "source", &options(Target::Ptx(70))),
            key((12, 0), "a.cu", "source2", &options(Target::Ptx(70))),
            key((12, 0), "a.cu", "source", &options(Target::Cubin(70))),
            key((12, 0), "a.cu", "source", &with_header),
        ] {
            assert_ne!(base, other);
        }
    }

    #[test]
    fn an_entry_comes_back_whole_and_a_corrupt_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let cache = CompileCache::new(folder.path().join("deep/kernels"));
        let path = cache.folder().join("entry");
        assert!(cache.read(&path).unwrap().is_none());
        cache.write(&path, b"code").unwrap();
        assert_eq!(cache.read(&path).unwrap().unwrap(), b"code");
        for junk in [
            &b""[..],
            b"warpsmith kernel 1\nshort",
            b"something else entirely",
        ] {
            fs::write(&path, junk).unwrap();
            let error = cache.read(&path).unwrap_err();
            assert!(
                error.to_string().contains("read from the kernel cache"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_named_with_a_hint() {
        let folder = tempfile::tempdir().unwrap();
        let file_in_the_way = folder.path().join("kernels");
        fs::write(&file_in_the_way, "").unwrap();
        let cache = CompileCache::new(&file_in_the_way);
        let error = cache
            .write(&file_in_the_way.join("entry"), b"code")
            .unwrap_err();
        assert!(error.to_string().contains("kernels/entry"), "{error}");
        assert!(error.hint().unwrap().contains("WARPSMITH_CACHE_DIR"));
    }
}
