# How tare is built, run and tested. Every step says what it does; nothing uses root's privileges without asking.

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup run build release dist reproducible install check test test-system test-tls setup-engine setup-kubernetes test-kubernetes ci audit soak fuzz mutants coverage bench fidelity book \
	generated tools dist-tools package-tools check-tools run-tools network-tools test-tools system-tools engine-tools kubernetes-tools bench-tools

# Arguments of tare in `make run`.
ARGS ?= run --quick
# Duration of each target of `make fuzz`, s; and its targets, all where none is named.
FUZZ_SECONDS ?= 30
FUZZ_TARGETS ?=
# Parts of `make test-system`: tools, engines, page, packages, vm; all where none is named.
PARTS ?=
# Prefix of `make install`.
PREFIX ?= /usr/local
# End-to-end tests drive this binary.
export TARE_BINARY := $(CURDIR)/target/bin/tare
# Programs of rustup and `cargo install`, of `make setup`, and of scripts/tools.txt.
export PATH := $(PATH):$(HOME)/.cargo/bin:$(CURDIR)/target/tools/bin:$(CURDIR)/target/tools/venv/bin

help: ## show this
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18

setup: network-tools ## the programs of the networks' real systems: packages (asking first), and some built into target/tools/bin
	@echo 'Networks find these programs by the PATH: export PATH="$$PATH:$(CURDIR)/target/tools/bin"'

run: run-tools build ## install what is missing (asking first), build, weigh this machine's networks
	@scripts/run.sh $(ARGS)

build: tools ## the static binary, quick to compile, in target/bin/tare
	@scripts/build.sh fast

release: tools ## the same with all optimisations, which takes minutes, and what it is made of (CycloneDX)
	@scripts/build.sh release
	@cargo xtask bill-of-materials target/bin/tare.cdx.json

dist: dist-tools ## packages for x86-64 and aarch64: tar.gz, deb, rpm, wheel, image, krew, checksums; in target/dist
	@cargo xtask dist

reproducible: dist-tools ## the packages of this commit, built in two directories: the same bytes
	@scripts/reproducible.sh

install: release ## the binary, manual pages and completions, below PREFIX
	@cargo xtask install "$(DESTDIR)$(PREFIX)"

check: check-tools ## format, lints, imports, documentation with its links, dependencies' licences, sources and known vulnerabilities
	@scripts/components.sh
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --profile fast --locked -- -D warnings
	RUSTDOCFLAGS=-Dwarnings cargo doc --workspace --no-deps --profile fast --locked
	cargo xtask messages --check
	cargo test --quiet --package xtask --profile fast --locked house::
	cargo xtask links
	cargo xtask book
	cargo pack-crates
	cargo deny --locked check bans licenses sources
	cargo deny --locked --manifest-path fuzz/Cargo.toml check bans licenses sources
	cargo xtask advisories

test: test-tools build ## unit, property, simulation, lab and end-to-end tests: for root or an ordinary user
	cargo xtask test

test-system: system-tools package-tools build ## engines, Swarm, databases, foreign tools, the page in Chromium, packages, the virtual machine (PARTS=engines,vm)
	cargo xtask test-system $(if $(PARTS),--only $(PARTS))

ci: test-tools build ## the parts of test-system that this change can break
	cargo xtask ci

test-tls: test-tools ## Docker Engines behind TLS, which the default build does not have
	@scripts/packages.sh openssl:openssl
	@scripts/docker.sh
	cargo xtask test-tls

setup-engine: tools engine-tools ## the programs of Docker Engine 29, built from their modules: some minutes, once
	cargo xtask engine-programs

setup-kubernetes: test-tools kubernetes-tools ## the programs of a test cluster, built from their modules: ten minutes, once
	cargo xtask cluster-programs

test-kubernetes: test-tools kubernetes-tools build ## a Kubernetes cluster on simulated machines, for root
	cargo xtask test-kubernetes

soak: system-tools release ## the long controls: null comparisons and planted differences
	cargo nextest run --locked --package tare-tests --run-ignored all --ignore-default-filter --no-capture -E 'binary(=soak) & not test(/^fidelity::/)'

