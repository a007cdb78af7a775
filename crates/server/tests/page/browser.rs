//! Chromium without a window, driven through its debugging protocol.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use serde_json::{Value, json};
use tungstenite::{Message, WebSocket};

/// Chromium, where it is installed.
pub(crate) fn chromium() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|folder| folder.join("chromium"))
        .find(|program| program.is_file())
}

/// A browser with one page.
pub(crate) struct Browser {
    process: Child,
    socket: WebSocket<TcpStream>,
    session: String,
    calls: u64,
    /// Errors that the page or its console reported.
    pub(crate) complaints: Vec<String>,
    _profile: tempfile::TempDir,
}

impl Browser {
    pub(crate) fn open() -> Result<Self, Failed> {
        let profile = tempfile::tempdir()?;
        let process = Command::new(chromium().ok_or("no chromium")?)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
            ])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
            ])
            .args([
                "--autoplay-policy=no-user-gesture-required",
                "--remote-debugging-port=0",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let (port, path) = debugging_address(profile.path())?;
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(Duration::from_secs(120)))?;
        let (socket, _) = tungstenite::client(format!("ws://127.0.0.1:{port}{path}"), stream)?;
        let mut browser = Self {
            process,
            socket,
            session: String::new(),
            calls: 0,
            complaints: Vec::new(),
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }))?;
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = browser.call("Target.attachToTarget", attach)?;
        browser.session = attached["sessionId"]
            .as_str()
            .ok_or("no session")?
            .to_owned();
        for domain in ["Page.enable", "Runtime.enable", "Log.enable"] {
            browser.call(domain, json!({}))?;
        }
        // Tests bring a recorder of their own.
        browser.call("Page.setBypassCSP", json!({ "enabled": true }))?;
        Ok(browser)
    }

    /// Calls a method and waits for its result; events on the way are looked through for errors.
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Result<Value, Failed> {
        self.calls += 1;
        let id = self.calls;
        let mut call = json!({ "id": id, "method": method, "params": params });
        if !self.session.is_empty() {
            call["sessionId"] = json!(self.session);
        }
        self.socket.send(Message::text(call.to_string()))?;
        loop {
            let Message::Text(text) = self.socket.read()? else {
                continue;
            };
            let answer: Value = serde_json::from_str(&text)?;
            if answer["id"] == id {
                return match answer.get("error") {
                    Some(error) => Err(format!("{method}: {error}").into()),
                    None => Ok(answer["result"].clone()),
                };
            }
            let details = &answer["params"];
            match answer["method"].as_str() {
                Some("Runtime.exceptionThrown") => self.complaints.push(details.to_string()),
                Some("Log.entryAdded") if details["entry"]["level"] == "error" => {
                    self.complaints.push(details["entry"]["text"].to_string());
                }
                _ => {}
            }
        }
    }

    pub(crate) fn go(&mut self, address: &str) -> Result<(), Failed> {
        self.call("Page.navigate", json!({ "url": address }))?;
        self.until("document.readyState === 'complete' && !!window.ready")?;
        self.evaluate("ready.then(() => 1)")?;
        Ok(())
    }

    /// The value of an expression, after its promise is kept.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Result<Value, Failed> {
        let params = json!({
            "expression": expression, "awaitPromise": true, "returnByValue": true, "userGesture": true,
        });
        let answer = self.call("Runtime.evaluate", params)?;
        match answer.get("exceptionDetails") {
            Some(details) => Err(format!("{expression}: {details}").into()),
            None => Ok(answer["result"]["value"].clone()),
        }
    }

    /// Waits until an expression is true, a minute at most.
    pub(crate) fn until(&mut self, expression: &str) -> Result<(), Failed> {
        self.until_within(Duration::from_secs(60), expression)
    }

    /// Waits until an expression is true, so long at most.
    pub(crate) fn until_within(&mut self, most: Duration, expression: &str) -> Result<(), Failed> {
        let begun = Instant::now();
        while self.evaluate(expression)? != true {
            if begun.elapsed() > most {
                return Err(format!("never true: {expression}").into());
            }
            std::thread::sleep(Duration::from_millis(25));
        }
        Ok(())
    }

    pub(crate) fn resize(&mut self, width: u32, height: u32) -> Result<(), Failed> {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.call("Emulation.setDeviceMetricsOverride", size)?;
        Ok(())
    }

    pub(crate) fn press(&mut self, key: &str, code: u32, text: &str) -> Result<(), Failed> {
        for kind in ["keyDown", "keyUp"] {
            let mut event =
                json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code });
            if kind == "keyDown" && !text.is_empty() {
                event["text"] = json!(text);
            }
            self.call("Input.dispatchKeyEvent", event)?;
        }
        Ok(())
    }

    /// A PNG, in base64.
    pub(crate) fn screenshot(&mut self) -> Result<String, Failed> {
        let params = json!({ "format": "png", "captureBeyondViewport": true });
        let answer = self.call("Page.captureScreenshot", params)?;
        Ok(answer["data"].as_str().ok_or("no picture")?.to_owned())
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Where the browser says it listens.
fn debugging_address(profile: &Path) -> Result<(u16, String), Failed> {
    let begun = Instant::now();
    loop {
        let text = std::fs::read_to_string(profile.join("DevToolsActivePort")).unwrap_or_default();
        if let Some((port, path)) = text.split_once('\n') {
            return Ok((port.parse()?, path.trim().to_owned()));
        }
        if begun.elapsed() > Duration::from_secs(60) {
            return Err("chromium does not start".into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
