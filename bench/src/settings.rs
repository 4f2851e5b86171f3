//! Settings from environment variables.

use crate::race::RaceRules;
use anyhow::{Context as _, anyhow};
use std::env;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Least number of blocks, if rows need them, of a run whose results are kept in the repository.
const FEWEST_KEPT: u32 = 10;

/// Number of selection blocks, if they are no more than half of all.
const SELECTION_BLOCKS: u32 = 4;

/// Fewest blocks: two that choose the contenders of a ratio, and two for its interval.
const FEWEST_BLOCKS: u32 = 4;

/// Rows, networks and duration of the benchmark.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BenchSettings {
    /// Names of rows, or beginnings of names; all rows if empty (`BENCH_ROWS`).
    pub(crate) rows: Vec<String>,
    /// Largest number of blocks (`BENCH_N`).
    pub(crate) blocks: u32,
    /// Half width of an interval at which its row ends, % (`BENCH_PRECISION`).
    pub(crate) precision: f64,
    /// Duration of each run of a tool, s (`BENCH_SECONDS`).
    pub(crate) seconds: u32,
    /// Networks of the lab (`BENCH_NETWORKS`).
    pub(crate) networks: Vec<String>,
    /// Seed of the random order (`BENCH_SEED`).
    pub(crate) seed: u64,
    /// Binary under test (`TARE_BINARY`).
    pub(crate) tare: PathBuf,
    /// File for the results of any run, instead of the default one (`BENCH_OUT`).
    pub(crate) out: Option<PathBuf>,
}

impl BenchSettings {
    /// Reads the variables. `BENCH_QUICK=1` sets defaults of six blocks over a veth pair.
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
            blocks: number(variable, "BENCH_N", if quick { 6 } else { 20 })?,
            precision: number(variable, "BENCH_PRECISION", 3.0)?,
            seconds: number(variable, "BENCH_SECONDS", 1)?,
            networks: list("BENCH_NETWORKS", if quick { "veth" } else { "veth,bridge" }),
            seed: number(variable, "BENCH_SEED", 1)?,
            tare: variable("TARE_BINARY").unwrap_or_else(|| "target/bin/tare".to_owned()).into(),
            out: variable("BENCH_OUT").map(PathBuf::from),
        };
        if settings.blocks < FEWEST_BLOCKS || settings.seconds < 1 {
            return Err(anyhow!("BENCH_N is at least {FEWEST_BLOCKS}, BENCH_SECONDS at least 1"));
        }
        if !(settings.precision > 0.0 && settings.precision < 100.0) {
            return Err(anyhow!("BENCH_PRECISION is a percentage above 0 and below 100"));
        }
        Ok(settings)
    }

    /// Returns the rules by which contenders and rows leave the blocks.
    pub(crate) fn rules(&self) -> RaceRules {
        RaceRules {
            selection_blocks: SELECTION_BLOCKS.min(self.blocks / 2) as usize,
            precision: self.precision / 100.0,
            seconds: f64::from(self.seconds),
        }
    }

    /// Returns true if a row was requested. A name that is equal to a row's name does not select longer names.
    pub(crate) fn wants(&self, row: &str, all: &[&str]) -> bool {
        let is_asked = |wanted: &String| {
            let whole = all.contains(&wanted.as_str());
            if whole { row == wanted } else { row.starts_with(wanted.as_str()) }
        };
        self.rows.is_empty() || self.rows.iter().any(is_asked)
    }

    /// Returns the file for the results: `BENCH_OUT`, or the repository's file if the run has all rows and enough
    /// blocks. Returns `None` otherwise.
    pub(crate) fn keep(&self) -> Option<&Path> {
        let whole = self.rows.is_empty() && self.blocks >= FEWEST_KEPT;
        self.out.as_deref().or_else(|| whole.then_some(Path::new("bench/RESULTS.md")))
    }
}

fn number<T>(variable: &dyn Fn(&str) -> Option<String>, name: &str, default: T) -> anyhow::Result<T>
where
    T: FromStr<Err: std::error::Error + Send + Sync + 'static>,
{
    let Some(text) = variable(name) else {
        return Ok(default);
    };
    text.parse().with_context(|| format!("{name}={text}: a number is wanted"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(set: &[(&str, &str)]) -> anyhow::Result<BenchSettings> {
        BenchSettings::read(&|name| {
            set.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned())
        })
    }

    #[test]
    fn variables_choose_rows_and_blocks() {
        let settings = read(&[("BENCH_ROWS", "tcp-1,udp"), ("BENCH_N", "20")]).unwrap();
        let all = ["tcp-1", "tcp-1-core", "udp-64", "tcp-rr"];
        assert_eq!(all.map(|row| settings.wants(row, &all)), [true, false, true, false]);
        assert_eq!((settings.blocks, settings.keep()), (20, None));
        assert!(read(&[("BENCH_N", "3")]).is_err() && read(&[("BENCH_N", "ten")]).is_err());
    }

    #[test]
    fn at_most_half_of_the_blocks_select() {
        let rules = |set: &[(&str, &str)]| read(set).unwrap().rules();
        assert_eq!(rules(&[]).selection_blocks, 4);
        assert_eq!(rules(&[("BENCH_QUICK", "1")]).selection_blocks, 3);
        assert_eq!(rules(&[("BENCH_N", "4")]).selection_blocks, 2);
        assert!((rules(&[]).precision - 0.03).abs() < 1e-12);
        assert!((rules(&[("BENCH_PRECISION", "1.5")]).precision - 0.015).abs() < 1e-12);
        for wrong in ["0", "-1", "100", "NaN", "narrow"] {
            assert!(read(&[("BENCH_PRECISION", wrong)]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_a_whole_run_is_kept_beside_the_code() {
        assert_eq!(read(&[]).unwrap().keep(), Some(Path::new("bench/RESULTS.md")));
        let quick = read(&[("BENCH_QUICK", "1")]).unwrap();
        assert_eq!((quick.blocks, quick.networks.len(), quick.keep()), (6, 1, None));
        let elsewhere = read(&[("BENCH_QUICK", "1"), ("BENCH_OUT", "x.md")]).unwrap();
        assert_eq!(elsewhere.keep(), Some(Path::new("x.md")));
    }
}
