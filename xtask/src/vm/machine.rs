//! Virtual machine: QEMU started by virtme-ng, a script that runs in it as root, and the script's output.

use super::{kernel, setup};
use crate::process;
use crate::repository::Repository;
use crate::shell_quote::shell_quote;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// Clock of the guest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum GuestClock {
    /// Time of the host.
    #[default]
    Real,
    /// 4 ns for each instruction, and the host's time while idle. Programs with time limits of their own then see a
    /// machine that is fast enough, however long it takes.
    Instructions,
}

impl GuestClock {
    /// Parses a clock by its name.
    pub(super) fn parse(name: &str) -> Option<Self> {
        match name {
            "real" => Some(Self::Real),
            "instructions" => Some(Self::Instructions),
            _ => None,
        }
    }

    /// Returns the time limit of a script, in seconds. A boot takes 20 s on two cores; programs run tens of times
    /// slower inside.
    fn limit(self) -> u32 {
        match self {
            Self::Real => 2400,
            Self::Instructions => 4800,
        }
    }

    /// Returns the number of processors. With the instruction clock, a second processor takes its time from the first.
    fn processors(self) -> &'static str {
        match self {
            Self::Real => "2",
            Self::Instructions => "1",
        }
    }
}

/// Virtual machine before it boots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct VirtualMachine {
    /// Directory of large programs, attached as a disk. Through the file sharing used for all other files, a page of a
    /// program takes milliseconds.
    pub(super) disk: Option<PathBuf>,
    /// Clock of the guest.
    pub(super) clock: GuestClock,
}

/// Result of a script that ran to its end.
#[derive(Debug)]
pub(super) struct EndedScript {
    /// Exit status of the script.
    pub(super) status: i32,
    /// Output of the script, both streams.
    pub(super) log: String,
}

/// Number of boots to attempt: an emulated machine may die or never start, whatever runs in it.
const ATTEMPTS: u32 = 3;

/// Lines of the console quoted when a machine dies.
const CONSOLE_LINES: usize = 60;

/// Exit status of timeout(1) after the time limit.
const TIMED_OUT: i32 = 124;

impl VirtualMachine {
    /// Boots the machine, runs a shell script in it as root, and prints its output when it ends.
    pub(super) fn run(&self, repository: &Repository, script: &str) -> Result<EndedScript> {
        let image = prepare(repository)?;
        let scratch = GuestScratch::new(&repository.path("target/vm"))?;
        fs::write(scratch.file("command"), self.guest_script(repository, &scratch, script)?)?;
        self.make_disk(repository, &scratch)?;
        for attempt in 1..=ATTEMPTS {
            let status = self.boot(repository, &scratch, &image)?;
            let log = fs::read(scratch.file("log")).unwrap_or_default();
            let log = String::from_utf8_lossy(&log).into_owned();
            print!("{log}");
            if let Some(status) = scratch.status() {
                return Ok(EndedScript { status, log });
            }
            eprintln!(
                "the machine ended before its script did ({status}, attempt {attempt}); the end of its console:\n{}",
                scratch.end_of_console()
            );
            if status.code() == Some(TIMED_OUT) {
                bail!(
                    "the virtual machine was ended after {} s: set TARE_VM_LIMIT to give it more",
                    self.limit()
                );
            }
        }
        bail!("no virtual machine lived as long as its script, in {ATTEMPTS} attempts")
    }

    /// Wraps the script with its setup: a directory for files, the disk, and the file for its exit status.
    fn guest_script(
        &self,
        repository: &Repository,
        scratch: &GuestScratch,
        script: &str,
    ) -> Result<String> {
        // A failure before the script ends only the parentheses, so that the status is kept.
        let mut lines = vec![
            "(".to_owned(),
            "mount -t tmpfs -o mode=1777 tmpfs /mnt || exit".to_owned(),
            "export TMPDIR=/mnt".to_owned(),
            format!("cd {} || exit", quoted(repository.root())?),
        ];
        if let Some(disk) = &self.disk {
            lines.push("modprobe -a virtio_blk ext4 || exit".to_owned());
            lines.push(format!("mount -o ro /dev/vda {} || exit", quoted(disk)?));
        }
        lines.push(format!("{script}\n)"));
        lines.push(format!("echo $? >{}", quoted(&scratch.file("status"))?));
        Ok(lines.join("\n") + "\n")
    }

