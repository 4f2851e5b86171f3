#!/usr/bin/env python3
"""A network for `tare run --network host,exec:examples/exec/bridge.py`: containers on a Linux bridge.

tare runs it on the node with `up`, `down` or `commands`, and an order as JSON on standard input; docs/EXEC.md says
what is in it, and what is to be answered. Put your own switch, your own tunnel or your own patchset's device where
this one has a bridge.
"""

import json
import subprocess
import sys

BRIDGE = "example0"


def containers(order):
    """Each container with its port on the bridge and its address."""
    both = order["servers"] + order["clients"]
    for number, container in enumerate(both, start=1):
        address = f"10.77.0.{number}" if order["family"] == "ipv4" else f"fd00:77::{number:x}"
        yield container["name"], f"port{number}", address


def commands(order):
    """What raises the network, as commands of ip(8)."""
    node, mtu = order["nodes"][0]["name"], order["mtu"]
    prefix = 24 if order["family"] == "ipv4" else "64 nodad"
    yield f"ip -n {node} link add {BRIDGE} mtu {mtu} up type bridge"
    for name, port, address in containers(order):
        address, _, flag = f"{address}/{prefix}".partition(" ")
        yield f"ip -n {node} link add {port} mtu {mtu} type veth peer name eth0 mtu {mtu} netns {name}"
        yield f"ip -n {node} link set {port} master {BRIDGE} up"
        yield f"ip -n {name} address add {address} dev eth0 {flag}".rstrip()
        yield f"ip -n {name} link set eth0 up"


def up(order):
    """Raises the network, and answers where everybody is."""
    for command in commands(order):
        subprocess.run(command.split(), check=True)
    addresses = [{"address": address} for _, _, address in containers(order)]
    servers = len(order["servers"])
    # From the first client to its server, in the order in which a packet passes them.
    path = [
        ("veth", "eth0", "client-0"),
        ("veth", f"port{servers + 1}", "node-0"),
        ("bridge", BRIDGE, "node-0"),
        ("veth", "port1", "node-0"),
        ("veth", "eth0", "server-0"),
    ]
    hops = [{"kind": kind, "name": name, "place": place} for kind, name, place in path]
    answer = {"servers": addresses[:servers], "clients": addresses[servers:], "hops": hops}
    # Whatever is in `state` comes back in the order for `down`.
    print(json.dumps({**answer, "state": {"bridge": BRIDGE}}))


def down(order):
    """Removes it. What is only in the namespaces would go with them anyway."""
    # After an `up` that failed there is no state.
    if order["state"]:
        node = order["nodes"][0]["name"]
        subprocess.run(["ip", "-n", node, "link", "delete", order["state"]["bridge"]], check=True)


def main():
    order = json.load(sys.stdin)
    if order["version"] != 1:
        sys.exit(f"the order is of version {order['version']}, and 1 is understood")
    match sys.argv[1:]:
        case ["up"]:
            up(order)
        case ["down"]:
            down(order)
        case ["commands"]:
            print("\n".join(commands(order)))
        case _:
            sys.exit("usage: bridge.py up|down|commands")


if __name__ == "__main__":
    main()
