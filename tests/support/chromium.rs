//! Headless Chromium, controlled by the DevTools protocol over a pipe: it needs no port and no library.
//!
//! <https://chromedevtools.github.io/devtools-protocol/>. Messages are JSON, each followed by a zero byte. The browser
//! reads them from descriptor 3 and writes to descriptor 4 (`--remote-debugging-pipe`).

use super::program::{User, tied_command};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use tare_dev::scaled_timeout;

/// Time after which a browser counts as hung, longer than any answer takes on the busiest machine.
const PATIENCE: Duration = Duration::from_secs(240);

/// Page in its own browser. Dropping it ends the browser.
pub struct Browser {
    child: Child,
    to: ChildStdin,
    messages: Receiver<Value>,
    /// Events received while waiting for an answer.
    events: Vec<Value>,
    session: Option<String>,
    sent: u64,
}

impl Browser {
    /// Starts a browser with its profile in this directory, and opens an empty page.
    pub fn start(profile: &Path) -> Self {
        std::fs::create_dir_all(profile).expect("a directory of the test's own");
        // The shell moves the pipes to the descriptors that the browser uses.
        let script = "exec chromium \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1";
        let mut child = tied_command(User::Caller, "/bin/sh")
            .args(["-c", script, "chromium"])
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
            .args([
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
            ])
            .args(["--hide-scrollbars", "--force-color-profile=srgb", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", profile.display()))
            .env("HOME", profile)
            // A killed browser leaves directories there.
            .env("TMPDIR", profile)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("chromium is installed by `make system-tools`");
        let mut from = BufReader::new(child.stdout.take().expect("it is piped"));
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            while from.read_until(0, &mut bytes).is_ok_and(|length| length > 0) {
                bytes.pop();
                let Ok(message) = serde_json::from_slice(&bytes) else { break };
                if sender.send(message).is_err() {
                    break;
                }
                bytes.clear();
            }
        });
        let to = child.stdin.take().expect("it is piped");
        let mut browser = Self { child, to, messages, events: Vec::new(), session: None, sent: 0 };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let target = json!({"targetId": target["targetId"], "flatten": true});
        let attached = browser.call("Target.attachToTarget", target);
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network", "Accessibility", "DOM"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// Calls a method of the protocol, and waits for the answer.
    #[track_caller]
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.sent += 1;
        let mut message = json!({"id": self.sent, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.to.write_all(&bytes).expect("the browser listens");
        loop {
            let answer = self.next();
            if answer["id"] == self.sent {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    fn next(&mut self) -> Value {
        self.messages
            .recv_timeout(scaled_timeout(PATIENCE))
            .unwrap_or_else(|error| panic!("the browser does not answer: {error}"))
    }

    /// Opens a file and waits until it is loaded.
    pub fn open(&mut self, file: &Path) {
        let url = format!("file://{}", file.display());
        self.call("Page.navigate", json!({ "url": url }));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.next();
            self.events.push(event);
        }
    }

    /// Sets the width of the window and the colour scheme.
    pub fn set_window(&mut self, width: u32, scheme: &str) {
        let metrics =
            json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", metrics);
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", json!({ "features": features }));
    }

    /// Shows the page as it is printed on sheets that leave this width, px.
    pub fn set_print(&mut self, width: u32) {
        self.set_window(width, "light");
        self.call("Emulation.setEmulatedMedia", json!({ "media": "print" }));
    }

    /// Prints the page on sheets of the size that it asks for. Returns the PDF.
    pub fn print(&mut self) -> Vec<u8> {
        let answer = self.call("Page.printToPDF", json!({ "preferCSSPageSize": true }));
        let data = answer["data"].as_str().unwrap_or_else(|| panic!("no PDF: {answer}"));
        BASE64_STANDARD.decode(data).expect("the protocol sends base64")
    }

    /// Returns the value of an expression in the page.
    #[track_caller]
    pub fn value(&mut self, expression: &str) -> Value {
        let asked = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.call("Runtime.evaluate", asked);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Returns the events of these methods since the page was opened.
    pub fn events(&mut self, methods: &[&str]) -> Vec<Value> {
        // The page sends all its pending events before this answer.
        self.value("1");
        let wanted = |event: &&Value| methods.iter().any(|method| event["method"] == *method);
        self.events.iter().filter(wanted).cloned().collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
