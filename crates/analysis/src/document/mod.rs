//! Document of a run, computed from its journal.

pub(crate) mod chart_data;
pub(crate) mod client_cells;
pub(crate) mod comparison_drafts;
pub(crate) mod distribution;
pub(crate) mod network_figures;

use crate::Error;
use crate::compare::analysis_history::AnalysisHistory;
use crate::compare::block_pairs::{is_same_comparison, main_trials, network_pairs};
use crate::compare::cell_draft::CellDraft;
use crate::compare::ratio_family::adjust_by_family;
use crate::document::comparison_drafts::draft_comparison;
use crate::document::network_figures::network_drafts;
use crate::estimate::trial_group::group_trials;
use crate::explain::mixed_congestion::mixed_congestion;
use crate::explain::order_reversal::{find_reversals, has_core_sweep};
use crate::explain::unread_figures::unread_figures;
use crate::replication::compare_with_publication;
use crate::select::whole_blocks::{count_whole_blocks, count_whole_turn_blocks};
use std::collections::BTreeSet;
use tare_record::finding::EmulatedProcessor;
use tare_record::journal::Journal;
use tare_record::{Cell, ConclusionResult, Document, Finding, Nanos, Plan, Replication, Trial};

/// Computes the document of a journal: cells in the order shapes × workloads × metrics × networks, for each workload
/// first those over all clients, then those of each client and of fairness; ratios to `baseline` (a label; `None` for
/// the plan's own); verdicts. Networks without any trial have no cells; the reason is among the skipped or the failed.
///
/// # Errors
/// Returns an error if the requested baseline is not in the run, or if a trial's histograms cannot be added up.
pub fn document(journal: &Journal, baseline: Option<&str>) -> Result<Document, Error> {
    let run = &journal.run;
    let baseline = resolve_baseline(&run.plan, baseline)?;
    let trials = main_trials(journal);
    let analyses = journal.interim_analyses();
    let history = AnalysisHistory::at_end(&analyses);
    let mut all = Vec::new();
    for together in group_trials(&run.plan, &trials)?.chunk_by(is_same_comparison) {
        all.extend(draft_comparison(&run.plan, together, baseline, history)?);
    }
    all.extend(network_drafts(journal, baseline, history));
    let adjusted = adjust_p_values(&all);
    let failures = journal.failures();
    let cells: Vec<Cell> =
        all.into_iter().zip(adjusted).map(|(draft, p)| draft.finish(p)).collect();
    let blocks = if run.plan.workloads.is_empty() {
        count_whole_turn_blocks(&run.plan, &journal.turns(), &failures)
    } else {
        count_whole_blocks(&run.plan, &trials, &failures, &analyses)
    };
    let document = Document {
        rerun: compare_with_publication(&run.plan, &cells, blocks),
        tare: run.environment.tare.clone(),
        study: run.plan.study.clone(),
        seed: run.plan.seed,
        environment: run.environment.clone(),
        cells,
        stands_for: run.plan.stands_for.clone(),
        skipped: run.plan.skipped.clone(),
        blocks,
        block_time: woven_block_time(&trials),
        failed: failures.into_iter().cloned().collect(),
        findings: [
            run.findings.clone(),
            unread_figures(journal),
            mixed_congestion(&run.plan, &trials),
            core_order_reversals(journal)?,
        ]
        .concat(),
        interim_analyses: analyses,
        stopped_by: journal.stopped_by(),
    };
    Ok(if run.environment.emulated { remove_verdicts(document) } else { document })
}

/// Returns the mean duration of a block of woven networks, from the beginning of the first one to the end of the last.
/// Returns `None` if a trial was not woven.
fn woven_block_time(trials: &[&Trial]) -> Option<Nanos> {
    let blocks: BTreeSet<u32> = trials.iter().map(|trial| trial.block).collect();
    let first = trials.iter().map(|trial| trial.began).min()?;
    let last = trials.iter().map(|trial| trial.began + trial.took).max()?;
    let woven = trials.iter().all(|trial| trial.slices.is_some());
    woven.then(|| Nanos((last - first).0 / blocks.len() as u64))
}

/// Returns the reversals of order that come with the number of cores. Pairs are computed only if there are several
/// numbers of cores, because every trial is estimated once more for them.
fn core_order_reversals(journal: &Journal) -> Result<Vec<Finding>, Error> {
    if !has_core_sweep(&journal.run.plan.shapes) {
        return Ok(Vec::new());
    }
    Ok(find_reversals(&network_pairs(journal)?))
}

