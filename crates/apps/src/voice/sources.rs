//! What a user names as audio, and the files behind it: a file, a folder with all audio in it, or a pattern
//! that the shell left alone.

use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::builder::{PathBufValueParser, TypedValueParser};
use warpsmith_console::inputs;

use super::endings::{Ending, READ};

/// A file to read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SoundFile {
    /// Where it is.
    pub(super) path: PathBuf,
    /// Its name below what was named: where its result lies in a tree of results.
    pub(super) name: PathBuf,
    /// Whether it was found below a folder, and not named itself.
    pub(super) is_found: bool,
}

impl SoundFile {
    /// The folder below which it has its name.
    pub(super) fn tree(&self) -> &Path {
        let above = self.path.ancestors().nth(self.name.components().count());
        match above {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        }
    }
}

/// One argument.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub(super) files: Vec<SoundFile>,
    /// What a folder has beside them: samples without headers, and audio in formats that are not read.
    pub(super) others: Vec<SoundFile>,
    kind: Kind,
}

/// What an argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    File,
    Folder,
    Pattern,
}

/// Reads an argument that names audio.
pub(super) fn source() -> impl TypedValueParser<Value = Source> {
    PathBufValueParser::new().try_map(|path| Source::of(&path))
}

impl Source {
    fn of(path: &Path) -> Result<Self> {
        if path.is_dir() {
            let audio = below(path, |name| Ending::of(name) != Ending::Other)?;
            if audio.is_empty() {
                bail!(
                    "there is no audio file in `{}` (names end in .{})",
                    path.display(),
                    READ.join(", .")
                );
            }
            let is_read = |file: &SoundFile| Ending::of(&file.name) == Ending::Read;
            let (files, others) = audio.into_iter().partition(is_read);
            return Ok(Self {
                files,
                others,
                kind: Kind::Folder,
            });
        }
        let is_pattern = |part: Component<'_>| {
            let text = part.as_os_str().to_string_lossy();
            text.contains(['*', '?'])
        };
        if !path.exists() && path.components().any(is_pattern) {
            let root: PathBuf = path
                .components()
                .take_while(|part| !is_pattern(*part))
                .collect();
            let rest = path.components().skip_while(|part| !is_pattern(*part));
            let pattern: Vec<String> = rest
                .map(|part| part.as_os_str().to_string_lossy().into_owned())
                .collect();
            let folder = if root.as_os_str().is_empty() {
                Path::new(".")
            } else {
                &root
            };
            inputs::check_folder(folder)?;
            let mut files = below(folder, |name| {
                let parts: Vec<String> = name
                    .components()
                    .map(|part| part.as_os_str().to_string_lossy().into_owned())
                    .collect();
                matches_path(&pattern, &parts)
            })?;
            if files.is_empty() {
                bail!(
                    "there is no file `{}`: nothing matches the pattern",
                    path.display()
                );
            }
            for file in &mut files {
                file.path = root.join(&file.name);
            }
            return Ok(Self {
                files,
                others: Vec::new(),
                kind: Kind::Pattern,
            });
        }
        if path.as_os_str() != "-" {
            inputs::check_file(path)?;
        }
        Ok(Self {
            files: vec![SoundFile {
                path: path.to_owned(),
                name: path.file_name().unwrap_or_default().into(),
                is_found: false,
            }],
            others: Vec::new(),
            kind: Kind::File,
        })
    }

    /// Whether it stands for any number of files.
    pub(super) fn is_tree(&self) -> bool {
        self.kind != Kind::File
    }

    /// Whether `path` was found in a folder by a name that promises a header.
    pub(super) fn promises_header(&self, path: &Path) -> bool {
        let files = &self.files;
        self.kind == Kind::Folder
            && files
                .binary_search_by(|file| file.path.as_path().cmp(path))
                .is_ok()
    }
}

