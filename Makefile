# How tare is built, run and tested. Every step says what it does; nothing uses root's privileges without asking.

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup run build install check test test-tls test-vm audit soak fuzz vm bench fidelity book generated tools run-tools network-tools test-tools bench-tools

# What `make run` hands to tare.
ARGS ?= run --quick
# What is tested in the virtual machine, in this order: that nothing loads a module comes first.
IN_VM := modules networks lab:of_other_kernels lab:open_vswitch lab:weave_is lab:sigkill_leaves_no_daemon
# What only `make test-vm` has besides, for it takes many minutes: whole studies, and, in a machine whose clock is patient, engines.
STUDIES_IN_VM := studies_vm
ENGINES_IN_VM := docker_vm swarm_vm
# How long `make fuzz` feeds each of its targets, s; and which, all where none is named.
FUZZ_SECONDS ?= 30
FUZZ_TARGETS ?=
# Where `make install` puts things.
PREFIX ?= /usr/local
# End-to-end tests drive the binary that is shipped.
export TARE_BINARY := $(CURDIR)/target/bin/tare
# Where rustup and `cargo install` put programs, for a shell that does not know yet; and where `make setup` does.
export PATH := $(PATH):$(HOME)/.cargo/bin:$(CURDIR)/target/tools/bin

help: ## show this
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18

setup: network-tools ## the programs of the networks' real systems: packages (asking first), and some built into target/tools/bin
	@echo 'Networks find these programs by the PATH: export PATH="$$PATH:$(CURDIR)/target/tools/bin"'

run: run-tools build ## install what is missing (asking first), build, weigh this machine's networks
	@scripts/run.sh $(ARGS)

build: tools ## the static release binary, in target/bin/tare
	@scripts/build.sh

install: build ## the binary, manual pages and completions, below PREFIX
	@scripts/install.sh "$(DESTDIR)$(PREFIX)"

check: tools ## format, lints, documentation with its links and its book, dependencies' licences and sources
	@scripts/components.sh
	scripts/links.sh
	scripts/book.sh
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo clippy --package tare --package tare-report --features tare/parquet --all-targets --locked -- -D warnings
	RUSTDOCFLAGS=-Dwarnings cargo doc --workspace --no-deps --locked
	scripts/deny.sh check bans licenses sources

test: test-tools build ## everything else that must hold; the last part in a virtual machine
	cargo test --workspace --locked --no-fail-fast
	cargo test --package tare-report --features parquet --locked --test report
	scripts/vm-test.sh $(IN_VM)

audit: tools ## known vulnerabilities of dependencies
	scripts/deny.sh check advisories

soak: test-tools build ## the long controls: null comparisons and planted differences
	cargo test --workspace --locked -- --ignored --nocapture --skip unless_the_user_says_so --skip cannot_carry_runs_here \
		--skip which_make_fidelity_writes

test-tls: test-tools ## Docker Engines behind TLS, which the default build does not have
	@scripts/packages.sh openssl:openssl
	env -u TARE_BINARY RUSTFLAGS='-C target-feature=+crt-static' cargo test --package tare --features docker-tls --locked \
		--target "$$(rustc -vV | sed -n 's/^host: //p')" --test docker_tls

fuzz: tools ## arbitrary bytes for everything that reads what others say (FUZZ_SECONDS=30 FUZZ_TARGETS='journal ..')
	@scripts/packages.sh c++:g++
	@scripts/fuzz.sh $(FUZZ_SECONDS) $(FUZZ_TARGETS)

test-vm: test-tools build ## what only a kernel with all modules can show, in a virtual machine; most of it is a part of test
	scripts/vm-test.sh $(IN_VM) $(STUDIES_IN_VM)
	scripts/vm-test.sh $(ENGINES_IN_VM)

vm: test-vm

bench: bench-tools build ## tare beside its peers: ratios with intervals, to bench/RESULTS.md (BENCH_QUICK=1, BENCH_ROWS=..)
	cargo run --release --locked --package tare-bench

fidelity: test-tools build ## the lab beside a real Docker Engine and Swarm: ratios with intervals, to docs/FIDELITY.md
	cargo test --package tare --locked --test fidelity -- --ignored --nocapture

book: tools ## the user's guide as a book, in target/book
	@scripts/book.sh

generated: build ## schemas and tables that are made from the program itself
	@scripts/generated.sh

tools:
	@scripts/packages.sh cc:gcc,libc6-dev
	@scripts/toolchain.sh

run-tools:
	@scripts/packages.sh nft:nftables

network-tools: tools
	@scripts/packages.sh nft:nftables ip:iproute2 wg:wireguard-tools bird:bird2 \
		swanctl:strongswan-swanctl charon-systemd:charon-systemd,libcharon-extra-plugins,libstrongswan-standard-plugins \
		ovs-vswitchd:openvswitch-switch iptables:iptables etcd:etcd-server etcdctl:etcd-client \
		/usr/lib/cni/bridge:containernetworking-plugins pcap-config:libpcap-dev curl:curl
	@scripts/programs.sh

test-tools: network-tools
	@scripts/packages.sh ping:iputils-ping ps:procps setpriv:util-linux perl:perl-base \
		ethtool:ethtool python3:python3 mariadbd:mariadb-server sysbench:sysbench pgbench:postgresql \
		redis-server:redis wrk:wrk iperf3:iperf3 iperf:iperf sockperf:sockperf qperf:qperf
	@scripts/packages.sh chromium:chromium tar:tar sha256sum:coreutils
	@scripts/docker.sh

bench-tools: test-tools
	@scripts/packages.sh nuttcp:nuttcp taskset:util-linux
