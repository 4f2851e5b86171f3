//! The programs of a wiring, as a shell starts them: daemons in the background, each waited for.

use crate::programs::{Program, Ready, directory};
use crate::wiring::Wiring;
use std::collections::{BTreeMap, BTreeSet};

/// The lines: the first program of every namespace, then the second of every one, and so on. Within a namespace each waits
/// for the one before, and between them they wait for one another.
pub(super) fn lines(wiring: &Wiring) -> Vec<String> {
    let mut lines = Vec::new();
    let mut seen = BTreeSet::new();
    for round in rounds(wiring) {
        let mut waits = Vec::new();
        for program in round {
            let place = wiring.name(program.space);
            let own = directory(place);
            if seen.insert(place) {
                lines.push(format!("mkdir -p {own}"));
            }
            for (path, text) in &program.files {
                lines.push(format!("cat > {} <<'END'", quoted(path)));
                lines.extend(text.lines().map(str::to_owned));
                lines.push("END".to_owned());
            }
            let log = format!("{own}/{}.log", program.name);
            let started = started(place, program);
            match program.ready {
                Ready::Ended => lines.push(started),
                _ => lines.push(format!("{started} >{log} 2>&1 &")),
            }
            waits.extend(waited(place, &program.ready, &log));
        }
        lines.append(&mut waits);
    }
    lines
}

/// The programs by their place among those of their namespace.
fn rounds(wiring: &Wiring) -> Vec<Vec<&Program>> {
    let mut rounds: Vec<Vec<&Program>> = Vec::new();
    let mut places = BTreeMap::new();
    for program in &wiring.programs {
        let place = places.entry(program.space.0).or_insert(0);
        if rounds.len() == *place {
            rounds.push(Vec::new());
        }
        rounds[*place].push(program);
        *place += 1;
    }
    rounds
}

fn started(place: &str, program: &Program) -> String {
    let mut words = vec![format!("ip netns exec {place}")];
    if !program.environment.is_empty() {
        words.push("env".to_owned());
        let variables = program.environment.iter();
        words.extend(variables.map(|(name, value)| format!("{name}={}", quoted(value))));
    }
    words.push(quoted(&program.program));
    words.extend(program.arguments.iter().map(|word| quoted(word)));
    words.join(" ")
}

/// The line that waits until a program is ready; nothing for a step.
fn waited(place: &str, ready: &Ready, log: &str) -> Option<String> {
    let test = match ready {
        Ready::Ended => return None,
        Ready::Listens(socket) => format!("[ -S {socket} ]"),
        Ready::Wrote(file) => format!("[ -s {file} ]"),
        Ready::Says(words) => format!("grep -qF {} {log}", quoted(words)),
        Ready::Answers(words) => {
            let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
            format!("ip netns exec {place} {} >/dev/null 2>&1", words.join(" "))
        }
    };
    Some(format!("until {test}; do sleep 0.1; done"))
}

/// A word as a shell takes it for one.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |one: char| one.is_ascii_alphanumeric() || "_-./:=,@%+".contains(one);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tare_network::Family;

    #[test]
    fn daemons_are_started_and_waited_for() {
        let mut wiring = Wiring::new(Family::Ipv4, 1500);
        let node = wiring.space("node-0", &[]);
        let ready = Ready::Listens("/run/node-0/s".to_owned());
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
            "until [ -S /run/node-0/s ]; do sleep 0.1; done",
            "ip netns exec node-0 birdc show",
        ];
        assert_eq!(lines(&wiring), expected);
    }

    #[test]
    fn namespaces_wait_for_one_another_only_when_all_have_begun() {
        let mut wiring = Wiring::new(Family::Ipv4, 1500);
        for name in ["node-0", "node-1"] {
            let node = wiring.space(name, &[]);
            let ready = Ready::Wrote(format!("/run/{name}/routes"));
            wiring.programs.push(Program::daemon::<&str>(node, "bird", [], ready));
            wiring.programs.push(Program::step(node, "birdc", ["show"]));
        }
        let lines: Vec<String> =
            lines(&wiring).into_iter().filter(|line| !line.starts_with("mkdir")).collect();
        let expected = [
            "ip netns exec node-0 bird >/run/node-0/bird.log 2>&1 &",
            "ip netns exec node-1 bird >/run/node-1/bird.log 2>&1 &",
            "until [ -s /run/node-0/routes ]; do sleep 0.1; done",
            "until [ -s /run/node-1/routes ]; do sleep 0.1; done",
            "ip netns exec node-0 birdc show",
            "ip netns exec node-1 birdc show",
        ];
        assert_eq!(lines, expected);
    }

    proptest! {
        #[test]
        fn a_quoted_word_is_one_word(word in "[ -~]{0,20}") {
            let script = format!("printf %s {}", quoted(&word));
            let said = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
            prop_assert_eq!(String::from_utf8(said.stdout).unwrap(), word);
        }
    }
}
