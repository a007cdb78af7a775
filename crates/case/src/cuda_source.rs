//! The text of a CUDA file as people have them: one saved on Windows begins with a byte order mark, which NVRTC
//! refuses and nvcc does not, and comments may be in an editor's own encoding, which no compiler reads.

use std::path::Path;
use std::{fs, io};

/// Reads a source without its byte order mark; bytes that are not UTF-8 become replacement characters.
///
/// # Errors
/// The file cannot be read.
pub fn read_cuda_source(path: &Path) -> io::Result<String> {
    let text = match String::from_utf8(fs::read(path)?) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    };
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_dropped_and_foreign_comments_read_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.cu");
        let read = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            read_cuda_source(&path).unwrap()
        };
        assert_eq!(read(b"\xef\xbb\xbfint x;\n"), "int x;\n");
        assert_eq!(
            read(b"// gr\xf6\xdfe\nint x;\n"),
            "// gr\u{fffd}\u{fffd}e\nint x;\n"
        );
        assert_eq!(read("// größe\n".as_bytes()), "// größe\n");
        assert!(read_cuda_source(folder.path()).is_err());
    }
}
