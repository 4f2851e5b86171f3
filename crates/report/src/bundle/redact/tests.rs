//! Tests of redaction.

use super::*;
use tare_record::finding::NodePairFacts;
use tare_record::journal::{FORMAT, RunHeader};
use tare_record::{
    AblationFactor, AgentsCpu, CellPattern, EndCounts, EngineDescription, Environment, Finding,
    HostActivity, HostDevice, Nanos, NetworkFailure, NetworkInspection, NetworkTurn, NodeFacts,
    Parameters, Phase, Plan, Publication, Shape, Trial,
};

/// Returns a plan of two networks with paths, one of them with a label and a variant.
fn plan() -> Plan {
    serde_json::from_value(serde_json::json!({
        "study": "made-up", "seed": 1, "baseline": "exec:/home/me/x.py",
        "networks": [
            { "label": "exec:/home/me/x.py", "network": "exec:/home/me/x.py" },
            { "label": "exec:/home/me/x.py+mtu=9000", "network": "exec:/home/me/x.py+mtu=9000" },
            { "label": "cni:y.conflist+plain", "network": "cni:y.conflist+plain" },
            { "label": "docker:bridge", "network": "docker:bridge" },
        ],
        "ablations": [{
            "label": "exec:/home/me/x.py",
            "variants": [{ "factor": AblationFactor::Mtu, "label": "exec:/home/me/x.py+mtu=9000" }],
        }],
        "stands_for": { "exec:/home/me/x.py": "a program", "docker:bridge": "Docker" },
        "workloads": [], "shapes": [Shape::default()], "margins": {}, "family": "metric",
        "blocks": { "by": "fixed", "blocks": 1 }, "budget": null,
        "skipped": [{
            "network": "cni-published:/home/me/z.conf",
            "reason": "build-box.lan has no /home/me/z.conf",
            "remedy": "use ssh://me@build-box.lan",
        }],
        "refused": ["cni-published:/home/me/z.conf"],
        "findings": [{
            "kind": "workload-skipped", "workload": "fortio",
            "reason": "no program /home/me/fortio", "remedy": "install it on build-box",
        }],
    }))
    .unwrap()
}

fn trial(label: &str) -> Trial {
    Trial {
        block: 0,
        phase: Phase::Main,
        position: 0,
        label: label.to_owned(),
        network: label.to_owned(),
        workload: "tcp-rr".to_owned(),
        shape: Shape::default(),
        parameters: Parameters::new(),
        began: Nanos(0),
        took: Nanos(1),
        series: Vec::new(),
        ends: EndCounts::default(),
        agents: AgentsCpu::default(),
        search: None,
        slices: None,
        hops: Vec::new(),
        findings: Vec::new(),
        meanwhile: HostActivity::default(),
    }
}

fn engine(address: &str, name: &str) -> EngineDescription {
    EngineDescription {
        address: address.to_owned(),
        name: Some(name.to_owned()),
        ..EngineDescription::default()
    }
}

/// Returns a journal with two engines, and with paths in the names of its networks.
fn journal() -> Journal {
    let far = engine("ssh://me@build-box.lan", "build-box");
    let near = EngineDescription {
        engines_asked: vec![far.address.clone()],
        context_asked: Some("lab-of-me".to_owned()),
        parent_asked: Some("enp7s0".to_owned()),
        ..engine("unix:///run/user/1000/docker.sock", "workstation-of-me")
    };
    let command = "run --network exec:/home/me/x.py,cni:y.conflist+plain \
                   --engine=ssh://me@build-box.lan --context lab-of-me";
    let environment = Environment {
        engines: vec![near, far],
        devices: vec![HostDevice { name: "enp7s0".to_owned(), ..HostDevice::default() }],
        command: command.split(' ').map(str::to_owned).collect(),
        ..Environment::default()
    };
    let label = "exec:/home/me/x.py";
    let turn = NetworkTurn {
        block: 0,
        phase: Phase::Main,
        label: label.to_owned(),
        shape: Shape::default(),
        raised: Nanos(1),
        removed: Nanos(1),
        inspection: NetworkInspection::default(),
    };
    let failure = NetworkFailure {
        network: "cni:y.conflist+plain".to_owned(),
        reason: "y.conflist: no connection from workstation-of-me to build-box.lan".to_owned(),
        remedy: "start ssh on me@build-box.lan".to_owned(),
        ..NetworkFailure::default()
    };
    let run = RunHeader { format: FORMAT, plan: plan(), environment, findings: Vec::new() };
    let records =
        vec![Record::Trial(Box::new(trial(label))), Record::Turn(turn), Record::Failure(failure)];
    Journal { run, records }
}

