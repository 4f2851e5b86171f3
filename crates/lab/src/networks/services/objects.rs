//! Objects of the cluster, as the API server would write them into etcd: services, with an EndpointSlice and an
//! IPAddress each, and the node.
//!
//! etcd's own client writes them, by transactions that an awk program prints: the API server would take a minute and a
//! half for 10,000 services, which are here in two seconds.
//!
//! Sources: Kubernetes, `pkg/registry/core/rest` (keys), `api/openapi-spec`; etcdctl(1), TXN.

use crate::plan::address::{InterfaceSlot, LabSubnet};
use tare_network::Family;

/// Number of services that one transaction of etcd writes.
const PER_TRANSACTION: usize = 1000;

/// Number of operations of a transaction: each service is three objects; and the node.
pub(super) const MOST_OPERATIONS: usize = 3 * PER_TRANSACTION + 1;

/// Number of the slot of the first service. The API server's own has the one before.
const FIRST: u16 = 2;

/// Service that is measured, with a server as its only endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MeasuredService {
    /// Slot of the service's address.
    pub(super) address: InterfaceSlot,
    /// Slot of its server.
    pub(super) server: InterfaceSlot,
}

impl MeasuredService {
    /// Returns the service of the server of this index.
    pub(super) fn new(index: u16, server: InterfaceSlot) -> Self {
        Self { address: LabSubnet::SERVICES.slot(FIRST + index), server }
    }
}

/// Objects of a cluster.
pub(super) struct ServiceObjects<'a> {
    /// Family of all addresses.
    pub(super) family: Family,
    /// Services that are measured.
    pub(super) measured: &'a [MeasuredService],
    /// Ports of these services, each for TCP and UDP.
    pub(super) ports: &'a [u16],
    /// Number of services, those that are measured included.
    pub(super) all: usize,
    /// Name and address of the node.
    pub(super) node: (String, InterfaceSlot),
}

impl ServiceObjects<'_> {
    /// Returns the number of ports of all services: kube-proxy has rules for each.
    pub(super) fn port_count(&self) -> usize {
        port_count(self.measured.len(), self.ports.len(), self.all)
    }

    /// Returns a shell command that writes all objects into etcd by `etcdctl`, a command with its options. `program` is
    /// the path of the [awk program](Self::awk_program).
    pub(super) fn load_command(&self, program: &str, etcdctl: &str) -> String {
        let last = self.all.saturating_sub(1) / PER_TRANSACTION;
        format!(
            "for batch in $(seq 0 {last}); do awk -v first=$((batch * {PER_TRANSACTION})) \
             -v count={PER_TRANSACTION} -f {program} | {etcdctl} txn >/dev/null || \
             {{ echo 'error: etcd refuses the objects of the cluster'; exit 1; }}; done"
        )
    }

    /// Returns the awk program that prints a transaction of `count` services from number `first` on.
    pub(super) fn awk_program(&self) -> String {
        let (name, address) = &self.node;
        let head = format!(
            "BEGIN {{\n  all = {all}; measured = {measured}\n  print \"\"\n  if (first == 0) put(\"minions/{name}\", {node})\n",
            all = self.all,
            measured = self.measured.len(),
            node = awk_text(&format!(
                r#"{{"apiVersion":"v1","kind":"Node","metadata":{{"name":"{name}","uid":"{name}"}},"status":{{"addresses":[{{"type":"InternalIP","address":"{}"}}]}}}}"#,
                address.address(self.family)
            )),
        );
        let servers = (0..).zip(self.measured).map(|(index, service): (u32, _)| {
            format!("  server[{index}] = \"{}\"\n", service.server.address(self.family))
        });
        let (ports, endpoint_ports) = self.measured_ports();
        let body = LOOP
            .replace("@MEASURED_PORTS@", &awk_text(&ports))
            .replace("@MEASURED_ENDPOINT_PORTS@", &awk_text(&endpoint_ports))
            .replace("@FIRST@", &FIRST.to_string());
        let functions = FUNCTIONS
            .replace("@FAMILY@", family_name(self.family))
            .replace("@SERVICES@", &address_base(LabSubnet::SERVICES, self.family))
            .replace("@MADE_UP@", &address_base(LabSubnet::MADE_UP, self.family))
            .replace("@NUMBER@", address_number(self.family));
        head + &servers.collect::<String>() + &body + &functions
    }

    /// Returns the ports of a measured service, and those of its EndpointSlice.
    fn measured_ports(&self) -> (String, String) {
        let each = || self.ports.iter().flat_map(|port| PROTOCOLS.map(|protocol| (port, protocol)));
        let name = |port: &u16, protocol: &str| {
            format!(
                r#""name":"{}-{port}","protocol":"{protocol}","port":{port}"#,
                protocol.to_lowercase()
            )
        };
        let of_service = each()
            .map(|(port, protocol)| format!(r#"{{{},"targetPort":{port}}}"#, name(port, protocol)));
        let of_slice = each().map(|(port, protocol)| format!("{{{}}}", name(port, protocol)));
        (of_service.collect::<Vec<_>>().join(","), of_slice.collect::<Vec<_>>().join(","))
    }
}

/// Returns the number of ports of `all` services, of which `measured` have `ports` ports for each protocol.
pub(super) fn port_count(measured: usize, ports: usize, all: usize) -> usize {
    measured * ports * PROTOCOLS.len() + all.saturating_sub(measured)
}

/// Protocols of every port of a measured service.
const PROTOCOLS: [&str; 2] = ["TCP", "UDP"];

/// Loop over the services of a transaction.
const LOOP: &str = r#"  last = first + count < all ? first + count : all
  for (i = first; i < last; i++) {
    if (i < measured)
      service("server-" i, i + @FIRST@, server[i], @MEASURED_PORTS@, @MEASURED_ENDPOINT_PORTS@)
    else
      service("made-up-" i, i + @FIRST@, made_up(i + 1),
        "{\"name\":\"http\",\"protocol\":\"TCP\",\"port\":80,\"targetPort\":8080}",
        "{\"name\":\"http\",\"protocol\":\"TCP\",\"port\":8080}")
  }
  print "\n"
}
"#;

