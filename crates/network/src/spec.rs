//! Name of a network with its options: `bridge`, `veth+plain`, `bridge+rate=970mbit`.

use crate::number_option::{IDLE, MTU, NumberOption, POLICIES, PORTS, SERVICES};
use crate::options::NetworkOptions;
use crate::spec_error::NetworkSpecError;
use crate::{Offload, RedirectProgram};
use std::fmt;
use std::str::FromStr;

/// Name of a network, with the options that change it. It is always written with its options in the same order, in
/// whichever order they were read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NetworkSpec {
    /// Name in the registry.
    pub name: String,
    /// Options that change the network.
    pub options: NetworkOptions,
}

impl FromStr for NetworkSpec {
    type Err = NetworkSpecError;

    fn from_str(text: &str) -> Result<Self, NetworkSpecError> {
        let (name, parts) = split_options(text);
        if name.is_empty() {
            return Err(NetworkSpecError::Empty(text.to_owned()));
        }
        let mut options = NetworkOptions::default();
        for part in parts {
            parse_option(part, text, &mut options)?;
        }
        if options.plain && options.firewall.is_some() {
            return Err(NetworkSpecError::NoRules(text.to_owned()));
        }
        Ok(Self { name: name.to_owned(), options })
    }
}

impl NetworkSpec {
    /// Returns the argument after the colon of a name such as `cni:FILE`.
    #[must_use]
    pub fn argument(&self) -> Option<&str> {
        self.name.split_once(':').map(|(_, argument)| argument)
    }
}

/// Splits a text into the name and its options. After a colon, a `+` can belong to the name: a path, or another place's
/// name for its networks. Then only a part at the very end that parses as an option is one.
fn split_options(text: &str) -> (&str, Vec<&str>) {
    let is_option = |part: &str| {
        !matches!(
            parse_option(part, text, &mut NetworkOptions::default()),
            Err(NetworkSpecError::Option { .. })
        )
    };
    let (mut name, mut parts) = (text, Vec::new());
    while let Some((before, part)) = name.rsplit_once('+') {
        if text.split('+').next().is_some_and(|first| first.contains(':')) && !is_option(part) {
            break;
        }
        name = before;
        parts.insert(0, part);
    }
    (name, parts)
}

/// Adds one option, which `spelled` contains after a `+`.
fn parse_option(
    option: &str,
    spelled: &str,
    options: &mut NetworkOptions,
) -> Result<(), NetworkSpecError> {
    let (name, value) = match option.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (option, None),
    };
    match (name, value) {
        ("plain", None) => set_once("plain", spelled, &mut options.plain),
        ("unconfined", None) => set_once("unconfined", spelled, &mut options.unconfined),
        ("untracked", None) => set_once("untracked", spelled, &mut options.untracked),
        ("rps", None) => set_once("rps", spelled, &mut options.rps),
        ("redirect-peer", None) => set_redirect(RedirectProgram::Peer, spelled, options),
        ("xdp", None) => set_redirect(RedirectProgram::Xdp, spelled, options),
        ("sockmap", None) => set_redirect(RedirectProgram::Sockmap, spelled, options),
        ("splice", None) => set_once("splice", spelled, &mut options.splice),
        ("local", None) => set_once("local", spelled, &mut options.local),
        ("mesh", None) => set_once("mesh", spelled, &mut options.mesh),
        ("rate", Some(rate)) => parse_rate(rate, spelled, options),
        ("mtu", Some(mtu)) => parse_number(&MTU, mtu, spelled, &mut options.mtu),
        ("idle", Some(idle)) => parse_number(&IDLE, idle, spelled, &mut options.idle),
        ("ports", Some(ports)) => parse_number(&PORTS, ports, spelled, &mut options.ports),
        ("services", Some(services)) => {
            parse_number(&SERVICES, services, spelled, &mut options.services)
        }
        ("policies", Some(policies)) => {
            parse_number(&POLICIES, policies, spelled, &mut options.policies)
        }
        ("runtime", Some(runtime)) => parse_runtime(runtime, spelled, options),
        ("firewall", Some(backend)) => parse_firewall(backend, spelled, options),
        ("without", Some(offload)) => parse_offload(offload, spelled, options),
        _ => {
            let (spelled, option) = (spelled.to_owned(), option.to_owned());
            Err(NetworkSpecError::Option { spelled, option })
        }
    }
}

fn repeated_option(option: &'static str, spelled: &str) -> NetworkSpecError {
    NetworkSpecError::Repeated { spelled: spelled.to_owned(), option }
}

