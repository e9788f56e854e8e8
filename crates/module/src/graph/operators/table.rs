//! The operators of the default domain, generated from the operator table.

use super::*;

operators! {
    "Abs" 13 [x] () () () { abs() -> ValueRef, 1 }
    "Acos" 22 [input] () () () { acos() -> ValueRef, 1 }
    "Acosh" 22 [input] () () () { acosh() -> ValueRef, 1 }
    "Add" 14 [a] (b: &ValueRef) () () { add() -> ValueRef, 1 }
    "AffineGrid" 20 [theta] (size: &ValueRef) () (AffineGridAttrs { align_corners "align_corners": i64 = "0", }) { affine_grid() -> ValueRef, 1 }
    "And" 7 [a] (b: &ValueRef) () () { and() -> ValueRef, 1 }
    "ArgMax" 13 [data] () () (ArgMaxAttrs { axis "axis": i64 = "0", keepdims "keepdims": i64 = "1", select_last_index "select_last_index": i64 = "0", }) { arg_max() -> ValueRef, 1 }
    "ArgMin" 13 [data] () () (ArgMinAttrs { axis "axis": i64 = "0", keepdims "keepdims": i64 = "1", select_last_index "select_last_index": i64 = "0", }) { arg_min() -> ValueRef, 1 }
    "Asin" 22 [input] () () () { asin() -> ValueRef, 1 }
    "Asinh" 22 [input] () () () { asinh() -> ValueRef, 1 }
    "Atan" 22 [input] () () () { atan() -> ValueRef, 1 }
    "Atanh" 22 [input] () () () { atanh() -> ValueRef, 1 }
    "Attention" 25 [q] (k: &ValueRef, v: &ValueRef, attn_mask: Option<&ValueRef>, past_key: Option<&ValueRef>, past_value: Option<&ValueRef>, nonpad_kv_seqlen: Option<&ValueRef>) () (AttentionAttrs { is_causal "is_causal": i64 = "0", kv_num_heads "kv_num_heads": i64, left_window_size "left_window_size": i64 = "-1", q_num_heads "q_num_heads": i64, qk_matmul_output_mode "qk_matmul_output_mode": i64 = "0", right_window_size "right_window_size": i64 = "-1", scale "scale": f32, softcap "softcap": f32 = "0", softmax_precision "softmax_precision": i64, }) { attention() -> ValueRef, 1; attention_all() -> [ValueRef; 4], 4 }
    "AveragePool" 22 [x] () (kernel_shape "kernel_shape": Vec<i64>) (AveragePoolAttrs { auto_pad "auto_pad": String = "`NOTSET`", ceil_mode "ceil_mode": i64 = "0", count_include_pad "count_include_pad": i64 = "0", dilations "dilations": Vec<i64>, pads "pads": Vec<i64>, strides "strides": Vec<i64>, }) { average_pool() -> ValueRef, 1 }
    "BatchNormalization" 15 [x] (scale: &ValueRef, b: &ValueRef, input_mean: &ValueRef, input_var: &ValueRef) () (BatchNormalizationAttrs { epsilon "epsilon": f32 = "0.00001", momentum "momentum": f32 = "0.9", training_mode "training_mode": i64 = "0", }) { batch_normalization() -> ValueRef, 1; batch_normalization_all() -> [ValueRef; 3], 3 }
    "Bernoulli" 22 [input] () () (BernoulliAttrs { dtype "dtype": Dtype, seed "seed": f32, }) { bernoulli() -> ValueRef, 1 }
    "BitCast" 26 [input] () (to "to": Dtype) () { bit_cast() -> ValueRef, 1 }
    "BitShift" 28 [x] (y: &ValueRef) (direction "direction": String) () { bit_shift() -> ValueRef, 1 }
    "BitwiseAnd" 18 [a] (b: &ValueRef) () () { bitwise_and() -> ValueRef, 1 }
    "BitwiseNot" 18 [x] () () () { bitwise_not() -> ValueRef, 1 }
    "BitwiseOr" 18 [a] (b: &ValueRef) () () { bitwise_or() -> ValueRef, 1 }
    "BitwiseXor" 18 [a] (b: &ValueRef) () () { bitwise_xor() -> ValueRef, 1 }
    "BlackmanWindow" 17 [size] () () (BlackmanWindowAttrs { output_datatype "output_datatype": i64 = "1", periodic "periodic": i64 = "1", }) { blackman_window() -> ValueRef, 1 }
    "Cast" 28 [input] () (to "to": Dtype) (CastAttrs { round_mode "round_mode": String = "`up`", saturate "saturate": i64 = "1", }) { cast() -> ValueRef, 1 }
    "CastLike" 25 [input] (target_type: &ValueRef) () (CastLikeAttrs { round_mode "round_mode": String = "`up`", saturate "saturate": i64 = "1", }) { cast_like() -> ValueRef, 1 }
    "CausalConvWithState" 27 [input] (weight: &ValueRef, bias: Option<&ValueRef>, past_state: Option<&ValueRef>) () (CausalConvWithStateAttrs { activation "activation": String = "`none`", }) { causal_conv_with_state() -> [ValueRef; 2], 2 }
    "Ceil" 13 [x] () () () { ceil() -> ValueRef, 1 }
    "Celu" 28 [x] () () (CeluAttrs { alpha "alpha": f32 = "1", }) { celu() -> ValueRef, 1 }
    "CenterCropPad" 18 [input_data] (shape: &ValueRef) () (CenterCropPadAttrs { axes "axes": Vec<i64>, }) { center_crop_pad() -> ValueRef, 1 }
    "Clip" 13 [input] (min: Option<&ValueRef>, max: Option<&ValueRef>) () () { clip() -> ValueRef, 1 }
    "Col2Im" 18 [input] (image_shape: &ValueRef, block_shape: &ValueRef) () (Col2ImAttrs { dilations "dilations": Vec<i64>, pads "pads": Vec<i64>, strides "strides": Vec<i64>, }) { col2_im() -> ValueRef, 1 }
    "Compress" 28 [input] (condition: &ValueRef) () (CompressAttrs { axis "axis": i64, }) { compress() -> ValueRef, 1 }
    "Concat" 13 [] (inputs: &[&ValueRef]) (axis "axis": i64) () { concat() -> ValueRef, 1 }
    "ConcatFromSequence" 11 [input_sequence] () (axis "axis": i64) (ConcatFromSequenceAttrs { new_axis "new_axis": i64 = "0", }) { concat_from_sequence() -> ValueRef, 1 }
    "ConstantOfShape" 25 [input] () () (ConstantOfShapeAttrs { value "value": TensorProto, }) { constant_of_shape() -> ValueRef, 1 }
    "Conv" 22 [x] (w: &ValueRef, b: Option<&ValueRef>) () (ConvAttrs { auto_pad "auto_pad": String = "`NOTSET`", dilations "dilations": Vec<i64>, group "group": i64 = "1", kernel_shape "kernel_shape": Vec<i64>, pads "pads": Vec<i64>, strides "strides": Vec<i64>, }) { conv() -> ValueRef, 1 }
    "ConvInteger" 10 [x] (w: &ValueRef, x_zero_point: Option<&ValueRef>, w_zero_point: Option<&ValueRef>) () (ConvIntegerAttrs { auto_pad "auto_pad": String = "`NOTSET`", dilations "dilations": Vec<i64>, group "group": i64 = "1", kernel_shape "kernel_shape": Vec<i64>, pads "pads": Vec<i64>, strides "strides": Vec<i64>, }) { conv_integer() -> ValueRef, 1 }
    "ConvTranspose" 22 [x] (w: &ValueRef, b: Option<&ValueRef>) () (ConvTransposeAttrs { auto_pad "auto_pad": String = "`NOTSET`", dilations "dilations": Vec<i64>, group "group": i64 = "1", kernel_shape "kernel_shape": Vec<i64>, output_padding "output_padding": Vec<i64>, output_shape "output_shape": Vec<i64>, pads "pads": Vec<i64>, strides "strides": Vec<i64>, }) { conv_transpose() -> ValueRef, 1 }
    "Cos" 22 [input] () () () { cos() -> ValueRef, 1 }
    "Cosh" 22 [input] () () () { cosh() -> ValueRef, 1 }
    "CumProd" 26 [x] (axis: &ValueRef) () (CumProdAttrs { exclusive "exclusive": i64 = "0", reverse "reverse": i64 = "0", }) { cum_prod() -> ValueRef, 1 }
    "CumSum" 14 [x] (axis: &ValueRef) () (CumSumAttrs { exclusive "exclusive": i64 = "0", reverse "reverse": i64 = "0", }) { cum_sum() -> ValueRef, 1 }
    "DFT" 20 [input] (dft_length: Option<&ValueRef>, axis: Option<&ValueRef>) () (DFTAttrs { inverse "inverse": i64 = "0", onesided "onesided": i64 = "0", }) { dft() -> ValueRef, 1 }
    "DeformConv" 22 [x] (w: &ValueRef, offset: &ValueRef, b: Option<&ValueRef>, mask: Option<&ValueRef>) () (DeformConvAttrs { dilations "dilations": Vec<i64>, group "group": i64 = "1", kernel_shape "kernel_shape": Vec<i64>, offset_group "offset_group": i64 = "1", pads "pads": Vec<i64>, strides "strides": Vec<i64>, }) { deform_conv() -> ValueRef, 1 }
    "DepthToSpace" 28 [input] () (blocksize "blocksize": i64) (DepthToSpaceAttrs { mode "mode": String = "`DCR`", }) { depth_to_space() -> ValueRef, 1 }
    "DequantizeLinear" 28 [x] (x_scale: &ValueRef, x_zero_point: Option<&ValueRef>) () (DequantizeLinearAttrs { axis "axis": i64 = "1", block_size "block_size": i64 = "0", output_dtype "output_dtype": Dtype = "0", }) { dequantize_linear() -> ValueRef, 1 }
    "Det" 22 [x] () () () { det() -> ValueRef, 1 }
    "Div" 14 [a] (b: &ValueRef) () () { div() -> ValueRef, 1 }
    "Dropout" 22 [data] (ratio: Option<&ValueRef>, training_mode: Option<&ValueRef>) () (DropoutAttrs { seed "seed": i64, }) { dropout() -> ValueRef, 1; dropout_all() -> [ValueRef; 2], 2 }
    "DynamicQuantizeLinear" 11 [x] () () () { dynamic_quantize_linear() -> [ValueRef; 3], 3 }
    "Einsum" 28 [] (inputs: &[&ValueRef]) (equation "equation": String) () { einsum() -> ValueRef, 1 }
    "Elu" 22 [x] () () (EluAttrs { alpha "alpha": f32 = "1", }) { elu() -> ValueRef, 1 }
    "Equal" 19 [a] (b: &ValueRef) () () { equal() -> ValueRef, 1 }
    "Erf" 13 [input] () () () { erf() -> ValueRef, 1 }
    "Exp" 13 [input] () () () { exp() -> ValueRef, 1 }
    "Expand" 13 [input] (shape: &ValueRef) () () { expand() -> ValueRef, 1 }
    "EyeLike" 22 [input] () () (EyeLikeAttrs { dtype "dtype": Dtype, k "k": i64 = "0", }) { eye_like() -> ValueRef, 1 }
    "Flatten" 25 [input] () () (FlattenAttrs { axis "axis": i64 = "1", }) { flatten() -> ValueRef, 1 }
    "Floor" 13 [x] () () () { floor() -> ValueRef, 1 }
    "GRU" 22 [x] (w: &ValueRef, r: &ValueRef, b: Option<&ValueRef>, sequence_lens: Option<&ValueRef>, initial_h: Option<&ValueRef>) () (GRUAttrs { activation_alpha "activation_alpha": Vec<f32>, activation_beta "activation_beta": Vec<f32>, activations "activations": Vec<String>, clip "clip": f32, direction "direction": String = "`forward`", hidden_size "hidden_size": i64, layout "layout": i64 = "0", linear_before_reset "linear_before_reset": i64 = "0", }) { gru() -> [ValueRef; 2], 2 }
    "Gather" 13 [data] (indices: &ValueRef) () (GatherAttrs { axis "axis": i64 = "0", }) { gather() -> ValueRef, 1 }
    "GatherElements" 13 [data] (indices: &ValueRef) () (GatherElementsAttrs { axis "axis": i64 = "0", }) { gather_elements() -> ValueRef, 1 }
    "GatherND" 13 [data] (indices: &ValueRef) () (GatherNDAttrs { batch_dims "batch_dims": i64 = "0", }) { gather_nd() -> ValueRef, 1 }
    "Gelu" 20 [x] () () (GeluAttrs { approximate "approximate": String = "`none`", }) { gelu() -> ValueRef, 1 }
    "Gemm" 13 [a] (b: &ValueRef, c: Option<&ValueRef>) () (GemmAttrs { alpha "alpha": f32 = "1", beta "beta": f32 = "1", trans_a "transA": i64 = "0", trans_b "transB": i64 = "0", }) { gemm() -> ValueRef, 1 }
    "GlobalAveragePool" 22 [x] () () () { global_average_pool() -> ValueRef, 1 }
    "GlobalLpPool" 22 [x] () () (GlobalLpPoolAttrs { p "p": i64 = "2", }) { global_lp_pool() -> ValueRef, 1 }
    "GlobalMaxPool" 22 [x] () () () { global_max_pool() -> ValueRef, 1 }
    "Greater" 13 [a] (b: &ValueRef) () () { greater() -> ValueRef, 1 }
    "GreaterOrEqual" 16 [a] (b: &ValueRef) () () { greater_or_equal() -> ValueRef, 1 }
    "GridSample" 22 [x] (grid: &ValueRef) () (GridSampleAttrs { align_corners "align_corners": i64 = "0", mode "mode": String = "`linear`", padding_mode "padding_mode": String = "`zeros`", }) { grid_sample() -> ValueRef, 1 }
    "GroupNormalization" 21 [x] (scale: &ValueRef, bias: &ValueRef) (num_groups "num_groups": i64) (GroupNormalizationAttrs { epsilon "epsilon": f32 = "0.00001", stash_type "stash_type": i64 = "1", }) { group_normalization() -> ValueRef, 1 }
    "HammingWindow" 17 [size] () () (HammingWindowAttrs { output_datatype "output_datatype": i64 = "1", periodic "periodic": i64 = "1", }) { hamming_window() -> ValueRef, 1 }
    "HannWindow" 17 [size] () () (HannWindowAttrs { output_datatype "output_datatype": i64 = "1", periodic "periodic": i64 = "1", }) { hann_window() -> ValueRef, 1 }
    "HardSigmoid" 22 [x] () () (HardSigmoidAttrs { alpha "alpha": f32 = "0.2", beta "beta": f32 = "0.5", }) { hard_sigmoid() -> ValueRef, 1 }
    "HardSwish" 22 [x] () () () { hard_swish() -> ValueRef, 1 }
    "Hardmax" 13 [input] () () (HardmaxAttrs { axis "axis": i64 = "-1", }) { hardmax() -> ValueRef, 1 }
    "Identity" 25 [input] () () () { identity() -> ValueRef, 1 }
    "ImageDecoder" 20 [encoded_stream] () () (ImageDecoderAttrs { pixel_format "pixel_format": String = "`RGB`", }) { image_decoder() -> ValueRef, 1 }
    "InstanceNormalization" 22 [input] (scale: &ValueRef, b: &ValueRef) () (InstanceNormalizationAttrs { epsilon "epsilon": f32 = "0.00001", }) { instance_normalization() -> ValueRef, 1 }
    "IsInf" 20 [x] () () (IsInfAttrs { detect_negative "detect_negative": i64 = "1", detect_positive "detect_positive": i64 = "1", }) { is_inf() -> ValueRef, 1 }
    "IsNaN" 20 [x] () () () { is_nan() -> ValueRef, 1 }
    "LRN" 13 [x] () (size "size": i64) (LRNAttrs { alpha "alpha": f32 = "0.0001", beta "beta": f32 = "0.75", bias "bias": f32 = "1", }) { lrn() -> ValueRef, 1 }
    "LSTM" 22 [x] (w: &ValueRef, r: &ValueRef, b: Option<&ValueRef>, sequence_lens: Option<&ValueRef>, initial_h: Option<&ValueRef>, initial_c: Option<&ValueRef>, p: Option<&ValueRef>) () (LSTMAttrs { activation_alpha "activation_alpha": Vec<f32>, activation_beta "activation_beta": Vec<f32>, activations "activations": Vec<String>, clip "clip": f32, direction "direction": String = "`forward`", hidden_size "hidden_size": i64, input_forget "input_forget": i64 = "0", layout "layout": i64 = "0", }) { lstm() -> [ValueRef; 3], 3 }
    "LayerNormalization" 17 [x] (scale: &ValueRef, b: Option<&ValueRef>) () (LayerNormalizationAttrs { axis "axis": i64 = "-1", epsilon "epsilon": f32 = "0.00001", stash_type "stash_type": i64 = "1", }) { layer_normalization() -> ValueRef, 1; layer_normalization_all() -> [ValueRef; 3], 3 }
    "LeakyRelu" 16 [x] () () (LeakyReluAttrs { alpha "alpha": f32 = "0.01", }) { leaky_relu() -> ValueRef, 1 }
    "Less" 13 [a] (b: &ValueRef) () () { less() -> ValueRef, 1 }
    "LessOrEqual" 16 [a] (b: &ValueRef) () () { less_or_equal() -> ValueRef, 1 }
    "LinearAttention" 27 [query] (key: &ValueRef, value: &ValueRef, past_state: Option<&ValueRef>, decay: Option<&ValueRef>, beta: Option<&ValueRef>) (kv_num_heads "kv_num_heads": i64, q_num_heads "q_num_heads": i64) (LinearAttentionAttrs { chunk_size "chunk_size": i64 = "64", scale "scale": f32 = "0", update_rule "update_rule": String = "`gated_delta`", }) { linear_attention() -> [ValueRef; 2], 2 }
    "Log" 13 [input] () () () { log() -> ValueRef, 1 }
    "LogSoftmax" 13 [input] () () (LogSoftmaxAttrs { axis "axis": i64 = "-1", }) { log_softmax() -> ValueRef, 1 }
    "LpNormalization" 22 [input] () () (LpNormalizationAttrs { axis "axis": i64 = "-1", p "p": i64 = "2", }) { lp_normalization() -> ValueRef, 1 }
    "LpPool" 22 [x] () (kernel_shape "kernel_shape": Vec<i64>) (LpPoolAttrs { auto_pad "auto_pad": String = "`NOTSET`", ceil_mode "ceil_mode": i64 = "0", dilations "dilations": Vec<i64>, p "p": i64 = "2", pads "pads": Vec<i64>, strides "strides": Vec<i64>, }) { lp_pool() -> ValueRef, 1 }
    "MatMul" 13 [a] (b: &ValueRef) () () { matmul() -> ValueRef, 1 }
    "MatMulInteger" 10 [a] (b: &ValueRef, a_zero_point: Option<&ValueRef>, b_zero_point: Option<&ValueRef>) () () { matmul_integer() -> ValueRef, 1 }
    "Max" 13 [] (data_0: &[&ValueRef]) () () { max() -> ValueRef, 1 }
    "MaxPool" 22 [x] () (kernel_shape "kernel_shape": Vec<i64>) (MaxPoolAttrs { auto_pad "auto_pad": String = "`NOTSET`", ceil_mode "ceil_mode": i64 = "0", dilations "dilations": Vec<i64>, pads "pads": Vec<i64>, storage_order "storage_order": i64 = "0", strides "strides": Vec<i64>, }) { max_pool() -> ValueRef, 1; max_pool_all() -> [ValueRef; 2], 2 }
    "MaxRoiPool" 22 [x] (rois: &ValueRef) (pooled_shape "pooled_shape": Vec<i64>) (MaxRoiPoolAttrs { spatial_scale "spatial_scale": f32 = "1", }) { max_roi_pool() -> ValueRef, 1 }
    "MaxUnpool" 22 [x] (i: &ValueRef, output_shape: Option<&ValueRef>) (kernel_shape "kernel_shape": Vec<i64>) (MaxUnpoolAttrs { pads "pads": Vec<i64>, strides "strides": Vec<i64>, }) { max_unpool() -> ValueRef, 1 }
    "Mean" 13 [] (data_0: &[&ValueRef]) () () { mean() -> ValueRef, 1 }
    "MeanVarianceNormalization" 13 [x] () () (MeanVarianceNormalizationAttrs { axes "axes": Vec<i64> = "[0, 2, 3]", }) { mean_variance_normalization() -> ValueRef, 1 }
    "MelWeightMatrix" 17 [num_mel_bins] (dft_length: &ValueRef, sample_rate: &ValueRef, lower_edge_hertz: &ValueRef, upper_edge_hertz: &ValueRef) () (MelWeightMatrixAttrs { output_datatype "output_datatype": i64 = "1", }) { mel_weight_matrix() -> ValueRef, 1 }
    "Min" 13 [] (data_0: &[&ValueRef]) () () { min() -> ValueRef, 1 }
    "Mish" 22 [x] () () () { mish() -> ValueRef, 1 }
    "Mod" 28 [a] (b: &ValueRef) () (ModAttrs { fmod "fmod": i64 = "0", }) { mod_() -> ValueRef, 1 }
    "Mul" 14 [a] (b: &ValueRef) () () { mul() -> ValueRef, 1 }
    "Multinomial" 22 [input] () () (MultinomialAttrs { dtype "dtype": Dtype = "6", sample_size "sample_size": i64 = "1", seed "seed": f32, }) { multinomial() -> ValueRef, 1 }
    "Neg" 13 [x] () () () { neg() -> ValueRef, 1 }
    "NegativeLogLikelihoodLoss" 22 [input] (target: &ValueRef, weight: Option<&ValueRef>) () (NegativeLogLikelihoodLossAttrs { ignore_index "ignore_index": i64, reduction "reduction": String = "`mean`", }) { negative_log_likelihood_loss() -> ValueRef, 1 }
    "NonMaxSuppression" 11 [boxes] (scores: &ValueRef, max_output_boxes_per_class: Option<&ValueRef>, iou_threshold: Option<&ValueRef>, score_threshold: Option<&ValueRef>) () (NonMaxSuppressionAttrs { center_point_box "center_point_box": i64 = "0", }) { non_max_suppression() -> ValueRef, 1 }
    "NonZero" 13 [x] () () () { non_zero() -> ValueRef, 1 }
    "Not" 1 [x] () () () { not() -> ValueRef, 1 }
    "OneHot" 28 [indices] (depth: &ValueRef, values: &ValueRef) () (OneHotAttrs { axis "axis": i64 = "-1", }) { one_hot() -> ValueRef, 1 }
    "Optional" 28 [] (input: Option<&ValueRef>) () (OptionalAttrs { type_ "type": TypeProto, }) { optional() -> ValueRef, 1 }
    "OptionalGetElement" 28 [input] () () () { optional_get_element() -> ValueRef, 1 }
    "OptionalHasElement" 28 [] (input: Option<&ValueRef>) () () { optional_has_element() -> ValueRef, 1 }
    "Or" 7 [a] (b: &ValueRef) () () { or() -> ValueRef, 1 }
    "PRelu" 16 [x] (slope: &ValueRef) () () { p_relu() -> ValueRef, 1 }
    "Pad" 25 [data] (pads: &ValueRef, constant_value: Option<&ValueRef>, axes: Option<&ValueRef>) () (PadAttrs { mode "mode": String = "`constant`", }) { pad() -> ValueRef, 1 }
    "Pow" 15 [x] (y: &ValueRef) () () { pow() -> ValueRef, 1 }
    "QLinearConv" 10 [x] (x_scale: &ValueRef, x_zero_point: &ValueRef, w: &ValueRef, w_scale: &ValueRef, w_zero_point: &ValueRef, y_scale: &ValueRef, y_zero_point: &ValueRef, b: Option<&ValueRef>) () (QLinearConvAttrs { auto_pad "auto_pad": String = "`NOTSET`", dilations "dilations": Vec<i64>, group "group": i64 = "1", kernel_shape "kernel_shape": Vec<i64>, pads "pads": Vec<i64>, strides "strides": Vec<i64>, }) { q_linear_conv() -> ValueRef, 1 }
    "QLinearMatMul" 21 [a] (a_scale: &ValueRef, a_zero_point: &ValueRef, b: &ValueRef, b_scale: &ValueRef, b_zero_point: &ValueRef, y_scale: &ValueRef, y_zero_point: &ValueRef) () () { q_linear_matmul() -> ValueRef, 1 }
    "QuantizeLinear" 28 [x] (y_scale: &ValueRef, y_zero_point: Option<&ValueRef>) () (QuantizeLinearAttrs { axis "axis": i64 = "1", block_size "block_size": i64 = "0", output_dtype "output_dtype": Dtype = "0", precision "precision": i64 = "0", saturate "saturate": i64 = "1", }) { quantize_linear() -> ValueRef, 1 }
    "RMSNormalization" 23 [x] (scale: &ValueRef) () (RMSNormalizationAttrs { axis "axis": i64 = "-1", epsilon "epsilon": f32 = "0.00001", stash_type "stash_type": i64 = "1", }) { rms_normalization() -> ValueRef, 1 }
    "RNN" 22 [x] (w: &ValueRef, r: &ValueRef, b: Option<&ValueRef>, sequence_lens: Option<&ValueRef>, initial_h: Option<&ValueRef>) () (RNNAttrs { activation_alpha "activation_alpha": Vec<f32>, activation_beta "activation_beta": Vec<f32>, activations "activations": Vec<String> = "['Tanh', 'Tanh']", clip "clip": f32, direction "direction": String = "`forward`", hidden_size "hidden_size": i64, layout "layout": i64 = "0", }) { rnn() -> [ValueRef; 2], 2 }
    "RandomNormal" 22 [] () (shape "shape": Vec<i64>) (RandomNormalAttrs { dtype "dtype": Dtype = "1", mean "mean": f32 = "0", scale "scale": f32 = "1", seed "seed": f32, }) { random_normal() -> ValueRef, 1 }
    "RandomNormalLike" 22 [input] () () (RandomNormalLikeAttrs { dtype "dtype": Dtype, mean "mean": f32 = "0", scale "scale": f32 = "1", seed "seed": f32, }) { random_normal_like() -> ValueRef, 1 }
    "RandomUniform" 22 [] () (shape "shape": Vec<i64>) (RandomUniformAttrs { dtype "dtype": Dtype = "1", high "high": f32 = "1", low "low": f32 = "0", seed "seed": f32, }) { random_uniform() -> ValueRef, 1 }
    "RandomUniformLike" 22 [input] () () (RandomUniformLikeAttrs { dtype "dtype": Dtype, high "high": f32 = "1", low "low": f32 = "0", seed "seed": f32, }) { random_uniform_like() -> ValueRef, 1 }
    "Range" 27 [start] (limit: &ValueRef, delta: &ValueRef) () (RangeAttrs { stash_type "stash_type": i64 = "1", }) { range() -> ValueRef, 1 }
    "Reciprocal" 13 [x] () () () { reciprocal() -> ValueRef, 1 }
    "ReduceL1" 18 [data] (axes: Option<&ValueRef>) () (ReduceL1Attrs { keepdims "keepdims": i64 = "1", noop_with_empty_axes "noop_with_empty_axes": i64 = "0", }) { reduce_l1() -> ValueRef, 1 }
    "ReduceL2" 18 [data] (axes: Option<&ValueRef>) () (ReduceL2Attrs { keepdims "keepdims": i64 = "1", noop_with_empty_axes "noop_with_empty_axes": i64 = "0", }) { reduce_l2() -> ValueRef, 1 }
    "ReduceLogSum" 28 [data] (axes: Option<&ValueRef>) () (ReduceLogSumAttrs { keepdims "keepdims": i64 = "1", noop_with_empty_axes "noop_with_empty_axes": i64 = "0", }) { reduce_log_sum() -> ValueRef, 1 }
    "ReduceLogSumExp" 28 [data] (axes: Option<&ValueRef>) () (ReduceLogSumExpAttrs { keepdims "keepdims": i64 = "1", noop_with_empty_axes "noop_with_empty_axes": i64 = "0", }) { reduce_log_sum_exp() -> ValueRef, 1 }
    "ReduceMax" 20 [data] (axes: Option<&ValueRef>) () (ReduceMaxAttrs { keepdims "keepdims": i64 = "1", noop_with_empty_axes "noop_with_empty_axes": i64 = "0", }) { reduce_max() -> ValueRef, 1 }
    "ReduceMean" 18 [data] (axes: Option<&ValueRef>) () (ReduceMeanAttrs { keepdims "keepdims": i64 = "1", noop_with_empty_axes "noop_with_empty_axes": i64 = "0", }) { reduce_mean() -> ValueRef, 1 }
    "ReduceMin" 20 [data] (axes: Option<&ValueRef>) () (ReduceMinAttrs { keepdims "keepdims": i64 = "1", noop_with_empty_axes "noop_with_empty_axes": i64 = "0", }) { reduce_min() -> ValueRef, 1 }
    "ReduceProd" 18 [data] (axes: Option<&ValueRef>) () (ReduceProdAttrs { keepdims "keepdims": i64 = "1", noop_with_empty_axes "noop_with_empty_axes": i64 = "0", }) { reduce_prod() -> ValueRef, 1 }
    "ReduceSum" 13 [data] (axes: Option<&ValueRef>) () (ReduceSumAttrs { keepdims "keepdims": i64 = "1", noop_with_empty_axes "noop_with_empty_axes": i64 = "0", }) { reduce_sum() -> ValueRef, 1 }
    "ReduceSumSquare" 18 [data] (axes: Option<&ValueRef>) () (ReduceSumSquareAttrs { keepdims "keepdims": i64 = "1", noop_with_empty_axes "noop_with_empty_axes": i64 = "0", }) { reduce_sum_square() -> ValueRef, 1 }
    "RegexFullMatch" 20 [x] () () (RegexFullMatchAttrs { pattern "pattern": String, }) { regex_full_match() -> ValueRef, 1 }
    "Relu" 14 [x] () () () { relu() -> ValueRef, 1 }
    "Reshape" 25 [data] (shape: &ValueRef) () (ReshapeAttrs { allowzero "allowzero": i64 = "0", }) { reshape() -> ValueRef, 1 }
    "Resize" 19 [x] (roi: Option<&ValueRef>, scales: Option<&ValueRef>, sizes: Option<&ValueRef>) () (ResizeAttrs { antialias "antialias": i64 = "0", axes "axes": Vec<i64>, coordinate_transformation_mode "coordinate_transformation_mode": String = "`half_pixel`", cubic_coeff_a "cubic_coeff_a": f32 = "-0.75", exclude_outside "exclude_outside": i64 = "0", extrapolation_value "extrapolation_value": f32 = "0", keep_aspect_ratio_policy "keep_aspect_ratio_policy": String = "`stretch`", mode "mode": String = "`nearest`", nearest_mode "nearest_mode": String = "`round_prefer_floor`", }) { resize() -> ValueRef, 1 }
    "ReverseSequence" 28 [input] (sequence_lens: &ValueRef) () (ReverseSequenceAttrs { batch_axis "batch_axis": i64 = "1", time_axis "time_axis": i64 = "0", }) { reverse_sequence() -> ValueRef, 1 }
    "RoiAlign" 22 [x] (rois: &ValueRef, batch_indices: &ValueRef) () (RoiAlignAttrs { coordinate_transformation_mode "coordinate_transformation_mode": String = "`half_pixel`", mode "mode": String = "`avg`", output_height "output_height": i64 = "1", output_width "output_width": i64 = "1", sampling_ratio "sampling_ratio": i64 = "0", spatial_scale "spatial_scale": f32 = "1", }) { roi_align() -> ValueRef, 1 }
    "RotaryEmbedding" 23 [x] (cos_cache: &ValueRef, sin_cache: &ValueRef, position_ids: Option<&ValueRef>) () (RotaryEmbeddingAttrs { interleaved "interleaved": i64 = "0", num_heads "num_heads": i64, rotary_embedding_dim "rotary_embedding_dim": i64 = "0", }) { rotary_embedding() -> ValueRef, 1 }
    "Round" 22 [x] () () () { round() -> ValueRef, 1 }
    "STFT" 17 [signal] (frame_step: &ValueRef, window: Option<&ValueRef>, frame_length: Option<&ValueRef>) () (STFTAttrs { onesided "onesided": i64 = "1", }) { stft() -> ValueRef, 1 }
    "ScatterElements" 18 [data] (indices: &ValueRef, updates: &ValueRef) () (ScatterElementsAttrs { axis "axis": i64 = "0", reduction "reduction": String = "`none`", }) { scatter_elements() -> ValueRef, 1 }
    "ScatterND" 18 [data] (indices: &ValueRef, updates: &ValueRef) () (ScatterNDAttrs { reduction "reduction": String = "`none`", }) { scatter_nd() -> ValueRef, 1 }
    "Selu" 22 [x] () () (SeluAttrs { alpha "alpha": f32 = "1.6732632", gamma "gamma": f32 = "1.050701", }) { selu() -> ValueRef, 1 }
    "SequenceAt" 11 [input_sequence] (position: &ValueRef) () () { sequence_at() -> ValueRef, 1 }
    "SequenceConstruct" 11 [] (inputs: &[&ValueRef]) () () { sequence_construct() -> ValueRef, 1 }
    "SequenceEmpty" 11 [] () () (SequenceEmptyAttrs { dtype "dtype": Dtype, }) { sequence_empty() -> ValueRef, 1 }
    "SequenceErase" 11 [input_sequence] (position: Option<&ValueRef>) () () { sequence_erase() -> ValueRef, 1 }
    "SequenceInsert" 11 [input_sequence] (tensor: &ValueRef, position: Option<&ValueRef>) () () { sequence_insert() -> ValueRef, 1 }
    "SequenceLength" 11 [input_sequence] () () () { sequence_length() -> ValueRef, 1 }
    "Shape" 25 [data] () () (ShapeAttrs { end "end": i64, start "start": i64 = "0", }) { shape() -> ValueRef, 1 }
    "Shrink" 9 [input] () () (ShrinkAttrs { bias "bias": f32 = "0", lambd "lambd": f32 = "0.5", }) { shrink() -> ValueRef, 1 }
    "Sigmoid" 13 [x] () () () { sigmoid() -> ValueRef, 1 }
    "Sign" 13 [input] () () () { sign() -> ValueRef, 1 }
    "Sin" 22 [input] () () () { sin() -> ValueRef, 1 }
    "Sinh" 22 [input] () () () { sinh() -> ValueRef, 1 }
    "Size" 25 [data] () () () { size() -> ValueRef, 1 }
    "Slice" 13 [data] (starts: &ValueRef, ends: &ValueRef, axes: Option<&ValueRef>, steps: Option<&ValueRef>) () () { slice() -> ValueRef, 1 }
    "Softmax" 13 [input] () () (SoftmaxAttrs { axis "axis": i64 = "-1", }) { softmax() -> ValueRef, 1 }
    "SoftmaxCrossEntropyLoss" 13 [scores] (labels: &ValueRef, weights: Option<&ValueRef>) () (SoftmaxCrossEntropyLossAttrs { ignore_index "ignore_index": i64, reduction "reduction": String = "`mean`", }) { softmax_cross_entropy_loss() -> ValueRef, 1; softmax_cross_entropy_loss_all() -> [ValueRef; 2], 2 }
    "Softplus" 22 [x] () () () { softplus() -> ValueRef, 1 }
    "Softsign" 22 [input] () () () { softsign() -> ValueRef, 1 }
    "SpaceToDepth" 28 [input] () (blocksize "blocksize": i64) (SpaceToDepthAttrs { mode "mode": String = "`DCR`", }) { space_to_depth() -> ValueRef, 1 }
    "Split" 18 [input] (split: Option<&ValueRef>) () (SplitAttrs { axis "axis": i64 = "0", num_outputs "num_outputs": i64, }) { split(outputs) -> Vec<ValueRef>, outputs }
    "SplitToSequence" 24 [input] (split: Option<&ValueRef>) () (SplitToSequenceAttrs { axis "axis": i64 = "0", keepdims "keepdims": i64 = "1", }) { split_to_sequence() -> ValueRef, 1 }
    "Sqrt" 13 [x] () () () { sqrt() -> ValueRef, 1 }
    "Squeeze" 25 [data] (axes: Option<&ValueRef>) () () { squeeze() -> ValueRef, 1 }
    "StringConcat" 20 [x] (y: &ValueRef) () () { string_concat() -> ValueRef, 1 }
    "StringNormalizer" 10 [x] () () (StringNormalizerAttrs { case_change_action "case_change_action": String = "`NONE`", is_case_sensitive "is_case_sensitive": i64 = "0", locale "locale": String, stopwords "stopwords": Vec<String>, }) { string_normalizer() -> ValueRef, 1 }
    "StringSplit" 20 [x] () () (StringSplitAttrs { delimiter "delimiter": String, maxsplit "maxsplit": i64, }) { string_split() -> [ValueRef; 2], 2 }
    "Sub" 14 [a] (b: &ValueRef) () () { sub() -> ValueRef, 1 }
    "Sum" 13 [] (data_0: &[&ValueRef]) () () { sum() -> ValueRef, 1 }
    "SwiGLU" 28 [a] (b: &ValueRef) () (SwiGLUAttrs { alpha "alpha": f32 = "1", }) { swi_glu() -> ValueRef, 1 }
    "Swish" 24 [x] () () (SwishAttrs { alpha "alpha": f32 = "1", }) { swish() -> ValueRef, 1 }
    "Tan" 22 [input] () () () { tan() -> ValueRef, 1 }
    "Tanh" 13 [input] () () () { tanh() -> ValueRef, 1 }
    "TensorScatter" 24 [past_cache] (update: &ValueRef, write_indices: Option<&ValueRef>) () (TensorScatterAttrs { axis "axis": i64 = "-2", mode "mode": String = "`linear`", }) { tensor_scatter() -> ValueRef, 1 }
    "TfIdfVectorizer" 9 [x] () (max_gram_length "max_gram_length": i64, max_skip_count "max_skip_count": i64, min_gram_length "min_gram_length": i64, mode "mode": String, ngram_counts "ngram_counts": Vec<i64>, ngram_indexes "ngram_indexes": Vec<i64>) (TfIdfVectorizerAttrs { pool_int64s "pool_int64s": Vec<i64>, pool_strings "pool_strings": Vec<String>, weights "weights": Vec<f32>, }) { tf_idf_vectorizer() -> ValueRef, 1 }
    "ThresholdedRelu" 22 [x] () () (ThresholdedReluAttrs { alpha "alpha": f32 = "1", }) { thresholded_relu() -> ValueRef, 1 }
    "Tile" 13 [input] (repeats: &ValueRef) () () { tile() -> ValueRef, 1 }
    "TopK" 24 [x] (k: &ValueRef) () (TopKAttrs { axis "axis": i64 = "-1", largest "largest": i64 = "1", sorted "sorted": i64 = "1", }) { top_k() -> [ValueRef; 2], 2 }
    "Transpose" 25 [data] () () (TransposeAttrs { perm "perm": Vec<i64>, }) { transpose() -> ValueRef, 1 }
    "Trilu" 14 [input] (k: Option<&ValueRef>) () (TriluAttrs { upper "upper": i64 = "1", }) { trilu() -> ValueRef, 1 }
    "Unique" 28 [x] () () (UniqueAttrs { axis "axis": i64, sorted "sorted": i64 = "1", }) { unique() -> ValueRef, 1; unique_all() -> [ValueRef; 4], 4 }
    "Unsqueeze" 25 [data] (axes: &ValueRef) () () { unsqueeze() -> ValueRef, 1 }
    "Where" 16 [condition] (x: &ValueRef, y: &ValueRef) () () { where_() -> ValueRef, 1 }
    "Xor" 7 [a] (b: &ValueRef) () () { xor() -> ValueRef, 1 }
}
