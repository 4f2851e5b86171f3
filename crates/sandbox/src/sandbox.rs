//! The sandbox: the resources that the process holds so that namespaces and programs can exist.

use crate::cgroup::SandboxCgroup;
use crate::drops::DropCounter;
use crate::init_process::InitWatch;
use crate::kernel::{KernelProbe, ModuleLoading};
use crate::namespace::Namespace;
use crate::private_namespaces::{self, SandboxPrivilege};
use crate::process::SandboxProcess;
use crate::program::TARE;
use crate::programs::MountNamespace;
use crate::spawner::Spawner;
use crate::sys;
use crate::sys::{FilesystemView, NamespaceHandle};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use tare_network::{Error, INTERNAL, Stdio as ProcessStdio};

/// Options for entering the sandbox.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnterOptions {
    /// Permission to load kernel modules.
    pub modules: ModuleLoading,
    /// Directory of a control group (version 2) that every program of the sandbox joins, if the kernel allows it. When
    /// the sandbox ends, however it ends, the group is removed.
    pub control_group: Option<PathBuf>,
}

/// Private namespaces on this machine, and the programs that run in them.
///
/// Descriptors and pipes of this process hold everything. When the process ends, however it ends, the kernel removes
/// all of it.
pub struct Sandbox {
    privilege: SandboxPrivilege,
    kernel: KernelProbe,
    drops: Option<Arc<DropCounter>>,
    group: Option<Arc<SandboxCgroup>>,
    spawner: Spawner,
}

impl Sandbox {
    /// Enters the sandbox: the process leaves its mount namespace (and, unless it is root, its user namespace), and the
    /// sandbox's PID namespace begins. Its network namespace does not change.
    ///
    /// To be called once, while the process has a single thread. The program's `main` must have the roles `internal
    /// init` ([`run_init`](crate::run_init)) and `internal exec` ([`exec_with_hosts()`](crate::exec_with_hosts())).
    ///
    /// # Errors
    /// The kernel or its configuration forbids private namespaces; then the remedy says what to do. Or the control
    /// group does not exist.
    pub fn enter(options: EnterOptions) -> Result<Arc<Self>, Error> {
        let group = options.control_group.map(SandboxCgroup::open).transpose()?.map(Arc::new);
        // Within a user namespace the kernel would refuse.
        let drops = DropCounter::load().ok().map(Arc::new);
        let privilege = private_namespaces::enter_private_namespaces()?;
        let spawner = Spawner::start(group.as_deref())?;
        let kernel = KernelProbe::new(options.modules);
        Ok(Arc::new(Self { privilege, kernel, drops, group, spawner }))
    }

    /// Returns the privilege with which the sandbox was entered.
    #[must_use]
    pub fn privilege(&self) -> SandboxPrivilege {
        self.privilege
    }

    /// Returns the probe of this kernel. The same probe checks the requirements of networks, so that it reads the
    /// machine only once.
    #[must_use]
    pub fn kernel(&self) -> &KernelProbe {
        &self.kernel
    }

    /// Returns the counter of the kernel's drop reasons. Returns `None` if this process may not count them.
    pub fn drops(&self) -> Option<&Arc<DropCounter>> {
        self.drops.as_ref()
    }

    /// Starts a program in the sandbox's PID namespace and in a network namespace: that of this process if none is
    /// given.
    ///
    /// # Errors
    /// The program does not exist or cannot be executed, or its namespaces cannot be entered.
    pub fn start(
        &self,
        command: Command,
        namespace: Option<Arc<Namespace>>,
    ) -> Result<Child, Error> {
        self.start_with_mounts(command, namespace, None)
    }

    /// Starts a program as `start` does, but in the given view of the file system.
    ///
    /// # Errors
    /// As for [`Sandbox::start`].
    pub fn start_with_mounts(
        &self,
        command: Command,
        namespace: Option<Arc<Namespace>>,
        view: Option<FilesystemView>,
    ) -> Result<Child, Error> {
        self.spawn(command, namespace, view).map(|(child, _)| child)
    }

    /// Starts a program as [`Sandbox::start_with_mounts`] does, with the given streams, to be ended with its handle.
    ///
    /// # Errors
    /// As for [`Sandbox::start`].
    pub fn start_process(
        &self,
        command: Command,
        namespace: Option<Arc<Namespace>>,
        view: Option<FilesystemView>,
        stdio: ProcessStdio,
    ) -> Result<SandboxProcess, Error> {
        Ok(SandboxProcess::new(self.spawn(command, namespace, view)?, stdio))
    }

    fn spawn(
        &self,
        mut command: Command,
        namespace: Option<Arc<Namespace>>,
        view: Option<FilesystemView>,
    ) -> Result<(Child, Arc<InitWatch>), Error> {
        let namespace = namespace.map(|namespace| namespace as NamespaceHandle);
        sys::enter_before_exec(&mut command, self.group.clone(), namespace, view);
        self.spawner.spawn(command)
    }

    /// Mounts the /proc of the sandbox's PID namespace in a mount namespace, because programs look themselves up by
    /// their own process id.
    ///
    /// Only a process of that PID namespace can do this. The process started here runs the role `init` and ends
    /// at once, because it is not PID 1. If the mount is refused (as it can be in nested containers), the outer /proc
    /// stays.
    pub(crate) fn mount_proc(&self, mounts: &Arc<MountNamespace>) {
        let mut command = Command::new(TARE);
        command
            .args([INTERNAL, "init"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let view = FilesystemView::in_root(mounts.clone());
        sys::enter_before_exec(&mut command, None, None, Some(view));
        sys::mount_proc_before_exec(&mut command);
        if let Ok((mut child, _)) = self.spawner.spawn(command) {
            let _ = child.wait();
        }
    }
}
