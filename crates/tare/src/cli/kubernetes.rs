//! Arguments of `tare kubernetes`.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct KubernetesArguments {
    /// Action of the command.
    #[command(subcommand)]
    pub(crate) action: KubernetesAction,
}

/// Action that concerns a cluster without measuring it.
#[derive(Debug, Subcommand)]
pub(crate) enum KubernetesAction {
    /// Print the service account, Role and RoleBinding that a run needs, for `kubectl apply --filename -`
    Rbac(RbacArguments),
}

#[derive(Debug, Args)]
pub(crate) struct RbacArguments {
    /// Namespace of the runs
    #[arg(long, value_name = "NAMESPACE", default_value = "default")]
    pub(crate) namespace: String,
}
