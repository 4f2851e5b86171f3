//! Measurement of a plan, the same for a new run and for a resumed one: lab, journal, runner, results.

use crate::catalogue::build_catalogue_with;
use crate::commands::page;
use crate::commands::resource_demand::plan_demand;
use crate::exit::{CommandExit, usage_error};
use crate::output;
use crate::output_file::write_whole;
use crate::places::Places;
use crate::progress::{DisplayOptions, ProgressDisplay};
use crate::signals::StopRequest;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tare_observe::headroom::LimitPolicy;
use tare_observe::limits::RunCgroup;
use tare_observe::presence::RunPresence;
use tare_observe::{environment, headroom};
use tare_record::finding::OtherRuns;
use tare_record::journal::{
    FORMAT, Journal, JournalWriter, LockedJournal, Record, RecordSink as _, RunHeader,
};
use tare_record::{Document, Environment, Finding, Plan, SkippedNetwork, StoppedBy, WorkloadPlan};
use tare_report::{NoteExtent, Style};
use tare_runner::network_environment::NetworkEnvironment;
use tare_runner::{StartPoint, run_plan};
use tare_sandbox::{EnterOptions, ModuleLoading, Sandbox};
use tare_traffic::{WorkloadRegistry, WorkloadRequest};

/// Options of a measurement other than its plan.
pub(crate) struct MeasureOptions {
    /// Directory for the journal and the results.
    pub(crate) directory: PathBuf,
    /// True if JSON is printed instead of the table.
    pub(crate) json: bool,
    /// Path of the HTML page.
    pub(crate) html: Option<PathBuf>,
    /// Policy on loading kernel modules.
    pub(crate) modules: ModuleLoading,
    /// Places of the networks beside the lab.
    pub(crate) places: Places,
    /// Workloads of this build.
    pub(crate) workloads: WorkloadRegistry,
    /// Limit on the resources that the run may take.
    pub(crate) care: LimitPolicy,
}

/// Returns the limit policy for `--force`.
pub(crate) fn limit_policy(force: bool) -> LimitPolicy {
    if force { LimitPolicy::Forced } else { LimitPolicy::Enforced }
}

/// Measures a plan from its beginning.
pub(crate) fn measure_plan(plan: Plan, job: &MeasureOptions) -> anyhow::Result<CommandExit> {
    let stop = StopRequest::new()?;
    let (presence, findings) = check_host(&plan, job.care)?;
    // Metrics of the networks themselves are measured without traffic.
    let asks_nothing = plan.workloads.is_empty() && plan.raising.is_empty();
    if plan.networks.is_empty() || asks_nothing {
        return nothing_runs(plan, job);
    }
    check_workloads(&plan, &job.workloads)?;
    job.places.prepare(&plan).map_err(with_remedy)?;
    let (sandbox, limits) = enter_lab(&plan, job)?;
    if !prepare(&plan, job, &stop.flag())? {
        return Ok(CommandExit::Interrupted);
    }
    job.places.docker.mount_host_tools(&plan, &job.workloads);
    // The engine is contacted by a thread of its own, which can start only after the lab is entered.
    let engines = job.places.docker.engines(&plan);
    let cluster = job.places.cluster.describe(&plan);
    let environment = Environment { engines, cluster, ..environment::read() };
    let emulated = environment.emulated;
    let head = RunHeader { format: FORMAT, plan: plan.clone(), environment, findings };
    let writer = begin_journal(&job.directory, head)?;
    let display = DisplayOptions { json: job.json, emulated, stop: stop.clone() };
    let display = ProgressDisplay::start(&plan, display);
    let stage = RunContext { sandbox, stop, presence, display, _limits: limits };
    measure(&plan, StartPoint::default(), writer, stage, job)
}

