//! Setup of a thousand endpoints on a bridge: the time that the lab takes to make them, the time that `ip -batch`
//! takes, and the time until they are removed.
//!
//! An endpoint is a namespace with one end of a veth pair, up and with an address; the other end is a port of the
//! bridge. `ip` makes as much as possible in one process and needs one more process inside each namespace. The lab also
//! proves that packets pass from each endpoint to a server. Removal is complete when the kernel has finished it: the
//! kernel removes namespaces in the background (net/core/net_namespace.c, `cleanup_net`).

use crate::container_programs::with_remedy;
use crate::round_scores::is_precise;
use anyhow::{Context as _, bail};
use rand::seq::SliceRandom as _;
use rand_chacha::ChaCha8Rng;
use std::fs;
use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tare_network::{Command, NetworkParameters, NetworkRegistry, NetworkSpec, ProcessExit, Shape};
use tare_sandbox::Sandbox;
use tare_stats::PairedRatio;

/// Name of the row.
pub(crate) const NAME: &str = "endpoints";

/// Number of endpoints.
const ENDPOINTS: u32 = 1_000;

/// Least speed-up over `ip`, and longest time of tare, s.
pub(crate) const TIMES: f64 = 8.0;
pub(crate) const LONGEST: f64 = 4.0;

/// Pause between measurements: the kernel removes namespaces in the background, which would slow down the next one.
const SETTLE: Duration = Duration::from_secs(5);

/// Time limit for the removal.
const PATIENCE: Duration = Duration::from_secs(60);

/// Network of the lab without rules of its own.
const NETWORK: &str = "bridge+plain";

/// Script that makes the endpoints by `ip` and prints the time in ns. Writing the input files before is not timed.
const SCRIPT: &str = r"
set -e
mount -t tmpfs tmpfs /run
i=1
while [ $i -le $1 ]; do
    echo netns add n$i
    echo link add h$i up master br0 type veth peer name eth0 netns n$i
    printf 'link set eth0 up\naddress add 10.99.%d.%d/16 dev eth0\n' $((i / 250)) $((i % 250 + 1)) >/run/inside.$i
    i=$((i + 1))
done >/run/outside
ip link add br0 up type bridge
began=$(date +%s%N)
ip -batch /run/outside
i=1
while [ $i -le $1 ]; do
    ip -n n$i -batch /run/inside.$i
    i=$((i + 1))
done
echo took $(($(date +%s%N) - began))
";

/// Times of all blocks, s.
pub(crate) struct EndpointTimes {
    /// Times to make the endpoints, of tare and of `ip`, block by block.
    pub(crate) pairs: Vec<(f64, f64)>,
    /// Times to remove them, of tare.
    pub(crate) removals: Vec<f64>,
}

impl EndpointTimes {
    /// Returns the ratio of the time of `ip` to that of tare.
    pub(crate) fn ratio(&self) -> Option<PairedRatio> {
        let swapped: Vec<(f64, f64)> = self.pairs.iter().map(|&(ours, ip)| (ip, ours)).collect();
        PairedRatio::from_pairs(&swapped)
    }
}

/// Runs both in every block, in random order, until the ratio is precise or the blocks are used up.
pub(crate) fn run(
    sandbox: &Arc<Sandbox>,
    blocks: u32,
    precision: f64,
    chance: &mut ChaCha8Rng,
) -> anyhow::Result<EndpointTimes> {
    let mut measured = EndpointTimes { pairs: Vec::new(), removals: Vec::new() };
    for block in 0..blocks {
        if measured.ratio().is_some_and(|ratio| is_precise(&ratio, precision)) {
            break;
        }
        eprintln!("block {} of at most {blocks}, {ENDPOINTS} endpoints", block + 1);
        let mut order = [true, false];
        order.shuffle(chance);
        let mut times = (0.0, 0.0);
        for ours in order {
            if ours {
                let (up, down) = by_tare(sandbox)?;
                times.0 = up;
                measured.removals.push(down);
            } else {
                times.1 = by_ip(sandbox)?;
            }
            std::thread::sleep(SETTLE);
        }
        measured.pairs.push(times);
    }
    Ok(measured)
}

