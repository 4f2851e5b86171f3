//! Redaction of a journal by allow-list: what is not known to be public is removed.
//!
//! A journal is rewritten as JSON, text by text. [`rules`] says by position which texts are kept: measured values, and
//! facts of the machine that affect figures and that many machines share, such as its CPU model. Names of networks,
//! devices and engines keep their public parts and get placeholders for the others, the same everywhere. Of any other
//! text only words remain that tare itself says ([`vocabulary`]).

mod placeholders;
mod rules;
#[cfg(test)]
mod tests;
mod vocabulary;
mod words;

use crate::Error;
use placeholders::Placeholders;
use rules::{Rule, key_rule, rule};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use tare_record::journal::{Journal, Record};
use vocabulary::{is_numbered, is_public};

/// Text that replaces a removed word.
const REDACTED: &str = "redacted";

/// Kinds of placeholders.
const PLACEHOLDERS: [&str; 6] = ["context", "device", "engine", "image", "machine", "path"];

/// Characters around a word of a text.
const PUNCTUATION: &[char] =
    &['.', ',', ':', ';', '(', ')', '[', ']', '{', '}', '<', '>', '\'', '"', '`', '!', '?', '='];

/// Characters between the parts of a name, as in `docker:bridge+mtu=9000`.
const SEPARATORS: &[char] = &[':', '+', '=', ','];

/// Removes from a journal everything that could identify its machine, its owner or its location: names of devices, hosts
/// and users, addresses, paths, engines, registries, contexts, the builder of the kernel, the time of day. Everything
/// that affects a figure stays, and so does every figure.
///
/// # Errors
/// Fails if a record cannot be written as JSON, or be read again.
pub fn redact(journal: Journal) -> Result<Journal, Error> {
    let mut redaction = Redaction::new(&journal);
    let header = redaction.record(&Record::Run(Box::new(journal.run.clone())))?;
    let run = if let Record::Run(run) = header { *run } else { journal.run };
    let records = journal.records.iter().map(|record| redaction.record(record));
    Ok(Journal { run, records: records.collect::<Result<_, _>>()? })
}

/// Redaction with the placeholders of one journal.
struct Redaction {
    placeholders: Placeholders,
    /// Names of congestion controls, which the kernel has from its modules.
    controls: BTreeSet<String>,
    /// Placeholders of devices, by name.
    devices: BTreeMap<String, String>,
    /// Placeholders of parts of names.
    names: BTreeMap<String, String>,
}

impl Redaction {
    fn new(journal: &Journal) -> Self {
        let environment = &journal.run.environment;
        let devices = environment.devices.iter().enumerate();
        let devices = devices.map(|(index, one)| (one.name.clone(), format!("device-{index}")));
        let controls = environment.congestion_controls_allowed.iter();
        Self {
            placeholders: Placeholders::new(&journal.run),
            controls: controls.chain(&environment.congestion_control).cloned().collect(),
            devices: devices.collect(),
            names: BTreeMap::new(),
        }
    }

    fn record(&mut self, record: &Record) -> Result<Record, Error> {
        let mut value = serde_json::to_value(record)?;
        let kind = value["record"].as_str().unwrap_or_default().to_owned();
        self.value(&mut value, &kind);
        Ok(serde_json::from_value(value)?)
    }