/// Creates the journal with its first line. If that line cannot be written, nothing is left behind.
pub(crate) fn begin_journal(directory: &Path, head: RunHeader) -> anyhow::Result<JournalWriter> {
    let was_there = directory.exists();
    let mut writer = JournalWriter::create(directory)?;
    if let Err(error) = writer.append(&Record::Run(Box::new(head))) {
        let _ = std::fs::remove_file(writer.path());
        if !was_there {
            let _ = std::fs::remove_dir(directory);
        }
        return Err(error.into());
    }
    Ok(writer)
}

/// Reports why none of the networks or workloads can run here. No journal is written.
fn nothing_runs(plan: Plan, job: &MeasureOptions) -> anyhow::Result<CommandExit> {
    if job.json {
        let environment = environment::read();
        let run = RunHeader { format: FORMAT, plan, environment, findings: Vec::new() };
        let journal = Journal { run, records: Vec::new() };
        output::print(&tare_report::json(&tare_analysis::document(&journal, None)?)?)?;
    } else {
        for SkippedNetwork { network, reason, remedy, .. } in
            SkippedNetwork::group_by_reason(&plan.skipped)
        {
            output::print_status(&format!("tare: {network} cannot run: {reason}: {remedy}"));
        }
    }
    Ok(CommandExit::Failed)
}

/// Measures the rest of a run, whose journal was read from the locked file.
pub(crate) fn measure_rest(
    mut journal: Journal,
    locked: LockedJournal,
    job: &MeasureOptions,
) -> anyhow::Result<CommandExit> {
    let stop = StopRequest::new()?;
    let plan = &journal.run.plan;
    let (presence, _) = check_host(plan, job.care)?;
    job.places.prepare(plan).map_err(with_remedy)?;
    let (sandbox, limits) = enter_lab(plan, job)?;
    if !prepare(plan, job, &stop.flag())? {
        return Ok(CommandExit::Interrupted);
    }
    job.places.docker.mount_host_tools(plan, &job.workloads);
    let mut writer = locked.into_writer()?;
    let ended_by = journal.stopped_by();
    let (start, from) = StartPoint::resume(&mut journal, jiff::Timestamp::now().to_string());
    writer.resume(&from, ended_by)?;
    let plan = &journal.run.plan;
    let emulated = journal.run.environment.emulated;
    let display = DisplayOptions { json: job.json, emulated, stop: stop.clone() };
    let display = ProgressDisplay::start(plan, display);
    display.add_earlier(&journal.trials(), &start);
    measure(
        plan,
        start,
        writer,
        RunContext { sandbox, stop, presence, display, _limits: limits },
        job,
    )
}

/// Returns every workload with each of the shapes in which it is measured.
fn workload_requests(plan: &Plan) -> impl Iterator<Item = (&WorkloadPlan, WorkloadRequest<'_>)> {
    let networks = plan.networks.len();
    plan.workloads.iter().enumerate().flat_map(move |(at, workload)| {
        let measured =
            move |shape: &usize| (0..networks).any(|network| plan.measures(network, at, *shape));
        (0..plan.shapes.len()).filter(measured).map(move |shape| {
            let networks = networks_at_once(plan, at, shape);
            let (parameters, shape) = (&workload.parameters, &plan.shapes[shape]);
            (workload, WorkloadRequest { parameters, shape, duration: workload.duration, networks })
        })
    })
}

/// Returns the number of networks over which a workload's servers run at the same time: all of them if it is woven.
fn networks_at_once(plan: &Plan, workload: usize, shape: usize) -> u32 {
    if plan.workloads[workload].slices.is_none() {
        return 1;
    }
    let measured = |network: &usize| plan.measures(*network, workload, shape);
    u32::try_from((0..plan.networks.len()).filter(measured).count()).unwrap_or(u32::MAX)
}

/// Rejects requests that a workload cannot serve, before any network is set up.
fn check_workloads(plan: &Plan, workloads: &WorkloadRegistry) -> anyhow::Result<()> {
    workload_requests(plan)
        .try_for_each(|(workload, asked)| workloads.find(&workload.name)?.validate(&asked))
        .map_err(usage_error)
}

