//! `tare run`: builds a plan from flags and a study, and measures it.

mod dry_run;

use crate::catalogue::{self, BuildCatalogue, build_catalogue_with};
use crate::cli::{DryRunOutput, RunArguments, ShapeArguments};
use crate::commands::measure::{self, MeasureOptions};
use crate::congestion;
use crate::exit::{CommandExit, usage_error};
use crate::foreign_request::{announce_granted, join_requests};
use crate::output;
use crate::own_networks::{OwnNetworks, network_requests};
use crate::places::Places;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tare_network::{NodeLink, NodeLinkError, UnmetRequirement};
use tare_observe::perf_counters::{self, CountersUnavailable};
use tare_record::{BlockPolicy, Metric, Placement, Plan, WorkloadPlan};
use tare_study::{
    Catalogue as _, NameOrigin, ShapeLists, SliceLength, StoppingRule, Study, StudyMethod,
    WorkloadSpec,
};

/// Study that is run if none is named.
const DEFAULT_STUDY: &str = "tour";

/// Measures the plan of the study and the flags.
pub(crate) fn run(arguments: RunArguments) -> anyhow::Result<CommandExit> {
    let modules = catalogue::module_policy(arguments.load_modules);
    let places = match arguments.dry_run {
        Some(DryRunOutput::Client) => {
            Places::with_assumed_cluster(&arguments.docker, &arguments.cluster)
        }
        Some(DryRunOutput::Plan) | None => {
            Places::from_arguments(&arguments.docker, &arguments.cluster)
        }
    };
    let everything = build_catalogue_with(None, modules, &places);
    let study = load_study(arguments.study.as_deref().unwrap_or(DEFAULT_STUDY))?;
    // The networks of a study that is built in are as trusted as tare is.
    let is_foreign = study.named_by == NameOrigin::User;
    let plan = plan(study, &arguments, &everything)?;
    let own = OwnNetworks::from_arguments(&arguments.networks);
    let asked = if is_foreign { network_requests(&plan, &own, &everything) } else { Vec::new() };
    match arguments.dry_run {
        Some(DryRunOutput::Plan) => return dry_run::print_plan(&plan, &asked, arguments.json),
        Some(DryRunOutput::Client) => {
            let format = dry_run::manifest_format(arguments.out.as_deref(), arguments.json)?;
            return dry_run::print_manifest(&plan, &places.cluster, &everything, format);
        }
        None => {}
    }
    if !arguments.allow_exec && !asked.is_empty() {
        return Err(usage_error(anyhow::anyhow!(
            "cannot run: the study's {}: use --allow-exec if you trust the study, or spell the network with --network",
            join_requests(&asked)
        )));
    }
    announce_granted(&asked);
    check_counters(&arguments.metrics)?;
    if arguments.quick {
        announce_quick(&plan, arguments.networks.is_empty(), &everything);
    }
    let directory = arguments.out.unwrap_or_else(|| fresh_directory(&plan.study));
    let care = measure::limit_policy(arguments.force);
    measure::measure_plan(
        plan,
        &MeasureOptions {
            directory,
            json: arguments.json,
            html: arguments.html,
            modules,
            places,
            workloads: everything.workloads,
            care,
        },
    )
}

/// Builds the plan from the study, `--quick` over it, and the flags over both.
fn plan(
    mut study: Study,
    arguments: &RunArguments,
    everything: &BuildCatalogue,
) -> anyhow::Result<Plan> {
    if arguments.quick {
        study = tare_study::quick(study).map_err(usage_error)?;
    }
    if arguments.quick && !arguments.networks.is_empty() {
        // The limit of a minute applies to the core networks. Named networks take as long as they need, as fewer blocks
        // would give no result.
        study.method.budget = None;
    }
    if arguments.scaled {
        study = tare_study::scaled(study).map_err(usage_error)?;
    }
    let mut study = study.overlaid(study_from_flags(arguments));
    let node_pairs = arguments.cluster.node_pairs(arguments.node_pairs);
    let node_pairs = node_pairs.map_err(|reason| usage_error(anyhow::Error::msg(reason)))?;
    study.shape.node_pairs = node_pairs.or(study.shape.node_pairs);
    apply_workload_flags(&mut study, arguments, everything)?;
    let mut plan =
        study.plan(everything, tare_study::block_order::fresh_seed()).map_err(usage_error)?;
    congestion::complete_plan(&mut plan, everything, arguments.traffic.congestion())?;
    check_links(&plan, everything)?;
    check_cores(&plan)?;
    Ok(plan)
}

/// Checks the numbers of cores. More cores than exist would be a smaller number under another name.
fn check_cores(plan: &Plan) -> anyhow::Result<()> {
    plan.shapes.iter().try_for_each(|shape| match shape.cpus {
        Placement::First(cores) => check_core_count(cores),
        _ => Ok(()),
    })
}

