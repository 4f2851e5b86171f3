//! Tests of finding and removing objects, with an engine of the test's own: a socket that answers a few requests of
//! Docker's API as dockerd does.

use super::*;
use crate::address::EngineAddress;
use crate::cleaner::Cleaner;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex};

/// Engine that has containers and nothing else.
struct FakeEngine {
    containers: Arc<Mutex<Vec<Value>>>,
    directory: tempfile::TempDir,
}

impl FakeEngine {
    /// Starts an engine with these containers: name, the run that made it, state.
    fn with(containers: &[(&str, Option<&str>, &str)]) -> Self {
        let container = |&(name, run, state): &(&str, Option<&str>, &str)| {
            let labels = run.map_or_else(|| json!({}), |run| json!({ "tare.run": run }));
            json!({"Id": name, "Names": [format!("/{name}")], "Labels": labels, "State": state})
        };
        let containers: Vec<Value> = containers.iter().map(container).collect();
        let containers = Arc::new(Mutex::new(containers));
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(directory.path().join("docker.sock")).unwrap();
        let kept = Arc::clone(&containers);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, kept) = (stream.unwrap(), Arc::clone(&kept));
                std::thread::spawn(move || serve(stream, &kept));
            }
        });
        Self { containers, directory }
    }

    fn address(&self) -> EngineAddress {
        EngineAddress::Unix(self.directory.path().join("docker.sock"))
    }

    /// Returns the names of the containers that still exist.
    fn names(&self) -> Vec<String> {
        let containers = self.containers.lock().unwrap();
        containers.iter().map(|one| one["Id"].as_str().unwrap().to_owned()).collect()
    }
}

/// Answers the requests of one connection, none of which has a body.
fn serve(stream: UnixStream, containers: &Mutex<Vec<Value>>) {
    let mut output = stream.try_clone().unwrap();
    let mut lines = BufReader::new(stream).lines();
    while let Some(Ok(request)) = lines.next() {
        while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
        let words: Vec<&str> = request.split(' ').collect();
        let (status, body) = answer(words[0], words[1], &mut containers.lock().unwrap());
        let body = if status == 204 { String::new() } else { body.to_string() };
        let length = body.len();
        let head = format!("HTTP/1.1 {status} X\r\nContent-Type: application/json\r\n");
        write!(output, "{head}Content-Length: {length}\r\n\r\n{body}").unwrap();
    }
}

/// Returns the status and the body with which dockerd answers a request.
fn answer(method: &str, target: &str, containers: &mut Vec<Value>) -> (u16, Value) {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let path =
        path.strip_prefix("/v1.").and_then(|path| path.split_once('/')).map_or(path, |it| it.1);
    match (method, path.trim_start_matches('/')) {
        ("GET", "version") => (200, json!({"ApiVersion": "1.44"})),
        ("GET", "services") => (503, json!({"message": "This node is not a swarm manager."})),
        ("GET", "networks" | "images/json") => (200, json!([])),
        ("GET", "containers/json") => {
            let wanted = wanted_label(query);
            (200, containers.iter().filter(|one| has_label(one, &wanted)).cloned().collect())
        }
        (_, path) => {
            let name = path.trim_start_matches("containers/").trim_end_matches("/json");
            let place = containers.iter().position(|one| one["Id"] == name);
            match (method, place) {
                ("GET", Some(_)) => (200, json!({ "Id": name })),
                ("DELETE", Some(place)) => {
                    containers.remove(place);
                    (204, Value::Null)
                }
                _ => (404, json!({"message": format!("No such container: {name}")})),
            }
        }
    }
}

/// Returns the label of the filter `{"label":["NAME=VALUE"]}` in a query.
fn wanted_label(query: &str) -> String {
    let filters = query.split('&').find_map(|part| part.strip_prefix("filters=")).unwrap();
    let mut parts = filters.split('%');
    let mut text = parts.next().unwrap().to_owned();
    for part in parts {
        text.push(char::from(u8::from_str_radix(&part[..2], 16).unwrap()));
        text.push_str(&part[2..]);
    }
    let filters: Value = serde_json::from_str(&text).unwrap();
    filters["label"][0].as_str().unwrap().to_owned()
}

/// Returns whether a container has a label: `NAME`, or `NAME=VALUE`.
fn has_label(container: &Value, wanted: &str) -> bool {
    let (name, value) = wanted.split_once('=').map_or((wanted, None), |(n, v)| (n, Some(v)));
    let label = container["Labels"].get(name).and_then(Value::as_str);
    label.is_some_and(|label| value.is_none_or(|value| value == label))
}

#[test]
fn a_run_removes_what_it_made_and_nothing_else() {
    let run = RunId::fresh();
    let own = run.to_string();
    let fake = FakeEngine::with(&[
        ("own-0", Some(&own), "running"),
        ("other", Some("another run"), "running"),
        ("own-1", Some(&own), "exited"),
        ("database", None, "running"),
    ]);
    let engine = Engine::connect(&fake.address()).unwrap();
    let found = find_by_run(&engine, &run).unwrap();
    let names: Vec<(&str, bool)> =
        found.iter().map(|one| (one.name.as_str(), one.running)).collect();
    assert_eq!(names, [("own-0", true), ("own-1", false)]);
    remove(&engine, &found).unwrap();
    assert_eq!(fake.names(), ["other", "database"]);
    // Removing objects that are gone already is no error.
    remove(&engine, &found).unwrap();
}

#[test]
fn of_runs_that_go_on_nothing_is_cleaned() {
    let fake = FakeEngine::with(&[
        ("ended-0", Some("ended"), "exited"),
        ("live-0", Some("live"), "running"),
        ("live-1", Some("live"), "exited"),
        ("database", None, "exited"),
    ]);
    let cleaner = Cleaner::scan(&[fake.address()]).unwrap();
    assert_eq!(cleaner.running_runs().into_iter().collect::<Vec<_>>(), ["live"]);
    let abandoned: Vec<&str> = cleaner.abandoned().iter().map(|one| one.id.as_str()).collect();
    assert_eq!(abandoned, ["ended-0"]);
    cleaner.remove().unwrap();
    assert_eq!(fake.names(), ["live-0", "live-1", "database"]);
}
