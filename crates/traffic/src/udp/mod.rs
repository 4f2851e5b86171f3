//! What the workloads over UDP share: the conversation beside the datagrams, their header, pacing, and the books.

mod control;
mod header;
mod introduce;
mod moderate;
mod options;
mod pace;
mod receive;
mod send;
mod serve;
mod tally;
mod track;
mod transmit;

pub(crate) use control::{Link, Message, out_of_turn};
pub(crate) use introduce::{Introduced, granted_of};
pub(crate) use options::{BUFFER, GSO, Options, RECEIVE, SIZE, WAIT, Wait};
pub(crate) use receive::Receiver;
pub(crate) use serve::{Received, Serving, Station, by_client};
pub(crate) use tally::Tally;
pub(crate) use transmit::{Sent, Transmitter};
