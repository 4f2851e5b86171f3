//! Engines behind TLS, by Docker's contexts and by its variables, with a tare built for TLS: `make test-tls`.

use serde_json::Value;
use std::path::{Path, PathBuf};
use support::Scratch;
use support::program::{Outcome, Running, binary};
use support::shared::Resource as _;
use support::swarm::Machines;
use support::{hops, list, short_run, text};

/// Script that makes a certificate authority in `$1`, with signed certificates: in `server` for engines at the test's
/// addresses, in `client` for their clients.
const SIGN: &str = r#"
cd "$1"
key() { openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -sha256 "$@" 2>/dev/null; }
sign() {
    mkdir -p "$1"
    key -subj "/CN=$1" -keyout "$1/key.pem" -out "$1/request"
    printf 'extendedKeyUsage=%s\nsubjectAltName=IP:192.0.2.1,IP:192.0.2.2\n' "$2" >"$1/extensions"
    openssl x509 -req -days 2 -in "$1/request" -CA ca.pem -CAkey ca-key.pem -CAcreateserial \
        -extfile "$1/extensions" -out "$1/cert.pem" 2>/dev/null
    cp ca.pem "$1/ca.pem"
}
key -x509 -days 2 -subj /CN=authority -keyout ca-key.pem -out ca.pem
sign server serverAuth
sign client clientAuth
"#;

/// Makes a certificate authority with its certificates.
fn authority(scratch: &Scratch, name: &str) -> PathBuf {
    let directory = scratch.directory_of(name, None);
    let mut sign = std::process::Command::new("/bin/sh");
    let status = sign.args(["-euc", SIGN, "sign"]).arg(&directory).status();
    assert!(status.is_ok_and(|status| status.success()), "openssl is there: make system-tools");
    directory
}

/// Runs the program on the first machine, with additional variables.
fn tare(machines: &Machines, variables: &[(&str, &str)], arguments: &[&str]) -> Outcome {
    let engine = machines.engine(0);
    let mut command = engine.beside(&binary());
    command.args(arguments).current_dir(engine.scratch().root()).envs(variables.iter().copied());
    Running::of(&mut command).wait()
}

fn plain(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

#[test]
fn engines_behind_tls_are_measured_by_whom_they_trust_and_by_nobody_else() {
    let scratch = Scratch::new();
    let (ours, others) = (authority(&scratch, "ours"), authority(&scratch, "others"));
    let file = |name: &str| ours.join(name).display().to_string();
    let flags = [
        "--host=tcp://0.0.0.0:2376".to_owned(),
        "--tlsverify".to_owned(),
        format!("--tlscacert={}", file("ca.pem")),
        format!("--tlscert={}", file("server/cert.pem")),
        format!("--tlskey={}", file("server/key.pem")),
    ];
    let machines = Machines::plugged(2, &flags.each_ref().map(String::as_str));
    machines.wait_until_they_answer();
    let before = [0, 1].map(|index| machines.engine(index).everything());

    let contexts = scratch.directory_of("contexts-of-test", None);
    for (name, address) in [("near", "192.0.2.1"), ("far", "192.0.2.2")] {
        let (ca, cert, key) = (file("ca.pem"), file("client/cert.pem"), file("client/key.pem"));
        let of = format!("host=tcp://{address}:2376,ca={ca},cert={cert},key={key}");
        machines.engine(0).docker_with(&contexts, &["context", "create", name, "--docker", &of]);
    }
    // On the engine's machine the path must be absolute.
    let [out_apart, out_here, out_refused] =
        ["apart", "here", "refused"].map(|name| scratch.path(name));
    let asked = ["--workload", "tcp-rr", "--blocks", "1", "--nodes", "2", "--json"];
    let apart = ["--network", "docker:host", "--server-context", "far", "--client-context", "near"];
    let apart = [&asked[..], &apart, &["--out", plain(&out_apart)]].concat();
    let by_context = [("DOCKER_CONFIG", plain(&contexts))];
    let document = tare(&machines, &by_context, &short_run(&apart)).expect_measured().json();
    assert!(hops(&document, "docker:host").len() >= 2, "{document}");
    let engines = list(&document["environment"], "engines").iter();
    let addresses: Vec<&str> = engines.map(|one: &Value| text(one, "address")).collect();
    assert_eq!(addresses, ["tcp://192.0.2.2:2376", "tcp://192.0.2.1:2376"]);

    let one = ["--network", "docker:bridge", "--workload", "tcp-rr", "--blocks", "1", "--json"];
    let trusted = ours.join("client");
    let host = ("DOCKER_HOST", "tcp://192.0.2.1:2376");
    let verified = ("DOCKER_TLS_VERIFY", "1");
    let by_variables = [host, verified, ("DOCKER_CERT_PATH", plain(&trusted))];
    let here = [&one[..], &["--out", plain(&out_here)]].concat();
    let document = tare(&machines, &by_variables, &short_run(&here)).expect_measured().json();
    assert!(!hops(&document, "docker:bridge").is_empty(), "{document}");

    let stranger = others.join("client");
    let by_stranger = [host, verified, ("DOCKER_CERT_PATH", plain(&stranger))];
    for variables in [&by_stranger[..], &[host]] {
        let refused = [&one[..], &["--out", plain(&out_refused)]].concat();
        let document = tare(&machines, variables, &short_run(&refused)).expect(1).json();
        let skipped = &list(&document, "skipped")[0];
        let reason = text(skipped, "reason");
        assert!(reason.contains("192.0.2.1:2376") && reason.lines().count() == 1, "{reason}");
    }
    let after = [0, 1].map(|index| machines.engine(index).everything());
    assert_eq!(after, before);
}