/// Functions of the program: `put` prints the operation that writes an object, whose text etcdctl reads as a quoted
/// string.
const FUNCTIONS: &str = r#"function put(key, object) {
  gsub(/"/, "\\\"", object)
  printf "put \"/registry/%s\" \"%s\"\n", key, object
}
function service(name, number, endpoint, ports, endpoint_ports,    address, about) {
  address = cluster_ip(number)
  about = "\"name\":\"" name "\",\"namespace\":\"tare\",\"uid\":\"" name "\""
  put("services/specs/tare/" name, "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{" about "}," \
    "\"spec\":{\"type\":\"ClusterIP\",\"clusterIP\":\"" address "\",\"clusterIPs\":[\"" address "\"]," \
    "\"ipFamilies\":[\"@FAMILY@\"],\"ipFamilyPolicy\":\"SingleStack\",\"internalTrafficPolicy\":\"Cluster\"," \
    "\"sessionAffinity\":\"None\",\"ports\":[" ports "]}}")
  put("endpointslices/tare/" name, "{\"apiVersion\":\"discovery.k8s.io/v1\",\"kind\":\"EndpointSlice\"," \
    "\"metadata\":{" about ",\"labels\":{\"kubernetes.io/service-name\":\"" name "\"}},\"addressType\":\"@FAMILY@\"," \
    "\"endpoints\":[{\"addresses\":[\"" endpoint "\"],\"conditions\":{\"ready\":true}}],\"ports\":[" endpoint_ports "]}")
  put("ipaddresses/" address, "{\"apiVersion\":\"networking.k8s.io/v1\",\"kind\":\"IPAddress\"," \
    "\"metadata\":{\"name\":\"" address "\",\"uid\":\"" name "\",\"labels\":{\"ipaddress.kubernetes.io/ip-family\":\"@FAMILY@\"," \
    "\"ipaddress.kubernetes.io/managed-by\":\"ipallocator.k8s.io\"}}," \
    "\"spec\":{\"parentRef\":{\"group\":\"\",\"resource\":\"services\",\"namespace\":\"tare\",\"name\":\"" name "\"}}}")
}
function cluster_ip(n) { return "@SERVICES@" @NUMBER@ }
function made_up(n) { return "@MADE_UP@" @NUMBER@ }
"#;

