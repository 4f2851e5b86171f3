//! Waiting until a program is ready: what it said it would do is looked at, and that it has not ended instead.

use super::halt::Halt;
use super::process::ended;
use super::station::{PATIENCE, find};
use super::{Log, Ready, Station};
use std::fs;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command};
use std::time::{Duration, Instant};
use tare_network::Error;

/// Between two looks: daemons are up in tens of milliseconds.
const PAUSE: Duration = Duration::from_millis(5);

/// Waits until a daemon is ready; not when somebody else has failed meanwhile. The calling thread has the station's view of
/// files.
pub(super) fn wait(
    station: &Station,
    ready: &Ready,
    child: &mut Child,
    log: &Log,
    halt: &Halt,
) -> Result<bool, Error> {
    let what = || format!("wait until it {}", in_words(ready));
    let until = Instant::now() + PATIENCE;
    while !is_ready(station, ready, log)? {
        let status = child.try_wait().map_err(|error| Error::new(what(), error))?;
        if let Some(status) = status {
            return Err(Error::new(what(), ended(status)));
        }
        if halt.is_called() {
            return Ok(false);
        }
        if Instant::now() > until {
            return Err(Error::new(what(), format!("it has not in {} s", PATIENCE.as_secs())));
        }
        std::thread::sleep(PAUSE);
    }
    Ok(true)
}

fn is_ready(station: &Station, ready: &Ready, log: &Log) -> Result<bool, Error> {
    Ok(match ready {
        Ready::Ended => true,
        Ready::Listens(socket) => UnixStream::connect(socket).is_ok(),
        Ready::Wrote(file) => fs::metadata(file).is_ok_and(|data| data.len() > 0),
        Ready::Says(words) => {
            let text = log.text();
            words.iter().all(|words| text.contains(words.as_str()))
        }
        Ready::Answers(words) => answers(station, words)?,
    })
}

/// Whether a command ends with success.
fn answers(station: &Station, words: &[String]) -> Result<bool, Error> {
    let Some((program, arguments)) = words.split_first() else { return Ok(true) };
    let mut command = Command::new(find(program)?);
    command.args(arguments);
    Ok(station.run(command, "")?.status.success())
}

fn in_words(ready: &Ready) -> String {
    match ready {
        Ready::Ended => "ends".to_owned(),
        Ready::Listens(socket) => format!("listens on {socket}"),
        Ready::Wrote(file) => format!("writes {file}"),
        Ready::Says(words) => format!("says `{}`", words.join("` and `")),
        Ready::Answers(words) => format!("answers to `{}`", words.join(" ")),
    }
}
