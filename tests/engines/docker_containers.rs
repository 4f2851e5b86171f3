//! Programs in Docker's containers: tare's and the user's, and databases with programs of the host or of an image,
//! under Docker's own profile.

use rustix::process::Signal;
use serde_json::{Value, json};
use support::engine::Engine;
use support::program::ProgramOutcome;
use support::shared::SharedResource as _;
use support::{eventually, hops, journal, list, short_run, text};

#[test]
fn databases_run_with_the_hosts_programs_which_nobody_can_change() {
    let engine = Engine::shared();
    let before = engine.inventory();
    let asked = ["run", "--network", "docker:bridge", "--workload", "redis,mysql", "--json"];
    let small = ["--tables", "2", "--rows", "1000", "--duration", "1s", "--out", "out"];
    let endless = ["--metric", "transactions,tps", "--blocks", "1000"];
    let tare = engine.tare().with_cache_of_its_own();
    let mut running = tare.start(&[&asked[..], &small, &endless].concat());
    // Both databases have been measured, and the run continues.
    running.wait_for("block 1 ");
    // Every trial has its own server.
    eventually("a server's container refuses to change a host's program", || {
        let server = engine.docker(&["ps", "--quiet", "--filter", "name=-server-0"]);
        let refused =
            engine.docker_error(&["exec", &server, "/bin/sh", "-c", "echo >/usr/of-tare"]);
        let words = ["/usr/of-tare", "Read-only file system"];
        if words.iter().all(|word| refused.contains(word)) { Ok(()) } else { Err(refused) }
    });
    running.signal(Signal::INT);
    let document = running.wait().expect(130).json();
    for (workload, metric) in [("redis", "transactions"), ("mysql", "tps")] {
        let of = |cell: &&Value| cell["workload"] == workload && cell["metric"] == metric;
        let cell = list(&document, "cells").iter().find(of);
        let cell = cell.unwrap_or_else(|| panic!("{metric} of {workload}: {document}"));
        assert!(cell["mean"].as_f64() > Some(0.0), "{cell}");
        assert!(cell["parameters"]["server_version"].is_string(), "{cell}");
    }
    assert_eq!(engine.inventory(), before, "their data have gone with them");
}

#[test]
fn programs_have_the_run_s_congestion_control_in_namespaces_that_the_engine_makes() {
    let engine = Engine::shared();
    let networks = "docker:bridge,docker:container,docker:host";
    // wrk runs for a time. A benchmark that runs for a number of requests may take any time on a busy machine.
    let asked = ["run", "-n", networks, "-w", "wrk", "--congestion", "reno", "--blocks", "1"];
    let short = ["--duration", "1s", "--metric", "transactions", "--json", "--out", "reno"];
    let document = engine.tare().run(&[&asked[..], &short].concat()).expect(0).json();
    let trials = journal::trials(&engine.scratch().path("reno"));
    let used = |network: &str| {
        let trial = trials.iter().find(|trial| trial["network"] == network).expect("a trial");
        text(&trial["parameters"], "congestion").to_owned()
    };
    assert_eq!(["docker:bridge", "docker:container"].map(used), ["reno"; 2]);
    let own = engine.shell_output("cat /proc/sys/net/ipv4/tcp_congestion_control");
    assert_eq!(used("docker:host"), own.trim(), "the host's stays");
    let is_mixed = |finding: &Value| finding["kind"] == "mixed-congestion";
    let mixed = list(&document, "findings").iter().any(is_mixed);
    assert_eq!(mixed, own.trim() != "reno", "{document}");
}

/// Builds a user's image with these programs of the host, and the libraries that they are linked to.
fn image_with(engine: &Engine, name: &str, programs: &[&str]) {
    let script = "{ printf '%s\\n' \"$@\"; ldd \"$@\" | grep --only-matching '/[^ :)]*'; } | sort --unique |
        sed 's,^/,,' | tar --create --dereference --hard-dereference --directory / --file \"$0\" --files-from -";
    let archive = engine.scratch().path("of-programs.tar");
    let mut pack = std::process::Command::new("/bin/sh");
    let status = pack.args(["-euc", script]).arg(&archive).args(programs).status();
    assert!(status.expect("a shell").success());
    engine.docker(&["import", archive.to_str().expect("a plain path"), name]);
}

