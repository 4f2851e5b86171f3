//! The shapes of a study: every combination of its lists.

use crate::Error;
use crate::layer::ShapeLists;
use tare_record::{Family, Offloads, Shape};

/// More containers or flows than this are taken for a slip of the hand.
const MOST: u32 = 10_000;
/// IPv6 wants links of at least this MTU (RFC 8200, section 5).
const LEAST_MTU_IPV6: u32 = 1280;
/// IPv4 wants at least this (RFC 791).
const LEAST_MTU_IPV4: u32 = 68;

/// Every combination, each number within its range.
pub(crate) fn shapes(lists: &ShapeLists) -> Result<Vec<Shape>, Error> {
    let counts = |what: &str, list: &Option<Vec<u32>>| -> Result<Vec<u32>, Error> {
        let list = list.clone().unwrap_or_else(|| vec![1]);
        match list.iter().find(|&&count| count == 0 || count > MOST) {
            Some(&count) => Err(Error::range(what, count, &format!("it is from 1 to {MOST}"))),
            None if list.is_empty() => {
                Err(Error::range(what, "an empty list", "name at least one"))
            }
            None => Ok(list),
        }
    };
    let (servers, clients) =
        (counts("servers", &lists.servers)?, counts("clients", &lists.clients)?);
    let flows = counts("flows", &lists.flows)?;
    let without: Offloads = lists.without.iter().flatten().copied().collect();
    let mut shapes = Vec::new();
    for &family in lists.family.as_deref().unwrap_or(&[Family::Ipv4]) {
        for &mtu in lists.mtu.as_deref().unwrap_or(&[1500]) {
            check_mtu(mtu, family)?;
            for cpus in lists.cpus.as_deref().unwrap_or(&[tare_record::Placement::Spread]) {
                for &servers in &servers {
                    for &clients in &clients {
                        for &flows in &flows {
                            let cpus = cpus.clone();
                            shapes.push(Shape {
                                servers,
                                clients,
                                flows,
                                family,
                                mtu,
                                cpus,
                                without,
                                ..Shape::default()
                            });
                        }
                    }
                }
            }
        }
    }
    Ok(shapes)
}

fn check_mtu(mtu: u32, family: Family) -> Result<(), Error> {
    let least = match family {
        Family::Ipv4 => LEAST_MTU_IPV4,
        Family::Ipv6 => LEAST_MTU_IPV6,
    };
    if (least..=65_535).contains(&mtu) {
        Ok(())
    } else {
        Err(Error::range("mtu", mtu, &format!("for {family} it is from {least} to 65535 bytes")))
    }
}
