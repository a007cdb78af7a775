//! The site: pages with their fences' words made visible, a table of contents from `SUMMARY.md`, and
//! Zensical, which renders them with a search that needs no server.
//!
//! Zensical comes from PyPI in seconds; a generator that is compiled first would take minutes.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use crate::workspace::{self, run};

/// Pinned exactly: a `0.0` version may change anything.
const GENERATOR: &str = "zensical==0.0.73";

/// What lets a browser search pages that it opened from a disk. The generator's pages fetch it from a
/// network; ours have it beside them.
const WORKER: &str = "https://registry.npmjs.org/iframe-worker/-/iframe-worker-1.0.4.tgz";
const WORKER_SHA256: &str = "e8c5d12d87829c503afba01d67772ea9f4aba5b7ae57a0c98e1917711030efbb";
const WORKER_FETCHED_FROM: &str = "https://unpkg.com/iframe-worker/shim";
const WORKER_FILE: &str = "assets/javascripts/iframe-worker.js";

const SETTINGS: &str = "\
site_name: Warpsmith
site_dir: pages
use_directory_urls: false
theme:
  font: false
  features: [content.code.copy, navigation.indexes, navigation.tabs, navigation.top, search.highlight, toc.follow]
  palette:
    - media: '(prefers-color-scheme: light)'
      scheme: default
      toggle: { icon: lucide/sun, name: Dark }
    - media: '(prefers-color-scheme: dark)'
      scheme: slate
      toggle: { icon: lucide/moon, name: Light }
plugins: [search, offline]
markdown_extensions: [pymdownx.highlight, pymdownx.superfences, tables, { toc: { permalink: true } }]
nav:
";

pub(super) fn build() -> Result<()> {
    let site = workspace::target().join("site");
    let _ = fs::remove_dir_all(&site);
    let docs = workspace::root().join("docs");
    copy(&docs, &site.join("docs"))?;
    fs::remove_file(site.join("docs/SUMMARY.md"))?;
    let summary = fs::read_to_string(docs.join("SUMMARY.md"))?;
    let settings = format!("{SETTINGS}{}", contents(&summary));
    fs::write(site.join("mkdocs.yml"), settings)?;
    let tools = workspace::target().join("site-tools");
    let generator = tools.join("bin/zensical");
    if !generator.is_file() {
        run("python3", &["-m", "venv", text(&tools)?])?;
        let python = tools.join("bin/python");
        run(
            text(&python)?,
            &["-m", "pip", "install", "--quiet", GENERATOR],
        )?;
    }
    let settings = site.join("mkdocs.yml");
    run(
        text(&generator)?,
        &["build", "--strict", "--config-file", text(&settings)?],
    )?;
    without_network(&site.join("pages"), &tools)?;
    println!("{}", site.join("pages/index.html").display());
    Ok(())
}

/// Makes every page complete in itself, and refuses one that still fetches something.
fn without_network(pages: &Path, tools: &Path) -> Result<()> {
    let archive = tools.join("iframe-worker.tgz");
    if !archive.is_file() {
        let fetch = [
            "--fail",
            "--silent",
            "--show-error",
            "--location",
            "--max-time",
            "60",
        ];
        run(
            "curl",
            &[&fetch[..], &["--output", text(&archive)?, WORKER]].concat(),
        )?;
    }
    let hash = Sha256::digest(fs::read(&archive)?);
    let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    if hash != WORKER_SHA256 {
        bail!("`{}` is not what was pinned: {hash}", archive.display());
    }
    let unpack = [
        "--extract",
        "--to-stdout",
        "--file",
        text(&archive)?,
        "package/shim/index.js",
    ];
    fs::write(
        pages.join(WORKER_FILE),
        workspace::stdout(Path::new("tar"), &unpack)?,
    )?;
    for page in html_below(pages)? {
        let depth = page.strip_prefix(pages)?.components().count() - 1;
        let own = format!("{}{WORKER_FILE}", "../".repeat(depth));
        let page_text = fs::read_to_string(&page)?.replace(WORKER_FETCHED_FROM, &own);
        if let Some(foreign) = fetched(&page_text) {
            bail!("`{}` fetches {foreign}", page.display());
        }
        fs::write(&page, page_text)?;
    }
    Ok(())
}

