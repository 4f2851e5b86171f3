//! Tests of existing servers (`--server-address`): the test starts each server, and tare connects to its address.
//! Server and tare are in a network namespace of the test, so that every port is free.
//!
//! `make system-tools` installs the servers and their clients.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::program::{ProgramOutcome, RunningProgram, Tare, User, tied_command};
use support::{ScratchDirectory, eventually, list};
use tare_dev::TestNamespace;

/// Study of one second on the namespace's own loopback, with all metrics of the workload.
const STUDY: &str = "networks = [\"native\"]\n[method]\nblocks = 1\nduration = \"1s\"\n";

/// Returns a program with its own cache, and a study in its directory.
fn in_scratch(scratch: &ScratchDirectory) -> Tare {
    let tare = Tare::copied(scratch, User::Caller);
    std::fs::write(tare.directory().join("study.toml"), STUDY).expect("a file in it");
    tare.with_cache_of_its_own()
}

/// Makes a namespace with a loopback device.
fn namespace() -> TestNamespace {
    let namespace = TestNamespace::new();
    namespace.run("ip link set lo up");
    namespace
}

/// Makes a command in a namespace. It ends with the test.
fn inside(namespace: &TestNamespace, program: impl AsRef<std::ffi::OsStr>) -> Command {
    let words = namespace.enter_command();
    let mut command = tied_command(User::Caller, &words[0]);
    command.args(&words[1..]).arg(program);
    command
}

/// Starts a server, and waits until it listens on this port of the namespace.
fn listening(command: &mut Command, namespace: &TestNamespace, port: u16) -> RunningProgram {
    let mut server = RunningProgram::spawn(command);
    eventually("the server listens", || {
        assert!(server.is_running(), "the server has ended: {}", server.awaited_output());
        !namespace.output(&format!("ss -tlnH sport = :{port}")).is_empty()
    });
    server
}

/// Runs the program in a namespace to its end, with additional variables.
fn run(
    namespace: &TestNamespace,
    tare: &Tare,
    variables: &[(&str, &str)],
    arguments: &[&str],
) -> ProgramOutcome {
    // The variables are set for tare alone, not for the program that enters the namespace.
    let mut command = inside(namespace, "/usr/bin/env");
    command.args(variables.iter().map(|(name, value)| format!("{name}={value}")));
    command.arg(tare.program()).args(arguments).current_dir(tare.directory());
    command.env("XDG_CACHE_HOME", tare.directory().join("cache"));
    RunningProgram::spawn(&mut command).wait()
}

/// Makes a directory with only these programs, of those that are installed.
fn directory_of_programs(scratch: &ScratchDirectory, programs: &[&str]) -> PathBuf {
    let directory = scratch.root().join("only");
    std::fs::create_dir(&directory).expect("a directory in it");
    let path = std::env::var_os("PATH").expect("there is a PATH");
    for program in programs {
        let mut places = std::env::split_paths(&path).map(|one| one.join(program));
        let installed = places.find(|file| file.is_file()).expect("it is installed");
        std::os::unix::fs::symlink(installed, directory.join(program)).expect("a link in it");
    }
    directory
}

/// Returns the arguments of a run against the server at an address.
fn dialling<'a>(workload: &'a str, address: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let arguments =
        ["run", "study.toml", "--workload", workload, "--server-address", address, "--json"];
    [&arguments[..], more].concat()
}

/// Returns the figure of a metric. Its cell must say that tare started no server for it.
fn mean(document: &Value, metric: &str) -> f64 {
    let cell = list(document, "cells").iter().find(|cell| cell["metric"] == metric);
    let cell = cell.unwrap_or_else(|| panic!("{metric} in {document}"));
    assert!(cell["parameters"]["server_version"].is_null(), "{}", cell["parameters"]);
    cell["mean"].as_f64().unwrap_or_else(|| panic!("a figure in {cell}"))
}

/// Returns the first copy of the data made by a run of this workload.
fn data(tare: &Tare, workload: &str, more: &[&str]) -> PathBuf {
    let arguments = ["run", "study.toml", "--workload", workload, "--out", "made"];
    tare.run(&[&arguments[..], more].concat()).expect(0);
    let cache = std::fs::read_dir(tare.directory().join("cache/tare")).expect("a cache").flatten();
    let name = format!("{workload}-");
    let mine = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with(&name);
    cache.map(|entry| entry.path()).find(mine).expect("it has made some")
}