#[test]
fn nodes_of_a_cluster_have_placeholders_that_still_tell_them_apart() {
    let node = |name: &str, zone: &str| NodeFacts {
        name: Some(name.to_owned()),
        zone: Some(zone.to_owned()),
        ..NodeFacts::default()
    };
    let pair = Finding::NodePairFacts(NodePairFacts {
        client: node("rack7.lan", "berlin"),
        server: node("rack8.lan", "berlin"),
    });
    let trial = Trial { findings: vec![pair], ..trial("docker:bridge") };
    let redacted =
        redact(Journal { records: vec![Record::Trial(Box::new(trial))], ..journal() }).unwrap();
    let Record::Trial(trial) = &redacted.records[0] else { panic!("a trial is left") };
    let Finding::NodePairFacts(NodePairFacts { client, server }) = &trial.findings[0] else {
        panic!("it is left")
    };
    assert_ne!(client.name, server.name);
    assert_eq!(client.zone, server.zone);
    let text = serde_json::to_string(&redacted.records).unwrap();
    assert!(!text.contains("rack") && !text.contains("berlin"), "{text}");
}

#[test]
fn engines_and_paths_in_names_are_taken_out() {
    let redacted = redact(journal()).unwrap();
    let header = serde_json::to_string(&redacted.run).unwrap();
    let records = serde_json::to_string(&redacted.records).unwrap();
    for private in
        ["/home", "x.py", "y.conf", "z.conf", "me@", "build-box", "of-me", "enp7s0", "/run"]
    {
        assert!(!header.contains(private), "{private} is in {header}");
        assert!(!records.contains(private), "{private} is in {records}");
    }
}

#[test]
fn a_value_has_one_placeholder_everywhere() {
    let Journal { run, records } = redact(journal()).unwrap();
    let RunHeader { plan, environment, .. } = run;
    let labels: Vec<&str> = plan.networks.iter().map(|entry| entry.label.as_str()).collect();
    assert_eq!(
        labels,
        ["exec:path-0", "exec:path-0+mtu=9000", "cni:path-1+plain", "docker:bridge"]
    );
    assert!(plan.networks.iter().all(|entry| entry.label == entry.network));
    assert_eq!((&*plan.baseline, &*plan.ablations[0].label), (labels[0], labels[0]));
    assert_eq!(plan.ablations[0].variants[0].label, labels[1]);
    assert_eq!(plan.stands_for[labels[0]], "a program");
    assert_eq!(plan.refused, [&*plan.skipped[0].network]);
    assert_eq!(plan.skipped[0].remedy, "use engine-1");
    let [Record::Trial(trial), Record::Turn(turn), Record::Failure(failure)] = &records[..] else {
        panic!("a trial, a turn and a failure")
    };
    assert_eq!([&*trial.label, &*trial.network, &*turn.label], [labels[0]; 3]);
    assert_eq!(failure.network, labels[2]);
    assert_eq!(failure.reason, "path-1: no connection from machine-0 to engine-1");
    let [near, far] = &environment.engines[..] else { panic!("two engines") };
    assert_eq!((&*near.address, near.name.as_deref()), ("engine-0", Some("machine-0")));
    assert_eq!((&*far.address, far.name.as_deref()), ("engine-1", Some("machine-1")));
    assert_eq!(near.engines_asked, [&*far.address]);
    assert_eq!(near.parent_asked.as_deref(), Some(&*environment.devices[0].name));
    assert_eq!(
        environment.command.join(" "),
        "run --network exec:path-0,cni:path-1+plain --engine=engine-1 --context context-0"
    );
}

#[test]
fn labels_of_published_figures_still_match() {
    let mut journal = journal();
    let cell: CellPattern = serde_json::from_value(serde_json::json!({
        "network": "exec:/home/me/x.py", "workload": "tcp-rr", "metric": "transactions",
    }))
    .unwrap();
    let test = serde_json::json!({ "left": cell, "is": "above", "right": cell });
    let publication = serde_json::json!({
        "scale": "as-published", "protocol": [],
        "figures": [{ "table": "1", "cell": cell, "unit": "1/s", "text": "1" }],
        "conclusions": [{ "claim": "faster", "test": [test] }],
    });
    let publication: Publication = serde_json::from_value(publication).unwrap();
    journal.run.plan.publication = Some(publication);
    let text = serde_json::to_string(&redact(journal).unwrap().run.plan.publication).unwrap();
    assert_eq!((text.matches("exec:path-0").count(), text.contains("x.py")), (3, false));
}

