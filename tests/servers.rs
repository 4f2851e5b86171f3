//! Servers that are there already (`--server-address`): each is started by the test on loopback, and is dialled where it is.
//!
//! `make test-tools` installs what they need.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod support;

use serde_json::Value;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use support::list;
use support::program::{Running, Tare, User, tied};
use support::scratch::Scratch;

/// A second on the machine's own loopback, and whatever the workload measures.
const STUDY: &str = "networks = [\"native\"]\n[method]\nblocks = 1\nduration = \"1s\"\n";

/// A program with a cache of its own, in which a study lies.
fn in_scratch(scratch: &Scratch) -> Tare {
    let tare = Tare::copied(scratch, User::Caller);
    std::fs::write(tare.directory().join("study.toml"), STUDY).expect("a file in it");
    tare.with_cache_of_its_own()
}

/// A port that was free a moment ago.
fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has ports");
    listener.local_addr().expect("it is bound").port()
}

/// A server that listens on this port, and ends with the test.
fn listening(command: &mut Command, port: u16) -> Running {
    let mut server = Running::of(command);
    let until = Instant::now() + Duration::from_secs(60);
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
        assert!(server.is_running(), "{}", server.said());
        assert!(Instant::now() < until, "it does not listen: {}", server.said());
        std::thread::sleep(Duration::from_millis(20));
    }
    server
}

/// A directory with these programs alone, of those that are installed.
fn only(scratch: &Scratch, programs: &[&str]) -> PathBuf {
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

/// The arguments of a run against a server at this port.
fn dialling<'a>(workload: &'a str, address: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let arguments =
        ["run", "study.toml", "--workload", workload, "--server-address", address, "--json"];
    [&arguments[..], more].concat()
}

/// The figure of a metric; its cell says that nothing was started for it.
fn mean(document: &Value, metric: &str) -> f64 {
    let cell = list(document, "cells").iter().find(|cell| cell["metric"] == metric);
    let cell = cell.unwrap_or_else(|| panic!("{metric} in {document}"));
    assert!(cell["parameters"]["server_version"].is_null(), "{}", cell["parameters"]);
    cell["mean"].as_f64().unwrap_or_else(|| panic!("a figure in {cell}"))
}

/// The first copy of the data that a run of this workload has made.
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
    let scratch = Scratch::new();
    let tare = in_scratch(&scratch);
    let port = free_port();
    let mut command = tied(User::Caller, "redis-server");
    command.args(["--save", "", "--bind", "127.0.0.1", "--port", &port.to_string()]);
    let _server = listening(command.current_dir(scratch.root()), port);
    let address = format!("127.0.0.1:{port}");
    // Where it is somebody else's, tare needs the client alone.
    let tare = tare
        .with_variable("PATH", only(&scratch, &["setpriv", "redis-benchmark"]).to_str().unwrap());
    let lacking = tare.run(&["run", "study.toml", "--workload", "redis", "--out", "own"]);
    assert_eq!(lacking.code, Some(1), "{}", lacking.stderr);
    assert!(lacking.stderr.contains("redis-server is not installed"), "{}", lacking.stderr);
    let run = tare.run(&dialling("redis", &address, &["--operation", "set"])).expect(0);
    assert!(mean(&run.json(), "transactions") > 0.0);
    // It says itself what it was asked.
    let mut asked = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("it listens");
    asked.write_all(b"INFO commandstats\r\nQUIT\r\n").expect("it reads");
    let mut told = String::new();
    asked.read_to_string(&mut told).expect("it answers");
    assert!(told.contains("cmdstat_set:calls="), "{told}");
}

#[test]
fn a_mariadb_server_is_asked_where_it_is_by_its_own_user() {
    let scratch = Scratch::new();
    let tare = in_scratch(&scratch);
    let small = ["--tables", "1", "--rows", "1000"];
    let copy = data(&tare, "mysql", &small).join("0");
    let port = free_port();
    let init = "CREATE OR REPLACE USER 'me'@'%' IDENTIFIED BY 'two words';\n\
                GRANT SELECT ON sbtest.* TO 'me'@'%';\n";
    std::fs::write(copy.join("mine.sql"), init).expect("it is ours");
    let mut command = tied(User::Caller, "mariadbd");
    command.args(["--no-defaults", "--user=root", "--skip-name-resolve", "--socket=own.sock"]);
    command.args(["--innodb-log-file-size=16M", "--innodb-undo-tablespaces=0"]);
    command.arg(format!("--datadir={}", copy.join("data").display()));
    command.arg(format!("--init-file={}", copy.join("mine.sql").display()));
    command.args(["--bind-address=127.0.0.1".to_owned(), format!("--port={port}")]);
    let _server = listening(&mut command, port);
    let address = format!("127.0.0.1:{port}");
    let arguments = dialling("mysql", &address, &small);
    let mine = tare.with_variable("TARE_MYSQL_USER", "me");
    let mine = mine.with_variable("TARE_MYSQL_PASSWORD", "two words");
    let run = mine.run(&[&arguments[..], &["--out", "here"]].concat()).expect(0);
    assert!(mean(&run.json(), "tps") > 0.0);
    assert!(!run.stderr.contains("making"), "nothing is made for it: {}", run.stderr);
    // A stranger is told what the server says.
    let stranger = mine.with_variable("TARE_MYSQL_PASSWORD", "a guess");
    let refused = stranger.run(&[&arguments[..], &["--out", "refused"]].concat());
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    let told = refused.text() + &refused.stderr;
    assert!(told.contains("Access denied"), "{told}");
}

#[test]
fn a_postgresql_server_is_asked_where_it_is_by_its_own_user() {
    let scratch = Scratch::new();
    let tare = in_scratch(&scratch);
    let set = data(&tare, "postgres", &[]);
    let secret = std::fs::read_to_string(set.join("secret")).expect("it has one");
    let copy = set.join("0");
    let port = free_port();
    // It refuses root, so it is somebody else in a user namespace.
    let mut command = tied(User::Caller, "unshare");
    command.args(["--user", "--map-user=65534", "--map-group=65534", "setpriv", "--pdeathsig"]);
    command.args(["KILL", "--"]).arg(newest_postgres());
    command.arg("-D").arg(copy.join("data")).args(["-h", "127.0.0.1", "-p", &port.to_string()]);
    command.arg("-c").arg(format!("unix_socket_directories={}", copy.display()));
    let _server = listening(&mut command, port);
    let address = format!("127.0.0.1:{port}");
    let arguments = dialling("postgres", &address, &[]);
    let mine = tare.with_variable("PGUSER", "postgres").with_variable("PGPASSWORD", &secret);
    let run = mine.run(&[&arguments[..], &["--out", "here"]].concat()).expect(0);
    assert!(mean(&run.json(), "tps") > 0.0);
    assert!(!run.stderr.contains("making"), "nothing is made for it: {}", run.stderr);
    let stranger = mine.with_variable("PGPASSWORD", "a guess");
    let refused = stranger.run(&[&arguments[..], &["--out", "refused"]].concat());
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    let told = refused.text() + &refused.stderr;
    assert!(told.contains("password authentication failed"), "{told}");
}

/// The server of the highest version that Debian's packages have installed.
fn newest_postgres() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").expect("postgresql is installed");
    let number = |path: &Path| -> u32 {
        path.file_name().and_then(|name| name.to_str()?.parse().ok()).unwrap_or(0)
    };
    let newest = versions.flatten().map(|entry| entry.path()).max_by_key(|path| number(path));
    newest.expect("a version of it").join("bin/postgres")
}
