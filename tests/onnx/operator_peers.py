"""Writes cases of operators that ONNX itself has none of, with what ONNX Runtime computes.

python operator_peers.py FOLDER: each case as a folder like ONNX's own, see cases.h.
"""
import os
import sys

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T, helper as h, numpy_helper as nh

MS, ML = 'com.microsoft', 'ai.onnx.ml'
r = np.random.RandomState(0)


def f(*shape, scale=1.0):
    return (r.randn(*shape) * scale).astype(np.float32)


def u8(*shape):
    return r.randint(0, 256, shape).astype(np.uint8)


def i8(*shape):
    return r.randint(-100, 100, shape).astype(np.int8)


def scalar(x, dtype=np.float32):
    return np.array(x, dtype)


CASES = {
    'fused_matmul': (MS, 'FusedMatMul', [f(2, 4, 3), f(2, 5, 4)], 1, dict(transA=1, transB=1,
        alpha=0.5)),
    'fused_conv_clip': (MS, 'FusedConv', [f(1, 2, 5, 5), f(3, 2, 3, 3), f(3)], 1,
        dict(activation='Clip', activation_params=[-0.5, 1.0], pads=[1, 1, 1, 1])),
    'fused_conv_leaky': (MS, 'FusedConv', [f(1, 2, 5, 5), f(3, 2, 3, 3)], 1,
        dict(activation='LeakyRelu', activation_params=[0.2])),
    'fused_gemm': (MS, 'FusedGemm', [f(3, 4), f(5, 4), f(5)], 1, dict(transB=1, alpha=0.7,
        beta=1.2, activation='Relu')),
    'gelu': (MS, 'Gelu', [f(3, 4)], 1, {}),
    'bias_gelu': (MS, 'BiasGelu', [f(3, 4), f(4)], 1, {}),
    'fast_gelu': (MS, 'FastGelu', [f(3, 4), f(4)], 1, {}),
    'quick_gelu': (MS, 'QuickGelu', [f(3, 4)], 1, dict(alpha=1.3)),
    'skip_norm': (MS, 'SkipLayerNormalization', [f(2, 3, 8), f(2, 3, 8), f(8), f(8), f(8)], 4,
        dict(epsilon=1e-5)),
    'skip_rms_norm': (MS, 'SkipSimplifiedLayerNormalization', [f(2, 3, 8), f(2, 3, 8), f(8)], 4,
        dict(epsilon=1e-5)),
    'embed_norm': (MS, 'EmbedLayerNormalization', [r.randint(0, 7, (2, 4)).astype(np.int32),
        r.randint(0, 2, (2, 4)).astype(np.int32), f(7, 8), f(5, 8), f(2, 8), f(8), f(8),
        np.array([[1, 1, 1, 0], [1, 1, 1, 1]], np.int32)], 2, {}),
    'attention_lengths': (MS, 'Attention', [f(2, 4, 8), f(8, 24), f(24),
        np.array([3, 4], np.int32)], 1, dict(num_heads=2)),
    'attention_mask': (MS, 'Attention', [f(2, 4, 8), f(8, 24), f(24),
        np.array([[1, 1, 1, 0], [1, 1, 1, 1]], np.int32)], 1, dict(num_heads=2)),
    'attention_causal': (MS, 'Attention', [f(2, 4, 8), f(8, 24), f(24)], 1, dict(num_heads=2,
        unidirectional=1)),
    'multi_head': (MS, 'MultiHeadAttention', [f(2, 3, 8), f(2, 5, 8), f(2, 5, 8), f(24)], 1,
        dict(num_heads=2)),
    'multi_head_mask': (MS, 'MultiHeadAttention', [f(2, 3, 8), f(2, 5, 8), f(2, 5, 8), None,
        np.array([[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]], np.int32), f(2, 2, 3, 5)], 1,
        dict(num_heads=2)),
    'multi_head_past': (MS, 'MultiHeadAttention', [f(1, 2, 8), f(1, 2, 8), f(1, 2, 8), None,
        None, None, f(1, 2, 3, 4), f(1, 2, 3, 4)], 3, dict(num_heads=2)),
    'qlinear_add': (MS, 'QLinearAdd', [u8(3, 4), scalar(0.02), scalar(100, np.uint8), u8(3, 4),
        scalar(0.05), scalar(50, np.uint8), scalar(0.06), scalar(90, np.uint8)], 1, {}),
    'qlinear_mul': (MS, 'QLinearMul', [i8(3, 4), scalar(0.02), scalar(3, np.int8), i8(4),
        scalar(0.05), scalar(-5, np.int8), scalar(0.06), scalar(9, np.int8)], 1, {}),
    'qlinear_sigmoid': (MS, 'QLinearSigmoid', [u8(3, 4), scalar(0.03), scalar(120, np.uint8),
        scalar(1 / 256), scalar(0, np.uint8)], 1, {}),
    'qlinear_leaky': (MS, 'QLinearLeakyRelu', [u8(3, 4), scalar(0.03), scalar(120, np.uint8),
        scalar(0.02), scalar(40, np.uint8)], 1, dict(alpha=0.2)),
    'qlinear_pool': (MS, 'QLinearGlobalAveragePool', [u8(1, 3, 4, 4), scalar(0.03),
        scalar(120, np.uint8), scalar(0.02), scalar(128, np.uint8)], 1, {}),
    'qlinear_concat': (MS, 'QLinearConcat', [scalar(0.05), scalar(100, np.uint8), u8(2, 3),
        scalar(0.03), scalar(120, np.uint8), u8(2, 2), scalar(0.04), scalar(20, np.uint8)], 1,
        dict(axis=1)),
    'integer_to_float': (MS, 'MatMulIntegerToFloat', [u8(3, 4), i8(4, 5), scalar(0.02),
        f(5) ** 2, scalar(100, np.uint8), np.zeros(5, np.int8), f(5)], 1, {}),
    'dynamic_matmul': (MS, 'DynamicQuantizeMatMul', [f(3, 4), i8(4, 5), scalar(0.02),
        scalar(0, np.int8), f(5)], 1, {}),
    'max_roi_pool': ('', 'MaxRoiPool', [f(2, 2, 8, 9),
        np.array([[0, 1, 1, 6, 5], [1, 0, 0, 8, 7], [1, 3, 2, 3, 2]], np.float32)], 1,
        dict(pooled_shape=[2, 3], spatial_scale=1.0)),
    'scaler': (ML, 'Scaler', [f(3, 4)], 1, dict(offset=[1.0, 2, 3, 4], scale=[0.5, 1, 2, 3])),
    'normalizer_l2': (ML, 'Normalizer', [f(3, 4)], 1, dict(norm='L2')),
    'normalizer_l1': (ML, 'Normalizer', [f(3, 4)], 1, dict(norm='L1')),
    'imputer': (ML, 'Imputer', [np.array([[1, np.nan], [np.nan, 4]], np.float32)], 1,
        dict(imputed_value_floats=[7.0, 8.0], replaced_value_float=float('nan'))),
    'lstm_hard_gates': ('', 'LSTM', [f(5, 2, 3), f(2, 16, 3), f(2, 16, 4), f(2, 32),
        np.array([5, 3], np.int32), f(2, 2, 4), f(2, 2, 4), f(2, 12)], 3, dict(hidden_size=4,
        direction='bidirectional', clip=0.9, input_forget=0, activations=['HardSigmoid', 'Tanh',
        'Softsign', 'Sigmoid', 'ScaledTanh', 'Relu'], activation_alpha=[0.3, 1.1],
        activation_beta=[0.4, 0.8])),
    'lstm_coupled': ('', 'LSTM', [f(5, 2, 3), f(1, 16, 3), f(1, 16, 4), f(1, 32)], 3,
        dict(hidden_size=4, direction='reverse', input_forget=1)),
    'gru_lengths': ('', 'GRU', [f(5, 2, 3), f(2, 12, 3), f(2, 12, 4), f(2, 24),
        np.array([2, 5], np.int32), f(2, 2, 4)], 2, dict(hidden_size=4,
        direction='bidirectional', linear_before_reset=1)),
    'rnn_lengths': ('', 'RNN', [f(5, 2, 3), f(2, 4, 3), f(2, 4, 4), f(2, 8),
        np.array([2, 5], np.int32), f(2, 2, 4)], 2, dict(hidden_size=4,
        direction='bidirectional', activations=['Relu', 'Tanh'])),
    'resize_half_scale': ('', 'Resize', [f(1, 2, 7, 9), None,
        np.array([1, 1, 0.6, 1.7], np.float32)], 1, dict(mode='linear')),
    'resize_cubic_align': ('', 'Resize', [f(1, 2, 7, 9), None, None, np.array([1, 2, 4, 13])],
        1, dict(mode='cubic', coordinate_transformation_mode='align_corners')),
    'resize_nearest_ceil': ('', 'Resize', [f(1, 2, 7, 9), None,
        np.array([1, 1, 0.6, 1.7], np.float32)], 1, dict(mode='nearest', nearest_mode='ceil',
        coordinate_transformation_mode='asymmetric')),
    'grid_cubic_border': ('', 'GridSample', [f(1, 2, 4, 5), f(1, 3, 3, 2)], 1,
        dict(mode='cubic', padding_mode='border')),
    'roi_align_max': ('', 'RoiAlign', [f(2, 2, 8, 9),
        np.array([[1, 1, 6, 5], [0, 0, 20, 7]], np.float32), np.array([1, 0])], 1,
        dict(output_height=2, output_width=3, spatial_scale=0.7)),
}


