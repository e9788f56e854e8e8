#!/usr/bin/env python3
"""Compare what typeloom infers for operators of ONNX Runtime with what ONNX Runtime infers.

    pip install onnxruntime==1.31.1 onnx==1.23.2
    cargo build --release -p typeloom-cli
    python3 tools/compare_contrib_shapes.py target/release/typeloom

One model of one node for each case, symbols for batch and length. ONNX Runtime says what it infers when it loads a
model whose operators its CPU provider has. Exits with 1 where the two contradict each other; where one of them says
less, both are shown.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

ELEMS = {
    "float": TensorProto.FLOAT, "float16": TensorProto.FLOAT16, "bool": TensorProto.BOOL, "string": TensorProto.STRING,
    "int8": TensorProto.INT8, "uint8": TensorProto.UINT8, "int16": TensorProto.INT16,
    "int32": TensorProto.INT32, "int64": TensorProto.INT64,
}  # fmt: skip
B, S = "B", "S"


def case(name, op, ins, nout, attrs=None, consts=None, domain="com.microsoft"):
    """A node: its inputs as (element type, shape), how many outputs, attributes, values of constant inputs."""
    return dict(name=name, op=op, ins=ins, nout=nout, attrs=attrs or {}, consts=consts or {}, domain=domain)


# fmt: off
CASES = [
    case('biasgelu','BiasGelu',[('float',[B,S,64]),('float',[64])],1),
    case('fastgelu','FastGelu',[('float',[B,S,64]),('float',[64])],1),
    case('quickgelu','QuickGelu',[('float',[B,S,64])],1),
    case('gelu','Gelu',[('float',[B,S,64])],1),
    case('fmm','FusedMatMul',[('float',[B,4,3]),('float',[B,5,3])],1,dict(transB=1)),
    case('fmm2','FusedMatMul',[('float',[3,B,4]),('float',[3,B,5])],1,dict(transA=1,transBatchA=1,transBatchB=1)),
    case('fmm3','FusedMatMul',[('float',[2,7,3,4]),('float',[7,3,5])],1,dict(transA=1)),
    case('sln','SkipLayerNormalization',[('float',[B,S,64]),('float',[B,S,64]),('float',[64]),('float',[64])],4),
    case('sln2','SkipLayerNormalization',[('float',[S,64]),('float',[S,64]),('float',[64]),('float',[64])],1),
    case('ssln','SkipSimplifiedLayerNormalization',[('float',[B,S,64]),('float',[B,S,64]),('float',[64])],4),
    case('simpl','SimplifiedLayerNormalization',[('float',[B,S,64]),('float',[64])],1,domain=''),
    case('att','Attention',[('float',[B,S,64]),('float',[64,192]),('float',[192])],2,dict(num_heads=4)),
    case('attpast','Attention',[('float',[B,S,64]),('float',[64,192]),('float',[192]),None,('float',[2,B,4,'P',16])],2,dict(num_heads=4,unidirectional=1)),
    case('attsizes','Attention',[('float',[B,S,64]),('float',[64,160]),('float',[160])],1,dict(num_heads=4,qkv_hidden_sizes=[64,64,32])),
    case('mha','MultiHeadAttention',[('float',[B,S,64]),('float',[B,'K',64]),('float',[B,'K',32])],3,dict(num_heads=4)),
    case('mhapast','MultiHeadAttention',[('float',[B,S,64]),('float',[B,S,64]),('float',[B,S,64]),None,None,None,('float',[B,4,'P',16]),('float',[B,4,'P',16])],3,dict(num_heads=4)),
    case('mhapacked','MultiHeadAttention',[('float',[B,S,4,3,16])],1,dict(num_heads=4)),
    case('mhakv','MultiHeadAttention',[('float',[B,S,64]),('float',[B,'K',4,2,16])],1,dict(num_heads=4)),
    case('mhacross','MultiHeadAttention',[('float',[B,S,64]),('float',[B,4,'K',16]),('float',[B,4,'K',16])],1,dict(num_heads=4)),
    case('gqa','GroupQueryAttention',[('float',[B,S,64]),('float',[B,S,16]),('float',[B,S,16]),('float',[B,1,'P',16]),('float',[B,1,'P',16]),('int32',[B]),('int32',[1])],3,dict(num_heads=4,kv_num_heads=1)),
    case('gqapacked','GroupQueryAttention',[('float',[B,S,96]),None,None,('float',[B,1,'P',16]),('float',[B,1,'P',16]),('int32',[B]),('int32',[1])],3,dict(num_heads=4,kv_num_heads=1)),
    case('gqaconst','GroupQueryAttention',[('float',[2,3,96]),None,None,('float',[2,1,5,16]),('float',[2,1,5,16]),('int32',[2]),('int32',[1])],3,dict(num_heads=4,kv_num_heads=1),{6:[8]}),
    case('rot','RotaryEmbedding',[('float',[B,S,64]),('int64',[B,S]),('float',[50,8]),('float',[50,8])],1,dict(num_heads=4,rotary_embedding_dim=0)),
    case('nbits','MatMulNBits',[('float',[B,S,64]),('uint8',[32,2,16]),('float',[64])],1,dict(K=64,N=32,block_size=32,bits=4)),
    case('bnb4','MatMulBnb4',[('float',[B,S,64]),('uint8',[1024]),('float',[32])],1,dict(K=64,N=32,block_size=64,quant_type=1)),
    case('dqmm','DynamicQuantizeMatMul',[('float',[B,3]),('int8',[3,5]),('float',[1])],1),
    case('mmitf','MatMulIntegerToFloat',[('uint8',[B,3]),('int8',[3,5]),('float',[1]),('float',[1])],1),
    case('qadd','QLinearAdd',[('uint8',[B,3]),('float',[]),('uint8',[]),('uint8',[3]),('float',[]),('uint8',[]),('float',[]),('uint8',[])],1),
    case('qmul','QLinearMul',[('uint8',[B,3]),('float',[]),('uint8',[]),('uint8',[3]),('float',[]),('uint8',[]),('float',[]),('uint8',[])],1),
    case('qsig','QLinearSigmoid',[('uint8',[B,3]),('float',[]),('uint8',[]),('float',[]),('uint8',[])],1),
    case('qlrelu','QLinearLeakyRelu',[('uint8',[B,3]),('float',[]),('uint8',[]),('float',[]),('uint8',[])],1),
    case('qgap','QLinearGlobalAveragePool',[('uint8',[B,3,8,8]),('float',[]),('uint8',[]),('float',[]),('uint8',[])],1),
    case('qgapl','QLinearGlobalAveragePool',[('uint8',[B,8,8,3]),('float',[]),('uint8',[]),('float',[]),('uint8',[])],1,dict(channels_last=1)),
    case('qap','QLinearAveragePool',[('uint8',[B,3,8,8]),('float',[]),('uint8',[]),('float',[]),('uint8',[])],1,dict(kernel_shape=[2,2],strides=[2,2])),
    case('qsm','QLinearSoftmax',[('uint8',[B,3]),('float',[]),('uint8',[]),('float',[]),('uint8',[])],1,dict(opset=13)),
    case('qwhere','QLinearWhere',[('bool',[B,1]),('uint8',[3]),('float',[]),('uint8',[]),('uint8',[B,3]),('float',[]),('uint8',[]),('float',[]),('uint8',[])],1),
    case('qconcat','QLinearConcat',[('float',[]),('uint8',[]),('uint8',[B,3]),('float',[]),('uint8',[]),('uint8',[B,4]),('float',[]),('uint8',[])],1,dict(axis=1)),
    case('qatt','QAttention',[('uint8',[B,S,64]),('int8',[64,192]),('float',[192]),('float',[]),('float',[]),None,('uint8',[]),('int8',[])],2,dict(num_heads=4)),
    case('embed','EmbedLayerNormalization',[('int32',[B,S]),('int32',[B,S]),('float',[100,64]),('float',[50,64]),('float',[2,64]),('float',[64]),('float',[64]),('int32',[B,S])],3),
    case('fconv','FusedConv',[('float',[B,3,8,8]),('float',[4,3,3,3])],1,dict(activation='Relu')),
    case('fgemm','FusedGemm',[('float',[B,3]),('float',[3,4]),('float',[4])],1,dict(activation='Relu')),
    case('nhwcfused','NhwcFusedConv',[('float16',[B,8,8,3]),('float16',[4,3,3,3])],1,dict(activation='Relu')),
    case('biasadd','BiasAdd',[('float',[B,S,64]),('float',[64]),('float',[B,S,64])],1),
    case('cdist','CDist',[('float',['M',3]),('float',['N',3])],1,dict(metric='euclidean')),
    case('crop','CropAndResize',[('float',[B,3,8,8]),('float',['R',4]),('int32',['R']),('int32',[2])],1,{},{3:[5,6]}),
    case('expand','ExpandDims',[('float',[B,3]),('int32',[])],1,{},{1:1}),
    case('gnd','GatherND',[('float',[B,3,4]),('int64',['M',2])],1),
    case('inverse','Inverse',[('float',[B,3,3])],1),
    case('transmm','TransposeMatMul',[('float',[B,4,3]),('float',[B,5,3])],1,dict(transB=1)),
    case('trilu','Trilu',[('float',[B,3,3])],1),
    case('unique','Unique',[('float',['N'])],3),
    case('rfft','Rfft',[('float',[B,8])],1,dict(signal_ndim=1,normalized=0,onesided=1)),
    case('irfft','Irfft',[('float',[B,5,2])],1,dict(signal_ndim=1,normalized=0,onesided=1)),
    case('reducesum','ReduceSumInteger',[('int8',[B,3,4])],1,dict(axes=[1],keepdims=0)),
    case('range','Range',[('int64',[]),('int64',[]),('int64',[])],1,{},{0:0,1:7,2:2}),
    case('murmur','MurmurHash3',[('int32',[B,3])],1),
    case('tok','Tokenizer',[('string',['N'])],1,dict(mark=0,mincharnum=1,pad_value='x',separators=[' '])) ,
    case('unfold','UnfoldTensor',[('float',[B,10])],1,dict(dim=-1,size=3,step=2)),
    case('relpos','RelativePositionBias',[('float',[32,4]),('int64',[1]),('int64',[1])],1,dict(max_distance=128),{1:[5],2:[6]}),
    case('remove','RemovePadding',[('float',[B,S,64]),('int32',[B])],4),
    case('restore','RestorePadding',[('float',['T',64]),('int32',[B,S])],1),
    case('moe','MoE',[('float',['R',64]),('float',['R',4]),('float',[4,128,64]),None,('float',[4,64,128])],1,dict(k=1,activation_type='relu')),
    case('ngram','NGramRepeatBlock',[('int64',[B,S]),('float',[B,50])],1,dict(ngram_size=2)),
    case('biassoftmax','BiasSoftmax',[('float',[B,3,4]),('float',[B,1,4])],1,dict(axis=2,is_inner_broadcast=0)),
    case('q','QuantizeLinear',[('float',[B,3]),('float',[]),('uint8',[])],1),
    case('dq','DequantizeLinear',[('uint8',[B,3]),('float',[]),('uint8',[])],1),
    case('pad','Pad',[('float',[2,3]),('int64',[4])],1,{},{1:[0,1,1,0]}),
    case('gridsample','GridSample',[('float',[B,3,8,8]),('float',[B,4,5,2])],1),
    case('dyndlstm','DynamicQuantizeLSTM',[('float',['T',B,3]),('int8',[1,3,16]),('int8',[1,4,16]),None,None,None,None,None,('float',[1]),('int8',[1]),('float',[1]),('int8',[1])],3,dict(hidden_size=4)),
    case('sparseatt','SparseAttention',[('float',[B,S,64]),('float',[B,S,16]),('float',[B,S,16]),('float',[B,1,'P',16]),('float',[B,1,'P',16]),('int32',[1,'m']),('int32',[1,'n']),('int32',[1]),('int32',[B])],3,dict(num_heads=4,kv_num_heads=1,sparse_block_size=16)),
    case('maxmask','MaxpoolWithMask',[('float',[B,3,8,8]),('int32',[B,1,8,8])],1,dict(kernel_shape=[2,2])),
    case('convtd','ConvTransposeWithDynamicPads',[('float',[B,3,8,8]),('float',[3,4,3,3]),('int64',[4])],1),
    case('qmm16','MatMulInteger16',[('int16',[B,3]),('int16',[3,4])],1),
    case('nhwcmax','NhwcMaxPool',[('uint8',[B,8,8,3])],1,dict(kernel_shape=[2,2])),
    case('skipgn','SkipGroupNorm',[('float16',[B,8,8,32]),('float',[32]),('float',[32]),('float16',[B,8,8,32])],1,dict(activation=0,groups=4)),
    case('torchemb','TorchEmbedding',[('float',[10,4]),('int64',[B,S])],1),
    case('isfin','IsAllFinite',[('float',[B,3])],1),
    case('dtw','DynamicTimeWarping',[('float',[1,3,4])],1),
    case('decself','DecoderMaskedSelfAttention',[('float',[B,1,64]),('float',[64,192]),('float',[192]),None,('float',[2,B,4,'P',16]),None,('int32',[1])],2,dict(num_heads=4,past_present_share_buffer=1)),
    case('decmha','DecoderMaskedMultiHeadAttention',[('float',[B,1,64]),('float',[B,1,64]),('float',[B,1,64])],1,dict(num_heads=4)),
    case('packedatt','PackedAttention',[('float',['T',64]),('float',[64,192]),('float',[192]),('int32',[B,S]),('int32',['C'])],1,dict(num_heads=4)),
    case('packedmha','PackedMultiHeadAttention',[('float',['T',64]),('float',['T',64]),('float',['T',32]),None,('int32',[B,S]),('int32',['C'])],1,dict(num_heads=4)),
    case('longf','LongformerAttention',[('float',[B,S,64]),('float',[64,192]),('float',[192]),('float',[B,S]),('float',[64,192]),('float',[192]),('int32',[B,S])],1,dict(num_heads=4,window=2)),
    case('grpb','GatedRelativePositionBias',[('float',[B,S,64]),('float',[64]),('float',[1,4,S,S]),('float',[16,8]),('float',[8]),('float',[1,4,1,1])],1,dict(num_heads=4)),
    case('bsg','BiasSplitGelu',[('float',[B,S,64]),('float',[64])],1),
]
# fmt: on


def model(one) -> onnx.ModelProto:
    inputs, constants, names = [], [], []
    for at, given in enumerate(one["ins"]):
        names.append(f"i{at}" if given else "")
        if given and at in one["consts"]:
            dtype = {"int32": np.int32, "int64": np.int64}[given[0]]
            constants.append(numpy_helper.from_array(np.array(one["consts"][at], dtype=dtype), names[-1]))
        elif given:
            inputs.append(helper.make_tensor_value_info(names[-1], ELEMS[given[0]], given[1]))
    outputs = [f"o{at}" for at in range(one["nout"])]
    node = helper.make_node(one["op"], names, outputs, domain=one["domain"], **one["attrs"])
    infos = [onnx.ValueInfoProto(name=name) for name in outputs]
    graph = helper.make_graph([node], "g", inputs, infos, constants)
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def theirs(path: Path):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # noqa: BLE001: whatever it cannot load is not compared
        return None, str(error).splitlines()[0]
    return [output.shape for output in session.get_outputs()], ""


def ours(typeloom: str, path: Path):
    command = [typeloom, "infer", "--permissive", "--format", "json", str(path)]
    answer = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    return answer["ok"], [ty.get("s") for ty in answer["outputs"].values()]


def contradicts(mine, other) -> bool:
    # No axes is also what ONNX Runtime shows for an unknown rank; a symbol of its own is no contradiction.
    if mine is None or not other:
        return False
    numbers = [(a, b) for a, b in zip(mine, other) if isinstance(a, int) and isinstance(b, int)]
    return len(mine) != len(other) or any(a != b for a, b in numbers)


def main() -> int:
    typeloom = sys.argv[1]
    equal = loaded = wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for one in CASES:
            path = Path(folder) / f"{one['name']}.onnx"
            onnx.save(model(one), path)
            ok, mine = ours(typeloom, path)
            other, reason = theirs(path)
            if other is None:
                print(f"{one['op']}: not compared: {reason[:80]}")
                continue
            loaded += 1
            if not ok or any(contradicts(a, b) for a, b in zip(mine, other)):
                wrong += 1
                print(f"{one['op']}: CONTRADICTION: ours {mine}, theirs {other}, accepted: {ok}")
            elif str(mine) == str(other):
                equal += 1
            else:
                print(f"{one['op']}: ours {mine}, theirs {other}")
    print(f"{equal} of {loaded} equal, {wrong} contradictions, {len(CASES) - loaded} not compared")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
