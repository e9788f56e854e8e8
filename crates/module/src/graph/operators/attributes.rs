//! The optional attributes of operators, generated from the operator table.

use super::*;

attribute_structs! {
    AffineGridAttrs of "AffineGrid" { align_corners "align_corners": i64 = "0", }
    ArgMaxAttrs of "ArgMax" { axis "axis": i64 = "0", keepdims "keepdims": i64 = "1", select_last_index "select_last_index": i64 = "0", }
    ArgMinAttrs of "ArgMin" { axis "axis": i64 = "0", keepdims "keepdims": i64 = "1", select_last_index "select_last_index": i64 = "0", }
    AttentionAttrs of "Attention" { is_causal "is_causal": i64 = "0", kv_num_heads "kv_num_heads": i64, left_window_size "left_window_size": i64 = "-1", q_num_heads "q_num_heads": i64, qk_matmul_output_mode "qk_matmul_output_mode": i64 = "0", right_window_size "right_window_size": i64 = "-1", scale "scale": f32, softcap "softcap": f32 = "0", softmax_precision "softmax_precision": i64, }
    AveragePoolAttrs of "AveragePool" { auto_pad "auto_pad": String = "`NOTSET`", ceil_mode "ceil_mode": i64 = "0", count_include_pad "count_include_pad": i64 = "0", dilations "dilations": Vec<i64>, pads "pads": Vec<i64>, strides "strides": Vec<i64>, }
    BatchNormalizationAttrs of "BatchNormalization" { epsilon "epsilon": f32 = "0.00001", momentum "momentum": f32 = "0.9", training_mode "training_mode": i64 = "0", }
    BernoulliAttrs of "Bernoulli" { dtype "dtype": Dtype, seed "seed": f32, }
    BlackmanWindowAttrs of "BlackmanWindow" { output_datatype "output_datatype": i64 = "1", periodic "periodic": i64 = "1", }
    CastAttrs of "Cast" { round_mode "round_mode": String = "`up`", saturate "saturate": i64 = "1", }
    CastLikeAttrs of "CastLike" { round_mode "round_mode": String = "`up`", saturate "saturate": i64 = "1", }
    CausalConvWithStateAttrs of "CausalConvWithState" { activation "activation": String = "`none`", }
    CeluAttrs of "Celu" { alpha "alpha": f32 = "1", }
    CenterCropPadAttrs of "CenterCropPad" { axes "axes": Vec<i64>, }
    Col2ImAttrs of "Col2Im" { dilations "dilations": Vec<i64>, pads "pads": Vec<i64>, strides "strides": Vec<i64>, }
    CompressAttrs of "Compress" { axis "axis": i64, }
    ConcatFromSequenceAttrs of "ConcatFromSequence" { new_axis "new_axis": i64 = "0", }
    ConstantOfShapeAttrs of "ConstantOfShape" { value "value": TensorProto, }
    ConvAttrs of "Conv" { auto_pad "auto_pad": String = "`NOTSET`", dilations "dilations": Vec<i64>, group "group": i64 = "1", kernel_shape "kernel_shape": Vec<i64>, pads "pads": Vec<i64>, strides "strides": Vec<i64>, }
    ConvIntegerAttrs of "ConvInteger" { auto_pad "auto_pad": String = "`NOTSET`", dilations "dilations": Vec<i64>, group "group": i64 = "1", kernel_shape "kernel_shape": Vec<i64>, pads "pads": Vec<i64>, strides "strides": Vec<i64>, }
    ConvTransposeAttrs of "ConvTranspose" { auto_pad "auto_pad": String = "`NOTSET`", dilations "dilations": Vec<i64>, group "group": i64 = "1", kernel_shape "kernel_shape": Vec<i64>, output_padding "output_padding": Vec<i64>, output_shape "output_shape": Vec<i64>, pads "pads": Vec<i64>, strides "strides": Vec<i64>, }
    CumProdAttrs of "CumProd" { exclusive "exclusive": i64 = "0", reverse "reverse": i64 = "0", }
    CumSumAttrs of "CumSum" { exclusive "exclusive": i64 = "0", reverse "reverse": i64 = "0", }
    DFTAttrs of "DFT" { inverse "inverse": i64 = "0", onesided "onesided": i64 = "0", }
    DeformConvAttrs of "DeformConv" { dilations "dilations": Vec<i64>, group "group": i64 = "1", kernel_shape "kernel_shape": Vec<i64>, offset_group "offset_group": i64 = "1", pads "pads": Vec<i64>, strides "strides": Vec<i64>, }
    DepthToSpaceAttrs of "DepthToSpace" { mode "mode": String = "`DCR`", }
    DequantizeLinearAttrs of "DequantizeLinear" { axis "axis": i64 = "1", block_size "block_size": i64 = "0", output_dtype "output_dtype": Dtype = "0", }
    DropoutAttrs of "Dropout" { seed "seed": i64, }
    EluAttrs of "Elu" { alpha "alpha": f32 = "1", }
    EyeLikeAttrs of "EyeLike" { dtype "dtype": Dtype, k "k": i64 = "0", }
    FlattenAttrs of "Flatten" { axis "axis": i64 = "1", }
    GRUAttrs of "GRU" { activation_alpha "activation_alpha": Vec<f32>, activation_beta "activation_beta": Vec<f32>, activations "activations": Vec<String>, clip "clip": f32, direction "direction": String = "`forward`", hidden_size "hidden_size": i64, layout "layout": i64 = "0", linear_before_reset "linear_before_reset": i64 = "0", }
    GatherAttrs of "Gather" { axis "axis": i64 = "0", }
    GatherElementsAttrs of "GatherElements" { axis "axis": i64 = "0", }
    GatherNDAttrs of "GatherND" { batch_dims "batch_dims": i64 = "0", }
    GeluAttrs of "Gelu" { approximate "approximate": String = "`none`", }
    GemmAttrs of "Gemm" { alpha "alpha": f32 = "1", beta "beta": f32 = "1", trans_a "transA": i64 = "0", trans_b "transB": i64 = "0", }
    GlobalLpPoolAttrs of "GlobalLpPool" { p "p": i64 = "2", }
    GridSampleAttrs of "GridSample" { align_corners "align_corners": i64 = "0", mode "mode": String = "`linear`", padding_mode "padding_mode": String = "`zeros`", }
    GroupNormalizationAttrs of "GroupNormalization" { epsilon "epsilon": f32 = "0.00001", stash_type "stash_type": i64 = "1", }
    HammingWindowAttrs of "HammingWindow" { output_datatype "output_datatype": i64 = "1", periodic "periodic": i64 = "1", }
    HannWindowAttrs of "HannWindow" { output_datatype "output_datatype": i64 = "1", periodic "periodic": i64 = "1", }
    HardSigmoidAttrs of "HardSigmoid" { alpha "alpha": f32 = "0.2", beta "beta": f32 = "0.5", }
    HardmaxAttrs of "Hardmax" { axis "axis": i64 = "-1", }
    ImageDecoderAttrs of "ImageDecoder" { pixel_format "pixel_format": String = "`RGB`", }
    InstanceNormalizationAttrs of "InstanceNormalization" { epsilon "epsilon": f32 = "0.00001", }
    IsInfAttrs of "IsInf" { detect_negative "detect_negative": i64 = "1", detect_positive "detect_positive": i64 = "1", }
    LRNAttrs of "LRN" { alpha "alpha": f32 = "0.0001", beta "beta": f32 = "0.75", bias "bias": f32 = "1", }
    LSTMAttrs of "LSTM" { activation_alpha "activation_alpha": Vec<f32>, activation_beta "activation_beta": Vec<f32>, activations "activations": Vec<String>, clip "clip": f32, direction "direction": String = "`forward`", hidden_size "hidden_size": i64, input_forget "input_forget": i64 = "0", layout "layout": i64 = "0", }
    LayerNormalizationAttrs of "LayerNormalization" { axis "axis": i64 = "-1", epsilon "epsilon": f32 = "0.00001", stash_type "stash_type": i64 = "1", }
    LeakyReluAttrs of "LeakyRelu" { alpha "alpha": f32 = "0.01", }
    LinearAttentionAttrs of "LinearAttention" { chunk_size "chunk_size": i64 = "64", scale "scale": f32 = "0", update_rule "update_rule": String = "`gated_delta`", }
    LogSoftmaxAttrs of "LogSoftmax" { axis "axis": i64 = "-1", }
    LpNormalizationAttrs of "LpNormalization" { axis "axis": i64 = "-1", p "p": i64 = "2", }
    LpPoolAttrs of "LpPool" { auto_pad "auto_pad": String = "`NOTSET`", ceil_mode "ceil_mode": i64 = "0", dilations "dilations": Vec<i64>, p "p": i64 = "2", pads "pads": Vec<i64>, strides "strides": Vec<i64>, }
    MaxPoolAttrs of "MaxPool" { auto_pad "auto_pad": String = "`NOTSET`", ceil_mode "ceil_mode": i64 = "0", dilations "dilations": Vec<i64>, pads "pads": Vec<i64>, storage_order "storage_order": i64 = "0", strides "strides": Vec<i64>, }
    MaxRoiPoolAttrs of "MaxRoiPool" { spatial_scale "spatial_scale": f32 = "1", }
    MaxUnpoolAttrs of "MaxUnpool" { pads "pads": Vec<i64>, strides "strides": Vec<i64>, }
    MeanVarianceNormalizationAttrs of "MeanVarianceNormalization" { axes "axes": Vec<i64> = "[0, 2, 3]", }
    MelWeightMatrixAttrs of "MelWeightMatrix" { output_datatype "output_datatype": i64 = "1", }
    ModAttrs of "Mod" { fmod "fmod": i64 = "0", }
    MultinomialAttrs of "Multinomial" { dtype "dtype": Dtype = "6", sample_size "sample_size": i64 = "1", seed "seed": f32, }
    NegativeLogLikelihoodLossAttrs of "NegativeLogLikelihoodLoss" { ignore_index "ignore_index": i64, reduction "reduction": String = "`mean`", }
    NonMaxSuppressionAttrs of "NonMaxSuppression" { center_point_box "center_point_box": i64 = "0", }
    OneHotAttrs of "OneHot" { axis "axis": i64 = "-1", }
    OptionalAttrs of "Optional" { type_ "type": TypeProto, }
    PadAttrs of "Pad" { mode "mode": String = "`constant`", }
    QLinearConvAttrs of "QLinearConv" { auto_pad "auto_pad": String = "`NOTSET`", dilations "dilations": Vec<i64>, group "group": i64 = "1", kernel_shape "kernel_shape": Vec<i64>, pads "pads": Vec<i64>, strides "strides": Vec<i64>, }
    QuantizeLinearAttrs of "QuantizeLinear" { axis "axis": i64 = "1", block_size "block_size": i64 = "0", output_dtype "output_dtype": Dtype = "0", precision "precision": i64 = "0", saturate "saturate": i64 = "1", }
    RMSNormalizationAttrs of "RMSNormalization" { axis "axis": i64 = "-1", epsilon "epsilon": f32 = "0.00001", stash_type "stash_type": i64 = "1", }
    RNNAttrs of "RNN" { activation_alpha "activation_alpha": Vec<f32>, activation_beta "activation_beta": Vec<f32>, activations "activations": Vec<String> = "['Tanh', 'Tanh']", clip "clip": f32, direction "direction": String = "`forward`", hidden_size "hidden_size": i64, layout "layout": i64 = "0", }
    RandomNormalAttrs of "RandomNormal" { dtype "dtype": Dtype = "1", mean "mean": f32 = "0", scale "scale": f32 = "1", seed "seed": f32, }
    RandomNormalLikeAttrs of "RandomNormalLike" { dtype "dtype": Dtype, mean "mean": f32 = "0", scale "scale": f32 = "1", seed "seed": f32, }
    RandomUniformAttrs of "RandomUniform" { dtype "dtype": Dtype = "1", high "high": f32 = "1", low "low": f32 = "0", seed "seed": f32, }
    RandomUniformLikeAttrs of "RandomUniformLike" { dtype "dtype": Dtype, high "high": f32 = "1", low "low": f32 = "0", seed "seed": f32, }
    RangeAttrs of "Range" { stash_type "stash_type": i64 = "1", }
    ReduceL1Attrs of "ReduceL1" { keepdims "keepdims": i64 = "1", noop_with_empty_axes "noop_with_empty_axes": i64 = "0", }
    ReduceL2Attrs of "ReduceL2" { keepdims "keepdims": i64 = "1", noop_with_empty_axes "noop_with_empty_axes": i64 = "0", }
    ReduceLogSumAttrs of "ReduceLogSum" { keepdims "keepdims": i64 = "1", noop_with_empty_axes "noop_with_empty_axes": i64 = "0", }
    ReduceLogSumExpAttrs of "ReduceLogSumExp" { keepdims "keepdims": i64 = "1", noop_with_empty_axes "noop_with_empty_axes": i64 = "0", }
    ReduceMaxAttrs of "ReduceMax" { keepdims "keepdims": i64 = "1", noop_with_empty_axes "noop_with_empty_axes": i64 = "0", }
    ReduceMeanAttrs of "ReduceMean" { keepdims "keepdims": i64 = "1", noop_with_empty_axes "noop_with_empty_axes": i64 = "0", }
    ReduceMinAttrs of "ReduceMin" { keepdims "keepdims": i64 = "1", noop_with_empty_axes "noop_with_empty_axes": i64 = "0", }
    ReduceProdAttrs of "ReduceProd" { keepdims "keepdims": i64 = "1", noop_with_empty_axes "noop_with_empty_axes": i64 = "0", }
    ReduceSumAttrs of "ReduceSum" { keepdims "keepdims": i64 = "1", noop_with_empty_axes "noop_with_empty_axes": i64 = "0", }
    ReduceSumSquareAttrs of "ReduceSumSquare" { keepdims "keepdims": i64 = "1", noop_with_empty_axes "noop_with_empty_axes": i64 = "0", }
    RegexFullMatchAttrs of "RegexFullMatch" { pattern "pattern": String, }
    ReshapeAttrs of "Reshape" { allowzero "allowzero": i64 = "0", }
    ResizeAttrs of "Resize" { antialias "antialias": i64 = "0", axes "axes": Vec<i64>, coordinate_transformation_mode "coordinate_transformation_mode": String = "`half_pixel`", cubic_coeff_a "cubic_coeff_a": f32 = "-0.75", exclude_outside "exclude_outside": i64 = "0", extrapolation_value "extrapolation_value": f32 = "0", keep_aspect_ratio_policy "keep_aspect_ratio_policy": String = "`stretch`", mode "mode": String = "`nearest`", nearest_mode "nearest_mode": String = "`round_prefer_floor`", }
    ReverseSequenceAttrs of "ReverseSequence" { batch_axis "batch_axis": i64 = "1", time_axis "time_axis": i64 = "0", }
    RoiAlignAttrs of "RoiAlign" { coordinate_transformation_mode "coordinate_transformation_mode": String = "`half_pixel`", mode "mode": String = "`avg`", output_height "output_height": i64 = "1", output_width "output_width": i64 = "1", sampling_ratio "sampling_ratio": i64 = "0", spatial_scale "spatial_scale": f32 = "1", }
    RotaryEmbeddingAttrs of "RotaryEmbedding" { interleaved "interleaved": i64 = "0", num_heads "num_heads": i64, rotary_embedding_dim "rotary_embedding_dim": i64 = "0", }
    STFTAttrs of "STFT" { onesided "onesided": i64 = "1", }
    ScatterElementsAttrs of "ScatterElements" { axis "axis": i64 = "0", reduction "reduction": String = "`none`", }
    ScatterNDAttrs of "ScatterND" { reduction "reduction": String = "`none`", }
    SeluAttrs of "Selu" { alpha "alpha": f32 = "1.6732632", gamma "gamma": f32 = "1.050701", }
    SequenceEmptyAttrs of "SequenceEmpty" { dtype "dtype": Dtype, }
    ShapeAttrs of "Shape" { end "end": i64, start "start": i64 = "0", }
    ShrinkAttrs of "Shrink" { bias "bias": f32 = "0", lambd "lambd": f32 = "0.5", }
    SoftmaxAttrs of "Softmax" { axis "axis": i64 = "-1", }
    SoftmaxCrossEntropyLossAttrs of "SoftmaxCrossEntropyLoss" { ignore_index "ignore_index": i64, reduction "reduction": String = "`mean`", }
    SpaceToDepthAttrs of "SpaceToDepth" { mode "mode": String = "`DCR`", }
    SplitAttrs of "Split" { axis "axis": i64 = "0", num_outputs "num_outputs": i64, }
    SplitToSequenceAttrs of "SplitToSequence" { axis "axis": i64 = "0", keepdims "keepdims": i64 = "1", }
    StringNormalizerAttrs of "StringNormalizer" { case_change_action "case_change_action": String = "`NONE`", is_case_sensitive "is_case_sensitive": i64 = "0", locale "locale": String, stopwords "stopwords": Vec<String>, }
    StringSplitAttrs of "StringSplit" { delimiter "delimiter": String, maxsplit "maxsplit": i64, }
    SwiGLUAttrs of "SwiGLU" { alpha "alpha": f32 = "1", }
    SwishAttrs of "Swish" { alpha "alpha": f32 = "1", }
    TensorScatterAttrs of "TensorScatter" { axis "axis": i64 = "-2", mode "mode": String = "`linear`", }
    TfIdfVectorizerAttrs of "TfIdfVectorizer" { pool_int64s "pool_int64s": Vec<i64>, pool_strings "pool_strings": Vec<String>, weights "weights": Vec<f32>, }
    ThresholdedReluAttrs of "ThresholdedRelu" { alpha "alpha": f32 = "1", }
    TopKAttrs of "TopK" { axis "axis": i64 = "-1", largest "largest": i64 = "1", sorted "sorted": i64 = "1", }
    TransposeAttrs of "Transpose" { perm "perm": Vec<i64>, }
    TriluAttrs of "Trilu" { upper "upper": i64 = "1", }
    UniqueAttrs of "Unique" { axis "axis": i64, sorted "sorted": i64 = "1", }
}