#[test]
fn a_text_keeps_what_tare_itself_says() {
    let redaction = Redaction::new(&journal());
    for (text, kept) in [
        ("cannot write /home/me/x: no room", "cannot write redacted: no room"),
        ("--out=/tmp/x", REDACTED),
        ("docker:bridge at 10.1.2.3:80, 7 MB", "docker:bridge at redacted, 7 MB"),
        ("alice's network, enp7s0", "redacted network, device-0"),
        ("cores 0-1/2-3, 10 Gbit/s", "cores 0-1/2-3, 10 Gbit/s"),
        ("  two  blocks ", "  two  blocks "),
        ("", ""),
    ] {
        assert_eq!(redaction.words(text), kept);
    }
    assert_eq!(day("2026-11-21T18:00:00Z"), "2026-11-21T00:00:00Z");
    assert_eq!(day("yesterdayT"), "");
    assert_eq!(image("registry.lan/me/x:1@sha256:0aF"), "image@sha256:0aF");
    assert_eq!(image("registry.lan/me/x@sha256:zz"), REDACTED);
}

#[test]
fn names_have_placeholders_for_their_private_parts() {
    let mut redaction = Redaction::new(&journal());
    for (name, kept) in [
        ("docker:bridge+mtu=9000", "docker:bridge+mtu=9000"),
        ("docker:NETWORK=corporate", "docker:NETWORK=name-0"),
        ("of-alice", "name-1"),
        ("corporate", "name-0"),
    ] {
        assert_eq!(redaction.name(name), kept);
    }
    for (name, kept) in [
        ("enp7s0", "device-0"),
        ("eth0", "eth0"),
        ("wlx00c0ca", "interface-2"),
        ("corporate", "name-0"),
    ] {
        assert_eq!(redaction.device(name), kept);
    }
}

#[test]
fn keys_that_become_the_same_stay_apart() {
    let mut members = Map::new();
    for number in 0..3 {
        insert_unique(&mut members, REDACTED.to_owned(), number.into());
    }
    let names: Vec<&str> = members.keys().map(String::as_str).collect();
    assert_eq!(names, ["redacted", "redacted (2)", "redacted (3)"]);
}

/// Replaces the text at every position by a secret in turn, as far as it can then still be read.
fn with_secret(value: &Value, secret: &str) -> Vec<(String, Value)> {
    let texts = |pointer: &str, node: &Value| -> Vec<String> {
        let mut found = Vec::new();
        collect_texts(pointer, node, &mut found);
        found
    };
    let replaced = |pointer: String| {
        let mut changed = value.clone();
        *changed.pointer_mut(&pointer).unwrap() = secret.into();
        (pointer, changed)
    };
    texts("", value).into_iter().map(replaced).collect()
}

fn collect_texts(pointer: &str, node: &Value, found: &mut Vec<String>) {
    match node {
        Value::String(_) => found.push(pointer.to_owned()),
        Value::Array(list) => {
            for (index, element) in list.iter().enumerate() {
                collect_texts(&format!("{pointer}/{index}"), element, found);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                let name = name.replace('~', "~0").replace('/', "~1");
                collect_texts(&format!("{pointer}/{name}"), member, found);
            }
        }
        _ => {}
    }
}

#[test]
fn a_secret_at_any_position_is_taken_out_unless_a_rule_keeps_it() {
    const SECRET: &str = "zq7.corp-secret";
    let header = serde_json::to_value(Record::Run(Box::new(journal().run))).unwrap();
    let (mut tried, mut kept) = (0, BTreeSet::new());
    for (pointer, changed) in with_secret(&header, SECRET) {
        let Ok(Record::Run(run)) = serde_json::from_value(changed) else { continue };
        tried += 1;
        let redacted = redact(Journal { run: *run, records: Vec::new() }).unwrap();
        if serde_json::to_string(&redacted.run).unwrap().contains(SECRET) {
            kept.insert(pointer);
        }
    }
    assert!(tried > 40, "{tried}");
    let facts = [
        "architecture",
        "binary",
        "clock",
        "congestion_control",
        "cpu",
        "distribution",
        "governor",
        "kernel",
        "tare",
        "virtualisation",
        "engines/0/api",
        "engines/0/cgroups",
        "engines/0/kernel",
        "engines/0/storage",
        "engines/0/system",
        "engines/0/version",
        "engines/1/api",
        "engines/1/cgroups",
        "engines/1/kernel",
        "engines/1/storage",
        "engines/1/system",
        "engines/1/version",
    ];
    let facts: BTreeSet<String> = facts.map(|fact| format!("/environment/{fact}")).into();
    assert_eq!(kept.difference(&facts).collect::<Vec<_>>(), [] as [&String; 0]);
}
