//! `tare resume`: continues a run that was cut off, or completes one in which networks failed, with its own plan and
//! seed.

use crate::catalogue::{self, BuildCatalogue, build_catalogue};
use crate::cli::ResumeArguments;
use crate::commands::measure::{self, MeasureOptions};
use crate::commands::run::check_links;
use crate::congestion;
use crate::docker::DockerSupport;
use crate::exit::{CommandExit, usage_error};
use crate::foreign_request::{announce_granted, join_requests};
use crate::output;
use crate::own_networks::{OwnNetworks, network_requests};
use crate::places::Places;
use std::collections::BTreeSet;
use tare_network::NetworkSpec;
use tare_record::journal::{Journal, LockedJournal};
use tare_record::{ClusterDescription, Plan, StoppedBy};
use tare_study::Catalogue as _;

/// Measures the rest of the run, and reports the whole run.
pub(crate) fn run(arguments: &ResumeArguments) -> anyhow::Result<CommandExit> {
    // It is locked before it is read: what is gone on with is what no other process goes on with.
    let locked = LockedJournal::open(&arguments.directory).map_err(usage_error)?;
    let journal = locked.read().map_err(usage_error)?;
    if let Some(stopped_by) = journal.stopped_by()
        && stopped_by != StoppedBy::Interrupted
        && journal.failures().is_empty()
    {
        return Err(usage_error(anyhow::anyhow!(
            "cannot resume {}: the run is finished (stopped by: {stopped_by}): show it with `tare report`",
            arguments.directory.display()
        )));
    }
    let modules = catalogue::module_policy(arguments.load_modules);
    let everything = build_catalogue(None, modules);
    let engines = &journal.run.environment.engines;
    let mut asked = network_requests(&journal.run.plan, &OwnNetworks::default(), &everything);
    asked.extend(DockerSupport::recorded_requests(engines));
    if !arguments.allow_exec && !asked.is_empty() {
        return Err(usage_error(anyhow::anyhow!(
            "cannot resume: the run's {}: use --allow-exec if you trust {}",
            join_requests(&asked),
            arguments.directory.display()
        )));
    }
    announce_granted(&asked);
    check_plan(&journal.run.plan, &everything)?;
    congestion::check_default(&journal.run.plan)?;
    announce_retried(&journal);
    let options = MeasureOptions {
        directory: arguments.directory.clone(),
        json: arguments.json,
        html: None,
        modules,
        places: Places::from_recorded(engines, &arguments.cluster),
        workloads: everything.workloads,
        care: measure::limit_policy(arguments.force),
    };
    check_cluster(&journal, &options.places)?;
    measure::measure_rest(journal, locked, &options)
}

/// Rejects a cluster that is not the run's own: its figures would be taken for those of the other.
fn check_cluster(journal: &Journal, places: &Places) -> anyhow::Result<()> {
    let Some(before) = &journal.run.environment.cluster else { return Ok(()) };
    let Some(now) = places.cluster.describe(&journal.run.plan) else { return Ok(()) };
    let ClusterDescription { identity, namespace, image, pods, .. } = &now;
    if *pods != before.pods {
        let raised = before.pods.raised_anew();
        return Err(usage_error(anyhow::anyhow!(
            "cannot resume: each block of the run raised its {raised} anew: give --raise {raised}"
        )));
    }
    if (identity, namespace, image) == (&before.identity, &before.namespace, &before.image) {
        return Ok(());
    }
    Err(usage_error(anyhow::anyhow!(
        "cannot resume: the run was in the namespace {} of the cluster {} with the image {}, not in {namespace} of \
         {identity} with {image}: give --kube-context, --namespace and --pod-image as before",
        before.namespace,
        before.identity,
        before.image
    )))
}

/// Prints which networks of a finished run are tried again.
fn announce_retried(journal: &Journal) {
    if journal.stopped_by().is_none_or(|by| by == StoppedBy::Interrupted) {
        return;
    }
    let failures = journal.failures();
    let networks: BTreeSet<&str> = failures.iter().map(|one| one.network.as_str()).collect();
    let Some(block) = failures.iter().map(|one| one.first_block()).min() else { return };
    output::print_status(&format!(
        "tare: {} failed: the blocks from block {block} on are measured again",
        networks.into_iter().collect::<Vec<_>>().join(", ")
    ));
}

/// Checks that this build knows the networks, workloads and links of a plan, with their options and parameters: the
/// journal may be another build's, or anybody's.
fn check_plan(plan: &Plan, everything: &BuildCatalogue) -> anyhow::Result<()> {
    let cannot = |reason: String| usage_error(anyhow::anyhow!("cannot resume: {reason}"));
    for entry in &plan.networks {
        let network: NetworkSpec = entry
            .network
            .parse()
            .map_err(|error: tare_network::NetworkSpecError| cannot(error.to_string()))?;
        everything.missing(&network).map_err(|error| cannot(error.to_string()))?;
    }
    for workload in &plan.workloads {
        everything.resolve(&workload.name, &workload.parameters).map_err(cannot)?;
    }
    check_links(plan, everything)
}
