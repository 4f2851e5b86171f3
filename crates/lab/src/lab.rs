//! The lab itself: what the process holds so that namespaces and programs can be.

use crate::drops::Drops;
use crate::enter::{self, Privilege};
use crate::group::Group;
use crate::kernel::{KernelProbe, Modules};
use crate::namespace::Namespace;
use crate::programs::{Mounts, View};
use crate::spawner::{Spawner, TARE};
use crate::sys;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use tare_network::Error;

/// How to enter the lab.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnterOptions {
    /// Whether kernel modules may be loaded.
    pub modules: Modules,
    /// The directory of a control group (version 2) that every program which the lab starts joins, if the kernel lets
    /// it. When the lab ends, however it ends, so does the group.
    pub control_group: Option<PathBuf>,
}

/// Private namespaces on this machine, and the programs that run in them.
///
/// Everything is held by descriptors and pipes of this process: when it ends, however it ends, the kernel removes all
/// of it.
pub struct Lab {
    privilege: Privilege,
    kernel: KernelProbe,
    drops: Option<Arc<Drops>>,
    group: Option<Arc<Group>>,
    spawner: Spawner,
}

impl Lab {
    /// Enters the lab: the process leaves its mount namespace (and, unless it is root, its user namespace), and the
    /// lab's PID namespace begins. Its network namespace stays what it is.
    ///
    /// To be called once, while the process has a single thread. The program's `main` must have the hidden subcommands
    /// `keeper` ([`crate::keeper`]) and `inside` ([`crate::inside`]).
    ///
    /// # Errors
    /// When the kernel or its configuration forbids private namespaces; the remedy says what to do. When the control
    /// group is not there.
    pub fn enter(options: EnterOptions) -> Result<Arc<Self>, Error> {
        let group = options.control_group.map(Group::open).transpose()?.map(Arc::new);
        // Within a user namespace nobody could.
        let drops = Drops::load().ok().map(Arc::new);
        let privilege = enter::private_namespaces()?;
        let spawner = Spawner::start(group.as_deref())?;
        let kernel = KernelProbe::new(options.modules);
        Ok(Arc::new(Self { privilege, kernel, drops, group, spawner }))
    }

    /// By what right it stands.
    #[must_use]
    pub fn privilege(&self) -> Privilege {
        self.privilege
    }

    /// What this kernel has; the same probe says what is missing for a network, so that it looks only once.
    #[must_use]
    pub fn kernel(&self) -> &KernelProbe {
        &self.kernel
    }

    /// What counts why the kernel drops packets; nothing where this process may not ask it.
    pub(crate) fn drops(&self) -> Option<&Arc<Drops>> {
        self.drops.as_ref()
    }

    /// Starts a program in the lab's PID namespace and a network namespace, in the process's own where none is given.
    pub(crate) fn start(
        &self,
        command: Command,
        namespace: Option<Arc<Namespace>>,
    ) -> Result<Child, Error> {
        self.start_with(command, namespace, None)
    }

    /// The same, with a view of files that is not the process's own.
    pub(crate) fn start_with(
        &self,
        mut command: Command,
        namespace: Option<Arc<Namespace>>,
        view: Option<View>,
    ) -> Result<Child, Error> {
        sys::enter_before_exec(&mut command, self.group.clone(), namespace, view);
        self.spawner.spawn(command)
    }

    /// Mounts the /proc of the lab's PID namespace in a view of files: programs look themselves up by their own number.
    ///
    /// Only a process of that PID namespace can. It ends at once, as a keeper that has nothing to keep. Where this is
    /// refused (nested containers may), the outer /proc stays.
    pub(crate) fn mount_proc(&self, mounts: &Arc<Mounts>) {
        let mut command = Command::new(TARE);
        command.arg("keeper").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        sys::enter_before_exec(&mut command, None, None, Some(Arc::clone(mounts).into()));
        sys::mount_proc_before_exec(&mut command);
        if let Ok(mut child) = self.spawner.spawn(command) {
            let _ = child.wait();
        }
    }
}
