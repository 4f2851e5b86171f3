//! Netfilter rules, loaded and listed by the program nft(8) inside a namespace.

mod transaction;

use crate::namespace::Namespace;
use crate::parallel;
use crate::program;
use crate::sandbox::Sandbox;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use tare_network::Error;
use transaction::transactions;

/// Name of the program, and the Debian package that contains it.
pub const NFT: (&str, &str) = ("nft", "nftables");

/// Loads rules, each text into its namespace, several namespaces at the same time. A long text takes several transactions.
///
/// # Errors
/// nft(8) is not installed, or refuses a text; then with the first line of its error output.
pub fn load(sandbox: &Sandbox, rules: &[(Arc<Namespace>, &str)]) -> Result<(), Error> {
    let load_one = |(namespace, ruleset): &(Arc<Namespace>, &str)| {
        let texts = transactions(ruleset);
        texts.iter().try_for_each(|text| load_transaction(sandbox, namespace, text))
    };
    parallel::try_map(rules, load_one).map(drop)
}

fn load_transaction(
    sandbox: &Sandbox,
    namespace: &Arc<Namespace>,
    text: &str,
) -> Result<(), Error> {
    let mut child = start(sandbox, namespace, &["-f", "-"])?;
    // If nft has ended early, its standard error explains more than a broken pipe.
    let _ = child.stdin.take().map(|mut input| input.write_all(text.as_bytes()));
    finish(child, &format!("load netfilter rules into {}", namespace.name())).map(drop)
}

/// Returns the number of packets that passed the rules of a namespace whose text contains `rule`, by their counters.
///
/// # Errors
/// nft(8) is not installed or fails.
pub fn packets(sandbox: &Sandbox, namespace: &Arc<Namespace>, rule: &str) -> Result<u64, Error> {
    let child = start(sandbox, namespace, &["list", "ruleset"])?;
    let what = format!("list the netfilter rules of {}", namespace.name());
    Ok(finish(child, &what)?.lines().filter_map(|line| rule_packets(line, rule)).sum())
}

/// Returns the packet counter of a listed rule if its text contains `rule`.
fn rule_packets(line: &str, rule: &str) -> Option<u64> {
    let rest = line.contains(rule).then(|| line.split("counter packets ").nth(1)).flatten()?;
    rest.split(' ').next()?.parse().ok()
}

fn start(
    sandbox: &Sandbox,
    namespace: &Arc<Namespace>,
    arguments: &[&str],
) -> Result<Child, Error> {
    let (name, package) = NFT;
    let path = program::find(name).ok_or_else(|| {
        Error::new("start nft", "the program nft is not installed")
            .with_remedy(format!("sudo apt-get install {package}"))
    })?;
    let mut command = Command::new(path);
    command.args(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    sandbox.start(command, Some(Arc::clone(namespace)))
}

/// Waits for nft. Returns its output, or the first line of its error output as an error.
fn finish(mut child: Child, what: &str) -> Result<String, Error> {
    let error = |error: std::io::Error| Error::new(what, error);
    drop(child.stdin.take());
    let mut output = String::new();
    if let Some(mut stream) = child.stdout.take() {
        stream.read_to_string(&mut output).map_err(error)?;
    }
    let mut complaint = String::new();
    if let Some(mut stream) = child.stderr.take() {
        stream.read_to_string(&mut complaint).map_err(error)?;
    }
    if child.wait().map_err(error)?.success() {
        Ok(output)
    } else {
        Err(Error::new(
            what,
            complaint.lines().next().unwrap_or("nft failed without an error message"),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read_off_the_rule_asked_for() {
        let line = "\t\ttcp dport 7001 counter packets 12 bytes 720 dnat to 10.100.0.2:7001";
        assert_eq!(rule_packets(line, "dnat to"), Some(12));
        assert_eq!(rule_packets(line, "masquerade"), None);
        assert_eq!(rule_packets("dnat to 10.0.0.1", "dnat to"), None);
    }
}
