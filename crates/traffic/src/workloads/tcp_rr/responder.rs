//! The serving side: a whole response for every whole request.

use super::{Sizes, Stage, buffer, no_delay, receive};
use crate::drive::{Lane, Wish};
use crate::lanes::Driven;
use crate::payload::payload;
use crate::placement::Role;
use crate::tcp::{Accepted, Serving, shut};
use crate::{Error, Report, Server, Task};
use std::io::{self, Write};
use std::net::{self, Shutdown};
use tare_record::Ends;

/// The serving flows of one thread.
#[derive(Debug)]
struct Responder {
    flows: Vec<(net::TcpStream, Stage)>,
    sizes: Sizes,
    response: Box<[u8]>,
    buffer: Box<[u8]>,
    answered: u64,
}

impl Responder {
    fn new(flows: Vec<Accepted>, sizes: Sizes) -> Self {
        let waiting = Stage::Receiving(sizes.request);
        Self {
            flows: flows.into_iter().map(|flow| (flow.stream, waiting)).collect(),
            sizes,
            response: payload(sizes.response),
            buffer: buffer(sizes.request),
            answered: 0,
        }
    }
}

impl Lane for Responder {
    fn flows(&self) -> usize {
        self.flows.len()
    }

    fn socket(&self, flow: usize) -> &net::TcpStream {
        &self.flows[flow].0
    }

    fn wish(&self, flow: usize) -> Wish {
        self.flows[flow].1.wish()
    }

    fn turn(&mut self, flow: usize) -> io::Result<()> {
        let (stream, stage) = &mut self.flows[flow];
        if let Stage::Receiving(left) = *stage {
            let bytes = receive(stream, &mut self.buffer, left)?;
            if bytes == 0 {
                *stage = Stage::Over;
                return shut(stream, Shutdown::Both);
            }
            *stage = Stage::Receiving(left - bytes);
            if left > bytes {
                return Ok(());
            }
            *stage = Stage::Sending(self.sizes.response);
        }
        if let Stage::Sending(left) = *stage {
            let bytes = stream.write(&self.response[self.sizes.response - left..])?;
            *stage = Stage::Sending(left - bytes);
            if left == bytes {
                *stage = Stage::Receiving(self.sizes.request);
                self.answered += 1;
            }
        }
        Ok(())
    }
}

/// The serving side.
pub(super) struct Responding {
    serving: Serving<Responder>,
}

impl Responding {
    /// Listens.
    pub(super) fn start(task: &Task) -> Result<Self, Error> {
        let sizes = Sizes::of(&task.parameters)?;
        let lane = move |flows| Responder::new(flows, sizes);
        Ok(Self { serving: Serving::start(task, &no_delay(), lane)? })
    }
}

impl Server for Responding {
    fn finish(mut self: Box<Self>) -> Result<Report, Error> {
        let Driven { lanes, cpu, findings } = self.serving.finish()?;
        let answered = lanes.iter().map(|lane| lane.answered).sum();
        let report = Report { findings, cpu, ..Report::default() };
        Ok(report.counted(Ends { answered, ..Ends::default() }).with(
            &self.serving.granted,
            &self.serving.cores,
            Role::Server,
        ))
    }
}
