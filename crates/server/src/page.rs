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
        path: "/score.js",
        kind: SCRIPT,
        text: include_str!("../page/score.js"),
    },
    PageFile {
        path: "/offline.js",
        kind: SCRIPT,
        text: include_str!("../page/offline.js"),
    },
    PageFile {
        path: "/manifest.webmanifest",
        kind: "application/manifest+json",
        text: include_str!("../page/manifest.webmanifest"),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_without_its_server_has_all_its_files() {
        let offline = file("/offline.js").unwrap().text;
        for file in FILES.iter().filter(|file| file.path != "/offline.js") {
            let quoted = format!("'{}'", file.path);
            assert!(offline.contains(&quoted), "{} is not kept", file.path);
        }
    }
}
