//! Files for parsers that read paths: written to memory where the machine has such a folder.

use std::cell::OnceCell;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

thread_local! {
    static FOLDER: OnceCell<TempDir> = const { OnceCell::new() };
}

/// The folder of this thread, which is removed with it.
fn folder() -> PathBuf {
    FOLDER.with(|folder| {
        let folder = folder.get_or_init(|| {
            let memory = Path::new("/dev/shm");
            let parent = if memory.is_dir() {
                memory.to_owned()
            } else {
                std::env::temp_dir()
            };
            TempDir::new_in(parent).expect("a temporary folder can be made")
        });
        folder.path().to_owned()
    })
}

/// Shows `see` a file of this name with these bytes.
pub fn file(name: &str, data: &[u8], see: impl FnOnce(&Path)) {
    let path = folder().join(name);
    fs::write(&path, data).expect("a temporary file can be written");
    see(&path);
    // The parser may have renamed or removed it.
    let _ = fs::remove_file(&path);
}

/// Shows `see` a folder with one file in it.
pub fn tree(name: &str, data: &[u8], see: impl FnOnce(&Path)) {
    let root = folder().join("tree");
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap_or(&root)).expect("a temporary folder can be made");
    fs::write(&path, data).expect("a temporary file can be written");
    see(&root);
    let _ = fs::remove_dir_all(&root);
}
