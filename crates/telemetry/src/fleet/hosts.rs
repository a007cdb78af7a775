//! Which exporters to read, as people write them: names, addresses, ranges, files.

use std::collections::BTreeSet;
use std::net::Ipv6Addr;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::endpoint::{Defaults, Endpoint};

/// Where exporters listen unless a host says otherwise.
const DEFAULTS: Defaults = Defaults {
    port: 9877,
    port_of_http: 9877,
    port_of_https: 9877,
    path: "/metrics",
};
/// Most hosts of one call: a range with two digits too many is a mistake.
const MOST: usize = 10_000;
/// Longest file of hosts.
const FILE_BYTES: u64 = 4 << 20;

/// Why hosts cannot be understood.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// One of them is none.
    #[error(
        "{place}`{text}`: {why} (hint: write `node1`, `10.0.0.7:9877`, `node[01-32]:9877` or `https://node1:9877`)"
    )]
    Host {
        /// `FILE:LINE: `, where it stands in a file.
        place: String,
        /// As it was written.
        text: String,
        /// What is wrong with it.
        why: String,
    },
    /// A file cannot be read.
    #[error("cannot read the hosts in `{path}`")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// There are too many.
    #[error("more than {MOST} hosts")]
    TooMany,
    /// There are none.
    #[error("no hosts in `{0}` (hint: one per line, or Prometheus' JSON list of targets)")]
    Empty(PathBuf),
}

/// Hosts in the order in which they were first named, each once.
pub fn hosts(named: &[String], file: Option<&Path>) -> Result<Vec<Endpoint>, HostError> {
    let mut list = Vec::new();
    for text in named {
        add(&mut list, text, String::new)?;
    }
    if let Some(path) = file {
        let before = list.len();
        read(&mut list, path)?;
        if list.len() == before {
            return Err(HostError::Empty(path.to_owned()));
        }
    }
    let mut seen = BTreeSet::new();
    list.retain(|host| seen.insert(host.clone()));
    Ok(list)
}

/// A group of Prometheus' `file_sd_configs`, in JSON.
#[derive(Deserialize)]
struct TargetGroup {
    targets: Vec<String>,
}

fn read(list: &mut Vec<Endpoint>, path: &Path) -> Result<(), HostError> {
    let failed = |source| HostError::File {
        path: path.to_owned(),
        source,
    };
    let size = std::fs::metadata(path).map_err(failed)?.len();
    if size > FILE_BYTES {
        let most = format!("{size} bytes; at most {FILE_BYTES} are read");
        return Err(failed(std::io::Error::other(most)));
    }
    let text = std::fs::read_to_string(path).map_err(failed)?;
    let list_of_groups = |inside: &str| inside.trim_start().starts_with('{');
    if text
        .trim_start()
        .strip_prefix('[')
        .is_some_and(list_of_groups)
    {
        let groups: Vec<TargetGroup> =
            serde_json::from_str(&text).map_err(|error| failed(std::io::Error::other(error)))?;
        for target in groups.iter().flat_map(|group| &group.targets) {
            add(list, target, || format!("{}: ", path.display()))?;
        }
        return Ok(());
    }
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        for host in line.split([' ', '\t']).filter(|host| !host.is_empty()) {
            add(list, host, || {
                format!("{}:{}: ", path.display(), number + 1)
            })?;
        }
    }
    Ok(())
}

fn add(list: &mut Vec<Endpoint>, text: &str, place: impl Fn() -> String) -> Result<(), HostError> {
    let wrong = |why: &str| HostError::Host {
        place: place(),
        text: text.to_owned(),
        why: why.to_owned(),
    };
    let expanded = expand(text, MOST + 1 - list.len()).map_err(wrong)?;
    for one in expanded {
        list.push(Endpoint::parse(&one, &DEFAULTS).map_err(wrong)?);
    }
    match list.len() > MOST {
        true => Err(HostError::TooMany),
        false => Ok(()),
    }
}

