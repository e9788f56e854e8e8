//! Peer selectors.

use std::sync::Arc;

use smallvec::smallvec;
use typeloom_contracts::peer_selector::PeerSelector;
use typeloom_onnx::messages::NodeProto;
use typeloom_tensor::datum::Datum;
use typeloom_tensor::peer::PeerId;

use super::{ComponentError, Locked, Method, Results, int, method};

pub(super) fn resolve<P: PeerSelector>(
    selector: Arc<Locked<P>>,
    name: &str,
    node: &NodeProto,
) -> Option<Method> {
    let count = int(node, "count").unwrap_or(1);
    match name {
        "select" => method(move |_| peers(selector.write().select(self::count(count)?))),
        "sample" => method(move |_| peers(selector.write().sample(self::count(count)?))),
        "current_view" => method(move |_| peers(selector.read().current_view())),
        _ => None,
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