/// Removes the verdicts and keeps the figures: under emulation a network is neither faster nor slower than another.
fn remove_verdicts(mut document: Document) -> Document {
    for cell in &mut document.cells {
        (cell.ratio, cell.difference, cell.best) = (None, None, false);
    }
    if let Some(rerun) = &mut document.rerun {
        remove_conclusions(rerun);
    }
    document.findings.push(Finding::EmulatedProcessor(EmulatedProcessor {}));
    document
}

/// Removes the agreement between published and measured figures, and keeps the figures.
fn remove_conclusions(rerun: &mut Replication) {
    rerun.ranks.clear();
    for measured in rerun.figures.iter_mut().filter_map(|figure| figure.measured.as_mut()) {
        (measured.ratio, measured.ratio_ci95, measured.verdict) = (None, None, None);
    }
    for conclusion in &mut rerun.conclusions {
        conclusion.result = ConclusionResult::Undecidable;
        conclusion.reason = Some(Finding::EmulatedProcessor(EmulatedProcessor {}).to_string());
        conclusion.evidence = conclusion.reason.iter().cloned().collect();
    }
}

/// Returns the label of the baseline. A requested baseline must be in the run; the plan's own may have been skipped,
/// and then there are no ratios.
fn resolve_baseline<'a>(plan: &'a Plan, asked: Option<&'a str>) -> Result<&'a str, Error> {
    let Some(asked) = asked else {
        return Ok(&plan.baseline);
    };
    let labels = || plan.networks.iter().map(|entry| entry.label.clone());
    if labels().any(|label| label == asked) {
        Ok(asked)
    } else {
        Err(Error::Baseline { asked: asked.to_owned(), labels: labels().collect() })
    }
}

