//! Expansion of a study into a plan. Everything is validated here, before anything is touched.

mod block_policy;

use crate::ablate::ablate;
use crate::expand::block_policy::{RunManner, apply_stopping_rule, block_policy};
use crate::network_selection::{NetworkSelection, choose_baseline, select_networks};
use crate::published::build_publication;
use crate::sections::{ExpandedStudy, expand_sections};
use crate::shapes::{check_not_empty, expand_shapes};
use crate::spec::StudyMethod;
use crate::weave::weave;
use crate::{Catalogue, Error, Study};
use std::collections::BTreeMap;
use tare_record::finding::ScaledStudy;
use tare_record::{Finding, Metric, NetworkEntry, Plan, ProtocolScale, check_study_name};

impl Study {
    /// Validates and expands the study. `seed` is used if the study has no seed.
    ///
    /// # Errors
    /// Returns the first error of the study, in one line.
    pub fn plan(mut self, catalogue: &dyn Catalogue, seed: u64) -> Result<Plan, Error> {
        let name = self.name.take().unwrap_or_else(|| "unnamed".to_owned());
        check_study_name(&name)?;
        check_not_empty("metrics", self.metrics.as_deref())?;
        let RequestedMetrics { raising, of_traffic } = split_metrics(self.metrics.take());
        self.metrics = of_traffic;
        let without = self.shape.without.iter().flatten().copied().collect();
        let all = ["all".to_owned()];
        let networks = self.networks.as_deref().unwrap_or(&all);
        // If a study has sections, each has its own shapes.
        let shapes_of_all =
            if self.runs.is_empty() { expand_shapes(&self.shape)? } else { Vec::new() };
        let mut chosen =
            select_networks(networks, self.named_by, &shapes_of_all, without, catalogue)?;
        let ablations = match &self.ablate {
            Some(_) if !self.runs.is_empty() => return Err(Error::AblateSections),
            Some(factors) => ablate(&mut chosen, factors, &shapes_of_all, catalogue)?,
            None => Vec::new(),
        };
        let baseline = choose_baseline(self.baseline.as_deref(), &chosen.entries, &chosen.absent)?;
        let ExpandedStudy { workloads, shapes, parts, misfits } =
            expand_sections(&self, &chosen, catalogue)?;
        let publication = build_publication(&self, catalogue);
        let NetworkSelection { entries, mut skipped, mut refused, .. } = chosen;
        skipped.extend(misfits);
        let blocks = block_policy(&self.method, entries.len())?;
        let mut findings = workloads.findings;
        let is_scaled = self.scale == ProtocolScale::Scaled;
        if is_scaled {
            findings.push(Finding::ScaledStudy(ScaledStudy { changes: self.changes }));
        }
        refused.extend(workloads.refused);
        let mut plan = Plan {
            study: name,
            seed: self.method.seed.unwrap_or(seed),
            stands_for: stands_for(&entries, catalogue),
            networks: entries,
            ablations,
            baseline,
            workloads: workloads.plans,
            raising,
            shapes,
            margins: margins(&self.method),
            family: self.method.family.unwrap_or_default(),
            blocks,
            budget: self.method.budget.map(|span| span.0),
            skipped,
            refused,
            parts,
            findings,
            default_congestion: None,
            publication,
        };
        let is_woven = weave(&mut plan, catalogue);
        apply_stopping_rule(&mut plan, &self.method, RunManner { is_woven, is_scaled });
        Ok(plan)
    }
}

/// Returns the real system that each network stands for, by network name.
fn stands_for(entries: &[NetworkEntry], catalogue: &dyn Catalogue) -> BTreeMap<String, String> {
    let of = |entry: &NetworkEntry| {
        let spelled = entry.network.parse().ok()?;
        Some((entry.network.clone(), catalogue.stands_for(&spelled)?))
    };
    entries.iter().filter_map(of).collect()
}

/// Requested metrics: those of networks themselves, and those that workloads measure; `None` for all of the latter.
struct RequestedMetrics {
    raising: Vec<Metric>,
    of_traffic: Option<Vec<Metric>>,
}

