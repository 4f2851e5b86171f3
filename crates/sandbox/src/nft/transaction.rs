//! Division of a long ruleset into transactions that fit a message of an ordinary user.
//!
//! nft(8) sends a transaction as one netlink message, which may be as long as its socket's send buffer. An ordinary
//! user's buffer cannot be enlarged beyond `net.core.wmem_default` (socket(7), `SO_SNDBUFFORCE`), 208 KiB by default.

/// Rules of a transaction. The longest of ours, of a link over IPv6, takes 684 bytes of a message.
const MAX_RULES: usize = 250;

/// Rule of a chain, as the arguments of `add rule`.
struct ChainRule<'a> {
    table: &'a str,
    chain: &'a str,
    rule: &'a str,
}

/// Returns the texts that load a ruleset one after the other: the ruleset itself if it is short, else its tables with
/// empty chains (a rule may jump to a chain that comes later), then its rules in their order.
///
/// The ruleset has one statement a line, as `nft list ruleset` prints it.
pub(super) fn transactions(ruleset: &str) -> Vec<String> {
    let (objects, rules) = divide(ruleset);
    if rules.len() <= MAX_RULES {
        return vec![ruleset.to_owned()];
    }
    let additions = rules.chunks(MAX_RULES).map(|rules| rules.iter().map(addition).collect());
    [objects].into_iter().chain(additions).collect()
}

fn addition(ChainRule { table, chain, rule }: &ChainRule<'_>) -> String {
    format!("add rule {table} {chain} {rule}\n")
}

/// Returns the ruleset without the rules of its chains, and these rules.
fn divide(ruleset: &str) -> (String, Vec<ChainRule<'_>>) {
    let mut objects = String::new();
    let mut rules = Vec::new();
    let (mut table, mut chain) = ("", None);
    for line in ruleset.lines() {
        let statement = line.trim();
        if let Some(name) = block_name(statement, "table ") {
            table = name;
        } else if let Some(name) = block_name(statement, "chain ") {
            chain = Some(name);
        } else if statement == "}" {
            chain = None;
        } else if let Some(chain) = chain.filter(|_| is_rule(statement)) {
            rules.push(ChainRule { table, chain, rule: statement });
            continue;
        }
        objects.push_str(line);
        objects.push('\n');
    }
    (objects, rules)
}

/// Returns what stands between the keyword and the brace of a line that opens a block.
fn block_name<'a>(statement: &'a str, keyword: &str) -> Option<&'a str> {
    statement.strip_prefix(keyword)?.strip_suffix(" {")
}

/// Returns whether a line within a chain is a rule: every line but that of its hook.
fn is_rule(statement: &str) -> bool {
    !statement.is_empty() && !statement.starts_with("type ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "table ip nat {
  map jumps {
    type ifname : verdict
  }
  chain PREROUTING {
    type nat hook prerouting priority dstnat; policy accept;
    counter jump DOCKER
";

    /// Returns a ruleset with a rule for each of so many ports, and one that stands before them.
    fn ruleset(ports: usize) -> String {
        let rules: String = (1..=ports)
            .map(|port| format!("    tcp dport {port} counter dnat to 10.0.0.2:{port}\n"))
            .collect();
        format!("{HEAD}  }}\n  chain DOCKER {{\n{rules}  }}\n}}\n")
    }

    #[test]
    fn a_short_ruleset_is_one_transaction_as_it_is() {
        let short = ruleset(MAX_RULES - 1);
        assert_eq!(transactions(&short), [short]);
    }

    #[test]
    fn a_long_ruleset_has_its_chains_before_its_rules() {
        let texts = transactions(&ruleset(2 * MAX_RULES));
        let objects = HEAD.replace("    counter jump DOCKER\n", "");
        assert_eq!(texts[0], format!("{objects}  }}\n  chain DOCKER {{\n  }}\n}}\n"));
        let lines: Vec<&str> = texts[1..].iter().flat_map(|text| text.lines()).collect();
        assert_eq!(lines.len(), 2 * MAX_RULES + 1);
        assert_eq!(lines[0], "add rule ip nat PREROUTING counter jump DOCKER");
        for (port, line) in (1..).zip(&lines[1..]) {
            let rule = format!("tcp dport {port} counter dnat to 10.0.0.2:{port}");
            assert_eq!(*line, format!("add rule ip nat DOCKER {rule}"));
        }
        assert!(texts[1..].iter().all(|text| text.lines().count() <= MAX_RULES));
    }
}
