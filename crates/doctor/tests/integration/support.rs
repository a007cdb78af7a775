//! Machines and libraries that tests build from small descriptions.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;

/// A machine as a file somebody can read.
#[derive(Deserialize)]
pub(crate) struct MachineDescription {
    #[allow(dead_code, reason = "for whoever reads the file")]
    description: String,
    session: serde_json::Value,
    commands: serde_json::Value,
    stats: serde_json::Value,
    files: BTreeMap<String, String>,
    libraries: BTreeMap<String, GpuLibrary>,
    pub(crate) expect: BTreeMap<String, String>,
    /// Documents that the machine was written from, where nobody recorded it.
    #[serde(default)]
    pub(crate) written_from: Option<String>,
    /// What the advice of a rule must name, and with `!` what it must not.
    #[serde(default)]
    pub(crate) advice: BTreeMap<String, Vec<String>>,
}

/// A library that holds GPU code for these architectures.
#[derive(Deserialize)]
pub(crate) struct GpuLibrary {
    pub(crate) cubins: Vec<u32>,
    pub(crate) ptx: Vec<u32>,
}

impl MachineDescription {
    /// The machines under `tests/machines`, by name.
    pub(crate) fn all() -> Vec<(String, Self)> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/machines");
        let mut machines: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| {
                let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
                let text = fs::read_to_string(&path).unwrap();
                (
                    name,
                    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{path:?}: {e}")),
                )
            })
            .collect();
        machines.sort_by(|a: &(String, Self), b| a.0.cmp(&b.0));
        machines
    }

    /// Writes the machine in the form that `DirectoryHost` opens.
    pub(crate) fn write(&self, directory: &Path) {
        let put = |path: &str, bytes: &[u8]| {
            let place = directory.join("root").join(path.trim_start_matches('/'));
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::write(place, bytes).unwrap();
        };
        fs::create_dir_all(directory.join("root")).unwrap();
        for (path, text) in &self.files {
            put(path, text.as_bytes());
        }
        for (path, library) in &self.libraries {
            put(path, &gpu_library(&library.cubins, &library.ptx));
        }
        for (name, value) in [
            ("env.json", &self.session),
            ("cmd.json", &self.commands),
            ("stat.json", &self.stats),
        ] {
            fs::write(directory.join(name), value.to_string()).unwrap();
        }
    }
}

/// The smallest ELF library with a fat-binary section: one entry per architecture.
pub(crate) fn gpu_library(cubins: &[u32], ptx: &[u32]) -> Vec<u8> {
    fn entry(kind: u16, sm: u32) -> Vec<u8> {
        let payload = [0u8; 64];
        let mut bytes = Vec::new();
        bytes.extend_from_slice(&kind.to_le_bytes());
        bytes.extend_from_slice(&0x101u16.to_le_bytes());
        bytes.extend_from_slice(&64u32.to_le_bytes());
        bytes.extend_from_slice(&(payload.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&[0; 12]);
        bytes.extend_from_slice(&sm.to_le_bytes());
        bytes.resize(64, 0);
        bytes.extend_from_slice(&payload);
        bytes
    }
    let body: Vec<u8> = cubins
        .iter()
        .flat_map(|sm| entry(2, *sm))
        .chain(ptx.iter().flat_map(|sm| entry(1, *sm)))
        .collect();
    let mut fatbin = 0xBA55_ED50u32.to_le_bytes().to_vec();
    fatbin.extend_from_slice(&1u16.to_le_bytes());
    fatbin.extend_from_slice(&16u16.to_le_bytes());
    fatbin.extend_from_slice(&(body.len() as u64).to_le_bytes());
    fatbin.extend_from_slice(&body);
    elf(&[(".nv_fatbin", 1, &fatbin)])
}

/// An ELF64 library with these sections: name, type, bytes.
pub(crate) fn elf(sections: &[(&str, u32, &[u8])]) -> Vec<u8> {
    let mut names = b"\0.shstrtab\0".to_vec();
    let mut file = vec![0u8; 64];
    let mut rows: Vec<[u64; 4]> = vec![[0; 4]];
    for (name, kind, bytes) in sections {
        let name_at = names.len() as u64;
        names.extend_from_slice(name.as_bytes());
        names.push(0);
        rows.push([
            name_at,
            u64::from(*kind),
            file.len() as u64,
            bytes.len() as u64,
        ]);
        file.extend_from_slice(bytes);
    }
    rows.push([1, 3, file.len() as u64, names.len() as u64]);
    file.extend_from_slice(&names);
    file.resize(file.len().next_multiple_of(8), 0);
    let table = file.len() as u64;
    for [name, kind, offset, size] in &rows {
        let mut row = Vec::new();
        row.extend_from_slice(&(*name as u32).to_le_bytes());
        row.extend_from_slice(&(*kind as u32).to_le_bytes());
        row.extend_from_slice(&[0; 16]);
        row.extend_from_slice(&offset.to_le_bytes());
        row.extend_from_slice(&size.to_le_bytes());
        row.resize(64, 0);
        file.extend_from_slice(&row);
    }
    file[..16].copy_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    file[16..18].copy_from_slice(&3u16.to_le_bytes());
    file[18..20].copy_from_slice(&62u16.to_le_bytes());
    file[40..48].copy_from_slice(&table.to_le_bytes());
    file[58..60].copy_from_slice(&64u16.to_le_bytes());
    file[60..62].copy_from_slice(&(rows.len() as u16).to_le_bytes());
    file[62..64].copy_from_slice(&(rows.len() as u16 - 1).to_le_bytes());
    file
}
