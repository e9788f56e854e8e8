//! Answers to the network outputs of a part.
//!
//! A network output (`net_out`) sends a value to peers and has the handle of the request as its result. Each
//! peer runs its part on the value, and may answer the request with one value. The module does not state the
//! type of answers, so both ends declare it with [`Part::with_answer`].
//!
//! An answer belongs to a run and an output. It is sent after the messages of the run are committed: if a
//! peer fails between the two, the request is not answered, and the requesting side reports this at its
//! deadline.

use std::collections::BTreeSet;

use core::time::Duration;
use typeloom_tensor::datum::{Datum, WireReqId};
use typeloom_tensor::peer::PeerId;
use typeloom_wire::delivery::{Delivery, ReceiveError, Wanted};
use typeloom_wire::endpoint::Endpoint;
use typeloom_wire::envelope::{PortId, RunId};
use typeloom_wire::port::PortType;
use typeloom_wire::send::{Outgoing, SendError};

use super::schedule::{received, sent};
use super::{Part, PartOutcome};
use crate::error::from_peers;
use crate::plan::WireValue;

/// A network output that a run has sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// The result of `net_out`, unique within the run.
    pub id: WireReqId,
    /// The name of the output.
    pub output: String,
    /// The peers that have the value.
    pub peers: Vec<PeerId>,
    pub(super) run: RunId,
}

/// Error of an answer.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AnswerError {
    /// The part neither sends nor receives the output.
    #[error("part `{part}` has no network output `{output}`")]
    NoOutput { part: String, output: String },
    /// Neither end declared the type of answers.
    #[error("the type of answers to `{output}` is not declared; declare it with `with_answer`")]
    NoType { output: String },
    /// The run has not received the output.
    #[error("the run has received no `{output}`, so there is no peer to answer")]
    NotReceived { output: String },
    /// The answer was not sent or not accepted.
    #[error(transparent)]
    Send(#[from] SendError),
    /// Peers did not answer in time.
    #[error("{error}{}", from_peers(peers))]
    Missing {
        error: ReceiveError,
        /// The peers that have not answered.
        peers: Vec<PeerId>,
    },
}

/// The port of answers to a value on the wire.
fn answer_port(wire: &WireValue) -> PortId {
    let PortId { program, wire: name, .. } = &wire.port;
    PortId { program: program.clone(), peer_class: wire.from.clone(), wire: format!("{name}.answer") }
}

impl Part {
    /// Declares the type of answers to a network output. The requesting and the answering part declare the
    /// same type.
    ///
    /// # Errors
    /// [`AnswerError::NoOutput`].
    pub fn with_answer(mut self, output: &str, ty: PortType) -> Result<Self, AnswerError> {
        if self.outgoing(output).is_none() && self.incoming(output).is_none() {
            return Err(self.no_output(output));
        }
        self.answers.insert(output.to_owned(), ty);
        Ok(self)
    }

    /// Answers a network output that a run of this part received.
    ///
    /// # Errors
    /// [`AnswerError`].
    pub fn answer(
        &self,
        endpoint: &Endpoint,
        outcome: &PartOutcome,
        output: &str,
        value: &Datum,
        timeout: Duration,
    ) -> Result<(), AnswerError> {
        let wire = self.incoming(output).ok_or_else(|| self.no_output(output))?;
        let (port, ty) = (answer_port(wire), self.answer_type(output)?);
        let peers = outcome.reached.get(&wire.from).filter(|peers| !peers.is_empty());
        let peers = peers.ok_or_else(|| AnswerError::NotReceived { output: output.to_owned() })?;
        for to in peers {
            endpoint.send(&Outgoing { to, port: &port, run: outcome.run, ty, value }, timeout)?;
        }
        Ok(())
    }

    /// Waits until every peer of a request has answered, and returns the answers in the order of the peers.
    ///
    /// # Errors
    /// [`AnswerError`]. After [`AnswerError::Missing`], answers that arrived are available to another call.
    pub fn await_answers(
        &self,
        endpoint: &Endpoint,
        request: &Request,
        timeout: Duration,
    ) -> Result<Vec<(PeerId, Datum)>, AnswerError> {
        let wire = self.outgoing(&request.output).ok_or_else(|| self.no_output(&request.output))?;
        self.answer_type(&request.output)?;
        let wanted = Wanted { port: answer_port(wire), run: Some(request.run) };
        let deadline = endpoint.now().saturating_add(timeout);
        let mut missing: BTreeSet<&PeerId> = request.peers.iter().collect();
        // Answers to other requests are returned to the mailbox when this call ends.
        let (mut answers, mut set_aside): (Vec<Delivery>, Vec<Delivery>) = (Vec::new(), Vec::new());
        while !missing.is_empty() {
            let left = deadline.saturating_sub(endpoint.now());
            match endpoint.receive(&wanted, left) {
                Ok(delivery) if missing.remove(delivery.sender()) => answers.push(delivery),
                Ok(delivery) => set_aside.push(delivery),
                Err(error) => {
                    let peers = missing.into_iter().cloned().collect();
                    return Err(AnswerError::Missing { error, peers });
                }
            }
        }
        answers.sort_by_key(|delivery| request.peers.iter().position(|peer| peer == delivery.sender()));
        let accept = |delivery: Delivery| -> Result<_, AnswerError> {
            Ok((delivery.sender().clone(), delivery.accept()?))
        };
        answers.into_iter().map(accept).collect()
    }

    /// The ports at which the part receives answers.
    pub(super) fn answer_ports(&self) -> impl Iterator<Item = (PortId, PortType)> {
        self.answers.iter().filter_map(|(output, ty)| Some((answer_port(self.outgoing(output)?), ty.clone())))
    }

    fn answer_type(&self, output: &str) -> Result<&PortType, AnswerError> {
        self.answers.get(output).ok_or_else(|| AnswerError::NoType { output: output.to_owned() })
    }

    fn no_output(&self, output: &str) -> AnswerError {
        AnswerError::NoOutput { part: self.name.clone(), output: output.to_owned() }
    }

    /// The network output with this name that the part sends.
    fn outgoing(&self, output: &str) -> Option<&WireValue> {
        let mut sends = self.plan.body.written.steps.iter().filter_map(sent);
        sends.find(|wire| wire.net_out.as_deref() == Some(output))
    }

    /// The network output with this name that the part receives.
    fn incoming(&self, output: &str) -> Option<&WireValue> {
        let mut receives = self.plan.body.written.steps.iter().filter_map(received);
        receives.find(|wire| wire.net_out.as_deref() == Some(output))
    }
}