fn html_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(html_below(&path)?);
        } else if path.extension().is_some_and(|ending| ending == "html") {
            found.push(path);
        }
    }
    Ok(found)
}

/// The first address that a browser would fetch by itself to show this page.
fn fetched(page: &str) -> Option<&str> {
    let scripts = page.split("<script").skip(1);
    let pictures = page.split("<img").skip(1);
    let styles = page.split("<link").skip(1);
    let tags = scripts.chain(pictures).chain(styles);
    tags.filter_map(|rest| rest.split('>').next())
        .filter(|tag| !tag.contains("canonical"))
        .find_map(|tag| {
            let at = tag.find("\"https://").or_else(|| tag.find("\"http://"))?;
            tag[at + 1..].split('"').next()
        })
}

/// Copies a folder; the fences of its pages say what they say in words.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let place = to.join(path.file_name().context("an entry has a name")?);
        if path.is_dir() {
            copy(&path, &place)?;
        } else if path.extension().is_some_and(|ending| ending == "md") {
            let page = fs::read_to_string(&path)?;
            let lines: Vec<String> = page.lines().map(titled).collect();
            fs::write(place, lines.join("\n") + "\n")?;
        } else {
            fs::copy(&path, place)?;
        }
    }
    Ok(())
}

/// A fence whose words are a title: the renderer knows nothing but the language.
fn titled(line: &str) -> String {
    let Some((language, words)) = line
        .strip_prefix("```")
        .and_then(|info| info.split_once(' '))
    else {
        return line.to_owned();
    };
    let titles = words.split_whitespace().filter_map(|word| match word {
        "gpu" => Some("needs a GPU"),
        "nvrtc" => Some("needs NVRTC"),
        "numpy" => Some("needs NumPy"),
        word => word.strip_prefix("file="),
    });
    match titles.collect::<Vec<_>>().join(", ") {
        title if title.is_empty() => format!("```{language}"),
        title => format!("```{language} title=\"{title}\""),
    }
}

/// `SUMMARY.md` as the generator's table of contents: both are indented lists.
fn contents(summary: &str) -> String {
    let entries = summary.lines().filter_map(|line| {
        let (indent, entry) = line.split_once("- ")?;
        let link = entry
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(')'))
            .and_then(|rest| rest.split_once("]("));
        // In YAML's single quotes nothing but the quote itself has to be doubled.
        let quoted = |title: &str| title.replace('\'', "''");
        Some(match link {
            Some((title, page)) => format!("  {indent}- '{}': {page}\n", quoted(title)),
            None => format!("  {indent}- '{}':\n", quoted(entry)),
        })
    });
    entries.collect()
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().context("the checkout's path is not UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_page_fetches_is_found_and_what_it_links_is_not() {
        let own = "<a href=\"https://a.org\">a</a><script src=\"assets/x.js\"></script>\
                   <link rel=\"canonical\" href=\"https://b.org\"><link href=\"assets/x.css\">";
        assert_eq!(fetched(own), None);
        let foreign = format!("{own}<script src=\"https://c.org/x.js\"></script>");
        assert_eq!(fetched(&foreign), Some("https://c.org/x.js"));
    }

    #[test]
    fn a_fence_keeps_its_language_and_shows_what_it_needs() {
        assert_eq!(titled("```console"), "```console");
        assert_eq!(titled("```console measured"), "```console");
        assert_eq!(
            titled("```console gpu numpy"),
            "```console title=\"needs a GPU, needs NumPy\""
        );
        assert_eq!(titled("```cuda file=a.cu"), "```cuda title=\"a.cu\"");
        assert_eq!(titled("text"), "text");
    }

    #[test]
    fn the_table_of_contents_keeps_its_levels() {
        let summary = "# Contents\n\n- Start\n    - [A \"project's\" build](start/build.md)\n";
        assert_eq!(
            contents(summary),
            "  - 'Start':\n      - 'A \"project''s\" build': start/build.md\n"
        );
    }
}
