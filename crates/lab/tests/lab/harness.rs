//! Test cases: each runs in a process of its own, as root and as an ordinary user, or is ignored with its reason.

use libtest_mimic::{Arguments, Conclusion, Failed, Trial};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::process::{Command, ExitCode};
use tare_lab::{KernelProbe, networks, pairs};
use tare_network::{Need, Probe, Registry, Spelled};

/// Ordinary user as whom root runs every case a second time.
const NOBODY: &str = "65534";

/// Variable that the virtual machine sets, whose kernel has all modules: there, no case is ignored for want of one.
const ALL_MODULES: &str = "TARE_VM_NETWORKS";

/// Something that a case needs besides private namespaces.
#[derive(Clone, Debug)]
pub(crate) enum Requirement {
    /// All that a network needs, by its spelling.
    Network(String),
    /// Program on the PATH.
    Program(&'static str),
    /// Any other condition: whether it holds, and its name after "needs".
    Condition(fn() -> bool, &'static str),
}

/// Machine as this user finds it: which needs are met, each looked at once.
struct Machine {
    registry: Registry,
    probe: KernelProbe,
    met: HashMap<Need, bool>,
}

impl Machine {
    fn new() -> Self {
        let registry = Registry::new(networks(None)).with_apart(pairs(None));
        Self { registry, probe: KernelProbe::default(), met: HashMap::new() }
    }

    fn meets(&mut self, need: &Need) -> bool {
        let probe = &self.probe;
        *self.met.entry(need.clone()).or_insert_with(|| probe.check(need).is_ok())
    }
}

impl Requirement {
    /// Name of what is missing on a machine, if anything is.
    fn unmet(&self, machine: &mut Machine) -> Option<String> {
        match self {
            Self::Network(name) => {
                let spelled: Spelled = name.parse().expect("a good name");
                let network = machine.registry.find(&spelled).expect("a known network");
                let needs = network.needs(&crate::cases::site(&spelled));
                let unmet = needs.into_iter().find(|need| !machine.meets(need))?;
                let promised = matches!(unmet, Need::Kernel { .. }) && has_all_modules();
                (!promised).then(|| unmet.to_string())
            }
            Self::Program(name) => {
                tare_lab::program::find(name).is_none().then(|| format!("the program {name}"))
            }
            Self::Condition(holds, name) => (!holds()).then(|| (*name).to_owned()),
        }
    }
}

/// Whether this kernel was booted because it has all modules.
fn has_all_modules() -> bool {
    std::env::var_os(ALL_MODULES).is_some()
}

/// Test case: its name, its requirements, and its body, which must work for ordinary users too.
pub(crate) struct Case {
    name: String,
    requirements: Vec<Requirement>,
    body: Box<dyn Fn()>,
}

impl Case {
    /// Case without requirements.
    pub(crate) fn new(name: impl Into<String>, body: impl Fn() + 'static) -> Self {
        Self { name: name.into(), requirements: Vec::new(), body: Box::new(body) }
    }

    /// Case of one network: its name comes after the case's.
    pub(crate) fn of_network(name: &str, network: &str, body: impl Fn(&str) + 'static) -> Self {
        let owned = network.to_owned();
        Self::new(format!("{name}::{network}"), move || body(&owned)).on(network)
    }

    /// The same case where the machine can carry a network.
    pub(crate) fn on(self, network: &str) -> Self {
        self.needing(Requirement::Network(network.to_owned()))
    }

    /// The same case with one more requirement.
    pub(crate) fn needing(mut self, requirement: Requirement) -> Self {
        self.requirements.push(requirement);
        self
    }
}

/// Runs one case, in this process.
pub(crate) fn run_case(cases: &[Case], name: &str) -> ExitCode {
    let Some(case) = cases.iter().find(|case| case.name == name) else {
        eprintln!("no case {name}");
        return ExitCode::FAILURE;
    };
    (case.body)();
    ExitCode::SUCCESS
}

/// Prints the cases that cannot run here as this user, each with what it needs.
pub(crate) fn print_ignored(cases: &[Case]) -> ExitCode {
    let mut machine = Machine::new();
    for case in cases {
        let unmet = case.requirements.iter().find_map(|one| one.unmet(&mut machine));
        if let Some(unmet) = unmet {
            println!("{}\t{unmet}", case.name);
        }
    }
    ExitCode::SUCCESS
}

/// User as whom cases run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum User {
    Root,
    Ordinary,
}

impl User {
    fn name(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Ordinary => "user",
        }
    }

    /// This program, run by the user.
    fn command(self) -> Command {
        let this = std::env::current_exe().expect("this program has a path");
        if self == Self::Root || !is_root() {
            return Command::new(this);
        }
        let mut command = Command::new("setpriv");
        command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--"]).arg(this);
        command
    }

    /// What the cases need that cannot run as this user, by their names.
    fn ignored(self) -> BTreeMap<String, String> {
        let output = self.command().arg("ignored").output().expect("this program runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("names are text");
        let lines = text.lines().filter_map(|line| line.split_once('\t'));
        lines.map(|(name, unmet)| (name.to_owned(), format!("needs {unmet}"))).collect()
    }

    /// Runs a case as this user.
    fn run(self, case: &str) -> Result<(), Failed> {
        let output = self.command().args(["case", case]).output()?;
        let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() {
            print!("{said}");
            return Ok(());
        }
        let complaint = String::from_utf8_lossy(&output.stderr);
        write!(said, "{complaint}\n{}", output.status).expect("a string takes text");
        Err(said.into())
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Runs the cases that the arguments name, in the way of the standard library's harness.
pub(crate) fn run(cases: &[Case], arguments: &Arguments) -> Conclusion {
    let users: &[User] = if is_root() { &[User::Root, User::Ordinary] } else { &[User::Ordinary] };
    let mut trials = Vec::new();
    for &user in users {
        // A case that is named exactly, without a reason to ignore it, has been listed before.
        let listed = arguments.filter.as_ref().is_some_and(|name| !name.starts_with('['));
        let ignored = if arguments.exact && listed { BTreeMap::new() } else { user.ignored() };
        trials.extend(cases.iter().map(|case| trial(user, &case.name, ignored.get(&case.name))));
    }
    libtest_mimic::run(arguments, trials)
}

fn trial(user: User, case: &str, unmet: Option<&String>) -> Trial {
    let name = case.to_owned();
    let trial = Trial::test(format!("{}::{case}", user.name()), move || user.run(&name));
    match unmet {
        Some(unmet) => trial.with_kind(unmet).with_ignored_flag(true),
        None => trial,
    }
}
