//! Values that arrived, and what is done with them.

use std::sync::Arc;

use typeloom_contracts::peer_selector::PeerId;

use crate::endpoint::{Endpoint, Shared};
use crate::envelope::{Envelope, MessageId, PortId, RunId};
use crate::send::{Claim, Outgoing, SendError, Ticket};
use typeloom_contracts::datum::Datum;

/// Which value is asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wanted {
    /// Where it arrives.
    pub port: PortId,
    /// The run that it belongs to; any, where this is nothing.
    pub run: Option<RunId>,
}

/// Why there is no value.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ReceiveError {
    /// Nothing came in time.
    #[error("nothing arrived at `{port}` in time")]
    Timeout {
        /// Where it was waited for.
        port: PortId,
    },
    /// Nothing can come: messages for this port are refused.
    #[error("there is no port `{port}`")]
    UnknownPort {
        /// The port.
        port: PortId,
    },
}

/// What follows from a value, or from something else that the program does. All of it is written down at once: after a restart it
/// was done, or it was not.
#[derive(Clone, Copy, Debug, Default)]
pub struct Effects<'e> {
    /// What the program remembers from now on, in its own form; as before, where this is nothing.
    pub memory: Option<&'e [u8]>,
    /// Messages that are to be sent, by the next [`flush`](Endpoint::flush).
    pub posts: &'e [Outgoing<'e>],
}

/// A value that arrived and is the holder's to deal with.
///
/// It is dealt with when [`commit`](Delivery::commit) or [`accept`](Delivery::accept) returns, and not before: a delivery that
/// is dropped, or that was handed out when the process was killed, is handed out again.
pub struct Delivery {
    shared: Arc<Shared>,
    arrival: u64,
    envelope: Envelope,
    is_done: bool,
}

impl Delivery {
    pub(crate) fn new(shared: Arc<Shared>, arrival: u64, envelope: Envelope) -> Self {
        Self { shared, arrival, envelope, is_done: false }
    }

    /// The value.
    #[must_use]
    pub fn value(&self) -> &Datum {
        &self.envelope.value
    }

    /// Who sent it.
    #[must_use]
    pub fn sender(&self) -> &PeerId {
        &self.envelope.sender
    }

    /// The run that it belongs to.
    #[must_use]
    pub fn run(&self) -> RunId {
        self.envelope.run
    }

    /// The message that it came in.
    #[must_use]
    pub fn id(&self) -> MessageId {
        self.envelope.id
    }

    /// Where it arrived.
    #[must_use]
    pub fn port(&self) -> &PortId {
        &self.envelope.port
    }

    /// Deals with the value, with all that follows from it. It is not handed out again, not even after a restart.
    ///
    /// # Errors
    /// [`SendError`] where a post cannot be sent like this, or the journal fails. Nothing was done then, and the value is handed out
    /// again.
    pub fn commit(mut self, effects: &Effects<'_>) -> Result<(Datum, Vec<Ticket>), SendError> {
        let done = vec![self.key()];
        let tickets = self.shared.apply(done, effects, Claim::Nobody)?;
        self.is_done = true;
        let value = std::mem::replace(&mut self.envelope.value, Datum::Trigger);
        Ok((value, tickets))
    }

    fn key(&self) -> (PeerId, MessageId) {
        (self.envelope.sender.clone(), self.envelope.id)
    }

    /// Deals with the value by taking it: nothing that has to outlive the process follows from it.
    ///
    /// # Errors
    /// As [`Delivery::commit`].
    pub fn accept(self) -> Result<Datum, SendError> {
        Ok(self.commit(&Effects::default())?.0)
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        if !self.is_done {
            self.shared.lock().give_back(self.arrival);
            self.shared.notify();
        }
    }
}

impl std::fmt::Debug for Delivery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Delivery").field("envelope", &self.envelope).finish_non_exhaustive()
    }
}

impl Endpoint {
    /// Deals with several values at once, with all that follows from them: after a restart either all of it happened, or all of the
    /// values are handed out again.
    ///
    /// # Errors
    /// As [`Delivery::commit`], and where a value arrived at another endpoint.
    pub fn commit(&self, deliveries: Vec<Delivery>, effects: &Effects<'_>) -> Result<Vec<Ticket>, SendError> {
        self.commit_as(Claim::Nobody, deliveries, effects)
    }

    pub(crate) fn commit_as(
        &self,
        claim: Claim,
        mut deliveries: Vec<Delivery>,
        effects: &Effects<'_>,
    ) -> Result<Vec<Ticket>, SendError> {
        if !deliveries.iter().all(|delivery| Arc::ptr_eq(&delivery.shared, &self.shared)) {
            return Err(SendError::OtherEndpoint);
        }
        let done = deliveries.iter().map(Delivery::key).collect();
        let tickets = self.shared.apply(done, effects, claim)?;
        deliveries.iter_mut().for_each(|delivery| delivery.is_done = true);
        Ok(tickets)
    }

    /// Does something that follows from no message: what the program remembers and what it sends, at once.
    ///
    /// # Errors
    /// As [`Delivery::commit`].
    pub fn record(&self, effects: &Effects<'_>) -> Result<Vec<Ticket>, SendError> {
        self.shared.apply(Vec::new(), effects, Claim::Nobody)
    }
}