#[test]
fn databases_run_in_an_image_of_the_users_on_a_machine_that_has_none() {
    let engine = Engine::shared();
    image_with(&engine, "redis:mine", &["/usr/bin/redis-server", "/usr/bin/redis-benchmark"]);
    let before = engine.inventory();
    let few = engine.scratch().create_directory("few", None);
    std::os::unix::fs::symlink("/usr/bin/setpriv", few.join("setpriv")).expect("a fresh directory");
    let tare = engine.tare().with_variable("PATH", few.to_str().expect("a plain path"));
    let asked = ["run", "--network", "docker:bridge", "--workload", "redis", "--blocks", "1"];
    let short = ["--duration", "1s", "--json", "--metric", "transactions"];
    let here = [&asked[..], &short, &["--image", "redis:mine", "--out", "out"]].concat();
    let document = tare.run(&here).expect(0).json();
    let cell = &list(&document, "cells")[0];
    assert!(cell["mean"].as_f64() > Some(0.0), "{cell}");
    let without = tare.run(&[&asked[..], &short, &["--out", "without"]].concat());
    assert!(without.stderr.contains("redis-server is not installed"), "{without:?}");
    assert_eq!(engine.inventory(), before);
    engine.docker(&["image", "rm", "redis:mine"]);
}

/// Runs a program in a client's container, by `tare up`.
fn in_client(engine: &Engine, network: &str, flags: &[&str], program: &[&str]) -> ProgramOutcome {
    engine.tare().run(&[&["up", network][..], flags, &["--"], program].concat())
}

#[test]
fn programs_in_containers_are_the_images_own() {
    let engine = Engine::shared();
    let version = in_client(&engine, "docker:bridge", &[], &["/tare", "--version"]).expect(0);
    assert!(version.text().starts_with("tare "), "{}", version.text());
    let seen = in_client(&engine, "docker:bridge", &[], &["/tare", "internal", "netns-probe"])
        .expect(0)
        .json();
    let hosts = list(&seen, "hosts");
    assert!(hosts.iter().any(|line| line.as_str().is_some_and(|line| line.ends_with("\tserver"))));
    in_client(&engine, "docker:bridge", &[], &["/tare", "no-such-command"]).expect(2);
    // Older engines report that it cannot be started (126), newer ones that it does not exist (127).
    let missing = in_client(&engine, "docker:bridge", &[], &["/no/such/program"]);
    assert!(matches!(missing.code, Some(126 | 127)), "{missing:?}");
}

#[test]
fn an_image_of_the_users_gets_tares_binary() {
    let engine = Engine::shared();
    let archive = engine.scratch().path("other.tar");
    let file = engine.scratch().write_file("of-mine", "");
    let packed = std::process::Command::new("tar")
        .args(["--create", "--directory", "/", "--file"])
        .arg(&archive)
        .arg(file.strip_prefix("/").expect("it is absolute"))
        .status();
    assert!(packed.expect("tar").success());
    engine.docker(&["import", archive.to_str().expect("a plain path"), "other:1"]);
    let before = engine.inventory();
    let document = engine.run_once("docker:host", &["--image", "other:1"]);
    let of = &list(&document["environment"], "engines")[0];
    assert!(text(of, "image").starts_with("other:1 sha256:"), "{of}");
    assert_eq!(engine.inventory(), before);
    let refused = ["--network", "docker:host", "--image", "other:2", "--out", "refused", "--json"];
    let document = engine.tare().run(&short_run(&refused)).expect(1).json();
    assert!(text(&list(&document, "failed")[0], "reason").contains("No such image"));
    engine.docker(&["image", "rm", "other:1"]);
}