/// Sets an option that has no value. Returns an error if it was set before.
fn set_once(
    option: &'static str,
    spelled: &str,
    chosen: &mut bool,
) -> Result<(), NetworkSpecError> {
    if std::mem::replace(chosen, true) { Err(repeated_option(option, spelled)) } else { Ok(()) }
}

/// Sets the program that redirects packets or data. Returns an error if one was set before.
fn set_redirect(
    program: RedirectProgram,
    spelled: &str,
    options: &mut NetworkOptions,
) -> Result<(), NetworkSpecError> {
    match options.redirect.replace(program) {
        None => Ok(()),
        Some(before) if before == program => Err(repeated_option(program.name(), spelled)),
        Some(before) => Err(NetworkSpecError::TwoRedirects {
            spelled: spelled.to_owned(),
            options: [before, program].map(RedirectProgram::name),
        }),
    }
}

/// Gives an option its value. Returns an error if it had one before.
fn give_once<T>(
    option: &'static str,
    spelled: &str,
    chosen: &mut Option<T>,
    value: T,
) -> Result<(), NetworkSpecError> {
    match chosen.replace(value) {
        Some(_) => Err(repeated_option(option, spelled)),
        None => Ok(()),
    }
}

fn parse_rate(
    rate: &str,
    spelled: &str,
    options: &mut NetworkOptions,
) -> Result<(), NetworkSpecError> {
    let wrong = |source| NetworkSpecError::Rate { spelled: spelled.to_owned(), source };
    give_once("rate", spelled, &mut options.rate, rate.parse().map_err(wrong)?)
}

/// Gives an option a number.
fn parse_number<T: Copy + Into<u32> + TryFrom<u32>>(
    option: &NumberOption<T>,
    given: &str,
    spelled: &str,
    chosen: &mut Option<T>,
) -> Result<(), NetworkSpecError> {
    give_once(option.name, spelled, chosen, option.parse(given, spelled)?)
}

fn parse_runtime(
    runtime: &str,
    spelled: &str,
    options: &mut NetworkOptions,
) -> Result<(), NetworkSpecError> {
    let wrong = |source| NetworkSpecError::Runtime { spelled: spelled.to_owned(), source };
    give_once("runtime", spelled, &mut options.runtime, runtime.parse().map_err(wrong)?)
}

fn parse_firewall(
    backend: &str,
    spelled: &str,
    options: &mut NetworkOptions,
) -> Result<(), NetworkSpecError> {
    let wrong = |source| NetworkSpecError::Firewall { spelled: spelled.to_owned(), source };
    give_once("firewall", spelled, &mut options.firewall, backend.parse().map_err(wrong)?)
}

fn parse_offload(
    offload: &str,
    spelled: &str,
    options: &mut NetworkOptions,
) -> Result<(), NetworkSpecError> {
    let wrong = |source| NetworkSpecError::Offload { spelled: spelled.to_owned(), source };
    let offload: Offload = offload.parse().map_err(wrong)?;
    if options.without.contains(offload) {
        return Err(repeated_option("without", spelled));
    }
    options.without = options.without.with(offload);
    Ok(())
}