fidelity: system-tools release ## the lab beside a real Docker Engine and Swarm: ratios with intervals, to docs/FIDELITY.md
	cargo nextest run --locked --package tare-tests --run-ignored only --ignore-default-filter --no-capture -E 'binary(=soak) & test(/^fidelity::/)'

mutants: test-tools build ## deliberate defects, which tests must notice: tests/MUTANTS.md
	cargo xtask mutants

coverage: test-tools build ## lines that no unit, property or lab test runs: target/coverage
	@scripts/components.sh llvm-tools
	@# Some tests kill processes, which leave profiles that nothing can read: the others are merged.
	cargo llvm-cov nextest --workspace --locked --cargo-profile fast --no-fail-fast --failure-mode all --html --output-dir target/coverage
	cargo llvm-cov report --profile fast --failure-mode all --summary-only

fuzz: check-tools ## arbitrary bytes for everything that reads what others say (FUZZ_SECONDS=30 FUZZ_TARGETS='journal ..')
	@scripts/packages.sh c++:g++
	cargo xtask fuzz $(FUZZ_SECONDS) $(FUZZ_TARGETS)

bench: bench-tools release ## tare beside its peers: ratios with intervals, to bench/RESULTS.md (BENCH_QUICK=1, BENCH_ROWS=..)
	cargo run --release --locked --package tare-bench

audit: check-tools ## known vulnerabilities of dependencies
	cargo deny --locked check advisories
	cargo deny --locked --manifest-path fuzz/Cargo.toml check advisories

book: check-tools ## the documentation as a book with search, in target/book; its links are followed
	cargo xtask book

generated: build ## schemas and tables that are made from the program itself
	cargo xtask generated

tools:
	@scripts/packages.sh cc:gcc,libc6-dev
	@scripts/toolchain.sh

# With an emulator for each of the two architectures that this machine is not.
dist-tools: tools
	@scripts/packages.sh dpkg-deb:dpkg rpmbuild:rpm tar:tar gzip:gzip xz:xz-utils git:git qemu-aarch64:qemu-user qemu-x86_64:qemu-user \
		aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu x86_64-linux-gnu-gcc:gcc-x86-64-linux-gnu
	@scripts/targets.sh x86_64-unknown-linux-musl aarch64-unknown-linux-musl

check-tools: tools
	@scripts/preflight.sh
	@scripts/tools.sh

run-tools:
	@scripts/packages.sh nft:nftables

network-tools: tools
	@scripts/packages.sh nft:nftables ip:iproute2 wg:wireguard-tools bird:bird2 \
		swanctl:strongswan-swanctl charon-systemd:charon-systemd,libcharon-extra-plugins,libstrongswan-standard-plugins \
		ovs-vswitchd:openvswitch-switch iptables:iptables etcd:etcd-server etcdctl:etcd-client \
		/usr/lib/cni/bridge:containernetworking-plugins pcap-config:libpcap-dev curl:curl \
		pasta:passt slirp4netns:slirp4netns rootlesskit:rootlesskit
	@cargo xtask programs

test-tools: check-tools network-tools
	@scripts/packages.sh ping:iputils-ping ps:procps setpriv:util-linux perl:perl-base ethtool:ethtool python3:python3

system-tools: test-tools engine-tools
	@scripts/packages.sh mariadbd:mariadb-server sysbench:sysbench pgbench:postgresql \
		redis-server:redis wrk:wrk iperf3:iperf3 iperf:iperf sockperf:sockperf qperf:qperf \
		chromium:chromium tar:tar sha256sum:coreutils podman:podman,crun,netavark,aardvark-dns newuidmap:uidmap \
		debootstrap:debootstrap
	@scripts/docker.sh

# What the runtime of Docker Engine 29 is compiled with.
engine-tools:
	@scripts/packages.sh cc:gcc,libc6-dev pkg-config:pkg-config /usr/include/seccomp.h:libseccomp-dev

kubernetes-tools:
	@scripts/packages.sh containerd:containerd runc:runc iptables:iptables nft:nftables conntrack:conntrack \
		ipset:ipset openssl:openssl strip:binutils unshare:util-linux /usr/lib/cni/ptp:containernetworking-plugins

# Clean systems, in which packages are installed.
package-tools: dist-tools
	@scripts/packages.sh debootstrap:debootstrap

bench-tools: system-tools
	@scripts/packages.sh nuttcp:nuttcp taskset:util-linux
