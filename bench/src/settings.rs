//! What the environment asks for.

use anyhow::{Context as _, anyhow};
use std::env;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The fewest blocks of a run whose results are kept beside the code.
const FEWEST_KEPT: u32 = 10;

/// What to run, and how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Names of rows, or beginnings of them; all rows where there are none (`BENCH_ROWS`).
    pub(crate) rows: Vec<String>,
    /// Blocks (`BENCH_N`).
    pub(crate) blocks: u32,
    /// How long one tool generates, s (`BENCH_SECONDS`).
    pub(crate) seconds: u32,
    /// Networks of the lab (`BENCH_NETWORKS`).
    pub(crate) networks: Vec<String>,
    /// Seeds the order (`BENCH_SEED`).
    pub(crate) seed: u64,
    /// The binary under test (`TARE_BINARY`).
    pub(crate) tare: PathBuf,
    /// Where results go in any case (`BENCH_OUT`).
    pub(crate) out: Option<PathBuf>,
}

impl Settings {
    /// Reads the variables; `BENCH_QUICK=1` means three blocks over a veth pair unless they say otherwise.
    pub(crate) fn from_environment() -> anyhow::Result<Self> {
        Self::read(&|name| env::var(name).ok().filter(|text| !text.is_empty()))
    }

    fn read(variable: &dyn Fn(&str) -> Option<String>) -> anyhow::Result<Self> {
        let quick = variable("BENCH_QUICK").is_some_and(|text| text != "0");
        let list = |name: &str, default: &str| -> Vec<String> {
            let text = variable(name).unwrap_or_else(|| default.to_owned());
            text.split(',').filter(|word| !word.is_empty()).map(str::to_owned).collect()
        };
        let settings = Self {
            rows: list("BENCH_ROWS", ""),
            blocks: number(variable, "BENCH_N", if quick { 3 } else { 10 })?,
            seconds: number(variable, "BENCH_SECONDS", 1)?,
            networks: list("BENCH_NETWORKS", if quick { "veth" } else { "veth,bridge" }),
            seed: number(variable, "BENCH_SEED", 1)?,
            tare: variable("TARE_BINARY").unwrap_or_else(|| "target/bin/tare".to_owned()).into(),
            out: variable("BENCH_OUT").map(PathBuf::from),
        };
        if settings.blocks < 2 || settings.seconds < 1 {
            return Err(anyhow!("BENCH_N is at least 2, BENCH_SECONDS at least 1"));
        }
        Ok(settings)
    }

    /// Whether a row was asked for, of all these. What is a row's whole name is no beginning of another's.
    pub(crate) fn wants(&self, row: &str, all: &[&str]) -> bool {
        let is_asked = |wanted: &String| {
            let whole = all.contains(&wanted.as_str());
            if whole { row == wanted } else { row.starts_with(wanted.as_str()) }
        };
        self.rows.is_empty() || self.rows.iter().any(is_asked)
    }

    /// Where the results are kept: beside the code only those of a run with all rows and enough blocks.
    pub(crate) fn keep(&self) -> Option<&Path> {
        let whole = self.rows.is_empty() && self.blocks >= FEWEST_KEPT;
        self.out.as_deref().or_else(|| whole.then_some(Path::new("bench/RESULTS.md")))
    }
}

fn number<T>(variable: &dyn Fn(&str) -> Option<String>, name: &str, default: T) -> anyhow::Result<T>
where
    T: FromStr<Err = std::num::ParseIntError>,
{
    let Some(text) = variable(name) else {
        return Ok(default);
    };
    text.parse().with_context(|| format!("{name}={text}: a whole number is wanted"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(set: &[(&str, &str)]) -> anyhow::Result<Settings> {
        Settings::read(&|name| {
            set.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned())
        })
    }

    #[test]
    fn variables_choose_rows_and_blocks() {
        let settings = read(&[("BENCH_ROWS", "tcp-1,udp"), ("BENCH_N", "20")]).unwrap();
        let all = ["tcp-1", "tcp-1-core", "udp-64", "tcp-rr"];
        assert_eq!(all.map(|row| settings.wants(row, &all)), [true, false, true, false]);
        assert_eq!((settings.blocks, settings.keep()), (20, None));
        assert!(read(&[("BENCH_N", "1")]).is_err() && read(&[("BENCH_N", "ten")]).is_err());
    }

    #[test]
    fn only_a_whole_run_is_kept_beside_the_code() {
        assert_eq!(read(&[]).unwrap().keep(), Some(Path::new("bench/RESULTS.md")));
        let quick = read(&[("BENCH_QUICK", "1")]).unwrap();
        assert_eq!((quick.blocks, quick.networks.len(), quick.keep()), (3, 1, None));
        let elsewhere = read(&[("BENCH_QUICK", "1"), ("BENCH_OUT", "x.md")]).unwrap();
        assert_eq!(elsewhere.keep(), Some(Path::new("x.md")));
    }
}