#[test]
fn the_written_image_is_loaded_by_docker_itself() {
    let engine = Engine::shared();
    let file = engine.scratch().path("tare.tar");
    let path = file.to_str().expect("a plain path");
    engine.tare().run(&["image", "--output", path, "--tag", "tare:written"]).expect(0);
    assert!(engine.docker(&["load", "--input", path]).contains("tare:written"));
    let said = engine.docker(&["run", "--rm", "--network", "none", "tare:written", "--version"]);
    assert!(said.starts_with("tare "), "{said}");
    engine.tare().run(&["image", "--load", "--tag", "tare:loaded"]).expect(0);
    let one = engine.docker(&["image", "inspect", "--format", "{{.Id}}", "tare:loaded"]);
    let other = engine.docker(&["image", "inspect", "--format", "{{.Id}}", "tare:written"]);
    assert_eq!(one, other, "the same program is the same image");
    engine.docker(&["image", "rm", "tare:written", "tare:loaded"]);
}

#[test]
fn containers_have_no_rights_that_agents_do_not_need() {
    let engine = Engine::shared();
    let asked = ["--network", "docker:bridge", "--slice", "off", "--workload", "tcp-stream"];
    let method = ["--duration", "1h", "--blocks", "1", "--out", "confined"];
    let running = engine.tare().start(&[&["run"], &asked[..], &method].concat());
    let client = || engine.docker(&["ps", "--quiet", "--filter", "name=-client-0"]);
    eventually("the client runs", || !client().is_empty());
    let inspect = |what: &str| engine.docker(&["inspect", "--format", what, &client()]);
    let config: Value = serde_json::from_str(&inspect("{{json .HostConfig}}")).expect("JSON");
    assert_eq!(
        (&config["CapDrop"], &config["CapAdd"]),
        (&json!(["ALL"]), &Value::Null),
        "{config}"
    );
    assert_eq!(config["SecurityOpt"], json!(["no-new-privileges"]));
    assert!(
        config["PidsLimit"].as_u64() > Some(0) && config["Memory"].as_u64() > Some(0),
        "{config}"
    );
    let process = inspect("{{.State.Pid}}");
    let rights = format!("grep -E 'CapBnd|NoNewPrivs' /proc/{process}/status | tr -d '[:space:]'");
    assert_eq!(engine.shell_output(&rights), "CapBnd:0000000000000000NoNewPrivs:1");
    running.signal(Signal::INT);
    running.wait().expect(130);
}

#[test]
fn containers_run_under_dockers_own_profile_unless_the_user_says_otherwise() {
    let engine = Engine::shared();
    let filtered = |network, flags: &[&str]| {
        let outcome = in_client(&engine, network, flags, &["/tare", "internal", "netns-probe"]);
        outcome.expect(0).json()["seccomp"].as_u64()
    };
    const FILTER: u64 = 2;
    assert_eq!(filtered("docker:bridge", &[]), Some(FILTER));
    assert_eq!(filtered("docker:bridge+unconfined", &[]), Some(0));
    assert_eq!(filtered("docker:bridge", &["--security-opt", "seccomp=unconfined"]), Some(0));
}

#[test]
fn tare_weighs_its_engine_from_within_a_container() {
    let engine = Engine::shared();
    let before = engine.inventory();
    engine.tare().run(&["image", "--load", "--tag", "tare:within"]).expect(0);
    let socket = engine.host().replace("unix://", "");
    let socket = format!("{socket}:/var/run/docker.sock");
    let asked = ["--network", "docker:host,docker:bridge", "--workload", "tcp-rr", "--json"];
    let asked = short_run(&[&asked[..], &["--blocks", "1", "--out", "/out"]].concat());
    let within = ["run", "--rm", "--volume", &socket, "tare:within"];
    let document = engine.docker(&[&within[..], &asked].concat());
    let document: Value = serde_json::from_str(&document).expect("a document");
    let path = hops(&document, "docker:bridge");
    assert!(path.iter().any(|hop| hop == "node-0:docker0"), "{path:?}");
    let measured = list(&document, "cells").iter().filter(|cell| cell["metric"] == "transactions");
    let labels: Vec<&str> = measured.map(|cell| text(cell, "label")).collect();
    assert_eq!(labels, ["docker:host", "docker:bridge"]);
    engine.docker(&["image", "rm", "tare:within"]);
    assert_eq!(engine.inventory(), before);
}