/// The files below a folder whose names there are `wanted`, sorted. Hidden files and folders are left out, and
/// so are links to folders, which may lead back.
fn below(folder: &Path, wanted: impl Fn(&Path) -> bool) -> Result<Vec<SoundFile>> {
    let mut files = Vec::new();
    let mut waiting = vec![PathBuf::new()];
    while let Some(here) = waiting.pop() {
        let place = folder.join(&here);
        let context = || format!("cannot read the folder `{}`", place.display());
        for entry in fs::read_dir(&place).with_context(context)? {
            let entry = entry.with_context(context)?;
            let name = here.join(entry.file_name());
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            if entry.file_type().with_context(context)?.is_dir() {
                waiting.push(name);
            } else if wanted(&name) && !entry.path().is_dir() {
                files.push(SoundFile {
                    path: entry.path(),
                    name,
                    is_found: true,
                });
            }
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// Whether the parts of a path match those of a pattern; `**` stands for any number of folders.
fn matches_path(pattern: &[String], path: &[String]) -> bool {
    match pattern {
        [] => path.is_empty(),
        [any, rest @ ..] if any == "**" => {
            (0..=path.len()).any(|skipped| matches_path(rest, &path[skipped..]))
        }
        [part, rest @ ..] => path.split_first().is_some_and(|(name, below)| {
            matches_name(part.as_bytes(), name.as_bytes()) && matches_path(rest, below)
        }),
    }
}

/// Whether a name matches: `*` stands for any bytes, `?` for one character.
fn matches_name(pattern: &[u8], name: &[u8]) -> bool {
    // Where the last star stood and what it had taken: on a mismatch it takes one byte more.
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(b'?') => {
                p += 1;
                n += 1;
                // The other bytes of a character in UTF-8.
                while name.get(n).is_some_and(|byte| byte & 0xC0 == 0x80) {
                    n += 1;
                }
            }
            Some(byte) if *byte == name[n] => {
                p += 1;
                n += 1;
            }
            _ => match &mut star {
                Some((at, taken)) => {
                    *taken += 1;
                    (p, n) = (*at + 1, *taken);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(source: &Source) -> Vec<String> {
        let names = source.files.iter();
        names.map(|file| file.name.display().to_string()).collect()
    }

    #[test]
    fn folders_and_patterns_stand_for_their_files_in_order() {
        let place = tempfile::tempdir().unwrap();
        for name in [
            "b/take.WAV",
            "a/take.wav",
            "a/deep/x.flac",
            "a/notes.txt",
            "a/.hidden.wav",
            ".git/z.wav",
        ] {
            let path = place.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        std::os::unix::fs::symlink(place.path(), place.path().join("a/loop")).unwrap();
        let all = Source::of(place.path()).unwrap();
        assert!(all.is_tree());
        assert_eq!(names(&all), ["a/deep/x.flac", "a/take.wav", "b/take.WAV"]);
        let of = |pattern: &str| Source::of(&place.path().join(pattern));
        assert_eq!(names(&of("a/**/*.?l*").unwrap()), ["deep/x.flac"]);
        let takes = of("*/take.*").unwrap();
        assert_eq!(names(&takes), ["a/take.wav", "b/take.WAV"]);
        assert_eq!(takes.files[0].path, place.path().join("a/take.wav"));
        let one = of("a/take.wav").unwrap();
        assert!(!one.is_tree());
        assert_eq!(names(&one), ["take.wav"]);
        assert!(
            of("*.mp3")
                .unwrap_err()
                .to_string()
                .contains("nothing matches")
        );
        assert!(of("b/none").unwrap_err().to_string().contains("no file `"));
        fs::create_dir(place.path().join("empty")).unwrap();
        let empty = of("empty").unwrap_err().to_string();
        assert!(empty.starts_with("there is no audio file in "), "{empty}");
    }

    #[test]
    fn a_folder_keeps_what_sounds_like_audio_and_is_not_read_apart() {
        let place = tempfile::tempdir().unwrap();
        for name in ["a.wav", "b.g722", "c.raw", "README.txt"] {
            fs::write(place.path().join(name), "").unwrap();
        }
        let all = Source::of(place.path()).unwrap();
        assert_eq!(names(&all), ["a.wav"]);
        let others: Vec<_> = all.others.iter().map(|file| file.name.clone()).collect();
        assert_eq!(others, [Path::new("b.g722"), Path::new("c.raw")]);
        assert!(all.promises_header(&place.path().join("a.wav")));
        assert!(!all.promises_header(&place.path().join("c.raw")));
        let one = Source::of(&place.path().join("a.wav")).unwrap();
        assert!(!one.promises_header(&place.path().join("a.wav")));
    }

    #[test]
    fn a_pattern_takes_back_what_its_star_took_too_early() {
        let matches = |pattern: &str, name: &str| matches_name(pattern.as_bytes(), name.as_bytes());
        assert!(matches("*b*c", "abbcabc"));
        assert!(matches("?", "ä") && !matches("?", "ab") && !matches("?", ""));
        assert!(matches("**", "") && !matches("a*b", "ab.wav"));
    }
}