    fn boot(
        &self,
        repository: &Repository,
        scratch: &GuestScratch,
        image: &Path,
    ) -> Result<std::process::ExitStatus> {
        let _ = fs::remove_file(scratch.file("status"));
        let _ = fs::remove_file(scratch.file("log"));
        let console = fs::File::create(scratch.file("console"))?;
        let mut command = self.boot_command(repository, scratch, image)?;
        command.stdin(Stdio::null()).stdout(console.try_clone()?).stderr(console);
        process::run_for_status(&mut command)
    }

    fn boot_command(
        &self,
        repository: &Repository,
        scratch: &GuestScratch,
        image: &Path,
    ) -> Result<Command> {
        let exec = format!(
            "sh {} >{} 2>&1",
            quoted(&scratch.file("command"))?,
            quoted(&scratch.file("log"))?
        );
        let memory = std::env::var("TARE_VM_MEMORY").unwrap_or_else(|_| "3G".to_owned());
        let mut command = repository.command("timeout");
        setup::add_to_path(repository, &mut command);
        command.arg(self.limit()).args(["vng", "--verbose", "-r"]).arg(image);
        command.args(["--disable-kvm", "--cpus", self.clock.processors(), "--memory", &memory]);
        // Debian's kernel has AppArmor, whose profiles Docker can only load by a program that few machines have.
        command.args(["--append", "apparmor=0", "--rwdir"]).arg(&scratch.directory);
        command.arg(format!("--qemu-opts={}", self.qemu_options(scratch)?));
        command.args(["--exec", &exec]);
        Ok(command)
    }

    fn limit(&self) -> String {
        std::env::var("TARE_VM_LIMIT").unwrap_or_else(|_| self.clock.limit().to_string())
    }

    /// Returns the options of QEMU. Both processors share one thread. With a thread for each, one may execute code that
    /// the other is just changing, and a kernel that patches its own branches while packets flow (static keys) crashes.
    fn qemu_options(&self, scratch: &GuestScratch) -> Result<String> {
        let mut options = "-accel tcg,thread=single".to_owned();
        if self.clock == GuestClock::Instructions {
            options.push_str(" -icount shift=2");
        }
        if self.disk.is_some() {
            let disk = scratch.disk();
            let file = plain_path(&disk)?;
            options.push_str(&format!(" -drive file={file},if=virtio,format=raw,readonly=on"));
        }
        Ok(options)
    }

    fn make_disk(&self, repository: &Repository, scratch: &GuestScratch) -> Result<()> {
        let Some(directory) = &self.disk else { return Ok(()) };
        let size = process::output(repository.command("du").arg("-sm").arg(directory))?;
        let size = disk_size(&size).with_context(|| format!("du says no size: {size:?}"))?;
        let mut mke2fs = repository.command("mke2fs");
        mke2fs.args(["-q", "-t", "ext4", "-O", "^has_journal", "-d"]).arg(directory);
        process::output(mke2fs.arg(scratch.disk()).arg(format!("{size}M")))?;
        Ok(())
    }
}

/// Installs what machines need, once for several that start at a time, and returns the kernel's image.
fn prepare(repository: &Repository) -> Result<PathBuf> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    setup::install(repository)?;
    kernel::image(repository)
}

/// Computes the size of a disk for the files that `du -sm` has measured, in MiB.
fn disk_size(measured: &str) -> Option<u64> {
    let files: u64 = measured.split_whitespace().next()?.parse().ok()?;
    Some(files + files / 5 + 32)
}

