//! The page, embedded: plain files, served as they are.

/// A file of the page.
pub(crate) struct PageFile {
    pub(crate) path: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) text: &'static str,
}

const SCRIPT: &str = "text/javascript; charset=utf-8";

const FILES: &[PageFile] = &[
    PageFile {
        path: "/",
        kind: "text/html; charset=utf-8",
        text: include_str!("../page/index.html"),
    },
    PageFile {
        path: "/style.css",
        kind: "text/css; charset=utf-8",
        text: include_str!("../page/style.css"),
    },
    PageFile {
        path: "/page.js",
        kind: SCRIPT,
        text: include_str!("../page/page.js"),
    },
    PageFile {
        path: "/state.js",
        kind: SCRIPT,
        text: include_str!("../page/state.js"),
    },
    PageFile {
        path: "/sleep_timer.js",
        kind: SCRIPT,
        text: include_str!("../page/sleep_timer.js"),
    },
    PageFile {
        path: "/machine.js",
        kind: SCRIPT,
        text: include_str!("../page/machine.js"),
    },
    PageFile {
        path: "/player.js",
        kind: SCRIPT,
        text: include_str!("../page/player.js"),
    },
    PageFile {
        path: "/socket.js",
        kind: SCRIPT,
        text: include_str!("../page/socket.js"),
    },
    PageFile {
        path: "/playback.js",
        kind: SCRIPT,
        text: include_str!("../page/playback.js"),
    },
    PageFile {
        path: "/icon.svg",
        kind: "image/svg+xml",
        text: include_str!("../page/icon.svg"),
    },
];

/// The file at `path`.
pub(crate) fn file(path: &str) -> Option<&'static PageFile> {
    let path = if path == "/index.html" { "/" } else { path };
    FILES.iter().find(|file| file.path == path)
}