/// Prepares data for workloads that takes long to create, before any network is set up. Returns false if the user
/// cancelled it.
fn prepare(plan: &Plan, job: &MeasureOptions, stop: &AtomicBool) -> anyhow::Result<bool> {
    // Servers in Docker's containers and in pods store their data there.
    if job.places.have_all_networks(plan) {
        return Ok(true);
    }
    let cancelled = || stop.load(Ordering::Relaxed);
    for (workload, asked) in workload_requests(plan) {
        let say =
            &mut |line: &str| output::print_status(&format!("tare: {}: {line}", workload.name));
        match job.workloads.find(&workload.name)?.prepare(&asked, say, &cancelled) {
            Err(tare_traffic::Error::Cancelled) => return Ok(false),
            prepared => prepared?,
        }
    }
    Ok(true)
}

/// Environment of the runner.
struct RunContext {
    /// The lab, unless no network of the plan is in it.
    sandbox: Option<Arc<Sandbox>>,
    stop: StopRequest,
    presence: RunPresence,
    display: ProgressDisplay,
    /// Dropped last, when no process runs under these limits any more.
    _limits: Option<RunCgroup>,
}

/// Checks the machine before any network is set up: other runs, and free resources.
pub(crate) fn check_host(
    plan: &Plan,
    care: LimitPolicy,
) -> anyhow::Result<(RunPresence, Vec<Finding>)> {
    let (presence, others) = RunPresence::announce();
    headroom::raise_open_files_limit();
    let mut findings = plan.findings.clone();
    findings.extend(headroom::check(&plan_demand(plan), care)?);
    if others > 0 {
        findings.push(Finding::OtherRuns(OtherRuns { others }));
    }
    // The control of a run is no trouble: a note says it with the results.
    let is_trouble = |finding: &&Finding| !matches!(finding, Finding::HostCongestionControl(_));
    for finding in findings.iter().filter(is_trouble) {
        output::print_status(&format!("tare: warning: {finding}"));
    }
    Ok((presence, findings))
}

/// Enters the lab, unless the plan's networks need none: a pod that weighs its own cluster may not make namespaces, nor may a
/// container that weighs the engine whose socket it has.
fn enter_lab(
    plan: &Plan,
    job: &MeasureOptions,
) -> anyhow::Result<(Option<Arc<Sandbox>>, Option<RunCgroup>)> {
    if job.places.need_no_lab(plan) {
        return Ok((None, None));
    }
    match enter_sandbox(job.modules) {
        Ok((sandbox, limits)) => Ok((Some(sandbox), limits)),
        // Engines make their own namespaces. What needs those of the lab in spite of that says so.
        Err(_) if job.places.have_all_networks(plan) => Ok((None, None)),
        Err(refused) => Err(refused),
    }
}

/// Enters the lab, with resource limits if they can be set; otherwise `tare doctor` reports the reason.
pub(crate) fn enter_sandbox(
    modules: ModuleLoading,
) -> anyhow::Result<(Arc<Sandbox>, Option<RunCgroup>)> {
    let limits = RunCgroup::create().ok();
    let control_group = limits.as_ref().map(|limits| limits.directory().to_owned());
    let options = EnterOptions { modules, control_group };
    Ok((Sandbox::enter(options).map_err(with_remedy)?, limits))
}

/// Appends the remedy of a network's error to its text.
pub(crate) fn with_remedy(error: tare_network::Error) -> anyhow::Error {
    if error.remedy.is_empty() {
        error.into()
    } else {
        anyhow::anyhow!("{error}: {}", error.remedy)
    }
}

