//! The tables of a MariaDB server: what they take, how they are made, and the server that has them.

use super::{CLIENT, DATABASE, INSTALL, SERVER, password};
use crate::parameters::optional_size;
use crate::tools::call::Call;
use crate::tools::contents::{Contents, STEP, until_listening};
use crate::tools::data::{self, Copy, Data};
use crate::tools::offspring::Offspring;
use crate::{Error, Task};
use rustix::process::Signal;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;
use tare_record::Parameters;

/// The server's socket, in its data directory.
const SOCKET: &str = "s.sock";

/// What a row takes with its index, bytes: 100 million of them are about 24 GB.
const ROW: u64 = 240;
/// What a table takes whatever is in it, and a server without tables, bytes.
const TABLE: u64 = 11 << 20;
const BARE: u64 = 28 << 20;
/// The fewest rows a second that are written where data are made.
const WRITES: u64 = 2_000;

/// The tables of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tables {
    tables: u64,
    rows: u64,
}

impl Tables {
    pub(super) fn of(parameters: &Parameters) -> Result<Self, Error> {
        let count = |name| crate::parameters::size(parameters, name).map(|count| count as u64);
        Ok(Self { tables: count("tables")?, rows: count("rows")? })
    }

    fn all_rows(self) -> u64 {
        self.tables.saturating_mul(self.rows)
    }

    /// How long it takes to make them, at most.
    pub(super) fn made_within(self) -> Duration {
        3 * STEP + Duration::from_secs(self.all_rows() / WRITES)
    }

    /// The arguments of sysbench that say which tables.
    pub(super) fn sysbench(self, threads: usize) -> Vec<String> {
        vec![
            "oltp_point_select".to_owned(),
            "--db-driver=mysql".to_owned(),
            format!("--mysql-db={DATABASE}"),
            format!("--tables={}", self.tables),
            format!("--table-size={}", self.rows),
            format!("--threads={threads}"),
        ]
    }

    /// The server on this directory, but for how it is reached.
    fn server(self, directory: &Path, init: &str) -> Result<Call, Error> {
        let init_file = directory.join("init.sql");
        fs::write(&init_file, init)
            .map_err(|error| Error::io(format!("write {}", init_file.display()), error))?;
        let data = directory.join("data");
        Ok(Call::new(SERVER.require()?, OPTIONS)
            .with([
                format!("--datadir={}", data.display()),
                tmpdir(directory),
                format!("--socket={SOCKET}"),
                format!("--init-file={}", init_file.display()),
                format!("--innodb-buffer-pool-size={}", self.bytes().max(128 << 20)),
            ])
            .within(data))
    }

    /// The server for a trial: its one user may read, and has the trial's password.
    pub(super) fn serve(self, copy: &Copy, at: SocketAddr, task: &Task) -> Result<Call, Error> {
        let init = format!(
            "CREATE OR REPLACE USER '{DATABASE}'@'%' IDENTIFIED BY '{}';\nGRANT SELECT ON {DATABASE}.* TO '{DATABASE}'@'%';\n",
            password(task)
        );
        // A server is told the flows of all its clients; threads, where they are told apart, are of each of them.
        let threads = optional_size(&task.parameters, "threads").unwrap_or(1);
        let connections = threads.saturating_mul(task.flows as usize).saturating_add(10);
        Ok(self.server(&copy.directory, &init)?.with([
            format!("--bind-address={}", at.ip()),
            format!("--port={}", at.port()),
            format!("--max-connections={connections}"),
            format!("--back-log={}", connections.clamp(80, 65_535)),
        ]))
    }
}

impl Contents for Tables {
    fn bytes(&self) -> u64 {
        let fixed = BARE.saturating_add(self.tables.saturating_mul(TABLE));
        self.all_rows().saturating_mul(ROW).saturating_add(fixed)
    }

    fn data(&self) -> Result<Data, Error> {
        let version = SERVER.version().unwrap_or_default();
        let number = version
            .split_whitespace()
            .find(|word| word.starts_with(|one: char| one.is_ascii_digit()))
            .map(|word| word.split(|one: char| !one.is_ascii_digit() && one != '.').next());
        let number = number.flatten().unwrap_or("unknown");
        Data::of(&format!("mysql-{number}-{}x{}", self.tables, self.rows))
    }

    /// An empty server, then its tables by sysbench, over a socket in its directory.
    fn make(
        &self,
        data: &Data,
        directory: &Path,
        say: &mut dyn FnMut(&str),
        cancelled: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        data.has_room(self.bytes())?;
        say(&format!(
            "making {} tables of {} rows, about {}, in {}: once",
            self.tables,
            self.rows,
            data::size(self.bytes()),
            directory.display()
        ));
        let datadir = format!("--datadir={}", directory.join("data").display());
        let tmpdir = tmpdir(directory);
        let install = Call::new(INSTALL.require()?, OPTIONS).with([
            datadir.as_str(),
            tmpdir.as_str(),
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
        ]);
        Offspring::start(&install)?.finish(STEP, cancelled)?;
        let init = format!("CREATE DATABASE {DATABASE};\n");
        let call = self.server(directory, &init)?.with(["--skip-networking"]);
        let server = Offspring::start(&call)?;
        let socket = directory.join("data").join(SOCKET);
        let listens = || std::os::unix::net::UnixStream::connect(&socket).is_ok();
        let server = until_listening(server, SERVER.name, listens)?;
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let fill = Call::new(CLIENT.require()?, self.sysbench(threads.min(self.tables as usize)))
            .with([
                format!("--mysql-socket={}", socket.display()),
                "--mysql-user=root".to_owned(),
                "prepare".to_owned(),
            ]);
        Offspring::start(&fill)?.finish(self.made_within(), cancelled)?;
        // It writes everything down before it ends.
        let (status, said) = server.stop(Signal::TERM, self.made_within())?;
        if !status.success() {
            return Err(Error::Job(format!("{} ended badly{}", SERVER.name, said.last_words())));
        }
        Ok(())
    }
}

/// Temporary tables of two servers that are made at once have the same names.
fn tmpdir(directory: &Path) -> String {
    format!("--tmpdir={}", directory.display())
}

/// What the server and its installation are told in any case.
const OPTIONS: [&str; 6] = [
    "--no-defaults",
    // Root, where root runs it; nobody else can choose, and for them it means nothing.
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
        let published = Tables { tables: 20, rows: 5_000_000 };
        assert_eq!(data::size(published.bytes()), "24.3 GB");
        assert!(published.made_within() > Duration::from_secs(3600));
    }
}