#[test]
fn a_redis_server_is_asked_where_it_is() {
    let scratch = ScratchDirectory::new();
    let tare = in_scratch(&scratch);
    let namespace = namespace();
    let mut command = inside(&namespace, "redis-server");
    command.args(["--save", "", "--bind", "127.0.0.1", "--port", "6379"]);
    let _server = listening(command.current_dir(scratch.root()), &namespace, 6379);
    // With an existing server, tare needs only the client.
    let only = directory_of_programs(&scratch, &["redis-benchmark"]);
    let path = [("PATH", only.to_str().expect("a plain path"))];
    let own = ["run", "study.toml", "--workload", "redis", "--out", "own"];
    let lacking = run(&namespace, &tare, &path, &own);
    assert_eq!(lacking.code, Some(1), "{}", lacking.stderr);
    assert!(lacking.stderr.contains("redis-server is not installed"), "{}", lacking.stderr);
    let arguments = dialling("redis", "127.0.0.1:6379", &["--operation", "set"]);
    let document = run(&namespace, &tare, &path, &arguments).expect(0).json();
    assert!(mean(&document, "transactions") > 0.0);
    // The server's own statistics show its requests.
    let told = namespace.output("redis-cli INFO commandstats");
    assert!(told.contains("cmdstat_set:calls="), "{told}");
}

#[test]
fn a_mariadb_server_is_asked_where_it_is_by_its_own_user() {
    let scratch = ScratchDirectory::new();
    let tare = in_scratch(&scratch);
    let small = ["--tables", "1", "--rows", "1000"];
    let copy = data(&tare, "mysql", &small).join("0");
    let namespace = namespace();
    let init = "CREATE OR REPLACE USER 'me'@'%' IDENTIFIED BY 'two words';\n\
                GRANT SELECT ON sbtest.* TO 'me'@'%';\n";
    std::fs::write(copy.join("mine.sql"), init).expect("it is ours");
    let mut command = inside(&namespace, "mariadbd");
    command.args(["--no-defaults", "--user=root", "--skip-name-resolve", "--socket=own.sock"]);
    command.args(["--innodb-log-file-size=16M", "--innodb-undo-tablespaces=0"]);
    command.arg(format!("--datadir={}", copy.join("data").display()));
    command.arg(format!("--init-file={}", copy.join("mine.sql").display()));
    command.args(["--bind-address=127.0.0.1", "--port=3306"]);
    let _server = listening(&mut command, &namespace, 3306);
    let arguments = dialling("mysql", "127.0.0.1:3306", &small);
    let run = |password: &str, out: &str| {
        let variables = [("TARE_MYSQL_USER", "me"), ("TARE_MYSQL_PASSWORD", password)];
        run(&namespace, &tare, &variables, &[&arguments[..], &["--out", out]].concat())
    };
    let mine = run("two words", "here").expect(0);
    assert!(mean(&mine.json(), "tps") > 0.0);
    assert!(!mine.stderr.contains("making"), "nothing is made for it: {}", mine.stderr);
    // A user without access gets the server's error message.
    let refused = run("a guess", "refused");
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    let told = refused.text() + &refused.stderr;
    assert!(told.contains("Access denied"), "{told}");
}

#[test]
fn a_postgresql_server_is_asked_where_it_is_by_its_own_user() {
    let scratch = ScratchDirectory::new();
    let tare = in_scratch(&scratch);
    let set = data(&tare, "postgres", &[]);
    let secret = std::fs::read_to_string(set.join("secret")).expect("it has one");
    let copy = set.join("0");
    let namespace = namespace();
    // PostgreSQL refuses to run as root, so it runs as another user in a user namespace.
    let mut command = inside(&namespace, "unshare");
    command.args(["--user", "--map-user=65534", "--map-group=65534", "setpriv", "--pdeathsig"]);
    command.args(["KILL", "--"]).arg(newest_postgres());
    command.arg("-D").arg(copy.join("data")).args(["-h", "127.0.0.1", "-p", "5432"]);
    command.arg("-c").arg(format!("unix_socket_directories={}", copy.display()));
    let _server = listening(&mut command, &namespace, 5432);
    let arguments = dialling("postgres", "127.0.0.1:5432", &[]);
    let run = |password: &str, out: &str| {
        let variables = [("PGUSER", "postgres"), ("PGPASSWORD", password)];
        run(&namespace, &tare, &variables, &[&arguments[..], &["--out", out]].concat())
    };
    let mine = run(&secret, "here").expect(0);
    assert!(mean(&mine.json(), "tps") > 0.0);
    assert!(!mine.stderr.contains("making"), "nothing is made for it: {}", mine.stderr);
    let refused = run("a guess", "refused");
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    let told = refused.text() + &refused.stderr;
    assert!(told.contains("password authentication failed"), "{told}");
}

/// Returns the server of the highest version that Debian's packages have installed.
fn newest_postgres() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").expect("postgresql is installed");
    let number = |path: &Path| -> u32 {
        path.file_name().and_then(|name| name.to_str()?.parse().ok()).unwrap_or(0)
    };
    let newest = versions.flatten().map(|entry| entry.path()).max_by_key(|path| number(path));
    newest.expect("a version of it").join("bin/postgres")
}