fn measure(
    plan: &Plan,
    start: StartPoint,
    mut writer: JournalWriter,
    mut stage: RunContext,
    job: &MeasureOptions,
) -> anyhow::Result<CommandExit> {
    let everything = build_catalogue_with(stage.sandbox, job.modules, &job.places);
    let mut live = NetworkEnvironment::new(
        &everything.networks,
        &everything.workloads,
        stage.stop.flag(),
        stage.presence,
        start.elapsed,
    )
    .with_logs(job.directory.join("logs"))
    .with_congestion(plan.default_congestion.clone());
    let measured = run_plan(plan, start, &mut live, &mut writer, &mut stage.display);
    drop(stage.display);
    if let Err(error) = job.places.finish() {
        output::print_status(&format!("tare: warning: {:#}", with_remedy(error)));
    }
    // Whatever stopped the runner, the results so far are reported; its error then ends the command.
    let stopped_by = match measured {
        Ok(stopped_by) => stopped_by,
        Err(error) => {
            let _ = report_results(&job.directory, job.json);
            return Err(error.into());
        }
    };
    let document = report_results(&job.directory, job.json)?;
    if let Some(path) = &job.html {
        page::write_run_page(&job.directory, &document, path)?;
    }
    Ok(exit(plan, &document, stopped_by))
}

/// Returns the outcome of a run. A network that failed, or that was requested by name and is missing, makes the run a
/// failure, and so does a run without any figure.
fn exit(plan: &Plan, document: &Document, stopped_by: StoppedBy) -> CommandExit {
    let has_figure = document.cells.iter().any(|cell| cell.n > 0);
    let has_failed = !document.failed.is_empty();
    // The failures were said.
    let only_failed = has_failed && document.cells.is_empty();
    if stopped_by == StoppedBy::Interrupted {
        CommandExit::Interrupted
    } else if !has_figure && !only_failed {
        output::print_status(
            "tare: no figure could be made: the trials have too few samples, or no complete interval: use a longer --duration",
        );
        CommandExit::Failed
    } else if !has_failed && plan.refused.is_empty() {
        CommandExit::Done
    } else {
        print_failure(plan, document);
        CommandExit::Failed
    }
}

/// Says why a run with figures ends with a failure.
fn print_failure(plan: &Plan, document: &Document) {
    if !plan.refused.is_empty() {
        output::print_status(&format!(
            "tare: not everything that was named was run: {}: the exit code is 1",
            plan.refused.join(", ")
        ));
    }
    let mut failed: Vec<&str> = document.failed.iter().map(|one| one.network.as_str()).collect();
    failed.dedup();
    if !failed.is_empty() {
        output::print_status(&format!(
            "tare: not everything worked: {}: the exit code is 1",
            failed.join(", ")
        ));
    }
}

/// Prints the results and stores them beside the journal, all derived from the journal alone.
pub(crate) fn report_results(directory: &Path, json: bool) -> anyhow::Result<Document> {
    let journal = Journal::read(directory)?;
    let document = tare_analysis::document(&journal, None)?;
    let kept_json = tare_report::json(&document)?;
    // If the disk is full, the results are still printed; if standard output is closed, they are still stored.
    let kept = keep(&directory.join("result.json"), &kept_json)
        .and_then(|()| keep(&directory.join("result.csv"), &tare_report::csv(&document)?));
    let text = if json {
        kept_json
    } else {
        tare_report::table(&document, &Style::detect(), NoteExtent::Heaviest { directory })
    };
    output::print(&text)?;
    kept?;
    let place = directory.display();
    output::print_status(&format!("tare: journal, result.json and result.csv are in {place}"));
    Ok(document)
}

/// Writes a file of results. If that fails, the one before it stays.
fn keep(path: &Path, text: &str) -> anyhow::Result<()> {
    write_whole(path, text.as_bytes()).map_err(|error| {
        let line = format!(
            "cannot write {}: {error}: the journal is kept: see the results with `tare report`",
            path.display()
        );
        anyhow::Error::new(error).context(line)
    })
}
