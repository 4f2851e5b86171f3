//! `tare run`: from flags and a study to a plan, and from there to a table.

use crate::catalogue::{self, Everything, everything_with};
use crate::cli::{RunArguments, ShapeArguments};
use crate::commands::measure::{self, Job};
use crate::docker::Docker;
use crate::exit::{Exit, usage};
use crate::out;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tare_network::{Link, LinkError, Missing};
use tare_observe::hardware::{self, Refused};
use tare_record::{Blocks, Metric, Placement, Plan, Skipped, WorkloadPlan};
use tare_study::{Catalogue as _, Method, ShapeLists, Stopping, Study, WorkloadStudy};

/// The study that is run when none is named.
const DEFAULT: &str = "tour";

/// Measures what the study and the flags ask for.
pub(crate) fn run(arguments: RunArguments) -> anyhow::Result<Exit> {
    let modules = catalogue::modules(arguments.load_modules);
    let docker = Docker::of(&arguments.docker);
    let everything = everything_with(None, modules, &docker);
    let plan = plan(&arguments, &everything)?;
    if arguments.dry_run {
        out::print(&dry_run(&plan, arguments.json)?)?;
        return Ok(if plan.refused.is_empty() { Exit::Done } else { Exit::Failed });
    }
    // What the command line itself names needs no leave.
    if !arguments.allow_exec
        && arguments.networks.is_empty()
        && let Some(network) = everything.runs_its_argument(&plan)
    {
        return Err(usage(anyhow::anyhow!(
            "the study names {network}, which says what to run: pass --allow-exec, or name it by --network"
        )));
    }
    check_counters(&arguments.metrics)?;
    if arguments.quick {
        announce(&plan, arguments.networks.is_empty(), &everything);
    }
    let directory = arguments.out.unwrap_or_else(|| fresh_directory(&plan.study));
    let care = measure::care(arguments.force);
    measure::fresh(
        plan,
        &Job { directory, json: arguments.json, html: arguments.html, modules, docker, care },
    )
}

/// The plan: the study, `--quick` over it, the flags over both.
fn plan(arguments: &RunArguments, everything: &Everything) -> anyhow::Result<Plan> {
    let mut study = study(arguments.study.as_deref().unwrap_or(DEFAULT))?;
    if arguments.quick {
        study = tare_study::quick(study).map_err(usage)?;
    }
    if arguments.quick && !arguments.networks.is_empty() {
        // The minute is the core networks'. Whoever names others waits for them: fewer blocks would say nothing.
        study.method.budget = None;
    }
    if arguments.scaled {
        study = tare_study::scaled(study).map_err(usage)?;
    }
    let mut study = study.overlaid(flags(arguments));
    workloads(&mut study, arguments, everything)?;
    let plan = study.plan(everything, tare_study::order::fresh_seed()).map_err(usage)?;
    check_links(&plan, everything)?;
    check_cores(&plan)?;
    Ok(plan)
}

/// More cores than there are would be fewer under another name.
fn check_cores(plan: &Plan) -> anyhow::Result<()> {
    let there = std::thread::available_parallelism().map_or(1, usize::from);
    for shape in &plan.shapes {
        if let Placement::First(cores) = shape.cpus
            && !(1..=there).contains(&(cores as usize))
        {
            return Err(usage(anyhow::anyhow!("--cores {cores}: tare may use 1 to {there} here")));
        }
    }
    Ok(())
}

/// Whoever names what is made of hardware counters is told when there are none, before anything is measured.
fn check_counters(metrics: &[Metric]) -> anyhow::Result<()> {
    let Some(metric) = metrics.iter().find(|metric| metric.of_hardware()) else {
        return Ok(());
    };
    hardware::counting().map(|_| ()).map_err(|Refused { why, remedy }| {
        anyhow::anyhow!("{metric} cannot be measured here: {why}: {remedy}")
    })
}

