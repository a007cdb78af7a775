//! Small projects as files: lines `expect CODE path:line`, `expect CODE` (anywhere), `silent CODE` and
//! `fixes CODE`; the project's files follow, each behind `=== path`.

#![allow(dead_code, reason = "each test program uses its part")]

use std::fs;
use std::path::Path;

pub(crate) struct Project {
    pub(crate) name: String,
    pub(crate) expect: Vec<(String, Option<(String, u32)>)>,
    pub(crate) silent: Vec<String>,
    pub(crate) fixes: Vec<String>,
    pub(crate) files: Vec<(String, String)>,
}

impl Project {
    pub(crate) fn all() -> Vec<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/projects");
        let mut paths: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|e| e.unwrap().path())
            .collect();
        paths.sort();
        paths
            .iter()
            .map(|path| {
                Self::parse(
                    path.file_stem().unwrap().to_str().unwrap(),
                    &fs::read_to_string(path).unwrap(),
                )
            })
            .collect()
    }

    fn parse(name: &str, text: &str) -> Self {
        let mut project = Self {
            name: name.to_owned(),
            expect: Vec::new(),
            silent: Vec::new(),
            fixes: Vec::new(),
            files: Vec::new(),
        };
        for line in text.lines() {
            if let Some(path) = line.strip_prefix("=== ") {
                project.files.push((path.to_owned(), String::new()));
            } else if let Some((_, body)) = project.files.last_mut() {
                body.push_str(line);
                body.push('\n');
            } else if let Some(rest) = line.strip_prefix("expect ") {
                let (code, place) = rest.split_once(' ').unwrap_or((rest, ""));
                let place = place
                    .rsplit_once(':')
                    .map(|(file, line)| (file.to_owned(), line.parse().unwrap()));
                project.expect.push((code.to_owned(), place));
            } else if let Some(code) = line.strip_prefix("silent ") {
                project.silent.push(code.to_owned());
            } else if let Some(codes) = line.strip_prefix("fixes ") {
                project.fixes.extend(codes.split(' ').map(str::to_owned));
            }
        }
        project
    }

    pub(crate) fn write(&self) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for (path, text) in &self.files {
            let place = directory.path().join(path);
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::write(place, text).unwrap();
        }
        directory
    }
}

/// A project of these files.
pub(crate) fn small(files: &[(&str, &str)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let place = directory.path().join(path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, text).unwrap();
    }
    directory
}
