"""Drop-in replacements of the reference's modules.

| instead of | import |
|---|---|
| ``onnx.shape_inference`` | ``typeloom.onnx.shape_inference`` |
| ``onnx.checker`` | ``typeloom.onnx.checker`` |

Signatures, options, results and exceptions are those of onnx 1.23. The package `onnx` is not needed for bytes; where it is
installed, the exceptions are subclasses of its exceptions. ``typeloom.patch()`` replaces the functions in a process.
"""