/// Checks that tare may use so many cores here.
pub(crate) fn check_core_count(cores: u32) -> anyhow::Result<()> {
    let there = std::thread::available_parallelism().map_or(1, usize::from);
    if (1..=there).contains(&(cores as usize)) {
        return Ok(());
    }
    Err(usage_error(anyhow::anyhow!(
        "invalid value `{cores}` for --cores: expected a number from 1 to {there}, the cores that tare may use here"
    )))
}

/// Fails before anything is measured if a named metric needs hardware counters that are not available.
fn check_counters(metrics: &[Metric]) -> anyhow::Result<()> {
    let Some(metric) = metrics.iter().find(|metric| metric.is_hardware_based()) else {
        return Ok(());
    };
    perf_counters::available_scope().map(|_| ()).map_err(|CountersUnavailable { why, remedy }| {
        anyhow::anyhow!("cannot measure {metric} here: {why}: {remedy}")
    })
}

/// Rejects links that this kernel cannot create, before any network is set up.
pub(crate) fn check_links(plan: &Plan, everything: &BuildCatalogue) -> anyhow::Result<()> {
    for link in plan.shapes.iter().filter_map(|shape| shape.link.as_deref()) {
        let parsed: NodeLink = link.parse().map_err(|error: NodeLinkError| usage_error(error))?;
        if let Some(UnmetRequirement { reason, remedy }) = everything.missing_for_link(&parsed) {
            anyhow::bail!("cannot create the link `{link}`: {reason}: {remedy}");
        }
    }
    Ok(())
}

/// Reports what a quick run leaves out, or how long it takes if it leaves out nothing.
fn announce_quick(plan: &Plan, core: bool, everything: &BuildCatalogue) {
    let all = everything.listing().iter().filter(|one| one.missing.is_none()).count();
    let networks = plan.networks.len();
    if core && networks < all {
        let minutes = estimate_time(plan, all, everything);
        output::print_status(&format!(
            "tare: quick run of {networks} of the {all} networks that run here; use --network all for all of them, about {minutes}"
        ));
    } else if !core && plan.budget.is_none() {
        output::print_status(&format!(
            "tare: quick run, about {}",
            estimate_time(plan, networks, everything)
        ));
    }
}

/// Estimates the time for a number of networks.
fn estimate_time(plan: &Plan, networks: usize, everything: &BuildCatalogue) -> String {
    /// Time to set up a network, start its agents and end both, s.
    const TURN: f64 = 0.15;
    /// Time to begin and end a trial, s.
    const TRIAL: f64 = 0.1;
    let blocks = match plan.blocks {
        BlockPolicy::Fixed { blocks } => blocks,
        BlockPolicy::GroupSequential { at_most, .. } if plan.budget.is_some() => at_most,
        BlockPolicy::Sequence { at_least, .. } | BlockPolicy::GroupSequential { at_least, .. } => {
            at_least
        }
        BlockPolicy::Precision { pilot, at_least, .. } => pilot + at_least,
    };
    let known = &everything.workloads;
    let trial = |workload: &WorkloadPlan| known.duration(workload).as_secs_f64() + TRIAL;
    let turn = TURN + plan.workloads.iter().map(trial).sum::<f64>();
    let all = turn * f64::from(blocks) * (networks * plan.shapes.len()) as f64;
    // Woven networks share the budget, however many they are.
    let is_woven = plan.workloads.iter().all(|workload| workload.slices.is_some());
    let budget = plan.budget.filter(|_| is_woven);
    let seconds = budget.map_or(all, |budget| all.min(budget.as_secs_f64()));
    if seconds < 90.0 { format!("{seconds:.0} s") } else { format!("{:.1} min", seconds / 60.0) }
}

/// Reads a built-in study by its name, or a study from a file.
fn load_study(name: &str) -> anyhow::Result<Study> {
    match tare_study::builtin_study(name) {
        Some(study) => study.map_err(usage_error),
        None => Study::read(Path::new(name)).map_err(usage_error),
    }
}

/// Converts the flags to a layer over the study.
fn study_from_flags(arguments: &RunArguments) -> Study {
    let some = |list: &[String]| (!list.is_empty()).then(|| list.to_vec());
    Study {
        networks: some(&arguments.networks),
        baseline: arguments.baseline.clone(),
        ablate: arguments.ablate.clone(),
        metrics: (!arguments.metrics.is_empty()).then(|| arguments.metrics.clone()),
        shape: shape(&arguments.shape),
        method: StudyMethod {
            blocks: arguments.blocks,
            precision: arguments.precision,
            stopping: arguments.sequential.then_some(StoppingRule::Sequence),
            budget: arguments.budget,
            interval: arguments.interval,
            // Trials whose duration is given by hand run in one piece.
            slice: arguments.slice.or(arguments.duration.map(|_| SliceLength::Off)),
            warm_up: arguments.warmup,
            margins: arguments
                .margin
                .iter()
                .flat_map(|margin| {
                    let metrics = margin.metric.map_or(Metric::ALL.to_vec(), |metric| vec![metric]);
                    metrics.into_iter().map(|metric| (metric, margin.share))
                })
                .collect(),
            seed: arguments.seed,
            ..StudyMethod::default()
        },
        ..Study::default()
    }
}

