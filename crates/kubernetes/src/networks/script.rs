//! Commands by which a reader can build the same network.

use super::catalogue::ClusterNetworkDefinition;
use super::manifest::{network_objects, owner};
use crate::options::ClusterOptions;
use crate::run_id::RunId;
use tare_network::{NetworkParameters, Shape};

/// Returns the objects of a network as `kubectl apply` takes them. JSON is YAML, too.
pub(super) fn commands(
    definition: &ClusterNetworkDefinition,
    options: &ClusterOptions,
    shape: &Shape,
    site: &NetworkParameters,
) -> Vec<String> {
    if let Err(error) = definition.check_shape(shape) {
        return vec![format!("# {error}")];
    }
    let run = RunId::example();
    let note =
        format!("# the image {} must be known to the nodes: tare image --help", options.image);
    let objects = network_objects(definition, options, &run, shape, site);
    let objects = std::iter::once(owner(&run)).chain(objects);
    let commands = objects.map(|object| format!("kubectl apply -f - <<'EOF'\n{object}\nEOF"));
    std::iter::once(note).chain(commands).collect()
}
