//! A headless Chromium, spoken to by the DevTools protocol over a pipe: no port, no library.
//!
//! <https://chromedevtools.github.io/devtools-protocol/>. Messages are JSON, each ended by a nought byte; the browser reads
//! them from its descriptor 3 and writes to 4 (`--remote-debugging-pipe`).

use super::program::{User, tied};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use tare_dev::patience;

/// Time after which a browser has hung. No machine that makes progress needs as long for an answer.
const PATIENCE: Duration = Duration::from_secs(240);

/// A page in a browser of its own. Dropping it ends the browser.
pub struct Browser {
    child: Child,
    to: ChildStdin,
    messages: Receiver<Value>,
    /// Events that came while an answer was waited for.
    events: Vec<Value>,
    session: Option<String>,
    sent: u64,
}

impl Browser {
    /// Starts one with its profile in this directory, and opens an empty page in it.
    pub fn start(profile: &Path) -> Self {
        // The shell moves the pipes to where the browser wants them.
        let script = "exec chromium \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1";
        let mut child = tied(User::Caller, "/bin/sh")
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

    /// Asks for something, and waits for the answer.
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
            .recv_timeout(patience(PATIENCE))
            .unwrap_or_else(|error| panic!("the browser does not answer: {error}"))
    }

    /// Opens a file and waits until it is there.
    pub fn open(&mut self, file: &Path) {
        let url = format!("file://{}", file.display());
        self.call("Page.navigate", json!({ "url": url }));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.next();
            self.events.push(event);
        }
    }

    /// A window of this width, in this scheme of colours.
    pub fn looks(&mut self, width: u32, scheme: &str) {
        let metrics =
            json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", metrics);
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", json!({ "features": features }));
    }

    /// The value of an expression in the page.
    #[track_caller]
    pub fn value(&mut self, expression: &str) -> Value {
        let asked = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.call("Runtime.evaluate", asked);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// What the page said of itself since it was opened: events of these methods.
    pub fn events(&mut self, methods: &[&str]) -> Vec<Value> {
        // Whatever the page has to say it says before it answers.
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