fn shape(arguments: &ShapeArguments) -> ShapeLists {
    let texts = |list: &[String]| (!list.is_empty()).then(|| list.to_vec());
    let some = |list: &[u32]| (!list.is_empty()).then(|| list.to_vec());
    ShapeLists {
        nodes: some(&arguments.nodes),
        link: texts(&arguments.link),
        clamp_mss: arguments.clamp_mss.then_some(true),
        background: texts(&arguments.background),
        node_pairs: None,
        servers: some(&arguments.servers),
        clients: some(&arguments.clients),
        processes: some(&arguments.processes),
        flows: some(&arguments.flows),
        family: (!arguments.family.is_empty()).then(|| arguments.family.clone()),
        mtu: some(&arguments.mtu),
        cpus: placements(arguments),
        without: (!arguments.without.is_empty()).then(|| arguments.without.clone()),
    }
}

/// Returns the placements of the two sides on cores, or `None` if no flag gives any.
fn placements(arguments: &ShapeArguments) -> Option<Vec<Placement>> {
    let cores: Vec<Placement> =
        arguments.cores.iter().map(|&cores| Placement::First(cores)).collect();
    if cores.is_empty() { arguments.cpus.clone().map(|cpus| vec![cpus]) } else { Some(cores) }
}

/// Applies the flags to the workloads of the study and of its sections: selection, times and parameters.
///
/// A workload named by a flag keeps the study's values for it; a parameter applies to the workloads that have it.
fn apply_workload_flags(
    study: &mut Study,
    arguments: &RunArguments,
    everything: &BuildCatalogue,
) -> anyhow::Result<()> {
    if !arguments.workloads.is_empty() {
        keep_workloads(study, &arguments.workloads);
    }
    let mut all: Vec<WorkloadSpec> = study.all_workloads_mut().map(|one| one.clone()).collect();
    for workload in &mut all {
        if arguments.duration.is_some() {
            // Woven or not, a trial lasts as long as was asked.
            (workload.duration, workload.woven_duration) = (arguments.duration, None);
        }
        workload.warm_up = arguments.warmup.or(workload.warm_up);
    }
    if arguments.metrics.is_empty() {
        add_workload_metrics(study, &arguments.workloads, everything);
    }
    let has = |workload: &str, name: &str| everything.has_parameter(workload, name);
    let has_default = |workload: &WorkloadSpec| {
        everything.has_default_congestion(&workload.name, &workload.parameters)
    };
    arguments.traffic.apply(&mut all, has, has_default)?;
    for (place, workload) in study.all_workloads_mut().zip(all) {
        *place = workload;
    }
    Ok(())
}

/// Keeps only the workloads of these names. If one of them is not in the study, the named workloads are measured over
/// the study's networks, without its sections.
fn keep_workloads(study: &mut Study, names: &[String]) {
    let known: BTreeSet<String> = study.all_workloads_mut().map(|one| one.name.clone()).collect();
    let studied = study.workloads.take().unwrap_or_default();
    let wanted = |workload: &WorkloadSpec| names.contains(&workload.name);
    if study.runs.is_empty() || names.iter().any(|name| !known.contains(name)) {
        study.runs.clear();
        study.workloads = Some(names.iter().flat_map(|name| named(name, &studied)).collect());
        return;
    }
    let left: Vec<WorkloadSpec> = studied.into_iter().filter(wanted).collect();
    for workloads in study.runs.iter_mut().filter_map(|run| run.workloads.as_mut()) {
        workloads.retain(wanted);
    }
    let has_some = |workloads: &Vec<WorkloadSpec>| !workloads.is_empty();
    study.runs.retain(|run| has_some(run.workloads.as_ref().unwrap_or(&left)));
    study.workloads = Some(left);
}

/// Requests all metrics of a named workload if the study requests none of them.
fn add_workload_metrics(study: &mut Study, named: &[String], everything: &BuildCatalogue) {
    let Some(asked) = &mut study.metrics else {
        return;
    };
    for name in named {
        let measured = everything.metrics(name).unwrap_or_default();
        if !measured.iter().any(|metric| asked.contains(metric)) {
            asked.extend(measured);
        }
    }
}

fn named(name: &str, studied: &[WorkloadSpec]) -> Vec<WorkloadSpec> {
    let found: Vec<_> = studied.iter().filter(|workload| workload.name == name).cloned().collect();
    if found.is_empty() {
        vec![WorkloadSpec { name: name.to_owned(), ..WorkloadSpec::default() }]
    } else {
        found
    }
}

/// Returns a directory name that does not exist yet, from the study and the time.
fn fresh_directory(study: &str) -> PathBuf {
    let now = jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S");
    let name = format!("tare-{study}-{now}");
    (1..)
        .map(|n| PathBuf::from(if n == 1 { name.clone() } else { format!("{name}-{n}") }))
        .find(|path| !path.exists())
        .unwrap_or_else(|| PathBuf::from(&name))
}
