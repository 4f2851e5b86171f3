//! Shell scripts that set up a machine with an engine.

/// Uplink whose other end is not connected.
pub(super) const ALONE: &str = r#"
ip link add eth0 type veth peer name wire0
ip address add 192.0.2.1/24 dev eth0
ip link set eth0 up
ip link set wire0 up
ip route add default via 192.0.2.2
"#;

/// Uplink that the test connects before it sends the machine's number: the last digit of its address, and of its name.
pub(super) const PLUGGED: &str = r#"
echo here
read -r number
echo "node-$number" >/proc/sys/kernel/hostname
ip address add "192.0.2.$number/24" dev eth0
ip link set eth0 up
ip route add default via 192.0.2.254
"#;

/// First process of the engine's namespaces: it gets an uplink, starts the engine, and waits. Its arguments are a
/// directory, the name of the control groups, and flags of dockerd.
pub(super) const INIT: &str = r#"
directory=$1 group=$2
shift 2
mount -t tmpfs tmpfs /run
ip link set lo up
uplink
containers
command -v dockerd >/dev/null
dockerd --data-root "$directory/data" --exec-root /run/docker --pidfile "$directory/pid" \
    --host "unix://$directory/docker.sock" --cgroup-parent "/$group" "$@" >"$directory/log" 2>&1 </dev/null &
echo started
exec cat
"#;

/// dockerd gives its containerd 10 s to start, far too little under software emulation. In that case containerd is
/// started before dockerd, without the slowest plugins, which no engine here uses.
pub(super) const CONTAINERS: &str = r#"
echo 'disabled_plugins = ["cri", "aufs", "btrfs", "devmapper", "zfs"]' >/run/containerd.toml
containerd --config /run/containerd.toml --root "$directory/data/containerd" --state /run/containerd \
    --address "$directory/containerd.sock" >"$directory/containerd.log" 2>&1 </dev/null &
echo containers
read -r _
set -- --containerd "$directory/containerd.sock" "$@"
"#;

/// First process of the namespaces of a Podman service, with a directory and the name of the control groups as arguments.
/// Podman puts its control groups beside all others: it sees those of the test instead, and of cgroup v1 alone, because
/// crun refuses a mixture. Containers get limits that a process of any machine may have.
pub(super) const PODMAN: &str = r#"
directory=$1 group=$2
umount /sys/fs/cgroup/unified 2>/dev/null || :
for hierarchy in /sys/fs/cgroup/*/; do
    [ -e "$hierarchy/tasks" ] || continue
    mkdir "$hierarchy$group"
    for file in cpuset.cpus cpuset.mems; do
        [ ! -e "$hierarchy$file" ] || cat "$hierarchy$file" >"$hierarchy$group/$file"
    done
    mount --bind "$hierarchy$group" "$hierarchy"
done
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /var/lib
ip link set lo up
uplink
cat >"$directory/containers.conf" <<END
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
[engine]
events_logger = "file"
END
mkdir "$directory/networks"
export CONTAINERS_CONF="$directory/containers.conf" HOME="$directory"
podman --root "$directory/root" --runroot "$directory/runroot" --tmpdir "$directory/tmp" \
    --network-config-dir "$directory/networks" --network-backend netavark \
    --cgroup-manager cgroupfs --storage-driver vfs \
    system service --time=0 "unix://$directory/docker.sock" >"$directory/log" 2>&1 </dev/null &
echo started
exec cat
"#;

/// Removes the control groups of the engine's containers when its input pipe is closed.
pub(super) const SWEEP: &str = r#"
read -r _
for attempt in $(seq 100); do
    find /sys/fs/cgroup -depth -type d -path "*/$1/*" -exec rmdir {} + 2>/dev/null
    find /sys/fs/cgroup -depth -type d -path "*/$1" -exec rmdir {} + 2>/dev/null
    [ -n "$(find /sys/fs/cgroup -type d -path "*/$1" 2>/dev/null)" ] || exit 0
    sleep 0.1
done
"#;
