//! The measuring itself, the same for a fresh run and for one that goes on: lab, journal, runner, results.

use crate::catalogue::everything_with;
use crate::commands::page;
use crate::docker::Docker;
use crate::exit::{Exit, usage};
use crate::progress::Bar;
use crate::{out, signals};
use anyhow::Context as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tare_lab::{EnterOptions, Lab, Modules};
use tare_observe::headroom::{Care, Crowd};
use tare_observe::limits::Limits;
use tare_observe::presence::Presence;
use tare_observe::{environment, headroom};
use tare_record::journal::{FORMAT, Journal, Record, Run, Sink as _, Writer};
use tare_record::{
    Document, Environment, Family, Finding, Plan, Shape, Skipped, StoppedBy, WorkloadPlan,
};
use tare_report::Style;
use tare_runner::live::Live;
use tare_runner::{Start, run};
use tare_traffic::{Asked, Session};

/// What a measuring is told beside its plan.
pub(crate) struct Job {
    /// Where the journal and the results go.
    pub(crate) directory: PathBuf,
    /// Print JSON instead of the table.
    pub(crate) json: bool,
    /// Where the page goes.
    pub(crate) html: Option<PathBuf>,
    /// Whether kernel modules may be loaded.
    pub(crate) modules: Modules,
    /// The engine of networks that are Docker's.
    pub(crate) docker: Docker,
    /// How much of the machine the run may take.
    pub(crate) care: Care,
}

/// What `--force` means.
pub(crate) fn care(force: bool) -> Care {
    if force { Care::Forced } else { Care::Careful }
}

/// Measures a plan from its beginning.
pub(crate) fn fresh(plan: Plan, job: &Job) -> anyhow::Result<Exit> {
    let stop = signals::stop_flag()?;
    let (presence, findings) = look_around(&plan, job.care)?;
    // Metrics of the networks themselves are measured without traffic.
    let asks_nothing = plan.workloads.is_empty() && plan.raising.is_empty();
    if plan.networks.is_empty() || asks_nothing {
        return nothing_runs(plan, job);
    }
    check_fits(&plan)?;
    let (lab, limits) = enter(job)?;
    if !prepare(&plan, job, &stop)? {
        return Ok(Exit::Interrupted);
    }
    job.docker.lend(&plan);
    // The engine is spoken to by a thread of its own, which only starts now that the lab is entered.
    let engines = job.docker.engines(&plan);
    let environment = Environment { engines, ..environment::read() };
    let head = Run { format: FORMAT, plan: plan.clone(), environment, findings };
    let writer = begin(&job.directory, head)?;
    let stage = Stage { lab, stop, presence, _limits: limits };
    measure(&plan, Start::default(), writer, stage, job)
}

/// Makes the journal with its first line; where that cannot be written, nothing half-made is left.
pub(crate) fn begin(directory: &Path, head: Run) -> anyhow::Result<Writer> {
    let was_there = directory.exists();
    let mut writer = Writer::create(directory)?;
    if let Err(error) = writer.append(&Record::Run(Box::new(head))) {
        let _ = std::fs::remove_file(writer.path());
        if !was_there {
            let _ = std::fs::remove_dir(directory);
        }
        return Err(error.into());
    }
    Ok(writer)
}

/// Says why none of the networks, or of the workloads, can run here; there is no journal of nothing.
fn nothing_runs(plan: Plan, job: &Job) -> anyhow::Result<Exit> {
    if job.json {
        let environment = environment::read();
        let run = Run { format: FORMAT, plan, environment, findings: Vec::new() };
        let journal = Journal { run, records: Vec::new() };
        out::print(&tare_report::json(&tare_analysis::document(&journal, None)?)?)?;
    } else {
        for Skipped { network, reason, remedy } in Skipped::grouped(&plan.skipped) {
            out::say(&format!("tare: {network} cannot run: {reason}: {remedy}"));
        }
    }
    Ok(Exit::Failed)
}

