//! Resolver that a client asks: tare's own in the server, the container's, or one at an address.

use crate::parameters::{DNS_PORT, SYSTEM_RESOLVER};
use crate::{Error, Parameter, ParameterKind, parameters};
use std::net::{IpAddr, SocketAddr};
use tare_record::Parameters;

/// Parameter with the resolver.
pub(super) const RESOLVER: Parameter = Parameter {
    name: "resolver",
    summary: "resolver that each client asks: an address, or system for the first one of its own /etc/resolv.conf; tare's own in the server unless given",
    kind: ParameterKind::Resolver,
    default: None,
};

/// File with the resolvers of a container (resolv.conf(5)).
const RESOLVERS: &str = "/etc/resolv.conf";

/// Returns the address of the existing resolver that is asked. Returns `None` for tare's own.
///
/// Fails if this container has none.
pub(super) fn existing_resolver(parameters: &Parameters) -> Result<Option<SocketAddr>, Error> {
    if parameters::word(parameters, RESOLVER.name) != Some(SYSTEM_RESOLVER) {
        return Ok(parameters::address(parameters, RESOLVER.name));
    }
    let text = std::fs::read_to_string(RESOLVERS)
        .map_err(|error| Error::io(format!("read {RESOLVERS}"), error))?;
    let address = first_resolver(&text).ok_or_else(|| {
        Error::Job(format!("{RESOLVERS} has no nameserver: give --resolver an address"))
    })?;
    Ok(Some(SocketAddr::new(address, DNS_PORT)))
}

/// Returns the first resolver of the text of resolv.conf. An address with a scope needs a device, and is left out.
fn first_resolver(text: &str) -> Option<IpAddr> {
    text.lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            (words.next()? == "nameserver").then(|| words.next()).flatten()
        })
        .find_map(|address| address.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_resolver_of_the_file_is_asked() {
        let text = "# nameserver 192.0.2.9\nsearch a.test\nnameserver fe80::1%eth0\n\
                    nameserver\t127.0.0.11\nnameserver 192.0.2.2\noptions ndots:0\n";
        assert_eq!(first_resolver(text), Some([127, 0, 0, 11].into()));
        assert_eq!(first_resolver("search a.test\nnameserver\n"), None);
    }

    #[test]
    fn a_user_names_an_address_and_the_port_is_that_of_dns() {
        let registry = crate::test_data::registry();
        let workload = registry.find("dns-rr").unwrap();
        let resolved = |given: &str| {
            let asked = Parameters::from([(RESOLVER.name.to_owned(), given.into())]);
            workload.resolve(&asked).ok().map(|resolved| resolved[RESOLVER.name].clone())
        };
        assert_eq!(resolved("192.0.2.7"), Some("192.0.2.7:53".into()));
        assert_eq!(resolved("2001:db8::7"), Some("[2001:db8::7]:53".into()));
        assert_eq!(resolved("192.0.2.7:5353"), Some("192.0.2.7:5353".into()));
        assert_eq!(resolved("system"), Some("system".into()));
        assert_eq!(resolved("dns.example"), None);
    }

    #[test]
    fn a_task_names_its_resolver_or_none() {
        let task = |value: &str| Parameters::from([(RESOLVER.name.to_owned(), value.into())]);
        assert_eq!(existing_resolver(&Parameters::new()).unwrap(), None);
        let at = existing_resolver(&task("192.0.2.7:53")).unwrap();
        assert_eq!(at, Some(([192, 0, 2, 7], 53).into()));
    }
}
