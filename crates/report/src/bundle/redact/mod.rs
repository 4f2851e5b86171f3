//! Redaction of a journal: removes everything that distinguishes one machine from others of its kind.

use super::placeholders::Placeholders;
use tare_record::journal::{Journal, Record, RunHeader};
use tare_record::{
    Ablation, EngineDescription, Environment, Finding, HostDevice, Plan, Publication,
};

/// Text that replaces a removed path or name.
const REDACTED: &str = "redacted";

/// Removes from a journal everything that distinguishes this machine, its owner or its location: the names of its
/// devices, the addresses and names of its engines, the builder of its kernel and the build time, the time of day, and
/// every path, also in the names of networks. Everything that affects a figure stays, and so does every figure.
#[must_use]
pub fn redact(mut journal: Journal) -> Journal {
    let redaction = Redaction { placeholders: Placeholders::new(&journal.run) };
    redaction.header(&mut journal.run);
    for record in &mut journal.records {
        redaction.record(record);
    }
    journal
}

/// Redaction with the placeholders of one journal.
struct Redaction {
    placeholders: Placeholders,
}

impl Redaction {
    /// Redacts the name or the label of a network.
    fn name(&self, name: &mut String) {
        *name = self.placeholders.replace_in_name(name);
    }

    /// Redacts a text for people.
    fn text(&self, text: &mut String) {
        *text = without_paths(&self.placeholders.replace_in_text(text));
    }

    fn header(&self, run: &mut RunHeader) {
        self.environment(&mut run.environment);
        self.plan(&mut run.plan);
        run.findings.iter_mut().for_each(|finding| self.finding(finding));
    }

    fn record(&self, record: &mut Record) {
        match record {
            Record::Trial(trial) => {
                self.name(&mut trial.label);
                self.name(&mut trial.network);
                trial.findings.iter_mut().for_each(|finding| self.finding(finding));
            }
            Record::Turn(turn) => self.name(&mut turn.label),
            Record::Failure(failure) => {
                self.name(&mut failure.network);
                self.text(&mut failure.reason);
                self.text(&mut failure.remedy);
            }
            Record::InterimAnalysis(analysis) => {
                analysis.decided.iter_mut().for_each(|decided| self.name(&mut decided.network));
            }
            Record::Resumed(resumed) => resumed.time = day(&resumed.time),
            Record::Run(_) | Record::Sizing(_) | Record::End(_) => {}
        }
    }

    fn plan(&self, plan: &mut Plan) {
        network_names(plan).into_iter().for_each(|name| self.name(name));
        plan.stands_for = std::mem::take(&mut plan.stands_for)
            .into_iter()
            .map(|(network, system)| (self.placeholders.replace_in_name(&network), system))
            .collect();
        for skipped in &mut plan.skipped {
            self.text(&mut skipped.reason);
            self.text(&mut skipped.remedy);
        }
        plan.findings.iter_mut().for_each(|finding| self.finding(finding));
    }

    fn finding(&self, finding: &mut Finding) {
        match finding {
            Finding::WorkloadSkipped { reason, remedy, .. } => {
                self.text(reason);
                self.text(remedy);
            }
            Finding::StandIn { reason, .. } | Finding::NotPinned { reason } => self.text(reason),
            Finding::Scaled { changes } => changes.iter_mut().for_each(|text| self.text(text)),
            _ => {}
        }
    }

    fn environment(&self, environment: &mut Environment) {
        environment.kernel_build = REDACTED.to_owned();
        environment.time = day(&environment.time);
        for engine in &mut environment.engines {
            self.engine(engine, &environment.devices);
        }
        for (at, device) in environment.devices.iter_mut().enumerate() {
            device.name = device_placeholder(at);
        }
        environment.command.iter_mut().for_each(|word| self.text(word));
        environment.programs.values_mut().for_each(|version| self.text(version));
    }

    fn engine(&self, engine: &mut EngineDescription, devices: &[HostDevice]) {
        let described = std::iter::once(&mut engine.address)
            .chain(&mut engine.name)
            .chain(&mut engine.engines_asked)
            .chain(&mut engine.context_asked);
        for value in described {
            *value = self.placeholders.engine(value);
        }
        if let Some(parent) = &mut engine.parent_asked {
            let known = devices.iter().position(|device| device.name == *parent);
            *parent = known.map_or_else(|| REDACTED.to_owned(), device_placeholder);
        }
    }
}