/// Links that this kernel cannot make are refused before anything is raised.
fn check_links(plan: &Plan, everything: &Everything) -> anyhow::Result<()> {
    for link in plan.shapes.iter().filter_map(|shape| shape.link.as_deref()) {
        let parsed: Link = link.parse().map_err(|error: LinkError| usage(error))?;
        if let Some(Missing { reason, remedy }) = everything.lacks_link(&parsed) {
            anyhow::bail!("--link {link}: {reason}: {remedy}");
        }
    }
    Ok(())
}

/// Says what a quick run leaves out, or how long it takes where it leaves out nothing.
fn announce(plan: &Plan, core: bool, everything: &Everything) {
    let all = everything.listing().iter().filter(|one| one.missing.is_none()).count();
    let networks = plan.networks.len();
    if core && networks < all {
        let minutes = minutes(plan, all);
        out::say(&format!(
            "tare: quick: {networks} of {all} networks that run here; --network all measures all of them, in about {minutes}"
        ));
    } else if !core && plan.budget.is_none() {
        out::say(&format!("tare: quick: this takes about {}", minutes(plan, networks)));
    }
}

/// About how long so many networks take.
fn minutes(plan: &Plan, networks: usize) -> String {
    /// To raise a network, start its agents and end both.
    const TURN: f64 = 0.15;
    /// To begin and end a trial.
    const TRIAL: f64 = 0.1;
    let blocks = match plan.blocks {
        Blocks::Fixed { blocks } => blocks,
        Blocks::Sequence { at_least, .. } => at_least,
        Blocks::Precision { pilot, at_least, .. } => pilot + at_least,
    };
    let known = tare_traffic::workloads();
    let trial = |workload: &WorkloadPlan| known.lasts(workload).as_secs_f64() + TRIAL;
    let turn = TURN + plan.workloads.iter().map(trial).sum::<f64>();
    let seconds = turn * f64::from(blocks) * (networks * plan.shapes.len()) as f64;
    if seconds < 90.0 { format!("{seconds:.0} s") } else { format!("{:.1} min", seconds / 60.0) }
}

/// A built-in study by its name, or one from a file.
fn study(name: &str) -> anyhow::Result<Study> {
    match tare_study::builtin(name) {
        Some(study) => study.map_err(usage),
        None => Study::read(Path::new(name)).map_err(usage),
    }
}