/// Returns a text as a string of awk's language.
fn awk_text(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\\\""))
}

/// Returns the name of a family in the API.
pub(super) fn family_name(family: Family) -> &'static str {
    match family {
        Family::Ipv4 => "IPv4",
        Family::Ipv6 => "IPv6",
    }
}

/// Returns what the addresses of all slots of a subnet begin with.
fn address_base(subnet: LabSubnet, family: Family) -> String {
    let first = subnet.slot(0).address(family).to_string();
    first.strip_suffix("0.0").map_or(first.clone(), str::to_owned)
}

/// Returns the expression of awk for the rest of the address of slot `n`, from 1.
fn address_number(family: Family) -> &'static str {
    match family {
        Family::Ipv4 => r#"int(n / 256) "." n % 256"#,
        Family::Ipv6 => r#"sprintf("%x", n)"#,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::process::Command;

    /// Returns the objects of the transactions that the program prints, by their keys.
    fn objects(family: Family, all: usize) -> BTreeMap<String, serde_json::Value> {
        let servers =
            [0, 1].map(|index| MeasuredService::new(index, LabSubnet::docker(0).slot(2 + index)));
        let objects = ServiceObjects {
            family,
            measured: &servers,
            ports: &[7001, 7002],
            all,
            node: ("node-0".to_owned(), LabSubnet::UNDERLAY.slot(1)),
        };
        let (program, mut found) = (objects.awk_program(), BTreeMap::new());
        for first in (0..all).step_by(PER_TRANSACTION) {
            let count = PER_TRANSACTION;
            let variables = [format!("-vfirst={first}"), format!("-vcount={count}")];
            let output = Command::new("awk").args(variables).arg(&program).output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            assert!(text.starts_with('\n') && text.ends_with("\n\n\n"), "{:?}", output.stderr);
            let operations: Vec<&str> = text.trim().lines().collect();
            assert!(operations.len() <= MOST_OPERATIONS);
            for operation in operations {
                let rest = operation.strip_prefix("put \"/registry/").unwrap();
                let (key, object) = rest.split_once("\" ").unwrap();
                // Its quoting is that of JSON.
                let object: String = serde_json::from_str(object).unwrap();
                found.insert(key.to_owned(), serde_json::from_str(&object).unwrap());
            }
        }
        found
    }

    #[test]
    fn every_service_has_an_address_and_an_endpoint_of_its_own() {
        for family in [Family::Ipv4, Family::Ipv6] {
            let all = objects(family, 2345);
            assert_eq!(all.len(), 3 * 2345 + 1);
            let address =
                |subnet: LabSubnet, number| subnet.slot(number).address(family).to_string();
            for (name, number, endpoint) in [
                ("server-1", 3, address(LabSubnet::docker(0), 3)),
                ("made-up-2", 4, address(LabSubnet::MADE_UP, 3)),
                ("made-up-2344", 2346, address(LabSubnet::MADE_UP, 2345)),
            ] {
                let dialled = address(LabSubnet::SERVICES, number);
                assert_eq!(
                    all[&format!("services/specs/tare/{name}")]["spec"]["clusterIP"],
                    dialled
                );
                let slice = &all[&format!("endpointslices/tare/{name}")];
                assert_eq!(slice["endpoints"][0]["addresses"][0], endpoint);
                let owner = &all[&format!("ipaddresses/{dialled}")]["spec"]["parentRef"]["name"];
                assert_eq!(*owner, name);
            }
        }
    }

    #[test]
    fn the_measured_services_have_the_ports_of_the_workloads() {
        let all = objects(Family::Ipv4, 2);
        let ports = all["services/specs/tare/server-0"]["spec"]["ports"].as_array().unwrap();
        let names: Vec<&str> = ports.iter().map(|port| port["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["tcp-7001", "udp-7001", "tcp-7002", "udp-7002"]);
        assert_eq!(all["endpointslices/tare/server-0"]["ports"].as_array().unwrap().len(), 4);
        assert_eq!(all["minions/node-0"]["status"]["addresses"][0]["address"], "10.20.0.1");
    }
}