/// `node[01-03,7]` as its hosts, at most `most` of them; an IPv6 address in brackets is no range.
fn expand(text: &str, most: usize) -> Result<Vec<String>, &'static str> {
    let mut done = vec![String::new()];
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        let (inside, after) = after.split_once(']').ok_or("a `[` without its `]`")?;
        let choices = match inside.parse::<Ipv6Addr>() {
            Ok(_) => vec![format!("[{inside}]")],
            Err(_) => numbers(inside, most)?,
        };
        if done.len().saturating_mul(choices.len()) > most {
            return Err("too many hosts in its ranges");
        }
        done = done
            .iter()
            .flat_map(|start| {
                choices
                    .iter()
                    .map(move |choice| format!("{start}{before}{choice}"))
            })
            .collect();
        rest = after;
    }
    for host in &mut done {
        host.push_str(rest);
    }
    Ok(done)
}

/// `01-03,7` as its numbers, which keep the zeros in front of the first.
fn numbers(text: &str, most: usize) -> Result<Vec<String>, &'static str> {
    const WRONG: &str = "a range is `[1-8]`, `[01-32]` or `[1,3,5-7]`";
    let number = |text: &str| match text.bytes().all(|byte| byte.is_ascii_digit()) {
        true => text.parse::<u32>().map_err(|_| WRONG),
        false => Err(WRONG),
    };
    let mut list = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (from, to) = (number(first)?, number(last)?);
        if from > to {
            return Err("a range that ends before it begins");
        }
        if (to - from) as usize >= most {
            return Err("too many hosts in its ranges");
        }
        let width = first.len();
        list.extend((from..=to).map(|number| format!("{number:0width$}")));
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(named: &[&str]) -> Result<Vec<String>, HostError> {
        let named: Vec<String> = named.iter().map(|&text| text.to_owned()).collect();
        Ok(hosts(&named, None)?
            .iter()
            .map(ToString::to_string)
            .collect())
    }

    #[test]
    fn ranges_keep_their_zeros_and_nobody_is_named_twice() {
        assert_eq!(
            shown(&["node[08-11]", "node09", "r[1,3]n[1-2]:80"]).unwrap(),
            [
                "node08:9877",
                "node09:9877",
                "node10:9877",
                "node11:9877",
                "r1n1:80",
                "r1n2:80",
                "r3n1:80",
                "r3n2:80"
            ]
        );
        assert_eq!(
            shown(&["[::1]:80", "[fe80::7]"]).unwrap(),
            ["[::1]:80", "[fe80::7]:9877"]
        );
    }

    #[test]
    fn addresses_may_be_urls() {
        let list = hosts(&["https://a.example:1/m".into(), "http://b/".into()], None).unwrap();
        assert!(list[0].tls && list[0].path == "/m" && list[0].port == 1);
        assert!(!list[1].tls && list[1].path == "/metrics" && list[1].port == 9877);
    }

    #[test]
    fn mistakes_are_told_with_what_to_write() {
        for (text, why) in [
            ("", "not a name"),
            ("a b", "not a name"),
            ("node[1-", "without its `]`"),
            ("node[a-b]", "a range is"),
            ("node[3-1]", "ends before"),
            ("node[1-99999999]", "too many"),
            ("n[1-9999][1-9999]", "too many"),
            ("a:http", "not a port"),
            ("a:70000", "not a port"),
            ("ftp://a", "neither http"),
            ("alice:secret@a", "no passwords"),
        ] {
            let error = shown(&[text]).expect_err(text).to_string();
            assert!(
                error.contains(why) && error.contains("hint:"),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn files_have_lines_or_prometheus_targets_and_errors_name_the_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hosts.txt");
        let put = |text: &str| std::fs::write(&path, text).unwrap();
        put("# rack 1\nnode[1-2]\n\n10.0.0.7:80 node2 # twice\n");
        let list = hosts(&["a".into()], Some(&path)).unwrap();
        let list: Vec<String> = list.iter().map(ToString::to_string).collect();
        assert_eq!(list, ["a:9877", "node1:9877", "node2:9877", "10.0.0.7:80"]);
        put(r#"[{"targets": ["a:1", "b:2"], "labels": {"rack": "1"}}, {"targets": ["c:3"]}]"#);
        assert_eq!(hosts(&[], Some(&path)).unwrap().len(), 3);
        put("good\nbad:port\n");
        let error = hosts(&[], Some(&path)).unwrap_err().to_string();
        assert!(
            error.contains("hosts.txt:2: `bad:port`: not a port"),
            "{error}"
        );
        put("# nothing\n");
        assert!(matches!(hosts(&[], Some(&path)), Err(HostError::Empty(_))));
    }
}