impl fmt::Display for NetworkSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.name, self.options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BitsPerSecond, FirewallBackend};
    use proptest::prelude::*;

    fn spelled(text: &str) -> Result<NetworkSpec, NetworkSpecError> {
        text.parse()
    }

    #[test]
    fn options_stand_in_any_order() {
        let one = spelled("bridge+plain+rate=970mbit").unwrap();
        assert_eq!(Ok(&one), spelled("bridge+rate=970mbit+plain").as_ref());
        assert_eq!(one.to_string(), "bridge+plain+rate=970mbit");
        assert!(one.options.plain);
        assert_eq!(one.options.rate.map(BitsPerSecond::bits), Some(970_000_000));
    }

    #[test]
    fn what_is_wrong_is_said_in_one_line() {
        let cases = [
            ("+plain", "invalid network `+plain`: expected a name"),
            ("bridge+fast", "unknown option `+fast`; the options are +plain (without netfilter), "),
            ("bridge+rate", "unknown option `+rate`; the options are "),
            ("bridge+plain=1", "unknown option `+plain=1`"),
            ("bridge+", "unknown option `+`"),
            ("bridge+plain+plain", "`+plain` is given twice"),
            (
                "published+ports=0",
                "`published+ports=0`: invalid number of ports `0`: expected a number from 1 to 1000",
            ),
            (
                "service-iptables+services=20001",
                "`service-iptables+services=20001`: invalid number of services `20001`: expected a number from 1 to 20000",
            ),
            (
                "k8s:policy+policies=0",
                "`k8s:policy+policies=0`: invalid number of network policies `0`: expected a number from 1 to 1000",
            ),
            ("bridge+xdp+xdp", "`+xdp` is given twice"),
            (
                "bridge+redirect-peer+xdp",
                "`+redirect-peer` and `+xdp` exclude each other: use one of them",
            ),
            ("bridge+firewall=ufw", "invalid firewall `ufw`: expected iptables or nftables"),
            (
                "bridge+firewall=nftables+plain",
                "`+plain` leaves out the rules that `+firewall=` chooses: use one of them",
            ),
            ("bridge+rate=1gbit+rate=2gbit", "`+rate` is given twice"),
            ("bridge+rate=fast", "`bridge+rate=fast`: invalid rate `fast`"),
            (
                "bridge+rate=0mbit",
                "`bridge+rate=0mbit`: invalid rate `0mbit`: expected a whole number ",
            ),
            (
                "bridge+mtu=67",
                "`bridge+mtu=67`: invalid MTU in bytes `67`: expected a number from 68 to 65535",
            ),
            ("bridge+mtu=9000+mtu=1500", "`+mtu` is given twice"),
            ("bridge+rps+rps", "`+rps` is given twice"),
            ("bridge+idle", "unknown option `+idle`; the options are "),
            (
                "bridge+idle=0",
                "`bridge+idle=0`: invalid number of idle containers `0`: expected a ",
            ),
            ("bridge+idle=some", "invalid number of idle containers `some`"),
            ("bridge+idle=1+idle=2", "`+idle` is given twice"),
            (
                "bridge+without=lro",
                "`bridge+without=lro`: unknown offload `lro`: expected one of gro",
            ),
            ("bridge+without=gro+without=gro", "`+without` is given twice"),
        ];
        for (text, words) in cases {
            let error = spelled(text).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn behind_a_colon_a_plus_may_belong_to_the_name() {
        for (text, name, plain) in [
            ("cni:/etc/cni/net.d/10-a.conflist", "cni:/etc/cni/net.d/10-a.conflist", false),
            ("cni:/tmp/a+b.conf+plain", "cni:/tmp/a+b.conf", true),
            ("docker:none+veth", "docker:none+veth", false),
            ("docker:none+veth+plain", "docker:none+veth", true),
        ] {
            let one = spelled(text).unwrap();
            assert_eq!((one.name.as_str(), one.options.plain), (name, plain));
            assert_eq!(one.to_string(), text);
        }
        assert_eq!(spelled("exec:a:b").unwrap().argument(), Some("a:b"));
        assert_eq!(spelled("bridge").unwrap().argument(), None);
        assert!(spelled("cni:x+rate=fast").unwrap_err().to_string().contains("invalid rate"));
    }

    proptest! {
        #[test]
        fn a_name_reads_as_it_is_written(
            name in "[a-z][a-z0-9:-]{0,12}",
            plain: bool,
            unconfined: bool,
            untracked: bool,
            rps: bool,
            splice: bool,
            local: bool,
            mesh: bool,
            mtu in proptest::option::of(MTU.range),
            idle in proptest::option::of(IDLE.range),
            runtime in proptest::option::of("[a-z][a-z0-9._-]{0,12}"),
            ports in proptest::option::of(PORTS.range),
            services in proptest::option::of(SERVICES.range),
            policies in proptest::option::of(POLICIES.range),
            firewall in proptest::option::of(0..FirewallBackend::ALL.len()),
            redirect in proptest::option::of(0..RedirectProgram::ALL.len()),
            rate in proptest::option::of(8_u64..1_000_000),
            without in proptest::collection::vec(0..Offload::ALL.len(), 0..3),
        ) {
            let rate = rate.map(|kilobits| format!("{kilobits}kbit").parse().unwrap());
            let without = without.into_iter().map(|index| Offload::ALL[index]).collect();
            let runtime = runtime.map(|name| name.parse().unwrap());
            let firewall = firewall.filter(|_| !plain).map(|one| FirewallBackend::ALL[one]);
            let redirect = redirect.map(|one| RedirectProgram::ALL[one]);
            let options = NetworkOptions {
                plain, rate, without, unconfined, untracked, mtu, rps, redirect, idle, splice, runtime, firewall,
                ports, services, policies, local, mesh,
            };
            let one = NetworkSpec { name, options };
            prop_assert_eq!(spelled(&one.to_string()), Ok(one));
        }

        #[test]
        fn no_text_breaks_the_reader(text in "([a-z=]{0,5}[+]?(plain|rate=[0-9]mbit|without=(gro|tso))?){0,4}") {
            if let Ok(one) = spelled(&text) {
                prop_assert_eq!(spelled(&one.to_string()), Ok(one));
            }
        }
    }
}
