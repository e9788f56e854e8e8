//! Peer selectors.

use std::sync::Arc;

use smallvec::smallvec;
use typeloom_contracts::peer_selector::{PeerId, PeerSelector};
use typeloom_onnx::messages::NodeProto;

use super::{AnyComponent, ComponentError, Locked, Method, Results, int, method};
use typeloom_contracts::datum::Datum;

pub(super) struct PeerSelectorAdapter<P>(pub(super) Locked<P>);

impl<P: PeerSelector> AnyComponent for PeerSelectorAdapter<P> {
    fn method(self: Arc<Self>, node: &NodeProto) -> Option<Method> {
        let count = int(node, "count").unwrap_or(1);
        match node.op_type() {
            "Select" => method(move |_| peers(self.0.write().select(self::count(count)?))),
            "Sample" => method(move |_| peers(self.0.write().sample(self::count(count)?))),
            "CurrentView" => method(move |_| peers(self.0.read().current_view())),
            _ => None,
        }
    }
}

fn count(count: i64) -> Result<usize, ComponentError> {
    usize::try_from(count)
        .map_err(|_| ComponentError::Inconsistent(format!("{count} peers cannot be chosen")))
}

fn peers<E: std::error::Error + Send + Sync + 'static>(
    chosen: Result<Vec<PeerId>, E>,
) -> Result<Results, ComponentError> {
    Ok(smallvec![Datum::Peers(chosen.map_err(ComponentError::failed)?)])
}
