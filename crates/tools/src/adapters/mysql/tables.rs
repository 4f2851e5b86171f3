//! Tables of a MariaDB server: their size, the way to make them, and the server that has them.

use super::{CLIENT, DATABASE, INSTALL, SERVER, password};
use crate::child_process::ChildProcess;
use crate::command::ToolCommand;
use crate::datasets::dataset::{Dataset, STEP_TIMEOUT, await_listening};
use crate::datasets::dataset_directory::{self, DatasetCopy, DatasetDirectory};
use rustix::process::Signal;
use std::fs;
use std::io::Read;
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tare_record::Parameters;
use tare_traffic::parameters::optional_size;
use tare_traffic::{Error, TrialTask};

/// Name of the server's socket in its data directory.
const SOCKET: &str = "s.sock";
/// Time for which a server's greeting is awaited before it is looked after again.
const GREETING_TIMEOUT: Duration = Duration::from_millis(500);

/// Size of a row with its index, bytes: 100 million of them are about 24 GB.
const ROW_SIZE: u64 = 240;
/// Size of an empty table, and of a server without tables, bytes.
const TABLE_SIZE: u64 = 11 << 20;
const BARE_SERVER_SIZE: u64 = 28 << 20;
/// Minimum rate at which rows are written when data are made, rows per second.
const MIN_ROWS_PER_SECOND: u64 = 2_000;

/// Tables of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MysqlTables {
    tables: u64,
    rows: u64,
}

impl MysqlTables {
    pub(super) fn from_parameters(parameters: &Parameters) -> Result<Self, Error> {
        let count =
            |name| tare_traffic::parameters::size(parameters, name).map(|count| count as u64);
        Ok(Self { tables: count("tables")?, rows: count("rows")? })
    }

    fn all_rows(self) -> u64 {
        self.tables.saturating_mul(self.rows)
    }

    /// Returns the maximum time to make the tables.
    pub(super) fn create_timeout(self) -> Duration {
        3 * STEP_TIMEOUT + Duration::from_secs(self.all_rows() / MIN_ROWS_PER_SECOND)
    }

    /// Returns the arguments of sysbench for these tables.
    pub(super) fn sysbench_arguments(self, threads: usize) -> Vec<String> {
        vec![
            "oltp_point_select".to_owned(),
            "--db-driver=mysql".to_owned(),
            format!("--mysql-db={DATABASE}"),
            format!("--tables={}", self.tables),
            format!("--table-size={}", self.rows),
            format!("--threads={threads}"),
        ]
    }

    /// Returns the command of the server on this directory, without its addresses.
    fn server_command(self, directory: &Path, init: &str) -> Result<ToolCommand, Error> {
        let init_file = directory.join("init.sql");
        fs::write(&init_file, init)
            .map_err(|error| Error::io(format!("write {}", init_file.display()), error))?;
        let data = directory.join("data");
        Ok(ToolCommand::new(SERVER.require()?, OPTIONS)
            .with_arguments([
                format!("--datadir={}", data.display()),
                tmpdir(directory),
                format!("--socket={SOCKET}"),
                format!("--init-file={}", init_file.display()),
                format!("--innodb-buffer-pool-size={}", self.size().max(128 << 20)),
            ])
            .in_directory(data))
    }

    /// Returns statements that read all rows, one a line, so that no slice reads any from the disk.
    fn reading_all(self) -> String {
        (1..=self.tables)
            .map(|table| format!("SELECT SUM(LENGTH(c)) FROM {DATABASE}.sbtest{table};\n"))
            .collect()
    }

    /// Returns the command of the server for a trial. Its only user may read, and has the trial's password.
    pub(super) fn trial_command(
        self,
        copy: &DatasetCopy,
        at: SocketAddr,
        task: &TrialTask,
    ) -> Result<ToolCommand, Error> {
        let mut init = format!(
            "CREATE OR REPLACE USER '{DATABASE}'@'%' IDENTIFIED BY '{}';\nGRANT SELECT ON {DATABASE}.* TO '{DATABASE}'@'%';\n",
            password(task)
        );
        if task.slices.is_some() {
            init.push_str(&self.reading_all());
        }
        // The task of a server has the flows of all its clients. The parameter `threads`, where it is given, is per
        // client process.
        let threads = optional_size(&task.parameters, "threads").unwrap_or(1);
        let connections = threads.saturating_mul(task.flows as usize).saturating_add(10);
        Ok(self.server_command(&copy.directory, &init)?.with_arguments([
            format!("--bind-address={}", at.ip()),
            format!("--port={}", at.port()),
            format!("--max-connections={connections}"),
            format!("--back-log={}", connections.clamp(80, 65_535)),
        ]))
    }
}

