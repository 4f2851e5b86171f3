//! Test cases: each runs in its own process, as root and as an ordinary user, or is ignored with a reason.

use libtest_mimic::{Arguments, Conclusion, Failed, Trial};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::process::{Command, ExitCode};
use tare_lab::{networks, pairs};
use tare_network::{NetworkRegistry, NetworkSpec, Requirement, RequirementProbe};
use tare_sandbox::KernelProbe;

/// UID of the ordinary user, for which root runs every case a second time.
const NOBODY: &str = "65534";

/// Variable set by the virtual machine, whose kernel has all modules: there, no case is ignored because a module is
/// missing.
const ALL_MODULES: &str = "TARE_VM_NETWORKS";

/// Requirement of a case in addition to private namespaces.
#[derive(Clone, Debug)]
pub(crate) enum CaseRequirement {
    /// All requirements of a network, given as users spell it.
    Network(String),
    /// Program on the PATH.
    Program(&'static str),
    /// Any other condition: a function that tests it, and its name after "needs".
    Condition(fn() -> bool, &'static str),
}

/// Machine as this user sees it, with the requirements that it meets, each checked once.
struct TestMachine {
    registry: NetworkRegistry,
    probe: KernelProbe,
    met: HashMap<Requirement, bool>,
}

impl TestMachine {
    fn new() -> Self {
        let registry = NetworkRegistry::new(networks(None)).with_opt_in(pairs(None));
        Self { registry, probe: KernelProbe::default(), met: HashMap::new() }
    }

    fn meets(&mut self, need: &Requirement) -> bool {
        let probe = &self.probe;
        *self.met.entry(need.clone()).or_insert_with(|| probe.check(need).is_ok())
    }
}

impl CaseRequirement {
    /// Returns the name of the unmet requirement. Returns `None` if it is met.
    fn unmet(&self, machine: &mut TestMachine) -> Option<String> {
        match self {
            Self::Network(name) => {
                let spelled: NetworkSpec = name.parse().expect("a good name");
                let network = machine.registry.find(&spelled).expect("a known network");
                let needs = network.requirements(&crate::cases::site(&spelled));
                let unmet = needs.into_iter().find(|need| !machine.meets(need))?;
                let promised = matches!(unmet, Requirement::Kernel { .. }) && has_all_modules();
                (!promised).then(|| unmet.to_string())
            }
            Self::Program(name) => {
                tare_sandbox::program::find(name).is_none().then(|| format!("the program {name}"))
            }
            Self::Condition(holds, name) => (!holds()).then(|| (*name).to_owned()),
        }
    }
}

/// Returns true if this kernel was booted because it has all modules.
fn has_all_modules() -> bool {
    std::env::var_os(ALL_MODULES).is_some()
}

/// Test case: its name, its requirements, and its body, which must work for ordinary users too.
pub(crate) struct Case {
    name: String,
    requirements: Vec<CaseRequirement>,
    body: Box<dyn Fn()>,
}

impl Case {
    /// Creates a case without requirements.
    pub(crate) fn new(name: impl Into<String>, body: impl Fn() + 'static) -> Self {
        Self { name: name.into(), requirements: Vec::new(), body: Box::new(body) }
    }

    /// Creates a case of one network, whose name is appended to the case's.
    pub(crate) fn of_network(name: &str, network: &str, body: impl Fn(&str) + 'static) -> Self {
        let owned = network.to_owned();
        Self::new(format!("{name}::{network}"), move || body(&owned)).on(network)
    }

    /// Adds the requirement that the machine supports a network.
    pub(crate) fn on(self, network: &str) -> Self {
        self.needing(CaseRequirement::Network(network.to_owned()))
    }

    /// Adds a requirement.
    pub(crate) fn needing(mut self, requirement: CaseRequirement) -> Self {
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

/// Prints the cases that cannot run here as this user, each with its unmet requirement.
pub(crate) fn print_ignored(cases: &[Case]) -> ExitCode {
    let mut machine = TestMachine::new();
    for case in cases {
        let unmet = case.requirements.iter().find_map(|one| one.unmet(&mut machine));
        if let Some(unmet) = unmet {
            println!("{}\t{unmet}", case.name);
        }
    }
    ExitCode::SUCCESS
}

/// User that runs a case.
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

    /// Returns the command that runs this program as the user.
    fn command(self) -> Command {
        let this = std::env::current_exe().expect("this program has a path");
        if self == Self::Root || !is_root() {
            return Command::new(this);
        }
        let mut command = Command::new("setpriv");
        command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--"]).arg(this);
        command
    }

    /// Returns the unmet requirements of the cases that cannot run as this user, by the cases' names.
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

/// Runs the cases that the arguments select, as the standard library's harness does.
pub(crate) fn run(cases: &[Case], arguments: &Arguments) -> Conclusion {
    let users: &[User] = if is_root() { &[User::Root, User::Ordinary] } else { &[User::Ordinary] };
    let mut trials = Vec::new();
    for &user in users {
        // If a case is named exactly and without a reason to ignore it, the cases have been listed before.
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