/// Measures what is left of a run that was cut off.
pub(crate) fn rest(journal: &Journal, job: &Job) -> anyhow::Result<Exit> {
    let plan = &journal.run.plan;
    let stop = signals::stop_flag()?;
    let (presence, _) = look_around(plan, job.care)?;
    let (lab, limits) = enter(job)?;
    if !prepare(plan, job, &stop)? {
        return Ok(Exit::Interrupted);
    }
    job.docker.lend(plan);
    let start = Start::after(journal);
    let mut writer = Writer::reopen(&job.directory)?;
    let now = jiff::Timestamp::now().to_string();
    writer.append(&Record::Resumed(start.resumed(plan, now)))?;
    measure(plan, start, writer, Stage { lab, stop, presence, _limits: limits }, job)
}

/// Every workload with each of the shapes in which it is measured.
fn asked(plan: &Plan) -> impl Iterator<Item = (&WorkloadPlan, Asked<'_>)> {
    let networks = plan.networks.len();
    plan.workloads.iter().enumerate().flat_map(move |(at, workload)| {
        let measured =
            move |shape: &usize| (0..networks).any(|network| plan.measures(network, at, *shape));
        (0..plan.shapes.len()).filter(measured).map(move |shape| {
            let (parameters, shape) = (&workload.parameters, &plan.shapes[shape]);
            (workload, Asked { parameters, shape, duration: workload.duration })
        })
    })
}

/// What a workload cannot do is refused before anything is raised.
fn check_fits(plan: &Plan) -> anyhow::Result<()> {
    let registry = tare_traffic::workloads();
    asked(plan)
        .try_for_each(|(workload, asked)| registry.find(&workload.name)?.fits(&asked))
        .map_err(usage)
}

/// Makes what workloads need that takes long, before anything is raised. False where the user did not want to wait.
fn prepare(plan: &Plan, job: &Job, stop: &AtomicBool) -> anyhow::Result<bool> {
    // Servers in Docker's containers keep their data there.
    if job.docker.has_all(plan) {
        return Ok(true);
    }
    let registry = tare_traffic::workloads();
    let cancelled = || stop.load(Ordering::Relaxed);
    for (workload, asked) in asked(plan) {
        let say = &mut |line: &str| out::say(&format!("tare: {}: {line}", workload.name));
        match registry.find(&workload.name)?.prepare(&asked, say, &cancelled) {
            Err(tare_traffic::Error::Cancelled) => return Ok(false),
            prepared => prepared?,
        }
    }
    Ok(true)
}

/// What the runner works on.
struct Stage {
    lab: Arc<Lab>,
    stop: Arc<AtomicBool>,
    presence: Presence,
    /// Dropped last: by then nothing runs in them any more.
    _limits: Option<Limits>,
}

/// What should be known before anything is raised: who else measures, and whether there is room.
fn look_around(plan: &Plan, care: Care) -> anyhow::Result<(Presence, Vec<Finding>)> {
    let (presence, others) = Presence::announce();
    headroom::lift_open_files();
    let mut findings = plan.findings.clone();
    findings.extend(headroom::check(&crowd(&plan.shapes), care)?);
    if others > 0 {
        findings.push(Finding::OtherRun { others });
    }
    for finding in &findings {
        out::say(&format!("tare: warning: {finding}"));
    }
    Ok((presence, findings))
}

/// The most of everything that any of these shapes has.
pub(crate) fn crowd(shapes: &[Shape]) -> Crowd {
    let containers = |shape: &Shape| shape.servers.saturating_add(shape.clients);
    let ipv6 = shapes.iter().filter(|shape| shape.family == Family::Ipv6).map(containers);
    let clients = |shape: &Shape| shape.clients.saturating_mul(shape.processes);
    let agents = |shape: &Shape| {
        let members = shape.servers.saturating_add(clients(shape)) as usize;
        u32::try_from(Session::agents(members)).unwrap_or(u32::MAX)
    };
    let greatest =
        |count: &dyn Fn(&Shape) -> u32| shapes.iter().map(count).max().unwrap_or_default();
    Crowd {
        containers: greatest(&containers),
        speak_ipv6: ipv6.max().unwrap_or_default(),
        agents: greatest(&agents),
        clients: greatest(&clients),
        flows: greatest(&|shape| clients(shape).saturating_mul(shape.flows)),
    }
}