fn split_metrics(metrics: Option<Vec<Metric>>) -> RequestedMetrics {
    match metrics {
        None => RequestedMetrics {
            raising: Metric::ALL
                .into_iter()
                .filter(|metric| metric.is_network_duration())
                .collect(),
            of_traffic: None,
        },
        Some(metrics) => {
            let (raising, of_traffic) =
                metrics.into_iter().partition(|metric| metric.is_of_network());
            RequestedMetrics { raising, of_traffic: Some(of_traffic) }
        }
    }
}

fn margins(method: &StudyMethod) -> BTreeMap<Metric, f64> {
    Metric::ALL
        .into_iter()
        .map(|metric| {
            let margin =
                method.margins.get(&metric).map_or(metric.default_margin(), |given| given.0);
            (metric, margin)
        })
        .collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::ops::RangeInclusive;
    use tare_network::{FindError, NetworkOption, NetworkSpec, UnmetRequirement};
    use tare_record::{AblationFactor, BlockPolicy, Parameters};

    /// Catalogue of three networks, one of which cannot run, and two workloads.
    struct FewNetworks;

    impl Catalogue for FewNetworks {
        fn networks(&self) -> Vec<String> {
            ["host", "bridge", "ovs"].map(str::to_owned).to_vec()
        }

        fn missing_for_network(
            &self,
            network: &NetworkSpec,
        ) -> Result<Option<UnmetRequirement>, FindError> {
            let takes: &[NetworkOption] = match network.name.as_str() {
                "host" => &[NetworkOption::Without],
                _ => &[
                    NetworkOption::Plain,
                    NetworkOption::Without,
                    NetworkOption::Untracked,
                    NetworkOption::Mtu,
                    NetworkOption::Rate,
                ],
            };
            if let Some(refused) = network.options.chosen().find(|one| !takes.contains(one)) {
                let (spelled, takes) = (network.to_string(), "less".to_owned());
                return Err(FindError::UnsupportedOption { spelled, name: "few", refused, takes });
            }
            match network.name.as_str() {
                "host" | "bridge" => Ok(None),
                "ovs" => {
                    Ok(Some(UnmetRequirement { reason: "no ovs".into(), remedy: "get it".into() }))
                }
                name => {
                    let known = self.networks();
                    Err(FindError::unknown_name(name, known.iter().map(String::as_str)))
                }
            }
        }

        fn nodes(&self, network: &NetworkSpec) -> Result<RangeInclusive<u32>, FindError> {
            Ok(if network.name == "host" { 1..=32 } else { 1..=1 })
        }

        fn workloads(&self) -> Vec<String> {
            ["tcp-stream", "tcp-rr"].map(str::to_owned).to_vec()
        }

        fn metrics(&self, workload: &str) -> Option<Vec<Metric>> {
            match workload {
                "tcp-stream" => Some(vec![Metric::Throughput]),
                "tcp-rr" => Some(vec![Metric::Transactions, Metric::LatencyP50]),
                _ => None,
            }
        }

        fn resolve(&self, _: &str, asked: &Parameters) -> Result<Parameters, String> {
            match asked.get("size").and_then(serde_json::Value::as_u64) {
                Some(0) => Err("tcp-rr: size is 0".to_owned()),
                _ => Ok(asked.clone()),
            }
        }
    }

    pub(crate) fn plan(text: &str) -> Result<Plan, Error> {
        Study::parse(text, "test").and_then(|study| study.plan(&FewNetworks, 7))
    }

    /// Returns a plan over n networks, for tests of what follows from a plan.
    pub(crate) fn plan_of(n: usize) -> Plan {
        let mut plan = plan("").unwrap();
        plan.networks = (0..n)
            .map(|i| NetworkEntry { label: format!("n{i}"), network: format!("n{i}") })
            .collect();
        plan
    }

    #[test]
    fn nothing_said_is_all_that_runs_here() {
        let plan = plan("").unwrap();
        let labels: Vec<_> = plan.networks.iter().map(|entry| entry.label.as_str()).collect();
        assert_eq!(labels, ["host", "bridge"]);
        assert_eq!(plan.baseline, "host");
        assert_eq!(plan.skipped[0].network, "ovs");
        assert!(plan.refused.is_empty());
        assert_eq!(plan.workloads.len(), 2);
        assert_eq!(plan.seed, 7);
    }

    #[test]
    fn a_network_named_outright_that_cannot_run_is_refused() {
        let planned = plan("networks = [\"host\", \"ovs\"]").unwrap();
        assert_eq!(planned.refused, ["ovs"]);
        assert_eq!(planned.skipped.len(), 1);
    }

    #[test]
    fn a_network_that_cannot_join_so_many_nodes_is_skipped_or_refused() {
        let planned = plan("[shape]\nnodes = [1, 2]").unwrap();
        assert_eq!(planned.networks.len(), 1);
        assert_eq!(planned.skipped[0].network, "bridge");
        assert_eq!(planned.skipped[0].reason, "runs on one node only");
        assert_eq!(planned.skipped[0].remedy, "use --nodes 1");
        assert_eq!(
            plan("networks = ['bridge']\n[shape]\nnodes = [2]").unwrap().refused,
            ["bridge"]
        );
    }

    #[test]
    fn metrics_of_networks_are_asked_of_no_workload() {
        let planned = plan("metrics = ['raise_ms', 'throughput']").unwrap();
        assert_eq!(planned.raising, [Metric::RaiseMs]);
        assert_eq!(planned.workloads.len(), 1);
        let alone = plan("metrics = ['raise_ms', 'remove_ms']").unwrap();
        assert_eq!((alone.raising.len(), alone.workloads.len()), (2, 0));
        assert_eq!(plan("").unwrap().raising, [Metric::RaiseMs, Metric::RemoveMs]);
    }

    #[test]
    fn an_empty_list_of_metrics_is_refused() {
        for text in ["metrics = []", "metrics = []\n[[run]]\nnetworks = ['host']"] {
            let error = plan(text).unwrap_err();
            assert!(matches!(&error, Error::EmptyList { what } if what == "metrics"), "{error}");
        }
    }

    #[test]
    fn one_thing_is_changed_at_a_time() {
        let planned = plan("ablate = ['netfilter', 'tso', 'rps', 'mtu']").unwrap();
        let labels: Vec<_> = planned.networks.iter().map(|entry| entry.label.as_str()).collect();
        assert_eq!(
            labels,
            [
                "host",
                "bridge",
                "host+without=tso",
                "bridge+plain",
                "bridge+without=tso",
                "bridge+mtu=9000"
            ],
            "host takes neither +plain nor +mtu here, and nobody +rps"
        );
        let of = |label: &str| {
            let found = planned.ablations.iter().find(|ablation| ablation.label == label);
            found.map(|ablation| ablation.variants.iter().map(|one| one.factor).collect())
        };
        assert_eq!(of("host"), Some(vec![AblationFactor::Tso]));
        assert_eq!(
            of("bridge"),
            Some(vec![AblationFactor::Netfilter, AblationFactor::Tso, AblationFactor::Mtu])
        );
        // An offload that is off is not switched off again, and a variant that is named is not measured twice.
        let planned = plan("networks = ['host', 'x=bridge+plain', 'bridge', 'bridge+without=tso']\nablate = ['netfilter', 'conntrack', 'tso']").unwrap();
        let ablations: Vec<(&str, Vec<&str>)> = planned
            .ablations
            .iter()
            .map(|one| {
                let labels = one.variants.iter().map(|variant| variant.label.as_str());
                (one.label.as_str(), labels.collect())
            })
            .collect();
        assert_eq!(
            ablations,
            [
                ("host", vec!["host+without=tso"]),
                ("x", vec!["x+without=tso"]),
                ("bridge", vec!["bridge+plain", "bridge+untracked", "bridge+without=tso"]),
            ]
        );
        let larger = plan("ablate = ['mtu']\n[shape]\nmtu = [9000]").unwrap_err();
        assert!(larger.to_string().starts_with("cannot apply --ablate: no network supports any"));
    }

    #[test]
    fn the_null_control_is_one_network_twice() {
        let planned = plan("networks = [\"a=bridge\", \"b=bridge\"]\nbaseline = \"a\"").unwrap();
        assert_eq!(
            planned.networks[1],
            NetworkEntry { label: "b".into(), network: "bridge".into() }
        );
    }

    #[test]
    fn a_scaled_study_has_no_pilot() {
        let scaled = |text: &str| {
            let study = Study::parse(text, "test").and_then(crate::scaled).unwrap();
            study.plan(&FewNetworks, 7).unwrap().blocks
        };
        for ablate in ["", "ablate = [\"gro\"]\n"] {
            let blocks = scaled(&format!("{ablate}[method]\nblocks = 10\n"));
            let analysed = matches!(blocks, BlockPolicy::GroupSequential { at_least: 5, .. });
            assert!(analysed, "{blocks:?}");
        }
    }

    #[test]
    fn every_combination_is_a_shape() {
        let text = "[shape]\nclients = [1, 2]\nflows = [1, 8, 50]\nfamily = [\"ipv4\", \"ipv6\"]";
        assert_eq!(plan(text).unwrap().shapes.len(), 12);
    }

    #[test]
    fn lists_of_parameters_are_sweeps() {
        let text = "[[workload]]\nname = \"tcp-stream\"\nparameters = { size = [64, 128], send = \"copy\", no_delay = [true, false] }";
        let plans = plan(text).unwrap().workloads;
        let told: Vec<String> = plans
            .iter()
            .map(|plan| format!("{}/{}", plan.parameters["size"], plan.parameters["no_delay"]))
            .collect();
        assert_eq!(told, ["64/true", "128/true", "64/false", "128/false"]);
        assert!(plans.iter().all(|plan| plan.parameters["send"] == "copy"));
    }

    #[test]
    fn what_is_wrong_is_said_in_one_line() {
        let cases = [
            (
                "networks = [\"bridg\"]",
                "unknown network `bridg`: did you mean `bridge`? `tare list networks` has all names",
            ),
            ("networks = [\"bridge+fast\"]", "unknown option `+fast`"),
            ("networks = [\"bridge\", \"bridge\"]", "two networks have the label `bridge`"),
            ("name = \"x/../../y\"", "`x/../../y` for name: expected at most 80 bytes"),
            ("networks = [\"a\\u001b=bridge\"]", "`a\\u001b` for label: expected printable"),
            ("networks = []", "no network to measure"),
            ("networks = [\"=bridge\"]", "`=bridge` has no label"),
            (
                "baseline = \"moon\"",
                "the baseline `moon` is not in the run: choose one of host, bridge",
            ),
            ("[[workload]]\nname = \"smtp\"", "unknown workload `smtp`"),
            ("[[workload]]\nname = \"tcp-rr\"\nparameters = { size = 0 }", "tcp-rr: size is 0"),
            (
                "[[workload]]\nname = \"tcp-stream\"\nparameters = { size = [64, 64] }",
                "the workload tcp-stream is listed twice",
            ),
            ("[[workload]]\nname = \"tcp-stream\"\nparameters = { size = [] }", "no workload"),
            ("metrics = [\"latency_p99.9\"]", "none of the workloads measures `latency_p99.9`"),
            ("[shape]\nclients = [0]", "`0` for clients"),
            ("[shape]\nflows = [4000000]", "`4000000` for flows"),
            ("[shape]\nmtu = [20]", "`20` for mtu"),
            ("[shape]\nmtu = [1000]\nfamily = [\"ipv6\"]", "`1000` for mtu"),
            ("[method]\nblocks = 0", "`0` for blocks"),
            ("[method]\nblocks = 5\nprecision = \"2%\"", "either blocks or precision"),
            ("[method]\nblocks = 5\nstopping = \"sequence\"", "either blocks or stopping"),
            ("[method]\nduration = \"5ms\"", "`5ms` for the duration of tcp-stream"),
            ("[method]\ninterval = \"1us\"", "`1µs` for interval"),
            (
                "[method]\nduration = \"10s\"\nwarm-up = \"6s\"",
                "`6s` for the warm-up of tcp-stream",
            ),
        ];
        for (text, words) in cases {
            let error = plan(text).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
    }
}
