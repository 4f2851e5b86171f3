//! One end of a link: messages arrive in their order, each once, over connections that may break at any byte.

use super::line::LinkLine;
use std::collections::VecDeque;

/// State of one end of a link.
#[derive(Debug, Default)]
pub(crate) struct LinkEndpoint {
    /// Number of the first message in `unconfirmed`.
    first_unconfirmed: u64,
    /// Messages that were sent, and of which the other end has not said that they arrived.
    unconfirmed: VecDeque<Vec<u8>>,
    /// Number of the next message to arrive.
    next: u64,
    /// Number of which the other end knows that it is the next.
    confirmed: u64,
    /// True if the other end was asked for messages that are missing, and none has arrived since.
    asked: bool,
}

/// Effect of a line that arrived.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ArrivedLine {
    /// Message that arrived for the first time.
    pub(crate) message: Option<Vec<u8>>,
    /// Lines to send in answer.
    pub(crate) answer: String,
}

impl LinkEndpoint {
    /// Returns the line of a new message.
    pub(crate) fn send(&mut self, payload: Vec<u8>) -> String {
        let number = self.first_unconfirmed + self.unconfirmed.len() as u64;
        let line = LinkLine::Message { number, payload: payload.clone() };
        self.unconfirmed.push_back(payload);
        line.to_text()
    }

    /// Returns the lines with which a connection begins: what is lacking here, and what may not have arrived there. An
    /// empty line before them ends what another connection left unfinished.
    pub(crate) fn begin_connection(&mut self) -> String {
        format!("\n{}{}", LinkLine::Resume { next: self.next }.to_text(), self.repeat())
    }

    /// Returns the line that confirms what has arrived, which also shows that this end is alive.
    pub(crate) fn confirm(&mut self) -> String {
        self.confirmed = self.next;
        LinkLine::Received { next: self.next }.to_text()
    }

    /// Returns the number of messages that have arrived and are not confirmed.
    pub(crate) fn unconfirmed_arrivals(&self) -> u64 {
        self.next - self.confirmed
    }

    /// Returns the number of bytes that wait for confirmation.
    pub(crate) fn unconfirmed_bytes(&self) -> usize {
        self.unconfirmed.iter().map(Vec::len).sum()
    }

    /// Handles a line that arrived.
    pub(crate) fn receive(&mut self, line: LinkLine) -> ArrivedLine {
        match line {
            LinkLine::Message { number, payload } if number == self.next => {
                (self.next, self.asked) = (number + 1, false);
                ArrivedLine { message: Some(payload), answer: String::new() }
            }
            LinkLine::Message { number, .. } if number > self.next && !self.asked => {
                self.asked = true;
                let answer = LinkLine::Resume { next: self.next }.to_text();
                ArrivedLine { answer, ..ArrivedLine::default() }
            }
            // It has arrived before, or was asked for already.
            LinkLine::Message { .. } => ArrivedLine::default(),
            LinkLine::Received { next } => {
                self.forget_before(next);
                ArrivedLine::default()
            }
            LinkLine::Resume { next } => {
                self.forget_before(next);
                ArrivedLine { answer: self.repeat(), ..ArrivedLine::default() }
            }
        }
    }

    /// Forgets messages that have arrived.
    fn forget_before(&mut self, next: u64) {
        while self.first_unconfirmed < next && self.unconfirmed.pop_front().is_some() {
            self.first_unconfirmed += 1;
        }
    }

    /// Returns the lines of all messages that are not confirmed, after a line that says what has arrived here.
    fn repeat(&mut self) -> String {
        let mut lines = self.confirm();
        for (number, payload) in (self.first_unconfirmed..).zip(&self.unconfirmed) {
            lines += &LinkLine::Message { number, payload: payload.clone() }.to_text();
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Hands lines to an end, and returns the messages and the answer.
    fn hand(end: &mut LinkEndpoint, bytes: &[u8]) -> (Vec<Vec<u8>>, String) {
        let (mut messages, mut answer) = (Vec::new(), String::new());
        for line in bytes.split(|&byte| byte == b'\n').filter_map(LinkLine::parse) {
            let arrived = end.receive(line);
            messages.extend(arrived.message);
            answer += &arrived.answer;
        }
        (messages, answer)
    }

    #[test]
    fn messages_arrive_in_order() {
        let (mut one, mut other) = (LinkEndpoint::default(), LinkEndpoint::default());
        let lines = one.send(b"a".to_vec()) + &one.send(b"b".to_vec());
        assert_eq!(
            hand(&mut other, lines.as_bytes()),
            (vec![b"a".to_vec(), b"b".to_vec()], String::new())
        );
        assert_eq!((other.unconfirmed_arrivals(), one.unconfirmed_bytes()), (2, 2));
        hand(&mut one, other.confirm().as_bytes());
        assert_eq!((other.unconfirmed_arrivals(), one.unconfirmed_bytes()), (0, 0));
    }

    #[test]
    fn a_gap_is_asked_for_once() {
        let (mut one, mut other) = (LinkEndpoint::default(), LinkEndpoint::default());
        let _lost = one.send(b"a".to_vec());
        let later = [one.send(b"b".to_vec()), one.send(b"c".to_vec())].concat();
        let (messages, answer) = hand(&mut other, later.as_bytes());
        assert_eq!((messages.len(), answer.matches("resume").count()), (0, 1));
        let (_, again) = hand(&mut one, answer.as_bytes());
        let (messages, _) = hand(&mut other, again.as_bytes());
        assert_eq!(messages.concat(), b"abc");
    }

    proptest! {
        /// Connections that break at any byte lose and repeat nothing, whatever was on its way in either direction.
        #[test]
        fn broken_connections_lose_nothing(
            sent in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 1..20),
            breaks in proptest::collection::vec((0..400_usize, 0..400_usize), 0..8),
        ) {
            let (mut one, mut other) = (LinkEndpoint::default(), LinkEndpoint::default());
            let (mut there, mut back) = (Vec::new(), Vec::new());
            let mut waiting: Vec<&Vec<u8>> = sent.iter().rev().collect();
            let mut limits = breaks.into_iter();
            loop {
                // One connection: what is sent on it beyond its limit is lost.
                let limit = limits.next();
                let mut forth = one.begin_connection();
                if let Some(payload) = waiting.pop() {
                    forth += &one.send(payload.clone());
                    back.push(payload.clone());
                }
                let forth = &forth.as_bytes()[..forth.len().min(limit.map_or(usize::MAX, |one| one.0))];
                let (messages, answer) = hand(&mut other, forth);
                there.extend(messages);
                let answer = &answer.as_bytes()[..answer.len().min(limit.map_or(usize::MAX, |one| one.1))];
                let (_, again) = hand(&mut one, answer);
                let again = &again.as_bytes()[..again.len().min(limit.map_or(usize::MAX, |one| one.0))];
                there.extend(hand(&mut other, again).0);
                if waiting.is_empty() && limit.is_none() {
                    break;
                }
            }
            prop_assert_eq!(there, back);
        }
    }
}
