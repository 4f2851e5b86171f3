//! Placeholders for private values of a journal: addresses and names of engines, and paths in the names of networks.

use super::words::{has_word, replace_word};
use tare_record::journal::RunHeader;
use tare_record::{EngineDescription, Plan};

/// Prefixes of network names that continue with a path.
const PATH_SCHEMES: [&str; 6] =
    ["exec:", "cni:", "cni-published:", "pasta:", "slirp4netns:", "rootlesskit:"];

/// Options that may follow the path in a network's name, each after a `+`.
const OPTIONS: [&str; 10] = [
    "plain",
    "unconfined",
    "untracked",
    "rps",
    "rate",
    "mtu",
    "idle",
    "without",
    "splice",
    "runtime",
];

/// Private value, and the placeholder that replaces it.
type Replacement = (String, String);

/// Placeholders of one journal. A value has the same placeholder everywhere, so that labels still match.
pub(super) struct Placeholders {
    /// Addresses, machine names and contexts of engines.
    engines: Vec<Replacement>,
    /// Replacements in names and texts, the longest value first: addresses of engines, and `exec:PATH`.
    names: Vec<Replacement>,
    /// Replacements in texts only, the longest value first: host names, machine names, contexts, and paths alone. In
    /// the name of a network such a word can have another meaning.
    words: Vec<Replacement>,
}

impl Placeholders {
    /// Collects the private values of a run.
    pub(super) fn new(run: &RunHeader) -> Self {
        let engines = &run.environment.engines;
        let addresses = numbered("engine", engines.iter().flat_map(addresses));
        let machines = engines.iter().filter_map(|engine| engine.name.as_deref());
        let contexts = engines.iter().filter_map(|engine| engine.context_asked.as_deref());
        let called = [numbered("machine", machines), numbered("context", contexts)].concat();
        let paths = numbered("path", network_names(&run.plan).filter_map(path_of));
        let hosts = addresses.iter().flat_map(|(address, placeholder)| {
            host_names(address).map(|host| (host.to_owned(), placeholder.clone()))
        });
        let words = hosts.chain(called.iter().chain(&paths).cloned());
        Self {
            words: longest_first(words.filter(|(word, _)| !is_in_other_name(&run.plan, word))),
            names: longest_first(schemed(&paths).chain(addresses.iter().cloned())),
            engines: [addresses, called].concat(),
        }
    }

    /// Returns the placeholder of an engine's address, machine name or context.
    pub(super) fn engine(&self, value: &str) -> String {
        let known = self.engines.iter().find(|(private, _)| private == value);
        known.map_or_else(String::new, |(_, placeholder)| placeholder.clone())
    }

    /// Replaces the private values in the name or the label of a network.
    pub(super) fn replace_in_name(&self, name: &str) -> String {
        replace_each(name, &self.names)
    }

    /// Replaces the private values in a text for people.
    pub(super) fn replace_in_text(&self, text: &str) -> String {
        replace_each(&self.replace_in_name(text), &self.words)
    }
}

/// Numbers different values in order of appearance: `engine-0`, `engine-1`.
fn numbered<'a>(kind: &str, values: impl Iterator<Item = &'a str>) -> Vec<Replacement> {
    let mut all: Vec<Replacement> = Vec::new();
    for value in values.filter(|value| !value.is_empty()) {
        if all.iter().all(|(known, _)| known != value) {
            all.push((value.to_owned(), format!("{kind}-{}", all.len())));
        }
    }
    all
}

fn longest_first(replacements: impl Iterator<Item = Replacement>) -> Vec<Replacement> {
    let mut all: Vec<Replacement> = replacements.collect();
    all.sort_by_key(|(value, _)| std::cmp::Reverse(value.len()));
    all
}

fn replace_each(text: &str, replacements: &[Replacement]) -> String {
    replacements
        .iter()
        .fold(text.to_owned(), |text, (value, placeholder)| replace_word(&text, value, placeholder))
}

/// Returns the replacements of paths after each scheme: `exec:PATH` by `exec:path-0`.
fn schemed(paths: &[Replacement]) -> impl Iterator<Item = Replacement> + '_ {
    let after = |scheme: &str, (path, placeholder): &Replacement| {
        (format!("{scheme}{path}"), format!("{scheme}{placeholder}"))
    };
    paths.iter().flat_map(move |path| PATH_SCHEMES.map(|scheme| after(scheme, path)))
}

/// Returns the addresses of an engine, and of those that the user named beside it.
fn addresses(engine: &EngineDescription) -> impl Iterator<Item = &str> {
    std::iter::once(&engine.address).chain(&engine.engines_asked).map(String::as_str)
}

/// Returns the host in an address such as `ssh://me@host:22`, with and without the user and the port.
fn host_names(address: &str) -> impl Iterator<Item = &str> {
    let rest = address.split_once("://").map_or("", |(_, rest)| rest);
    let authority = rest.split('/').next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let alone = host.split_once(':').map_or(host, |(alone, _)| alone);
    [authority, host, alone].into_iter().filter(|name| name.len() > 1)
}

/// Returns the names of all networks of a plan that can contain a path.
fn network_names(plan: &Plan) -> impl Iterator<Item = &str> {
    let entries = plan.networks.iter().map(|entry| entry.network.as_str());
    let skipped = plan.skipped.iter().map(|skipped| skipped.network.as_str());
    entries.chain(skipped).chain(plan.refused.iter().map(String::as_str))
}

/// Returns true if the name of a network without a path has this word.
fn is_in_other_name(plan: &Plan, word: &str) -> bool {
    network_names(plan).filter(|name| path_of(name).is_none()).any(|name| has_word(name, word))
}

/// Returns the path in a network's name such as `exec:PATH+plain`.
fn path_of(name: &str) -> Option<&str> {
    let mut path = PATH_SCHEMES.into_iter().find_map(|scheme| name.strip_prefix(scheme))?;
    while let Some((before, option)) = path.rsplit_once('+')
        && option.split('=').next().is_some_and(|option| OPTIONS.contains(&option))
    {
        path = before;
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_end_before_the_options() {
        assert_eq!(path_of("exec:/home/me/a+b.py+plain+mtu=9000"), Some("/home/me/a+b.py"));
        assert_eq!(path_of("cni-published:x.conflist"), Some("x.conflist"));
        assert_eq!(path_of("docker:bridge"), None);
    }

    #[test]
    fn hosts_stand_between_user_and_port() {
        let names = |address| host_names(address).collect::<Vec<_>>();
        assert_eq!(names("ssh://me@box:22"), ["me@box:22", "box:22", "box"]);
        assert!(names("unix:///var/run/docker.sock").is_empty());
    }
}