/// The flags as a layer over the study.
fn flags(arguments: &RunArguments) -> Study {
    let some = |list: &[String]| (!list.is_empty()).then(|| list.to_vec());
    Study {
        networks: some(&arguments.networks),
        baseline: arguments.baseline.clone(),
        ablate: arguments.ablate.clone(),
        metrics: (!arguments.metrics.is_empty()).then(|| arguments.metrics.clone()),
        shape: shape(&arguments.shape),
        method: Method {
            blocks: arguments.blocks,
            precision: arguments.precision,
            stopping: arguments.sequential.then_some(Stopping::Sequence),
            budget: arguments.budget,
            interval: arguments.interval,
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
            ..Method::default()
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

/// Where the two sides are to run, where the flags say.
fn placements(arguments: &ShapeArguments) -> Option<Vec<Placement>> {
    let cores: Vec<Placement> =
        arguments.cores.iter().map(|&cores| Placement::First(cores)).collect();
    if cores.is_empty() { arguments.cpus.clone().map(|cpus| vec![cpus]) } else { Some(cores) }
}

/// The workloads that the flags leave, with the flags' times and parameters, in the study and in its sections.
///
/// A workload named by a flag keeps what the study says of it; a parameter goes to the workloads that have it.
fn workloads(
    study: &mut Study,
    arguments: &RunArguments,
    everything: &Everything,
) -> anyhow::Result<()> {
    if !arguments.workloads.is_empty() {
        narrow(study, &arguments.workloads);
    }
    let mut all: Vec<WorkloadStudy> = study.all_workloads_mut().map(|one| one.clone()).collect();
    for workload in &mut all {
        workload.duration = arguments.duration.or(workload.duration);
        workload.warm_up = arguments.warmup.or(workload.warm_up);
    }
    if arguments.metrics.is_empty() {
        measure_something(study, &arguments.workloads, everything);
    }
    let has = |workload: &str, name: &str| everything.has_parameter(workload, name);
    arguments.traffic.apply(&mut all, has)?;
    for (place, workload) in study.all_workloads_mut().zip(all) {
        *place = workload;
    }
    Ok(())
}

/// Keeps the workloads of these names alone. One that the study does not have is measured over its networks, without
/// its sections.
fn narrow(study: &mut Study, names: &[String]) {
    let known: BTreeSet<String> = study.all_workloads_mut().map(|one| one.name.clone()).collect();
    let studied = study.workloads.take().unwrap_or_default();
    let wanted = |workload: &WorkloadStudy| names.contains(&workload.name);
    if study.runs.is_empty() || names.iter().any(|name| !known.contains(name)) {
        study.runs.clear();
        study.workloads = Some(names.iter().flat_map(|name| named(name, &studied)).collect());
        return;
    }
    let left: Vec<WorkloadStudy> = studied.into_iter().filter(wanted).collect();
    for workloads in study.runs.iter_mut().filter_map(|run| run.workloads.as_mut()) {
        workloads.retain(wanted);
    }
    let has_some = |workloads: &Vec<WorkloadStudy>| !workloads.is_empty();
    study.runs.retain(|run| has_some(run.workloads.as_ref().unwrap_or(&left)));
    study.workloads = Some(left);
}

/// A workload that is named, and none of whose metrics the study asks for, is asked for all that it measures.
fn measure_something(study: &mut Study, named: &[String], everything: &Everything) {
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

fn named(name: &str, studied: &[WorkloadStudy]) -> Vec<WorkloadStudy> {
    let found: Vec<_> = studied.iter().filter(|workload| workload.name == name).cloned().collect();
    if found.is_empty() {
        vec![WorkloadStudy { name: name.to_owned(), ..WorkloadStudy::default() }]
    } else {
        found
    }
}

/// What would be measured, for a person or as JSON, with the order of the first blocks.
fn dry_run(plan: &Plan, json: bool) -> anyhow::Result<String> {
    if json {
        return Ok(serde_json::to_string_pretty(plan)?);
    }
    let mut text =
        format!("study {}, seed {}, baseline {}\n", plan.study, plan.seed, plan.baseline);
    for workload in &plan.workloads {
        let metrics: Vec<_> = workload.metrics.iter().map(|metric| metric.name()).collect();
        text.push_str(&format!(
            "workload {}, {}: {}\n",
            workload.name,
            workload.duration,
            metrics.join(", ")
        ));
    }
    for number in 0..3 {
        let turns = tare_study::order::block(plan, tare_record::Phase::Main, number);
        let order: Vec<_> =
            turns.iter().map(|turn| plan.networks[turn.network].label.as_str()).collect();
        text.push_str(&format!("block {number}: {}\n", order.join(" ")));
    }
    for finding in &plan.findings {
        text.push_str(&format!("note: {finding}\n"));
    }
    for skipped in Skipped::grouped(&plan.skipped) {
        text.push_str(&format!(
            "skipped {}: {}: {}\n",
            skipped.network, skipped.reason, skipped.remedy
        ));
    }
    Ok(text)
}

/// A directory that is not there yet, named after the study and the time.
fn fresh_directory(study: &str) -> PathBuf {
    let now = jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S");
    let name = format!("tare-{study}-{now}");
    (1..)
        .map(|n| PathBuf::from(if n == 1 { name.clone() } else { format!("{name}-{n}") }))
        .find(|path| !path.exists())
        .unwrap_or_else(|| PathBuf::from(&name))
}
