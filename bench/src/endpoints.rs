//! A thousand endpoints on a bridge: how long the lab takes to make them, and how long `ip -batch`; and how long until they
//! are gone again.
//!
//! An endpoint is a namespace with one end of a veth pair, up and with an address, the other end in the bridge. `ip`
//! makes what it can in one process and needs one more for the inside of every namespace. The lab proves besides that
//! packets pass from each to a server. It has removed them when the kernel has: it takes namespaces apart in the background
//! (net/core/net_namespace.c, `cleanup_net`).

use crate::stage::said;
use anyhow::{Context as _, bail};
use rand::seq::SliceRandom as _;
use rand_chacha::ChaCha8Rng;
use std::fs;
use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tare_lab::Lab;
use tare_network::{Command, Exit, Registry, Shape, Site, Spelled};
use tare_stats::PairedRatio;

/// The row's name.
pub(crate) const NAME: &str = "endpoints";

/// How many.
const ENDPOINTS: u32 = 1_000;

/// How many times as fast tare has to be, and how fast at least, s.
pub(crate) const TIMES: f64 = 8.0;
pub(crate) const LONGEST: f64 = 4.0;

/// The kernel takes namespaces apart in the background: what is measured next shall not pay for it.
const SETTLE: Duration = Duration::from_secs(5);

/// How long it may take for that.
const PATIENCE: Duration = Duration::from_secs(60);

/// The lab's network that has no rules of its own.
const NETWORK: &str = "bridge+plain";

/// Makes the endpoints by `ip`, and prints how many ns that took. What is written to files before is not counted.
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

/// The times of every block, s.
pub(crate) struct Endpoints {
    /// tare's and `ip`'s to make them, block by block.
    pub(crate) pairs: Vec<(f64, f64)>,
    /// tare's to remove them.
    pub(crate) removals: Vec<f64>,
}

impl Endpoints {
    /// How many times as long `ip` takes.
    pub(crate) fn ratio(&self) -> Option<PairedRatio> {
        let swapped: Vec<(f64, f64)> = self.pairs.iter().map(|&(ours, ip)| (ip, ours)).collect();
        PairedRatio::of(&swapped)
    }
}

/// Runs both in every block, in random order.
pub(crate) fn run(
    lab: &Arc<Lab>,
    blocks: u32,
    chance: &mut ChaCha8Rng,
) -> anyhow::Result<Endpoints> {
    let (mut pairs, mut removals) = (Vec::new(), Vec::new());
    for block in 0..blocks {
        eprintln!("block {} of {blocks}, {ENDPOINTS} endpoints", block + 1);
        let mut order = [true, false];
        order.shuffle(chance);
        let mut times = (0.0, 0.0);
        for ours in order {
            if ours {
                let (up, down) = by_tare(lab)?;
                times.0 = up;
                removals.push(down);
            } else {
                times.1 = by_ip(lab)?;
            }
            std::thread::sleep(SETTLE);
        }
        pairs.push(times);
    }
    Ok(Endpoints { pairs, removals })
}

/// IPv4 neighbours that the kernel knows, machine-wide: the lab's containers know their servers, for good. It forgets them as
/// it takes the namespaces' devices apart. (Of namespaces themselves it tells no number that could be relied on: its
/// allocator counts as used, in slabinfo(5), what it keeps for the next ones.)
fn neighbours() -> anyhow::Result<u64> {
    let cache = fs::read_to_string("/proc/net/stat/arp_cache").context("count neighbours")?;
    let entries = cache.lines().nth(1).and_then(|line| line.split_whitespace().next());
    u64::from_str_radix(entries.context("no column of entries")?, 16).context("count neighbours")
}

/// Whether there are no more than before, but for those of other programs.
fn are_as(now: u64, before: u64) -> bool {
    const OTHERS: u64 = 16;
    now <= before + OTHERS
}

/// Waits until all is gone that was not there before.
fn wait_for(before: u64) -> anyhow::Result<()> {
    let began = Instant::now();
    while !are_as(neighbours()?, before) {
        if began.elapsed() > PATIENCE {
            bail!("the endpoints are not gone after {} s", PATIENCE.as_secs());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Seconds that the lab takes to make them, and to remove them.
fn by_tare(lab: &Arc<Lab>) -> anyhow::Result<(f64, f64)> {
    let networks = Registry::new(tare_lab::networks(Some(Arc::clone(lab))));
    let spelled: Spelled = NETWORK.parse()?;
    let shape = Shape { clients: ENDPOINTS - 1, ..Shape::default() };
    let before = neighbours()?;
    let began = Instant::now();
    let topology = networks.find(&spelled)?.raise(&shape, &Site::of(&spelled, vec![5_000]));
    let up = began.elapsed().as_secs_f64();
    let topology = topology.map_err(said)?;
    let began = Instant::now();
    drop(topology);
    wait_for(before)?;
    Ok((up, began.elapsed().as_secs_f64()))
}

/// Seconds that `ip` takes, in namespaces of its own that end with it.
fn by_ip(lab: &Arc<Lab>) -> anyhow::Result<f64> {
    let networks = Registry::new(tare_lab::networks(Some(Arc::clone(lab))));
    let spelled: Spelled = "veth".parse()?;
    let site = Site::of(&spelled, vec![5_000]);
    let topology = networks.find(&spelled)?.raise(&Shape::default(), &site).map_err(said)?;
    let count = ENDPOINTS.to_string();
    let words = ["--net", "--mount", "sh", "-c", SCRIPT, "sh", &count];
    let command = Command {
        program: Some("unshare".into()),
        arguments: words.iter().map(|word| (*word).to_owned()).collect(),
        ..Command::default()
    };
    let mut script = topology.clients[0].spawn(&command).map_err(said)?;
    let mut text = String::new();
    let output = script.take_output();
    output.context("a script without output")?.read_to_string(&mut text)?;
    if script.wait().map_err(said)? != Exit::Code(0) {
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
        assert!(are_as(neighbours().unwrap(), neighbours().unwrap()));
        assert!(are_as(12, 10) && !are_as(500, 10));
    }

    #[test]
    fn the_ratio_says_how_many_times_as_fast() {
        let pairs = vec![(2.0, 16.0), (1.0, 8.0)];
        let endpoints = Endpoints { pairs, removals: Vec::new() };
        assert!((endpoints.ratio().unwrap().value - 8.0).abs() < 1e-9);
    }
}
