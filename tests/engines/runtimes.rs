//! Other OCI runtimes of a Docker Engine, by `+runtime=NAME`.

use std::fs;
use support::engine::Engine;
use support::engine::runtime::runtime_flag;
use support::shared::SharedResource as _;
use support::{ScratchDirectory, hops, list, short_run, text};

/// Leaves only one version of cgroups: crun refuses a mixture.
const ONE_CGROUP_VERSION: &str = "umount /sys/fs/cgroup/unified 2>/dev/null || :";

#[test]
fn a_container_is_started_by_the_runtime_that_is_asked_for() {
    let scratch = ScratchDirectory::new();
    let trace = scratch.path("started");
    let command =
        format!("/usr/bin/env sh -c 'echo crun >>{} && exec crun \"$@\"' crun", trace.display());
    let flag = runtime_flag(&scratch, "traced-crun", &command);
    let engine = Engine::prepared(ONE_CGROUP_VERSION, &[&flag]);
    let before = engine.inventory();
    let started = || fs::read_to_string(&trace).unwrap_or_default().lines().count();
    engine.run_once("docker:bridge", &[]);
    assert_eq!(started(), 0, "the engine's own runtime starts what asks for none");
    let name = "docker:bridge+runtime=traced-crun";
    let document = engine.run_once(name, &[]);
    assert!(started() > 0);
    let path = ["client-0:eth0", "node-0:docker0", "server-0:eth0"];
    let mut hops = hops(&document, name);
    hops.retain(|hop| !hop.contains("conntrack") && !hop.contains("filter/"));
    assert_eq!(hops, path);
    assert_eq!(engine.inventory(), before);
    let asked = ["--network", "docker:bridge+runtime=nobodys", "--json"];
    let refused = engine.tare().run(&short_run(&asked)).expect(1).json();
    let skipped = &list(&refused, "skipped")[0];
    assert!(text(skipped, "reason").contains("knows no runtime nobodys"), "{skipped}");
    assert!(text(skipped, "remedy").contains("--add-runtime"), "{skipped}");
}
