//! Link between a run and the agent of a pod, over the standard streams of the pod's container.
//!
//! The way from the run to a pod is `pods/attach`: through the API server and the kubelet, each of which may go away for
//! a minute. So what is sent is numbered and kept until the other end says that it arrived ([`endpoint`]), and a new
//! connection goes on where the last one ended. A line is the unit ([`line`]), since a connection can begin and end
//! within any byte. The messages ([`message`]) start programs and carry their streams.

mod endpoint;
mod line;
mod line_reader;
mod message;

pub(crate) use endpoint::{ArrivedLine, LinkEndpoint};
pub(crate) use line::{LinkLine, MAX_PAYLOAD};
pub(crate) use line_reader::LineBuffer;
pub(crate) use message::{PodMessage, ProgramRequest};
