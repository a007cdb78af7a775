//! The web-config file: who may read the metrics and how the connection is protected, in the form
//! that Prometheus' own exporters use.
//!
//! Of that form, `basic_auth_users` with bcrypt hashes and `tls_server_config` with certificates
//! from files are understood. A file that asks for anything else is refused: serving with less
//! protection than somebody meant would be worse than not serving.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::basic_auth::Users;
use super::tls::{ClientAuth, Tls, TlsError, TlsFiles, TlsVersion};

/// Why a web-config file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum WebConfigError {
    /// The file cannot be read.
    #[error("cannot read the web configuration `{path}`")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Something that is not understood.
    #[error("web configuration `{path}`, line {line}: {what}")]
    NotUnderstood {
        /// The file.
        path: PathBuf,
        /// Where.
        line: usize,
        /// What.
        what: String,
    },
    /// The certificates that it names cannot be used.
    #[error("web configuration `{path}`: TLS cannot be served")]
    Tls {
        /// The file.
        path: PathBuf,
        /// Why.
        source: TlsError,
    },
}

/// Who may read, and how.
#[derive(Debug, Default)]
pub struct WebConfig {
    pub(super) users: Users,
    /// Absent where connections are plain.
    pub(super) tls: Option<Arc<Tls>>,
}

/// What the file says, before the files that it names are opened.
#[derive(Debug, Default, PartialEq)]
struct Said {
    users: BTreeMap<String, String>,
    tls: Option<TlsFiles>,
}

/// A part of the file.
#[derive(Clone, Copy, PartialEq)]
enum Section {
    Top,
    Users,
    Tls,
    Http,
}

impl WebConfig {
    /// Reads a file and the certificates that it names; their paths are relative to its folder.
    pub fn read(path: &Path) -> Result<Self, WebConfigError> {
        let text = std::fs::read_to_string(path).map_err(|source| WebConfigError::File {
            path: path.to_owned(),
            source,
        })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let not_understood = |(line, what)| WebConfigError::NotUnderstood {
            path: path.to_owned(),
            line,
            what,
        };
        let said = parse(&text, folder).map_err(not_understood)?;
        let tls = said.tls.map(|files| Tls::open(files).map(Arc::new));
        Ok(Self {
            users: Users::new(said.users),
            tls: tls.transpose().map_err(|source| WebConfigError::Tls {
                path: path.to_owned(),
                source,
            })?,
        })
    }

    /// Whether connections are encrypted.
    pub fn serves_tls(&self) -> bool {
        self.tls.is_some()
    }
}

fn parse(text: &str, folder: &Path) -> Result<Said, (usize, String)> {
    let mut said = Said::default();
    let mut section = Section::Top;
    let mut tls_line = 0;
    for (nth, raw) in text.lines().enumerate() {
        let refused = |what: String| Err((nth + 1, what));
        let line = match raw.find(" #") {
            Some(comment) => &raw[..comment],
            None => raw,
        };
        let (indented, line) = (line.starts_with([' ', '\t']), line.trim());
        if line.is_empty() || line.starts_with('#') || line == "---" {
            continue;
        }
        let Some((key, value)) = line.split_once(':') else {
            return refused(format!("`{line}` is not `name: value`"));
        };
        let unquoted = |text: &str| text.trim().trim_matches(['"', '\'']).to_owned();
        let (key, value) = (unquoted(key), unquoted(value));
        if !indented {
            section = match (key.as_str(), value.is_empty()) {
                ("basic_auth_users", true) => Section::Users,
                ("tls_server_config", true) => Section::Tls,
                ("http_server_config", true) => Section::Http,
                _ => return refused(format!("`{key}` is not understood")),
            };
            if section == Section::Tls {
                tls_line = nth + 1;
                said.tls = Some(TlsFiles::default());
            }
            continue;
        }
        match (section, key.as_str(), value.as_str()) {
            (Section::Users, _, hash) if hash.starts_with("$2") && hash.len() == 60 => {
                said.users.insert(key, value);
            }
            (Section::Users, ..) => {
                return refused(format!("the password of `{key}` is not a bcrypt hash"));
            }
            // HTTP/1.1 is all that is spoken here.
            (Section::Http, "http2", "false") => {}
            (Section::Tls, _, _) => {
                let files = said.tls.get_or_insert_default();
                set_tls(files, &key, &value, folder).map_err(|what| (nth + 1, what))?;
            }
            _ => return refused(format!("`{key}: {value}` is not understood")),
        }
    }
    if let Some(files) = &said.tls {
        let lacks = |what: &str| Err((tls_line, what.to_owned()));
        if files.certificate.as_os_str().is_empty() || files.key.as_os_str().is_empty() {
            return lacks("TLS needs `cert_file` and `key_file`");
        }
        if files.clients == ClientAuth::None && files.client_ca.is_some() {
            return lacks("`client_ca_file` needs a `client_auth_type` that uses it");
        }
        if files.clients != ClientAuth::None && files.client_ca.is_none() {
            return lacks("this `client_auth_type` needs a `client_ca_file`");
        }
    }
    Ok(said)
}