/// Enters the lab, under limits where there can be any; where there can be none, `tare doctor` says why.
fn enter(job: &Job) -> anyhow::Result<(Arc<Lab>, Option<Limits>)> {
    let limits = Limits::set().ok();
    let control_group = limits.as_ref().map(|limits| limits.directory().to_owned());
    let options = EnterOptions { modules: job.modules, control_group };
    Ok((Lab::enter(options).map_err(with_remedy)?, limits))
}

/// An error of a network with its remedy on the same line.
pub(crate) fn with_remedy(error: tare_network::Error) -> anyhow::Error {
    if error.remedy.is_empty() {
        error.into()
    } else {
        anyhow::anyhow!("{error}: {}", error.remedy)
    }
}

fn measure(
    plan: &Plan,
    start: Start,
    mut writer: Writer,
    stage: Stage,
    job: &Job,
) -> anyhow::Result<Exit> {
    let everything = everything_with(Some(stage.lab), job.modules, &job.docker);
    let mut live = Live::new(
        &everything.networks,
        &everything.workloads,
        stage.stop,
        stage.presence,
        start.elapsed,
    )
    .with_logs(job.directory.join("logs"));
    let mut bar = Bar::new(plan);
    let measured = run(plan, start, &mut live, &mut writer, &mut bar);
    bar.finish();
    if let Err(error) = job.docker.finish() {
        out::say(&format!("tare: warning: {:#}", with_remedy(error)));
    }
    // Whatever stopped the runner, what was measured is reported; its error then ends the command.
    let stopped_by = match measured {
        Ok(stopped_by) => stopped_by,
        Err(error) => {
            let _ = results(&job.directory, job.json);
            return Err(error.into());
        }
    };
    let document = results(&job.directory, job.json)?;
    if let Some(path) = &job.html {
        page::keep(&job.directory, &document, path)?;
    }
    Ok(exit(plan, &document, stopped_by))
}

/// A network that broke, or that was asked for by name and is missing, is a failure whatever else was measured.
fn exit(plan: &Plan, document: &Document, stopped_by: StoppedBy) -> Exit {
    if stopped_by == StoppedBy::Interrupted {
        Exit::Interrupted
    } else if document.failed.is_empty() && plan.refused.is_empty() {
        Exit::Done
    } else {
        Exit::Failed
    }
}

/// Prints the results, and keeps them beside the journal; all from the journal alone.
pub(crate) fn results(directory: &Path, json: bool) -> anyhow::Result<Document> {
    let journal = Journal::read(directory)?;
    let document = tare_analysis::document(&journal, None)?;
    let kept_json = tare_report::json(&document)?;
    // Where the disk is full, what was measured is shown all the same; where nobody reads, it is kept all the same.
    let kept = keep(&directory.join("result.json"), &kept_json)
        .and_then(|()| keep(&directory.join("result.csv"), &tare_report::csv(&document)?));
    let text = if json { kept_json } else { tare_report::table(&document, &Style::detect()) };
    out::print(&text)?;
    kept?;
    let place = directory.display();
    out::say(&format!("tare: journal, result.json and result.csv are in {place}"));
    Ok(document)
}

/// Writes a file whole, or leaves none.
fn keep(path: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(path, text).inspect_err(|_| drop(std::fs::remove_file(path))).with_context(
        || format!("write {}: the journal is kept, `tare report` shows it", path.display()),
    )
}
