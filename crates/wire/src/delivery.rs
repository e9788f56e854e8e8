//! Received values and commits.

use std::sync::Arc;

use typeloom_tensor::datum::Datum;
use typeloom_tensor::peer::PeerId;

use crate::endpoint::{Endpoint, Shared};
use crate::envelope::{Envelope, MessageId, PortId, RunId};
use crate::journal::JournalError;
use crate::send::{Outgoing, SendError, SentBy, Ticket};

/// Selects values to receive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wanted {
    /// Port of the value.
    pub port: PortId,
    /// Run of the value; `None` for any run.
    pub run: Option<RunId>,
}

/// Error of receiving a value.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ReceiveError {
    /// No value arrived before the timeout.
    #[error("nothing arrived at `{port}` in time")]
    Timeout { port: PortId },
    /// The endpoint does not have the port, so messages for it are refused.
    #[error("there is no port `{port}`")]
    UnknownPort { port: PortId },
    /// The value cannot be read from the journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// Effects of a commit. They are applied atomically: after a restart either all or none of them are visible.
#[derive(Clone, Copy, Debug, Default)]
pub struct Effects<'e> {
    /// New program state in an encoding of the program; `None` leaves it unchanged.
    pub memory: Option<&'e [u8]>,
    /// Messages to post; the next [`flush`](Endpoint::flush) sends them.
    pub posts: &'e [Outgoing<'e>],
}

/// A received value that is handed out to its holder.
///
/// The value is done when [`commit`](Delivery::commit) or [`accept`](Delivery::accept) returns. A delivery
/// that is dropped without a commit, or that is lost in a crash, is handed out again.
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

    #[must_use]
    pub fn value(&self) -> &Datum {
        &self.envelope.value
    }

    /// Peer that sent the value.
    #[must_use]
    pub fn sender(&self) -> &PeerId {
        &self.envelope.sender
    }

    /// Run that the value belongs to.
    #[must_use]
    pub fn run(&self) -> RunId {
        self.envelope.run
    }

    /// Id of the message that contains the value.
    #[must_use]
    pub fn id(&self) -> MessageId {
        self.envelope.id
    }

    /// Port that received the value.
    #[must_use]
    pub fn port(&self) -> &PortId {
        &self.envelope.port
    }

    /// Commits the value together with effects. It is not handed out again, not even after a restart.
    ///
    /// # Errors
    /// [`SendError`] if a post is invalid or the journal fails. Nothing is applied then, and the value is
    /// handed out again.
    pub fn commit(mut self, effects: &Effects<'_>) -> Result<(Datum, Vec<Ticket>), SendError> {
        let done = vec![self.arrival];
        let tickets = self.shared.apply(done, effects, SentBy::Flush)?;
        self.is_done = true;
        let value = std::mem::replace(&mut self.envelope.value, Datum::Trigger);
        Ok((value, tickets))
    }

    /// Commits the value without effects.
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
    /// Commits several values together with effects, atomically: after a restart either everything is
    /// applied, or all values are handed out again.
    ///
    /// # Errors
    /// As [`Delivery::commit`], and if a delivery belongs to another endpoint.
    pub fn commit(&self, deliveries: Vec<Delivery>, effects: &Effects<'_>) -> Result<Vec<Ticket>, SendError> {
        self.commit_as(SentBy::Flush, deliveries, effects)
    }

    pub(crate) fn commit_as(
        &self,
        sent_by: SentBy,
        mut deliveries: Vec<Delivery>,
        effects: &Effects<'_>,
    ) -> Result<Vec<Ticket>, SendError> {
        if !deliveries.iter().all(|delivery| Arc::ptr_eq(&delivery.shared, &self.shared)) {
            return Err(SendError::OtherEndpoint);
        }
        let done = deliveries.iter().map(|delivery| delivery.arrival).collect();
        let tickets = self.shared.apply(done, effects, sent_by)?;
        deliveries.iter_mut().for_each(|delivery| delivery.is_done = true);
        Ok(tickets)
    }

    /// Commits effects without a received value.
    ///
    /// # Errors
    /// As [`Delivery::commit`].
    pub fn record(&self, effects: &Effects<'_>) -> Result<Vec<Ticket>, SendError> {
        self.shared.apply(Vec::new(), effects, SentBy::Flush)
    }
}