fn set_tls(files: &mut TlsFiles, key: &str, value: &str, folder: &Path) -> Result<(), String> {
    let version = |value: &str| match value {
        "TLS12" => Ok(TlsVersion::Tls12),
        "TLS13" => Ok(TlsVersion::Tls13),
        _ => Err(format!("`{key}` is TLS12 or TLS13, not `{value}`")),
    };
    match key {
        "cert_file" => files.certificate = folder.join(value),
        "key_file" => files.key = folder.join(value),
        "client_ca_file" => files.client_ca = Some(folder.join(value)),
        "client_auth_type" => {
            files.clients = match value {
                "NoClientCert" => ClientAuth::None,
                "VerifyClientCertIfGiven" => ClientAuth::IfGiven,
                "RequireAndVerifyClientCert" => ClientAuth::Required,
                _ => {
                    return Err(format!(
                        "`client_auth_type` is NoClientCert, VerifyClientCertIfGiven or \
                         RequireAndVerifyClientCert, not `{value}`"
                    ));
                }
            }
        }
        "min_version" => files.lowest = version(value)?,
        "max_version" => files.highest = version(value)?,
        _ => return Err(format!("`{key}` is not understood")),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> (usize, String) {
        parse(text, Path::new("")).unwrap_err()
    }

    #[test]
    fn a_file_of_both_kinds_is_understood() {
        let hash = bcrypt::hash("secret", 4).unwrap();
        let text = format!(
            "# who may read\nbasic_auth_users:\n  alice: {hash}\ntls_server_config:\n  \
             cert_file: server.crt\n  key_file: \"/etc/tls/key.pem\"  # not here\n  \
             min_version: TLS13\nhttp_server_config:\n  http2: false\n"
        );
        let said = parse(&text, Path::new("/conf")).unwrap();
        assert_eq!(said.users["alice"], hash);
        let files = said.tls.unwrap();
        assert_eq!(files.certificate, Path::new("/conf/server.crt"));
        assert_eq!(files.key, Path::new("/etc/tls/key.pem"));
        assert_eq!(files.lowest, TlsVersion::Tls13);
        assert_eq!(files.clients, ClientAuth::None);
    }

    #[test]
    fn what_is_not_understood_is_refused_with_its_line() {
        let (line, what) = refused("basic_auth_users:\n  a: plain\n");
        assert!(line == 2 && what.contains("not a bcrypt hash"), "{what}");
        let (line, what) = refused("\ntls_server_config:\n  cert_file: x\n");
        assert!(line == 2 && what.contains("key_file"), "{what}");
        let (line, what) = refused("tls_server_config:\n  cert_file: x\n  cipher_suites: y\n");
        assert!(line == 3 && what.contains("cipher_suites"), "{what}");
        let files = "tls_server_config:\n  cert_file: x\n  key_file: y\n";
        let (line, what) = refused(&format!(
            "{files}  client_auth_type: RequireAnyClientCert\n"
        ));
        assert!(line == 4 && what.contains("client_auth_type"), "{what}");
        let (_, what) = refused(&format!("{files}  client_ca_file: z\n"));
        assert!(what.contains("client_auth_type"), "{what}");
        let (_, what) = refused(&format!(
            "{files}  client_auth_type: RequireAndVerifyClientCert\n"
        ));
        assert!(what.contains("client_ca_file"), "{what}");
        assert_eq!(refused("http_server_config:\n  http2: true").0, 2);
        assert_eq!(refused("nonsense").0, 1);
        assert_eq!(refused("other:\n").0, 1);
    }
}
