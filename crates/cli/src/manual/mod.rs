//! What the documentation takes from the program itself: man pages, the reference of every command,
//! the workloads, the finding codes, and pages made from measurements.
//!
//! Nothing here is written twice: the text comes from the same declarations that the program runs
//! on, and `tests/documentation.rs` holds the committed pages against them.

mod commands;
mod findings;
mod man;
mod parity;
mod performance;
mod workloads;

pub(crate) use man::man_pages;
pub(crate) use parity::parity;
pub(crate) use performance::performance;

/// A file: its path below the folder that was asked for, and what stands in it.
pub(crate) struct Page {
    pub(crate) name: String,
    pub(crate) contents: Vec<u8>,
}

impl Page {
    /// A Markdown page that says where it comes from.
    fn generated(name: &str, text: &str) -> Self {
        let note = "<!-- Written by `cargo xtask docs` from the program itself; changes here are \
                    lost. -->\n\n";
        Self {
            name: name.to_owned(),
            contents: format!("{note}{}\n", text.trim_end()).into_bytes(),
        }
    }
}

/// Every page that follows from the program alone.
pub(crate) fn reference() -> Vec<Page> {
    let mut pages = commands::pages();
    pages.push(workloads::page());
    pages.push(findings::page());
    pages
}

/// Text inside a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