/// Counts the machine's IPv4 neighbours: the lab's containers have permanent entries for their servers. The kernel
/// removes them with the devices of the namespaces. (There is no reliable count of the namespaces themselves: their
/// allocator counts, in slabinfo(5), those that it keeps for later as used.)
fn neighbours() -> anyhow::Result<u64> {
    let cache = fs::read_to_string("/proc/net/stat/arp_cache").context("count neighbours")?;
    let entries = cache.lines().nth(1).and_then(|line| line.split_whitespace().next());
    u64::from_str_radix(entries.context("no column of entries")?, 16).context("count neighbours")
}

/// Returns true if the count is as before, except for neighbours of other programs.
fn is_back_to(now: u64, before: u64) -> bool {
    const OTHERS: u64 = 16;
    now <= before + OTHERS
}

/// Waits until the count is as before.
fn wait_for(before: u64) -> anyhow::Result<()> {
    let began = Instant::now();
    while !is_back_to(neighbours()?, before) {
        if began.elapsed() > PATIENCE {
            bail!("the endpoints are not gone after {} s", PATIENCE.as_secs());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Returns the seconds that the lab takes to make the endpoints, and to remove them.
fn by_tare(sandbox: &Arc<Sandbox>) -> anyhow::Result<(f64, f64)> {
    let networks = NetworkRegistry::new(tare_lab::networks(Some(Arc::clone(sandbox))));
    let spelled: NetworkSpec = NETWORK.parse()?;
    let shape = Shape { clients: ENDPOINTS - 1, ..Shape::default() };
    let before = neighbours()?;
    let began = Instant::now();
    let topology = networks
        .find(&spelled)?
        .set_up(&shape, &NetworkParameters::from_spec(&spelled, vec![5_000]));
    let up = began.elapsed().as_secs_f64();
    let topology = topology.map_err(with_remedy)?;
    let began = Instant::now();
    drop(topology);
    wait_for(before)?;
    Ok((up, began.elapsed().as_secs_f64()))
}

/// Returns the seconds that `ip` takes, in its own namespaces that end with it.
fn by_ip(sandbox: &Arc<Sandbox>) -> anyhow::Result<f64> {
    let networks = NetworkRegistry::new(tare_lab::networks(Some(Arc::clone(sandbox))));
    let spelled: NetworkSpec = "veth".parse()?;
    let site = NetworkParameters::from_spec(&spelled, vec![5_000]);
    let topology =
        networks.find(&spelled)?.set_up(&Shape::default(), &site).map_err(with_remedy)?;
    let count = ENDPOINTS.to_string();
    let words = ["--net", "--mount", "sh", "-c", SCRIPT, "sh", &count];
    let command = Command {
        program: Some("unshare".into()),
        arguments: words.iter().map(|word| (*word).to_owned()).collect(),
        ..Command::default()
    };
    let mut script = topology.clients[0].spawn(&command).map_err(with_remedy)?;
    let mut text = String::new();
    let output = script.take_output();
    output.context("a script without output")?.read_to_string(&mut text)?;
    if script.wait().map_err(with_remedy)? != ProcessExit::Code(0) {
        bail!("`ip -batch` could not make {ENDPOINTS} endpoints");
    }
    let nanos: f64 = text.trim().strip_prefix("took ").context("no time")?.parse()?;
    Ok(nanos / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_a_thousand_is_seen() {
        assert!(is_back_to(neighbours().unwrap(), neighbours().unwrap()));
        assert!(is_back_to(12, 10) && !is_back_to(500, 10));
    }

    #[test]
    fn the_ratio_says_how_many_times_as_fast() {
        let pairs = vec![(2.0, 16.0), (1.0, 8.0)];
        let endpoints = EndpointTimes { pairs, removals: Vec::new() };
        assert!((endpoints.ratio().unwrap().value - 8.0).abs() < 1e-9);
    }
}