/// Returns the p-value of each draft that has one, corrected over its family.
fn adjust_p_values(drafts: &[CellDraft]) -> Vec<Option<f64>> {
    let pending = || drafts.iter().filter_map(|draft| draft.comparison.as_ref());
    let p_values = pending().map(|comparison| (comparison.family.as_str(), &comparison.p_values));
    let mut adjusted = adjust_by_family(p_values).into_iter();
    let p_of = |draft: &CellDraft| draft.comparison.as_ref().and_then(|_| adjusted.next());
    drafts.iter().map(p_of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::{SeededRandom, journal, plan, transactions, trial, workload};
    use tare_record::finding::{FewSamples, SilentTrials};
    use tare_record::journal::{Record, ResumePoint};
    use tare_record::{
        CorrectionFamily, CounterScope, HardwareCounters, HardwareEventCounts, HardwareSample,
        Metric, Nanos, Phase, Ratio, SkippedNetwork, Trial, Verdict, WorkloadPlan,
    };

    fn stream() -> WorkloadPlan {
        workload("tcp-stream", &[Metric::Throughput])
    }

    /// Returns a trial whose throughput is `gigabits` Gbit/s.
    fn steady(label: &str, block: u32, gigabits: f64) -> Trial {
        trial(label, block, &[(gigabits * 1e9 / 8.0 / 10.0).round() as u64; 10])
    }

    fn cell<'a>(document: &'a Document, label: &str, metric: Metric) -> &'a Cell {
        document.cells.iter().find(|cell| cell.label == label && cell.metric == metric).unwrap()
    }

    fn ratio<'a>(document: &'a Document, label: &str) -> &'a Ratio {
        cell(document, label, Metric::Throughput).ratio.as_ref().unwrap()
    }

    /// Returns three networks over four blocks: `slow` at 0.8 of `host`, `equal` like it; block 3 has no `slow`.
    fn small() -> Journal {
        let host = [10.0, 11.0, 9.0, 10.0];
        let slow = [8.0, 8.9, 7.2];
        let equal = [10.02, 10.98, 9.0, 10.01];
        let mut trials = Vec::new();
        for (label, figures) in [("slow", &slow[..]), ("host", &host), ("equal", &equal)] {
            trials.extend((0..).zip(figures).map(|(block, &figure)| steady(label, block, figure)));
        }
        journal(plan(&["host", "slow", "equal"], vec![stream()]), trials)
    }

    #[test]
    fn cells_stand_in_the_plans_order_with_figures_ratios_and_verdicts() {
        let document = document(&small(), None).unwrap();
        let labels: Vec<&str> = document.cells.iter().map(|cell| cell.label.as_str()).collect();
        assert_eq!(labels, ["host", "slow", "equal"]);
        let host = &document.cells[0];
        assert_eq!((host.n, host.mean, host.median), (4, Some(10.0), Some(10.0)));
        assert_eq!((&host.ratio, host.unit.as_str()), (&None, "Gbit/s"));
        assert_eq!(document.cells[1].blocks, [0, 1, 2]);
        let slow = ratio(&document, "slow");
        assert!((slow.value - 0.803).abs() < 0.001, "{slow:?}");
        assert_eq!((slow.pairs, slow.verdict, slow.margin), (3, Verdict::Slower, 0.02));
        assert_eq!(slow.family, "made-up/tcp-stream/throughput");
        assert_eq!(ratio(&document, "equal").verdict, Verdict::Same);
        // Holm by hand: the smaller of two p-values is doubled, the larger stays.
        assert!((slow.p_adjusted - 2.0 * slow.p).abs() < 1e-12);
        assert_eq!(ratio(&document, "equal").p_adjusted, ratio(&document, "equal").p);
        assert_eq!(
            document.cells.iter().map(|cell| cell.best).collect::<Vec<_>>(),
            [true, false, true]
        );
        assert_eq!((document.blocks, document.stopped_by), (3, None));
    }

    #[test]
    fn another_baseline_mirrors_the_ratios() {
        let (one, other) =
            (document(&small(), None).unwrap(), document(&small(), Some("slow")).unwrap());
        assert!((ratio(&one, "slow").value * ratio(&other, "host").value - 1.0).abs() < 1e-12);
        assert_eq!(ratio(&other, "host").verdict, Verdict::Faster);
        assert_eq!(ratio(&other, "host").baseline, "slow");
        let error = document(&small(), Some("moon")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the baseline `moon` is not in this run: choose one of host, slow, equal"
        );
    }

    #[test]
    fn a_baseline_that_was_skipped_leaves_figures_without_ratios() {
        let mut journal = small();
        journal.run.plan.baseline = "ovs".to_owned();
        journal.run.plan.skipped.push(SkippedNetwork {
            network: "ovs".to_owned(),
            label: None,
            reason: "no such device".to_owned(),
            remedy: "modprobe openvswitch".to_owned(),
        });
        let document = document(&journal, None).unwrap();
        assert!(document.cells.iter().all(|cell| cell.ratio.is_none() && cell.n > 0));
        assert_eq!(document.skipped.len(), 1);
    }

    #[test]
    fn the_pilot_and_void_trials_are_no_part_of_the_result() {
        let mut journal = small();
        let mut pilot = steady("host", 0, 1000.0);
        pilot.phase = Phase::Pilot;
        journal.records.insert(0, Record::Trial(Box::new(pilot)));
        assert_eq!(cell(&document(&journal, None).unwrap(), "host", Metric::Throughput).n, 4);
        let again = ResumePoint { phase: Phase::Main, block: 1, time: String::new() };
        journal.records.push(Record::Resumed(again));
        assert_eq!(cell(&document(&journal, None).unwrap(), "host", Metric::Throughput).n, 1);
    }

    #[test]
    fn a_percentile_that_one_trial_cannot_give_is_withheld_for_all() {
        let metrics = [Metric::LatencyP50, Metric::LatencyP99];
        let latencies = |per_interval| vec![vec![5_000; per_interval]; 10];
        let trials = vec![
            transactions("host", 0, &latencies(2_000)),
            transactions("host", 1, &latencies(100)),
        ];
        let document =
            document(&journal(plan(&["host"], vec![workload("tcp-rr", &metrics)]), trials), None)
                .unwrap();
        let p99 = cell(&document, "host", Metric::LatencyP99);
        assert!(p99.samples.is_empty() && p99.mean.is_none() && p99.withheld.is_some());
        let expected =
            Finding::FewSamples(FewSamples { metric: Metric::LatencyP99, beyond: 9, needed: 100 });
        assert_eq!(p99.findings, [expected]);
        let p50 = cell(&document, "host", Metric::LatencyP50);
        assert_eq!((p50.n, p50.withheld.as_ref(), p50.best), (2, None, false));
    }

    #[test]
    fn a_figure_of_zero_has_no_ratio() {
        let mut journal = small();
        journal.records.push(Record::Trial(Box::new(steady("slow", 3, 0.0))));
        let document = document(&journal, None).unwrap();
        let slow = cell(&document, "slow", Metric::Throughput);
        assert_eq!((slow.n, slow.samples[3], slow.ratio.as_ref()), (4, 0.0, None));
        assert!(
            slow.findings.contains(&Finding::SilentTrials(SilentTrials { trials: 1, of: 4 })),
            "and says why"
        );
    }

    #[test]
    fn every_figure_is_one_that_json_can_say() {
        // JSON has no infinity and no NaN: they would be written as null, and not read back.
        for trials in 1..=11 {
            let mut journal = small();
            journal.records.truncate(trials);
            let text = serde_json::to_string(&document(&journal, None).unwrap()).unwrap();
            let again: Document = serde_json::from_str(&text).unwrap();
            assert!(again.cells.iter().all(|cell| cell.mean.is_some() && cell.n > 0));
        }
    }

    #[test]
    fn under_emulation_there_are_figures_and_no_verdicts() {
        let mut journal = small();
        journal.run.environment.emulated = true;
        let document = document(&journal, None).unwrap();
        assert_eq!(document.findings, [Finding::EmulatedProcessor(EmulatedProcessor {})]);
        assert_eq!(document.cells.len(), 3);
        let without = |cell: &Cell| {
            cell.ratio.is_none() && cell.difference.is_none() && !cell.best && cell.mean.is_some()
        };
        assert!(document.cells.iter().all(without));
        assert!(crate::network_pairs(&journal).unwrap().is_empty());
    }

    #[test]
    fn of_counters_that_no_trial_has_nothing_is_said() {
        let metrics = [Metric::Throughput, Metric::CyclesPerByte];
        let plan = plan(&["host", "slow"], vec![workload("tcp-stream", &metrics)]);
        let trials = vec![steady("host", 0, 10.0), steady("slow", 0, 8.0)];
        let mut journal = journal(plan, trials);
        let asked = |journal: &Journal| -> Vec<(Metric, u32)> {
            let cells = document(journal, None).unwrap().cells;
            cells.iter().map(|cell| (cell.metric, cell.n)).collect()
        };
        assert_eq!(asked(&journal), [(Metric::Throughput, 1); 2]);
        let Some(Record::Trial(trial)) = journal.records.first_mut() else { panic!() };
        let sample = |at, cycles| HardwareSample {
            at: Nanos(at),
            executed: vec![HardwareEventCounts { cycles, instructions: cycles }],
        };
        let samples = vec![sample(0, 0), sample(1_000_000_000, 8)];
        let counted = CounterScope::Machine;
        trial.meanwhile.hardware = Some(HardwareCounters { counted, running: 1.0, samples });
        // If one network has counts, the other is shown without.
        assert_eq!(asked(&journal)[2..], [(Metric::CyclesPerByte, 1), (Metric::CyclesPerByte, 0)]);
    }

    #[test]
    fn nothing_measured_is_an_empty_document() {
        let document =
            document(&journal(plan(&["host"], vec![stream()]), Vec::new()), None).unwrap();
        assert_eq!((document.cells.len(), document.blocks), (0, 0));
    }

    /// Returns a study of five networks with drift from block to block, in which only `slow` differs, by 10 %.
    fn simulated(chance: &mut SeededRandom) -> Document {
        let networks = ["host", "a", "b", "c", "slow"];
        let mut plan = plan(&networks, vec![stream()]);
        plan.family = CorrectionFamily::Study;
        let mut trials = Vec::new();
        for block in 0..8 {
            let drift = (0.3 * chance.normal()).exp();
            for label in networks {
                let truth = if label == "slow" { 9.0 } else { 10.0 };
                trials.push(steady(label, block, truth * drift * (0.02 * chance.normal()).exp()));
            }
        }
        document(&journal(plan, trials), None).unwrap()
    }

    #[test]
    fn intervals_cover_and_families_err_as_rarely_as_promised() {
        let mut chance = SeededRandom::seeded(2017);
        let runs = 2_000;
        let (mut covered, mut wrong, mut found) = (0, 0, 0);
        for _ in 0..runs {
            let document = simulated(&mut chance);
            let claims = |label: &str| {
                !matches!(ratio(&document, label).verdict, Verdict::Same | Verdict::Unclear)
            };
            let [low, high] = ratio(&document, "slow").ci95;
            covered += u32::from(low <= 0.9 && 0.9 <= high);
            wrong += u32::from(["a", "b", "c"].into_iter().any(claims));
            found += u32::from(ratio(&document, "slow").verdict == Verdict::Slower);
        }
        let share = |count| f64::from(count) / f64::from(runs);
        assert!((0.935..=0.965).contains(&share(covered)), "{}", share(covered));
        assert!(share(wrong) <= 0.05, "{}", share(wrong));
        assert!(share(found) >= 0.95, "{}", share(found));
    }
}
