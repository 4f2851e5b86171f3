# How tare is built, run and tested. Every step says what it does; nothing uses root's privileges without asking.

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help run build install check test test-vm audit soak vm bench book generated tools run-tools test-tools bench-tools

# What `make run` hands to tare.
ARGS ?= run --quick
# What is tested in the virtual machine, in this order: that nothing loads a module comes first.
IN_VM := modules networks lab:tags_tables lab:open_vswitch lab:sigkill_leaves_no_daemon
# Where `make install` puts things.
PREFIX ?= /usr/local
# End-to-end tests drive the binary that is shipped.
export TARE_BINARY := $(CURDIR)/target/bin/tare
# Where rustup and `cargo install` put programs, for a shell that does not know yet.
export PATH := $(PATH):$(HOME)/.cargo/bin

help: ## show this
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18

run: run-tools build ## install what is missing (asking first), build, weigh this machine's networks
	@scripts/run.sh $(ARGS)

build: tools ## the static release binary, in target/bin/tare
	@scripts/build.sh

install: build ## the binary, manual pages and completions, below PREFIX
	@scripts/install.sh "$(DESTDIR)$(PREFIX)"

check: tools ## format, lints, documentation and its links, dependencies' licences and sources
	@scripts/components.sh
	scripts/links.sh
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS=-Dwarnings cargo doc --workspace --no-deps --locked
	scripts/deny.sh check bans licenses sources

test: test-tools build ## everything else that must hold; the last part in a virtual machine
	cargo test --workspace --locked --no-fail-fast
	scripts/vm-test.sh $(IN_VM)

audit: tools ## known vulnerabilities of dependencies
	scripts/deny.sh check advisories

soak: test-tools build ## the long controls: null comparisons and planted differences
	cargo test --workspace --locked -- --ignored --nocapture --skip unless_the_user_says_so --skip cannot_carry_runs_here

test-vm: test-tools build ## what only a kernel with all modules can show, in a virtual machine; a part of test
	scripts/vm-test.sh $(IN_VM)

vm: test-vm

bench: bench-tools build ## tare beside its peers: ratios with intervals, to bench/RESULTS.md (BENCH_QUICK=1, BENCH_ROWS=..)
	cargo run --release --locked --package tare-bench

book: ## the user's guide as a book, in target/book
	@scripts/book.sh

generated: build ## schemas and tables that are made from the program itself
	@scripts/generated.sh

tools:
	@scripts/packages.sh cc:gcc,libc6-dev
	@scripts/toolchain.sh

run-tools:
	@scripts/packages.sh nft:nftables

test-tools:
	@scripts/packages.sh nft:nftables ip:iproute2 wg:wireguard-tools bird:bird2 \
		swanctl:strongswan-swanctl charon-systemd:charon-systemd,libcharon-extra-plugins,libstrongswan-standard-plugins \
		ping:iputils-ping ps:procps setpriv:util-linux perl:perl-base \
		ovs-vswitchd:openvswitch-switch ethtool:ethtool iptables:iptables python3:python3 \
		/usr/lib/cni/bridge:containernetworking-plugins \
		mariadbd:mariadb-server sysbench:sysbench pgbench:postgresql redis-server:redis wrk:wrk \
		iperf3:iperf3 iperf:iperf sockperf:sockperf qperf:qperf
	@scripts/packages.sh chromium:chromium tar:tar sha256sum:coreutils
	@scripts/docker.sh

bench-tools: test-tools
	@scripts/packages.sh nuttcp:nuttcp taskset:util-linux