def write(root, name, domain, op, inputs, outputs, attributes):
    names = ['' if x is None else f'x{i}' for i, x in enumerate(inputs)]
    given = [(n, x) for n, x in zip(names, inputs) if n]
    results = [f'y{i}' for i in range(outputs)]
    if op.startswith('Skip'):
        results = ['y0', '', '', 'y3']
    node = h.make_node(op, names, results, domain=domain, **attributes)
    results = [x for x in results if x]
    infos = [h.make_tensor_value_info(n, h.np_dtype_to_tensor_dtype(x.dtype), x.shape) for n,
                     x in given]
    graph = h.make_graph([node], name, infos, [h.make_empty_tensor_value_info(n) for n in results])
    opsets = [h.make_opsetid('', 20), h.make_opsetid(MS, 1), h.make_opsetid(ML, 3)]
    model = h.make_model(graph, opset_imports=opsets)
    model.ir_version = 9
    session = ort.InferenceSession(model.SerializeToString(), providers=['CPUExecutionProvider'])
    computed = session.run(None, dict(given))
    del model.graph.output[:]
    model.graph.output.extend(
        h.make_tensor_value_info(n, h.np_dtype_to_tensor_dtype(y.dtype), y.shape) for n,
                     y in zip(results, computed))
    data = os.path.join(root, f'test_{name}', 'test_data_set_0')
    os.makedirs(data, exist_ok=True)
    onnx.save(model, os.path.join(root, f'test_{name}', 'model.onnx'))
    for kind, arrays in (('input', [x for _, x in given]), ('output', computed)):
        for i, x in enumerate(arrays):
            with open(os.path.join(data, f'{kind}_{i}.pb'), 'wb') as out:
                out.write(nh.from_array(x).SerializeToString())


for case, row in CASES.items():
    write(sys.argv[1], case, *row)