fn device_placeholder(index: usize) -> String {
    format!("device-{index}")
}

/// Returns all names and labels of networks in a plan, except the keys of `stands_for`.
fn network_names(plan: &mut Plan) -> Vec<&mut String> {
    let entries = plan.networks.iter_mut().flat_map(|entry| [&mut entry.label, &mut entry.network]);
    let skipped = plan.skipped.iter_mut().map(|skipped| &mut skipped.network);
    std::iter::once(&mut plan.baseline)
        .chain(entries)
        .chain(plan.ablations.iter_mut().flat_map(ablation_labels))
        .chain(skipped)
        .chain(&mut plan.refused)
        .chain(plan.publication.iter_mut().flat_map(published_labels))
        .collect()
}

fn ablation_labels(ablation: &mut Ablation) -> impl Iterator<Item = &mut String> {
    let variants = ablation.variants.iter_mut().map(|variant| &mut variant.label);
    std::iter::once(&mut ablation.label).chain(variants)
}

/// Returns the labels of networks in published figures and conclusions.
fn published_labels(publication: &mut Publication) -> impl Iterator<Item = &mut String> {
    let figures = publication.figures.iter_mut().map(|figure| &mut figure.cell);
    let tests = publication.conclusions.iter_mut().flat_map(|conclusion| &mut conclusion.tests);
    let tested = tests.flat_map(|test| std::iter::once(&mut test.left).chain(&mut test.right));
    figures.chain(tested).map(|cell| &mut cell.network)
}

/// Returns midnight of the day of an RFC 3339 time.
fn day(time: &str) -> String {
    time.split('T').next().map_or_else(String::new, |day| format!("{day}T00:00:00Z"))
}

/// Replaces every word that is a path, or that contains one after a sign such as `=` or a quote.
fn without_paths(text: &str) -> String {
    let is_path = |word: &str| word.split(['=', '\'', '"', '(', '`', ':']).any(starts_like_a_path);
    let words = text.split(' ').map(|word| if is_path(word) { REDACTED } else { word });
    words.collect::<Vec<_>>().join(" ")
}

fn starts_like_a_path(part: &str) -> bool {
    let file = part.contains('/') && !part.contains("//");
    part.starts_with(['/', '~']) && part.len() > 1
        || part.starts_with("./")
        || part.starts_with("../")
        || file && part.ends_with(".toml")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_record::journal::{FORMAT, RunHeader};
    use tare_record::{
        AblationFactor, AgentsCpu, CellPattern, EndCounts, HostActivity, Nanos, NetworkFailure,
        NetworkTurn, Parameters, Phase, Shape, Trial,
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
                "remedy": "ask ssh://me@build-box.lan",
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
        };
        let failure = NetworkFailure {
            network: "cni:y.conflist+plain".to_owned(),
            reason: "y.conflist: no connection from workstation-of-me to build-box.lan".to_owned(),
            remedy: "start ssh on me@build-box.lan".to_owned(),
            ..NetworkFailure::default()
        };
        let run = RunHeader { format: FORMAT, plan: plan(), environment, findings: Vec::new() };
        let records = vec![
            Record::Trial(Box::new(trial(label))),
            Record::Turn(turn),
            Record::Failure(failure),
        ];
        Journal { run, records }
    }

    #[test]
    fn engines_and_paths_in_names_are_taken_out() {
        let redacted = redact(journal());
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
        let Journal { run, records } = redact(journal());
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
        assert_eq!(plan.skipped[0].remedy, "ask engine-1");
        let [Record::Trial(trial), Record::Turn(turn), Record::Failure(failure)] = &records[..]
        else {
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
        let text = serde_json::to_string(&redact(journal).run.plan.publication).unwrap();
        assert_eq!((text.matches("exec:path-0").count(), text.contains("x.py")), (3, false));
    }

    #[test]
    fn paths_are_taken_out_and_shares_are_not() {
        assert_eq!(without_paths("write /home/me/x: no room"), "write redacted no room");
        assert_eq!(without_paths("--out=/tmp/x"), REDACTED);
        assert_eq!(without_paths("studies/mine.toml"), REDACTED);
        for kept in ["CLIENT/SERVER", "0-1/2-3", "10 Gbit/s", "rmem_max/wmem_max", "a, b"] {
            assert_eq!(without_paths(kept), kept);
        }
        assert_eq!(day("2026-11-21T18:00:00Z"), "2026-11-21T00:00:00Z");
    }
}
