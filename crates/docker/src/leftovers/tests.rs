//! Tests of finding and removing objects, with an engine of the test's own: a socket that answers a few requests of
//! Docker's API as dockerd does.

use super::*;
use crate::address::EngineAddress;
use crate::cleaner::Cleaner;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex};

/// Engine that has containers and nothing else.
struct FakeEngine {
    containers: Arc<Mutex<Vec<Value>>>,
    directory: tempfile::TempDir,
}

impl FakeEngine {
    /// Starts an engine with these containers: name, labels, state.
    fn with(containers: &[(&str, Value, &str)]) -> Self {
        let container = |(name, labels, state): &(&str, Value, &str)| json!({"Id": name, "Names": [format!("/{name}")], "Labels": labels, "State": state});
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
            let listing = containers.clone();
            // Podman's state between the end and the removal of a container is seen once.
            containers.retain(|one| one["State"] != "stopped");
            (200, listing.iter().filter(|one| has_label(one, &wanted)).cloned().collect())
        }
        (_, path) => {
            let name = path.trim_start_matches("containers/").trim_end_matches("/json");
            let place = containers.iter().position(|one| one["Id"] == name);
            let needs_it = |one: &Value| one["Labels"]["needs"] == name;
            match (method, place) {
                ("DELETE", Some(_)) if containers.iter().any(needs_it) => {
                    // As Podman answers.
                    let message = format!("container {name} has dependent containers");
                    (500, json!({ "message": message }))
                }
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

/// Returns the labels of a run, and of its process if it is known.
fn labels(run: &str, owner: Option<&RunOwner>) -> Value {
    match owner {
        Some(owner) => json!({ "tare.run": run, "tare.owner": owner.to_string() }),
        None => json!({ "tare.run": run }),
    }
}

#[test]
fn a_run_removes_what_it_made_and_nothing_else() {
    let run = RunId::fresh();
    let own = || json!(run.labels());
    let names = [format!("tare-{run}-0-client"), format!("tare-{run}-1-server")];
    let fake = FakeEngine::with(&[
        (&names[0], own(), "running"),
        ("tare-other-0-client", labels("other", None), "running"),
        (&names[1], own(), "exited"),
        ("made-from-the-image-of-the-run", own(), "running"),
        ("database", json!({}), "running"),
    ]);
    let engine = Engine::connect(&fake.address()).unwrap();
    let found = find_by_run(&engine, &run).unwrap();
    let found_names: Vec<(&str, bool)> =
        found.iter().map(|one| (one.name.as_str(), one.running)).collect();
    assert_eq!(found_names, [(names[0].as_str(), true), (&names[1], false)]);
    remove(&engine, &found).unwrap();
    let kept = ["tare-other-0-client", "made-from-the-image-of-the-run", "database"];
    assert_eq!(fake.names(), kept);
    // Removing objects that are gone already is no error.
    remove(&engine, &found).unwrap();
}

#[test]
fn only_what_a_run_that_is_known_to_have_ended_made_is_cleaned() {
    let current = RunOwner::current();
    let text = current.to_string();
    let ended: RunOwner = format!("{text}1").parse().unwrap();
    let mut parts: Vec<&str> = text.split('.').collect();
    (parts[0], parts[1]) = ("elsewhere", "another");
    let elsewhere: RunOwner = parts.join(".").parse().unwrap();
    let fake = FakeEngine::with(&[
        ("tare-ended-0", labels("ended", Some(&ended)), "exited"),
        ("tare-ended-1", labels("ended", Some(&ended)), "running"),
        ("inherits-0", labels("ended", Some(&ended)), "running"),
        ("tare-live-0", labels("live", Some(current)), "exited"),
        ("tare-far-0", labels("far", Some(&elsewhere)), "exited"),
        ("tare-old-0", labels("old", None), "exited"),
        ("tare-busy-0", labels("busy", None), "running"),
        ("database", json!({}), "exited"),
    ]);
    let scan = |ended: &[String]| Cleaner::scan(&[fake.address()], ended).unwrap();
    let ids = |cleaner: &Cleaner| -> Vec<String> {
        cleaner.abandoned().iter().map(|one| one.id.clone()).collect()
    };
    let cleaner = scan(&[]);
    assert_eq!(cleaner.running_runs(), BTreeSet::from(["busy", "live"]));
    assert_eq!(cleaner.unknown_runs(), BTreeSet::from(["far", "old"]));
    assert_eq!(ids(&cleaner), ["tare-ended-0", "tare-ended-1"]);
    cleaner.remove().unwrap();
    let left = ["inherits-0", "tare-live-0", "tare-far-0", "tare-old-0", "tare-busy-0", "database"];
    assert_eq!(fake.names(), left);
    let told = scan(&["far", "live", "busy", "nosuch"].map(str::to_owned));
    assert_eq!(ids(&told), ["tare-far-0"], "what is known to run is kept, whatever is said");
}

#[test]
fn a_runs_image_is_found_under_the_tag_of_either_engine() {
    let labels = HashMap::from([(RUN_LABEL.to_owned(), "1a2b".to_owned())]);
    let is_own = |tag: &str| {
        let place = (tag.to_owned(), short_tag(tag).to_owned());
        let found = Leftover::from_labels(LeftoverKind::Image, place, Some(&labels));
        found.inspect(|one| assert_eq!(one.id, tag, "it is removed by its whole tag")).is_some()
    };
    for tag in ["tare:run-1a2b", "docker.io/library/tare:run-1a2b", "localhost/tare:run-1a2b"] {
        assert!(is_own(tag), "{tag}");
    }
    for tag in ["mine:1", "docker.io/me/tare:run-1a2b", "docker.io/library/tare:run-1a2c"] {
        assert!(!is_own(tag), "{tag}");
    }
}

#[test]
fn a_container_that_podman_is_about_to_remove_is_waited_for() {
    let run = RunId::fresh();
    let names = [format!("tare-{run}-0-client"), format!("tare-{run}-1-server")];
    let fake = FakeEngine::with(&[
        (&names[0], json!(run.labels()), "stopped"),
        (&names[1], json!(run.labels()), "exited"),
    ]);
    let found = find_by_run(&Engine::connect(&fake.address()).unwrap(), &run).unwrap();
    assert_eq!(found.iter().map(|one| &one.name).collect::<Vec<_>>(), [&names[1]]);
}

#[test]
fn containers_that_others_need_are_removed_after_them() {
    let run = RunId::fresh();
    let names: Vec<String> = (0..6).map(|number| format!("tare-{run}-{number}")).collect();
    let needs = |name: Option<&String>| {
        let mut labels = json!(run.labels());
        labels["needs"] = json!(name.map_or("", String::as_str));
        labels
    };
    // More are refused at first than are removed at once.
    let containers: Vec<(&str, Value, &str)> = (0..6)
        .map(|number| {
            (names[number].as_str(), needs(number.checked_sub(1).map(|at| &names[at])), "running")
        })
        .collect();
    let fake = FakeEngine::with(&containers);
    let engine = Engine::connect(&fake.address()).unwrap();
    remove(&engine, &find_by_run(&engine, &run).unwrap()).unwrap();
    assert_eq!(fake.names(), [] as [String; 0]);
}
