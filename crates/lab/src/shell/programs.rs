//! The programs of a wiring, as a shell starts them: daemons in the background, each waited for.

use crate::programs::{Program, Ready, directory};
use crate::wiring::{SpaceId, Wiring};

/// The lines: the programs of each namespace one after the other, each waited for. Namespaces do not wait for one another:
/// where there are several, each has a shell of its own, and the script goes on when all of them are through.
pub(super) fn lines(wiring: &Wiring) -> Vec<String> {
    let mut places: Vec<SpaceId> = Vec::new();
    for program in &wiring.programs {
        if !places.contains(&program.space) {
            places.push(program.space);
        }
    }
    let mine = |place: SpaceId| wiring.programs.iter().filter(move |one| one.space == place);
    if let [only] = places.as_slice() {
        return of_one(wiring.name(*only), mine(*only));
    }
    let mut lines = Vec::new();
    lines.extend((!places.is_empty()).then(|| "shells=".to_owned()));
    for &place in &places {
        lines.push("(".to_owned());
        lines.extend(of_one(wiring.name(place), mine(place)));
        lines.push(") & shells=\"$shells $!\"".to_owned());
    }
    if !places.is_empty() {
        lines.push("for shell in $shells; do wait $shell; done".to_owned());
    }
    lines
}

/// The programs of one namespace.
fn of_one<'a>(place: &str, programs: impl Iterator<Item = &'a Program>) -> Vec<String> {
    let own = directory(place);
    let mut lines = vec![format!("mkdir -p {own}")];
    for program in programs {
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
        lines.extend(waited(place, &program.ready, &log));
    }
    lines
}

fn started(place: &str, program: &Program) -> String {
    let mut words = vec![format!("ip netns exec {place}")];
    if program.at_home || !program.environment.is_empty() {
        words.push("env".to_owned());
        words.extend(program.at_home.then(|| format!("--chdir={}", directory(place))));
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
        Ready::Says(words) => {
            let says = |words: &String| format!("grep -qF {} {log}", quoted(words));
            words.iter().map(says).collect::<Vec<_>>().join(" && ")
        }
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
    fn namespaces_do_not_wait_for_one_another() {
        let mut wiring = Wiring::new(Family::Ipv4, 1500);
        for name in ["node-0", "node-1"] {
            let node = wiring.space(name, &[]);
            let ready = Ready::Says(vec!["up".to_owned(), "and away".to_owned()]);
            wiring.programs.push(Program::daemon::<&str>(node, "bird", [], ready));
            wiring.programs.push(Program::step(node, "birdc", ["show"]));
        }
        let own = |name: &str| {
            let log = format!("/run/{name}/bird.log");
            vec![
                "(".to_owned(),
                format!("mkdir -p /run/{name}"),
                format!("ip netns exec {name} bird >{log} 2>&1 &"),
                format!("until grep -qF up {log} && grep -qF 'and away' {log}; do sleep 0.1; done"),
                format!("ip netns exec {name} birdc show"),
                ") & shells=\"$shells $!\"".to_owned(),
            ]
        };
        let begin = "shells=".to_owned();
        let end = "for shell in $shells; do wait $shell; done".to_owned();
        assert_eq!(lines(&wiring), [vec![begin], own("node-0"), own("node-1"), vec![end]].concat());
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
