//! Chromium by its DevTools protocol, over two pipes: no port, no socket, no library.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use libtest_mimic::Failed;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A browser that does not answer for so long has hung.
const PATIENCE: Duration = Duration::from_secs(60);

/// The program, where there is one.
pub(crate) fn chromium() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .flat_map(|folder| {
            ["chromium", "chromium-browser", "google-chrome"].map(|name| folder.join(name))
        })
        .find(|program| program.is_file())
}

/// A browser with one tab; ends with this value.
pub(crate) struct Browser {
    process: Child,
    requests: File,
    messages: Receiver<Value>,
    session: String,
    next: u64,
    /// What the page wrote to the console or threw, and what it fetched.
    pub(crate) complaints: Vec<String>,
    _folder: TempDir,
}

impl Browser {
    pub(crate) fn start() -> Result<Self, Failed> {
        let program = chromium().ok_or("no chromium")?;
        let folder = tempfile::tempdir()?;
        let pipes = ["requests", "answers"].map(|name| folder.path().join(name));
        let made = Command::new("mkfifo").args(&pipes).status()?;
        if !made.success() {
            return Err("cannot make pipes".into());
        }
        // The browser reads descriptor 3 and writes descriptor 4; a shell puts the pipes there.
        let process = Command::new("sh")
            .args(["-c", r#"exec "$0" "$@" 3<"$REQUESTS" 4>"$ANSWERS""#])
            .arg(program)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
            ])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
            ])
            .args(["--disable-sync", "--disable-quic", "--hide-scrollbars"])
            .args(["--force-color-profile=srgb", "--remote-debugging-pipe"])
            .arg(format!(
                "--user-data-dir={}",
                folder.path().join("profile").display()
            ))
            .env("REQUESTS", &pipes[0])
            .env("ANSWERS", &pipes[1])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        // In the shell's order: each side waits for the other.
        let requests = OpenOptions::new().write(true).open(&pipes[0])?;
        let answers = BufReader::new(File::open(&pipes[1])?);
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for message in answers.split(0) {
                let parsed = message.ok().and_then(|m| serde_json::from_slice(&m).ok());
                let Some(parsed) = parsed else { break };
                if sender.send(parsed).is_err() {
                    break;
                }
            }
        });
        let mut browser = Self {
            process,
            requests,
            messages,
            session: String::new(),
            next: 0,
            complaints: Vec::new(),
            _folder: folder,
        };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}))?;
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let attached = browser.call("Target.attachToTarget", attach)?;
        browser.session = attached["sessionId"].as_str().unwrap_or("").to_owned();
        for domain in [
            "Page.enable",
            "Runtime.enable",
            "Network.enable",
            "Log.enable",
        ] {
            browser.call(domain, json!({}))?;
        }
        Ok(browser)
    }

    /// The answer to `method`.
    pub(crate) fn call(&mut self, method: &str, parameters: Value) -> Result<Value, Failed> {
        self.next += 1;
        let mut request = json!({"id": self.next, "method": method, "params": parameters});
        if !self.session.is_empty() {
            request["sessionId"] = json!(self.session);
        }
        self.requests.write_all(request.to_string().as_bytes())?;
        self.requests.write_all(&[0])?;
        loop {
            let message = self.message(method)?;
            if message["id"] == self.next {
                if let Some(error) = message.get("error") {
                    return Err(format!("{method}: {error}").into());
                }
                return Ok(message["result"].clone());
            }
        }
    }

    fn message(&mut self, during: &str) -> Result<Value, Failed> {
        let message = self
            .messages
            .recv_timeout(PATIENCE)
            .map_err(|_| format!("the browser does not answer `{during}`"))?;
        let parameters = &message["params"];
        match message["method"].as_str() {
            Some("Runtime.consoleAPICalled") => self
                .complaints
                .push(format!("console: {}", parameters["args"])),
            Some("Runtime.exceptionThrown") => {
                self.complaints
                    .push(format!("threw: {}", parameters["exceptionDetails"]));
            }
            Some("Log.entryAdded") => self
                .complaints
                .push(format!("log: {}", parameters["entry"]["text"])),
            Some("Network.requestWillBeSent") => {
                let url = parameters["request"]["url"].as_str().unwrap_or("");
                if !url.starts_with("file:") && !url.starts_with("data:") {
                    self.complaints.push(format!("request: {url}"));
                }
            }
            _ => {}
        }
        Ok(message)
    }

    /// How the window is: its size, and what it prefers.
    pub(crate) fn window(
        &mut self,
        width: u32,
        height: u32,
        scheme: &str,
        media: &str,
    ) -> Result<(), Failed> {
        let size =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size)?;
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call(
            "Emulation.setEmulatedMedia",
            json!({"media": media, "features": features}),
        )?;
        Ok(())
    }

    /// Opens the file, with scripts or without, and waits until it is there.
    pub(crate) fn open(&mut self, page: &Path, scripts: bool) -> Result<(), Failed> {
        self.complaints.clear();
        self.call(
            "Emulation.setScriptExecutionDisabled",
            json!({"value": !scripts}),
        )?;
        let url = format!("file://{}", page.display());
        self.call("Page.navigate", json!({"url": url}))?;
        loop {
            if self.message("Page.loadEventFired")?["method"] == "Page.loadEventFired" {
                return Ok(());
            }
        }
    }

    /// The value of a JavaScript expression, waited for.
    pub(crate) fn value(&mut self, expression: &str) -> Result<Value, Failed> {
        let request =
            json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.call("Runtime.evaluate", request)?;
        match answer.get("exceptionDetails") {
            Some(thrown) => Err(format!("{}", thrown["exception"]["description"]).into()),
            None => Ok(answer["result"]["value"].clone()),
        }
    }

    /// The whole page as a picture, for the eye.
    pub(crate) fn screenshot(&mut self, place: &Path) -> Result<(), Failed> {
        let shot = self.call(
            "Page.captureScreenshot",
            json!({"captureBeyondViewport": true}),
        )?;
        save(&shot["data"], place)
    }

    /// What the window shows, small enough to be committed.
    pub(crate) fn picture(&mut self, place: &Path) -> Result<(), Failed> {
        let shot = self.call(
            "Page.captureScreenshot",
            json!({"format": "webp", "quality": 60}),
        )?;
        save(&shot["data"], place)
    }

    /// The page on paper.
    pub(crate) fn pdf(&mut self, place: &Path) -> Result<(), Failed> {
        let printed = self.call(
            "Page.printToPDF",
            json!({"preferCSSPageSize": true, "printBackground": true}),
        )?;
        save(&printed["data"], place)
    }
}

fn save(data: &Value, place: &Path) -> Result<(), Failed> {
    let bytes =
        warpsmith_formats::base64::decode(data.as_str().unwrap_or("")).ok_or("not base 64")?;
    std::fs::write(place, bytes)?;
    Ok(())
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
