//! Indices. `Add` takes one vector per id, stacked along the first axis. `Search` takes one query, or several
//! stacked along the first axis, and returns a row of results per query.

use std::sync::Arc;

use smallvec::smallvec;
use typeloom_contracts::index::Index;
use typeloom_onnx::messages::NodeProto;
use typeloom_tensor::any_tensor::AnyTensor;

use super::args::{convert, split};
use super::{Args, ComponentError, Locked, Method, Results, done, int, method};
use crate::convert::FromDatum;

pub(super) fn resolve<I: Index<Vector: FromDatum>>(
    index: Arc<Locked<I>>,
    name: &str,
    node: &NodeProto,
) -> Option<Method> {
    match name {
        "add" => method(move |args| add(&index, args)),
        "search" => {
            let k = int(node, "k").unwrap_or(1);
            method(move |args| search(&index, args, k))
        }
        "remove" => method(move |args| {
            let mut index = index.write();
            done(args.ids(0)?.iter().try_for_each(|id| index.remove(*id).map(|_| ())))
        }),
        "train" => method(move |args| args.train::<I::Vector, _>(|vectors| index.write().train(vectors))),
        _ => None,
    }
}

fn add<I: Index<Vector: FromDatum>>(index: &Locked<I>, args: &Args<'_>) -> Result<Results, ComponentError> {
    let ids = args.ids(0)?;
    let vectors = args.datum(1)?;
    let rows = match vectors.as_tensor() {
        // A single id with a vector that has no batch axis.
        Some(tensor) if tensor.rank() <= 1 && ids.len() == 1 => vec![vectors.clone()],
        Some(tensor) => split(tensor)?,
        None => vec![vectors.clone()],
    };
    if rows.len() != ids.len() {
        return Err(ComponentError::Inconsistent(format!("{} ids for {} vectors", ids.len(), rows.len())));
    }
    let vectors = rows.iter().map(|row| convert::<I::Vector>(row, 1)).collect::<Result<Vec<_>, _>>()?;
    let mut index = index.write();
    done(ids.iter().zip(&vectors).try_for_each(|(id, vector)| index.add(*id, vector)))
}

fn search<I: Index<Vector: FromDatum>>(
    index: &Locked<I>,
    args: &Args<'_>,
    k: i64,
) -> Result<Results, ComponentError> {
    let Ok(k) = usize::try_from(k) else {
        return Err(ComponentError::Inconsistent(format!("{k} vectors cannot be searched for")));
    };
    let rows = args.rows(0)?;
    let several = args.datum(0)?.as_tensor().is_some_and(|tensor| tensor.rank() >= 2);
    let (mut ids, mut distances) = (Vec::new(), Vec::new());
    let mut found = None;
    let index = index.read();
    for row in &rows {
        let near = index.search(&*convert::<I::Vector>(row, 0)?, k).map_err(ComponentError::failed)?;
        if near.len() > k || found.is_some_and(|found| found != near.len()) {
            let message =
                format!("the index returned {} vectors for one of {} queries", near.len(), rows.len());
            return Err(ComponentError::Inconsistent(message));
        }
        found = Some(near.len());
        ids.extend(near.iter().map(|(id, _)| *id));
        distances.extend(near.iter().map(|(_, distance)| *distance));
    }
    let each = found.unwrap_or(0);
    let shape = if several { vec![rows.len(), each] } else { vec![each] };
    let failed = |error: typeloom_tensor::any_tensor::error::TensorError| ComponentError::failed(error);
    Ok(smallvec![
        AnyTensor::from_slice(&shape, &ids).map_err(failed)?.into(),
        AnyTensor::from_slice(&shape, &distances).map_err(failed)?.into(),
    ])
}