impl Dataset for MysqlTables {
    fn size(&self) -> u64 {
        let fixed = BARE_SERVER_SIZE.saturating_add(self.tables.saturating_mul(TABLE_SIZE));
        self.all_rows().saturating_mul(ROW_SIZE).saturating_add(fixed)
    }

    fn directory(&self) -> Result<DatasetDirectory, Error> {
        let version = SERVER.version().unwrap_or_default();
        let number = version
            .split_whitespace()
            .find(|word| word.starts_with(|one: char| one.is_ascii_digit()))
            .map(|word| word.split(|one: char| !one.is_ascii_digit() && one != '.').next());
        let number = number.flatten().unwrap_or("unknown");
        DatasetDirectory::open(&format!("mysql-{number}-{}x{}", self.tables, self.rows))
    }

    /// Makes an empty server, then its tables by sysbench, over a socket in its directory.
    fn create(
        &self,
        data: &DatasetDirectory,
        directory: &Path,
        say: &mut dyn FnMut(&str),
        cancelled: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        data.check_room(self.size())?;
        say(&format!(
            "making {} tables of {} rows (about {}) in {}; later runs use them again",
            self.tables,
            self.rows,
            dataset_directory::format_size(self.size()),
            directory.display()
        ));
        let datadir = format!("--datadir={}", directory.join("data").display());
        let tmpdir = tmpdir(directory);
        let install = ToolCommand::new(INSTALL.require()?, OPTIONS).with_arguments([
            datadir.as_str(),
            tmpdir.as_str(),
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
        ]);
        ChildProcess::start(&install)?.finish(STEP_TIMEOUT, cancelled)?;
        let init = format!("CREATE DATABASE {DATABASE};\n");
        let call = self.server_command(directory, &init)?.with_arguments(["--skip-networking"]);
        let server = ChildProcess::start(&call)?;
        let socket = directory.join("data").join(SOCKET);
        let listens = || UnixStream::connect(&socket).is_ok();
        let server = await_listening(server, SERVER.name, listens)?;
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let fill = ToolCommand::new(
            CLIENT.require()?,
            self.sysbench_arguments(threads.min(self.tables as usize)),
        )
        .with_arguments([
            format!("--mysql-socket={}", socket.display()),
            "--mysql-user=root".to_owned(),
            "prepare".to_owned(),
        ]);
        ChildProcess::start(&fill)?.finish(self.create_timeout(), cancelled)?;
        // The server writes everything to disk before it ends.
        let (status, said) = server.stop(Signal::TERM, self.create_timeout())?;
        if !status.success() {
            return Err(Error::Job(format!(
                "{} failed while it stopped{}",
                SERVER.name,
                said.error_summary()
            )));
        }
        Ok(())
    }
}

/// Returns the path of the socket of a server that has this copy.
pub(super) fn socket(copy: &DatasetCopy) -> PathBuf {
    copy.directory.join("data").join(SOCKET)
}

/// Returns true if a server greets whoever connects to its socket. It listens before, but greets only once it has
/// executed its first statements.
pub(super) fn is_greeted(socket: &Path) -> bool {
    let Ok(mut stream) = UnixStream::connect(socket) else { return false };
    stream.set_read_timeout(Some(GREETING_TIMEOUT)).is_ok() && stream.read_exact(&mut [0]).is_ok()
}

/// Returns the option of the directory for temporary tables. Two servers that are made at the same time use the same
/// names for them.
fn tmpdir(directory: &Path) -> String {
    format!("--tmpdir={}", directory.display())
}

/// Options of the server and its installation.
const OPTIONS: [&str; 6] = [
    "--no-defaults",
    // The user root, if root runs the server. Other users cannot choose, and the option has no effect for them.
    "--user=root",
    "--skip-name-resolve",
    "--innodb-log-file-size=16M",
    "--innodb-undo-tablespaces=0",
    "--innodb-flush-log-at-trx-commit=2",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_told_from_rows() {
        let published = MysqlTables { tables: 20, rows: 5_000_000 };
        assert_eq!(dataset_directory::format_size(published.size()), "24.3 GB");
        assert!(published.create_timeout() > Duration::from_secs(3600));
    }
}