fn quoted(path: &Path) -> Result<String> {
    let text = path.to_str();
    Ok(shell_quote(text.with_context(|| format!("{} is not UTF-8", path.display()))?))
}

/// Returns a path as text. Fails if QEMU or virtme-ng would split it into words.
fn plain_path(path: &Path) -> Result<&str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@".contains(c);
    match path.to_str() {
        Some(text) if text.chars().all(plain) => Ok(text),
        _ => bail!(
            "cannot give {} to QEMU: move the repository to a path of letters, digits and /._-+@",
            path.display()
        ),
    }
}

/// Directory that the guest may write to. It is removed when dropped.
struct GuestScratch {
    directory: PathBuf,
}

impl GuestScratch {
    fn new(parent: &Path) -> Result<Self> {
        static MACHINES: AtomicU32 = AtomicU32::new(0);
        let number = MACHINES.fetch_add(1, Ordering::Relaxed);
        let directory = parent.join(format!("run.{}-{number}", std::process::id()));
        fs::create_dir_all(&directory)
            .with_context(|| format!("cannot make {}", directory.display()))?;
        Ok(Self { directory })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Returns the path of the disk image, next to the directory, because the guest must not see it as a file.
    fn disk(&self) -> PathBuf {
        let mut path = self.directory.clone().into_os_string();
        path.push(".disk");
        path.into()
    }

    /// Returns the exit status of the script, or `None` if it has not ended.
    fn status(&self) -> Option<i32> {
        fs::read_to_string(self.file("status")).ok()?.trim().parse().ok()
    }

    fn end_of_console(&self) -> String {
        let console = fs::read(self.file("console")).unwrap_or_default();
        let console = String::from_utf8_lossy(&console);
        let lines: Vec<&str> = console.lines().collect();
        lines[lines.len().saturating_sub(CONSOLE_LINES)..].join("\n")
    }
}

impl Drop for GuestScratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
        let _ = fs::remove_file(self.disk());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch() -> GuestScratch {
        GuestScratch { directory: PathBuf::from("/no/such/it's/run.1") }
    }

    #[test]
    fn the_script_is_quoted_and_its_status_kept() {
        let repository = Repository::find().unwrap();
        let machine = VirtualMachine { disk: Some("/d d".into()), clock: GuestClock::Real };
        let script = machine.guest_script(&repository, &scratch(), "true").unwrap();
        assert!(script.contains("mount -o ro /dev/vda '/d d' || exit\n"), "{script}");
        assert!(
            script.ends_with("\ntrue\n)\necho $? >'/no/such/it'\\''s/run.1/status'\n"),
            "{script}"
        );
    }

    #[test]
    fn the_clock_of_instructions_has_one_processor() {
        let machine = VirtualMachine { disk: None, clock: GuestClock::Instructions };
        assert_eq!(
            machine.qemu_options(&scratch()).unwrap(),
            "-accel tcg,thread=single -icount shift=2"
        );
        assert_eq!(GuestClock::Instructions.processors(), "1");
        let disk = VirtualMachine { disk: Some("/d".into()), clock: GuestClock::Real };
        assert!(disk.qemu_options(&scratch()).is_err(), "a quote in the path");
    }

    #[test]
    fn machines_have_directories_of_their_own() {
        let parent = tempfile::tempdir().unwrap();
        let (one, other) =
            (GuestScratch::new(parent.path()).unwrap(), GuestScratch::new(parent.path()).unwrap());
        assert_ne!(one.directory, other.directory);
        assert_ne!(one.disk(), other.disk());
        assert!(!one.disk().starts_with(&one.directory), "the guest must not see it");
    }

    #[test]
    fn a_disk_has_room_for_its_files() {
        assert_eq!(disk_size("100\t/srv/target/docker\n"), Some(152));
        assert_eq!(disk_size("du: cannot"), None);
    }
}
