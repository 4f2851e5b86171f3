//! Background load of the nodes, as users spell it: `cpu=2`.

use std::fmt;
use std::str::FromStr;

/// Load that runs on the nodes while traffic flows, as on hosts that have other work to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Background {
    /// Number of processes that only compute, spread over the nodes.
    pub cpu: u32,
}

impl Background {
    /// Largest number of processes: a number above any machine's cores is a typing error.
    pub const MOST: u32 = 256;
}

impl FromStr for Background {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let cpu = text.strip_prefix("cpu=").and_then(|count| count.parse().ok());
        match cpu {
            Some(cpu) if (1..=Self::MOST).contains(&cpu) => Ok(Self { cpu }),
            _ => Err(format!(
                "invalid background load `{text}`: write cpu=N, with N processes from 1 to {}",
                Self::MOST
            )),
        }
    }
}

impl fmt::Display for Background {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cpu={}", self.cpu)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_background_is_a_number_of_processes() {
        assert_eq!("cpu=2".parse(), Ok(Background { cpu: 2 }));
        assert_eq!(Background { cpu: 2 }.to_string(), "cpu=2");
        for text in ["", "cpu", "cpu=0", "cpu=257", "cpu=-1", "memory=1", "2"] {
            let error = text.parse::<Background>().unwrap_err();
            assert!(error.contains("write cpu=N"), "{error}");
        }
    }
}