    /// Redacts all texts of a value at this position.
    fn value(&mut self, value: &mut Value, position: &str) {
        match value {
            Value::String(text) => *text = self.text(text, rule(position)),
            Value::Array(list) => {
                let inner = format!("{position}.[]");
                list.iter_mut().for_each(|element| self.value(element, &inner));
            }
            Value::Object(members) => self.members(members, position),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn members(&mut self, members: &mut Map<String, Value>, position: &str) {
        let Some(rule) = key_rule(position) else {
            for (name, value) in members {
                self.value(value, &format!("{position}.{name}"));
            }
            return;
        };
        let inner = format!("{position}.*");
        for (key, mut value) in std::mem::take(members) {
            self.value(&mut value, &inner);
            insert_unique(members, self.text(&key, rule), value);
        }
    }

    fn text(&mut self, text: &str, rule: Rule) -> String {
        match rule {
            Rule::Keep => text.to_owned(),
            Rule::Remove => REDACTED.to_owned(),
            Rule::Day => day(text),
            Rule::Name => self.name(text),
            Rule::Numbered(kind) => self.placeholder(kind, text),
            Rule::Device => self.device(text),
            Rule::Engine => self.placeholders.engine(text),
            Rule::Image => image(text),
            Rule::Words => self.words(text),
        }
    }

    /// Redacts the name or the label of a network, part by part.
    fn name(&mut self, name: &str) -> String {
        let name = self.placeholders.replace_in_name(name);
        let mut redacted = String::new();
        for part in name.split_inclusive(SEPARATORS) {
            let own = part.trim_end_matches(SEPARATORS);
            redacted += &if is_known(own) { own.to_owned() } else { self.placeholder("name", own) };
            redacted += &part[own.len()..];
        }
        redacted
    }

    /// Redacts the name of a device.
    fn device(&mut self, name: &str) -> String {
        match self.devices.get(name) {
            Some(device) => device.clone(),
            None if is_public(name) => name.to_owned(),
            None => self.placeholder("interface", name),
        }
    }

    /// Returns the placeholder of a private name.
    fn placeholder(&mut self, kind: &str, name: &str) -> String {
        let next = format!("{kind}-{}", self.names.len());
        self.names.entry(name.to_owned()).or_insert(next).clone()
    }

    /// Removes from a text all words that are not public.
    fn words(&self, text: &str) -> String {
        let text = self.placeholders.replace_in_text(text);
        let mut redacted = String::new();
        for piece in text.split_inclusive(char::is_whitespace) {
            let word = piece.trim_matches(|c: char| c.is_whitespace() || PUNCTUATION.contains(&c));
            let start = piece.find(word).unwrap_or_default();
            redacted += &piece[..start];
            redacted += &self.word(word);
            redacted += &piece[start + word.len()..];
        }
        redacted
    }

    fn word(&self, word: &str) -> String {
        if let Some(device) = self.devices.get(word).filter(|_| !is_public(word)) {
            return device.clone();
        }
        let is_kept = |part: &str| is_known(part) || self.controls.contains(part);
        let is_public = is_kept(word) || word.split(SEPARATORS).all(is_kept);
        if is_public { word.to_owned() } else { REDACTED.to_owned() }
    }
}

/// Returns true for a part of a name or text that is public, or a placeholder already.
fn is_known(part: &str) -> bool {
    part.is_empty() || is_public(part) || is_numbered(part, &PLACEHOLDERS)
}

/// Adds a member. A name that is taken already gets a number.
fn insert_unique(members: &mut Map<String, Value>, name: String, value: Value) {
    let numbered = (2..).map(|number| format!("{name} ({number})"));
    let free =
        std::iter::once(name.clone()).chain(numbered).find(|name| !members.contains_key(name));
    members.insert(free.unwrap_or(name), value);
}

/// Returns midnight of the day of an RFC 3339 time.
fn day(time: &str) -> String {
    let (day, _) = time.split_once('T').unwrap_or_default();
    let is_date = day.len() == 10 && day.bytes().all(|b| b.is_ascii_digit() || b == b'-');
    if is_date { format!("{day}T00:00:00Z") } else { String::new() }
}

/// Returns an image without its registry, name and tag: its digest is that of its content.
fn image(image: &str) -> String {
    let digest = image.split_once("@sha256:").map(|(_, digest)| digest);
    let is_hash = |digest: &&str| digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    match digest.filter(is_hash) {
        Some(digest) => format!("image@sha256:{digest}"),
        None => REDACTED.to_owned(),
    }
}
