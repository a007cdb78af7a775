//! A page of the manual.

/// A file: its path below the folder that was requested, and what stands in it.
pub(crate) struct Page {
    pub(crate) name: String,
    pub(crate) contents: Vec<u8>,
}

impl Page {
    /// A Markdown page that says where it comes from.
    pub(super) fn generated(name: &str, text: &str) -> Self {
        let note = "<!-- Written by `cargo xtask docs` from the program itself; changes here are \
                    lost. -->\n\n";
        Self {
            name: name.to_owned(),
            contents: format!("{note}{}\n", text.trim_end()).into_bytes(),
        }
    }
}

/// Text inside a cell of a table.
pub(super) fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
