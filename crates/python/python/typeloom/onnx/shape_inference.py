"""prototype"""
import onnx.onnx_cpp2py_export.shape_inference as C
import onnx as O
from typeloom import _core
class InferenceError(C.InferenceError): pass
def infer_shapes(model, check_type=False, strict_mode=False, data_prop=False):
    b = model if isinstance(model, bytes) else model.SerializeToString()
    s = _core.Settings(strict=False)
    out, errors = _core.infer_shapes(b, s)
    if (strict_mode or check_type) and errors:
        raise InferenceError("\n".join(errors))
    return O.ModelProto.FromString(out)
