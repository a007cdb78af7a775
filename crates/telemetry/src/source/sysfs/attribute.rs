//! One file of the kernel's, kept open: a reading is one system call.

use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::pulse;
use crate::source::{Reading, Refusal};

/// The kernel gives at most a page.
const TEXT_LIMIT: usize = 4096;
/// Room for a number and its end of line.
const NUMBER: usize = 32;

/// A file of the kernel's.
#[derive(Debug)]
pub(crate) struct Attribute {
    path: PathBuf,
    /// What a watcher reads while a reading does not return.
    call: &'static str,
    file: Option<File>,
    /// There is no such file, or the driver will never answer here.
    absent: bool,
}

impl Attribute {
    /// The file at `path`; `call` is what it is called where a reading hangs.
    pub(crate) fn new(path: PathBuf, call: &'static str) -> Self {
        Self {
            path,
            call,
            file: None,
            absent: false,
        }
    }

    /// Fills `buffer` from the file's start; what fits.
    pub(crate) fn read<'b>(&mut self, buffer: &'b mut [u8]) -> Reading<&'b [u8]> {
        if self.absent {
            return Err(Refusal::NotSupported);
        }
        let call = self.call;
        let length = pulse::inside(call, || self.read_now(buffer));
        if length == Err(Refusal::NotSupported) {
            self.absent = true;
        }
        Ok(&buffer[..length?])
    }

    fn read_now(&mut self, buffer: &mut [u8]) -> Reading<usize> {
        let file = match &mut self.file {
            Some(file) => file,
            closed => closed.insert(File::open(&self.path).map_err(|error| refusal(&error))?),
        };
        loop {
            match file.read_at(buffer, 0) {
                Ok(length) => return Ok(length),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    self.file = None;
                    return Err(refusal(&error));
                }
            }
        }
    }

    /// The whole number that the file holds, with whatever unit behind it.
    pub(crate) fn number(&mut self) -> Reading<i64> {
        let mut buffer = [0; NUMBER];
        let bytes = self.read(&mut buffer)?;
        number_in(bytes).ok_or(Refusal::OutOfRange)
    }

    /// The text that the file holds.
    pub(crate) fn text(&mut self) -> Reading<String> {
        let mut buffer = [0; TEXT_LIMIT];
        let bytes = self.read(&mut buffer)?;
        Ok(String::from_utf8_lossy(bytes).into_owned())
    }
}

/// What a failed reading says about the GPU. Errors that pass (a reset, a suspended card) are many, and
/// drivers do not agree on them.
fn refusal(error: &std::io::Error) -> Refusal {
    match (error.kind(), error.raw_os_error()) {
        (ErrorKind::NotFound | ErrorKind::IsADirectory | ErrorKind::NotADirectory, _) => {
            Refusal::NotSupported
        }
        (_, Some(libc::EOPNOTSUPP)) => Refusal::NotSupported,
        (_, Some(libc::ENODEV | libc::ENXIO)) => Refusal::Lost,
        (_, Some(libc::EACCES)) => Refusal::NoPermission,
        (_, code) => Refusal::Unreadable(code.unwrap_or(0)),
    }
}

/// The whole number at the beginning of a text: decimal, or hexadecimal after `0x`.
pub(crate) fn number_in(bytes: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(bytes).ok()?.trim_start();
    let word = text.split(|letter: char| letter.is_whitespace() || letter == '\0');
    let word = word.into_iter().next()?;
    match word.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => {
            let end = word
                .char_indices()
                .find(|(at, letter)| !(letter.is_ascii_digit() || *at == 0 && *letter == '-'))
                .map_or(word.len(), |(at, _)| at);
            word[..end].parse().ok()
        }
    }
}

/// The text of a small file that is read once, without its end of line.
pub(crate) fn text_of(path: &Path) -> Option<String> {
    let mut buffer = [0; TEXT_LIMIT];
    let file = File::open(path).ok()?;
    let length = file.read_at(&mut buffer, 0).ok()?;
    let text = String::from_utf8_lossy(&buffer[..length]);
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Most entries of a folder that are looked at.
const MOST_ENTRIES: usize = 4096;

/// The names in a folder that begin with `prefix`, in order; empty where there is no such folder.
pub(crate) fn list(folder: &Path, prefix: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut names: Vec<String> = entries
        .flatten()
        .take(MOST_ENTRIES)
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.starts_with(prefix))
        .collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_may_have_units_and_garbage_is_none() {
        for (text, number) in [
            ("42\n", Some(42)),
            ("  -7", Some(-7)),
            ("500Mhz *", Some(500)),
            ("0x1002\n", Some(0x1002)),
            ("17 kB", Some(17)),
            ("5\0\0", Some(5)),
            ("", None),
            ("-", None),
            ("unknown", None),
            ("99999999999999999999", None),
            ("0xzz", None),
            ("\u{fffd}", None),
        ] {
            assert_eq!(number_in(text.as_bytes()), number, "{text:?}");
        }
        assert_eq!(number_in(&[0xff, b'1']), None);
    }

    #[test]
    fn a_file_follows_its_contents_and_a_missing_one_stays_missing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("value");
        std::fs::write(&path, "1\n").unwrap();
        let mut attribute = Attribute::new(path.clone(), "value");
        assert_eq!(attribute.number(), Ok(1));
        std::fs::write(&path, "23\n").unwrap();
        assert_eq!(attribute.number(), Ok(23));
        std::fs::write(&path, "none\n").unwrap();
        assert_eq!(attribute.number(), Err(Refusal::OutOfRange));

        let later = folder.path().join("later");
        let mut missing = Attribute::new(later.clone(), "later");
        assert_eq!(missing.number(), Err(Refusal::NotSupported));
        std::fs::write(&later, "1\n").unwrap();
        assert_eq!(missing.number(), Err(Refusal::NotSupported));
    }

    #[test]
    fn errors_that_pass_are_told_from_those_that_stay() {
        let of = |code| refusal(&std::io::Error::from_raw_os_error(code));
        assert_eq!(of(libc::ENODEV), Refusal::Lost);
        assert_eq!(of(libc::ENOENT), Refusal::NotSupported);
        assert_eq!(of(libc::EOPNOTSUPP), Refusal::NotSupported);
        for code in [libc::EIO, libc::EBUSY, libc::EPERM, libc::EINVAL] {
            assert!(!of(code).is_final() && of(code) != Refusal::Lost, "{code}");
        }
    }
}
