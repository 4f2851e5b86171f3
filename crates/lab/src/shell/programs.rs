//! Commands that start the programs of a wiring: daemons in the background, with a wait for each.

use crate::plan::wiring::{NamespaceId, Wiring};
use crate::programs::{Program, ReadyCondition};
use tare_network::quote;
use tare_sandbox::programs::runtime_directory;

/// Returns the lines that start all programs. The programs of one namespace start one after the other, with a wait for
/// each. Namespaces do not wait for each other: if there are several, each has a shell of its own, and the script
/// continues when all shells have ended.
pub(super) fn lines(wiring: &Wiring) -> Vec<String> {
    let mut places: Vec<NamespaceId> = Vec::new();
    for program in &wiring.programs {
        if !places.contains(&program.space) {
            places.push(program.space);
        }
    }
    let mine = |place: NamespaceId| wiring.programs.iter().filter(move |one| one.space == place);
    if let [only] = places.as_slice() {
        return namespace_lines(wiring.name(*only), mine(*only));
    }
    let mut lines = Vec::new();
    lines.extend((!places.is_empty()).then(|| "shells=".to_owned()));
    for &place in &places {
        lines.push("(".to_owned());
        lines.extend(namespace_lines(wiring.name(place), mine(place)));
        lines.push(") & shells=\"$shells $!\"".to_owned());
    }
    if !places.is_empty() {
        lines.push("for shell in $shells; do wait $shell; done".to_owned());
    }
    lines
}

/// Returns the lines for the programs of one namespace.
fn namespace_lines<'a>(place: &str, programs: impl Iterator<Item = &'a Program>) -> Vec<String> {
    let own = runtime_directory(place);
    let mut lines = vec![format!("mkdir -p {own}")];
    for program in programs {
        for (path, text) in &program.files {
            lines.push(format!("cat > {} <<'END'", quote(path)));
            lines.extend(text.lines().map(str::to_owned));
            lines.push("END".to_owned());
        }
        let log = format!("{own}/{}.log", program.name);
        let started = start_command(place, program);
        match readiness_test(place, &program.ready, &log) {
            None => lines.push(started),
            Some(test) => lines.extend(daemon_lines(&started, &test, &log, program.attempts)),
        }
    }
    lines
}

fn start_command(place: &str, program: &Program) -> String {
    let mut words = vec![format!("ip netns exec {place}")];
    if program.in_runtime_directory || !program.environment.is_empty() {
        words.push("env".to_owned());
        words.extend(
            program.in_runtime_directory.then(|| format!("--chdir={}", runtime_directory(place))),
        );
        let variables = program.environment.iter();
        words.extend(variables.map(|(name, value)| format!("{name}={}", quote(value))));
    }
    words.push(quote(&program.program));
    words.extend(program.arguments.iter().map(|word| quote(word)));
    words.join(" ")
}

/// Returns the lines that start a daemon and wait until it is ready, or has ended.
fn daemon_lines(started: &str, test: &str, log: &str, attempts: u32) -> Vec<String> {
    let start = format!("{started} >{log} 2>&1 &");
    let wait = format!("until {test}; do kill -0 $! || break; sleep 0.1; done");
    if attempts == 1 {
        return vec![start, wait];
    }
    let again = (1..=attempts).map(|attempt| attempt.to_string()).collect::<Vec<_>>().join(" ");
    vec![
        format!("for attempt in {again}; do"),
        start,
        wait,
        format!("if {test}; then break; fi"),
        "done".to_owned(),
    ]
}

/// Returns the test that a daemon is ready. Returns `None` for a step.
fn readiness_test(place: &str, ready: &ReadyCondition, log: &str) -> Option<String> {
    Some(match ready {
        ReadyCondition::Exited => return None,
        ReadyCondition::ListensOn(socket) => format!("[ -S {socket} ]"),
        ReadyCondition::FileWritten(file) => format!("[ -s {file} ]"),
        ReadyCondition::OutputContains(words) => {
            let says = |words: &String| format!("grep -qF {} {log}", quote(words));
            words.iter().map(says).collect::<Vec<_>>().join(" && ")
        }
        ReadyCondition::CommandSucceeds(words) => {
            let words: Vec<String> = words.iter().map(|word| quote(word)).collect();
            format!("ip netns exec {place} {} >/dev/null 2>&1", words.join(" "))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_network::Family;

    #[test]
    fn daemons_are_started_and_waited_for() {
        let mut wiring = Wiring::new(Family::Ipv4, 1500);
        let node = wiring.add_namespace("node-0", &[]);
        let ready = ReadyCondition::ListensOn("/run/node-0/s".to_owned());
        wiring.programs.push(
            Program::daemon(node, "bird", ["-c", "/run/node-0/a b"], ready)
                .with_variable("X", "1")
                .with_file("/run/node-0/a b", "router id 1;\n"),
        );
        wiring.programs.push(Program::step(node, "birdc", ["show"]));
        let expected = [
            "mkdir -p /run/node-0",
            "cat > '/run/node-0/a b' <<'END'",
            "router id 1;",
            "END",
            "ip netns exec node-0 env X=1 bird -c '/run/node-0/a b' >/run/node-0/bird.log 2>&1 &",
            "until [ -S /run/node-0/s ]; do kill -0 $! || break; sleep 0.1; done",
            "ip netns exec node-0 birdc show",
        ];
        assert_eq!(lines(&wiring), expected);
    }

    #[test]
    fn a_daemon_that_may_be_started_again_is_started_until_it_is_ready() {
        let mut wiring = Wiring::new(Family::Ipv4, 1500);
        let node = wiring.add_namespace("node-0", &[]);
        let ready = ReadyCondition::FileWritten("/run/node-0/up".to_owned());
        wiring.programs.push(Program::daemon::<&str>(node, "kit", [], ready).with_attempts(2));
        let expected = [
            "mkdir -p /run/node-0",
            "for attempt in 1 2; do",
            "ip netns exec node-0 kit >/run/node-0/kit.log 2>&1 &",
            "until [ -s /run/node-0/up ]; do kill -0 $! || break; sleep 0.1; done",
            "if [ -s /run/node-0/up ]; then break; fi",
            "done",
        ];
        assert_eq!(lines(&wiring), expected);
    }

    #[test]
    fn namespaces_do_not_wait_for_one_another() {
        let mut wiring = Wiring::new(Family::Ipv4, 1500);
        for name in ["node-0", "node-1"] {
            let node = wiring.add_namespace(name, &[]);
            let ready =
                ReadyCondition::OutputContains(vec!["up".to_owned(), "and away".to_owned()]);
            wiring.programs.push(Program::daemon::<&str>(node, "bird", [], ready));
            wiring.programs.push(Program::step(node, "birdc", ["show"]));
        }
        let own = |name: &str| {
            let log = format!("/run/{name}/bird.log");
            vec![
                "(".to_owned(),
                format!("mkdir -p /run/{name}"),
                format!("ip netns exec {name} bird >{log} 2>&1 &"),
                format!(
                    "until grep -qF up {log} && grep -qF 'and away' {log}; do kill -0 $! || break; sleep 0.1; done"
                ),
                format!("ip netns exec {name} birdc show"),
                ") & shells=\"$shells $!\"".to_owned(),
            ]
        };
        let begin = "shells=".to_owned();
        let end = "for shell in $shells; do wait $shell; done".to_owned();
        assert_eq!(lines(&wiring), [vec![begin], own("node-0"), own("node-1"), vec![end]].concat());
    }
}
