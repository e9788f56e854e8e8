"""Random calls of the operators of `ai.onnx.ml`."""

import numpy as np

from .case import ML, ML_5, Case, floats, ints, normal, one_of, texts

NUMERIC = (np.float32, np.float64, np.int64, np.int32)
TRANSFORMS = ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT")


def rows(random, columns, dtype=None, scale=2.0):
    dtype = dtype or one_of(random, *NUMERIC)
    count = int(one_of(random, 1, 2, 5))
    return normal(random, count, columns, scale=scale).astype(dtype)


def ml(op, inputs, attributes, outputs=("y",), versions=ML):
    return Case(f"ai.onnx.ml.{op}", inputs, attributes, outputs, versions=versions)


def array_feature_extractor(random):
    shape = one_of(random, (4,), (3, 4), (2, 3, 4), (0, 4))
    x = normal(random, *shape).astype(one_of(random, *NUMERIC))
    if random.integers(4) == 0:
        x = np.array([f"t{value}" for value in range(x.size)], dtype=object).reshape(shape)
    return ml("ArrayFeatureExtractor", [("x", x), ("i", ints(random, 0, 4, int(random.integers(1, 5))))], {})


def binarizer(random):
    return ml("Binarizer", [("x", rows(random, 4, np.float32))], {"threshold": float(random.standard_normal())})


def category_mapper(random):
    attributes = {"cats_strings": ["a", "b", "c", "b"], "cats_int64s": [3, 1, -5, 1], "default_int64": -7, "default_string": "?"}
    x = texts("b", "a", "z", "c") if random.integers(2) else np.array([1, 3, 9, -5, 1])
    return ml("CategoryMapper", [("x", x)], attributes)


def feature_vectorizer(random):
    count = int(random.integers(1, 4))
    size = int(random.integers(1, 4))
    inputs = [(f"x{at}", normal(random, size, int(random.integers(1, 4)), scale=3).astype(one_of(random, *NUMERIC))) for at in range(count)]
    dtype = inputs[0][1].dtype
    inputs = [(name, array.astype(dtype)) for name, array in inputs]
    widths = [array.shape[1] + int(one_of(random, 0, 0, 1, -1)) for _, array in inputs]
    return ml("FeatureVectorizer", inputs, {"inputdimensions": widths})


def imputer(random):
    many = bool(random.integers(2))
    if random.integers(2):
        x = rows(random, 3, np.float32)
        x[random.random(x.shape) < 0.4] = np.nan
        return ml("Imputer", [("x", x)], {"imputed_value_floats": floats(random, 3 if many else 1), "replaced_value_float": float("nan")})
    x = ints(random, 0, 3, 4, 3)
    values = [int(value) for value in random.integers(10, 99, 3 if many else 1)]
    return ml("Imputer", [("x", x)], {"imputed_value_int64s": values, "replaced_value_int64": 1})


def imputer_zero(random):
    x = ints(random, 0, 2, 4, 3).astype(np.float32)
    return ml("Imputer", [("x", x)], {"imputed_value_floats": floats(random, 3), "replaced_value_float": 0.0})


def label_encoder(random):
    lists = {
        "strings": ["a", "b", "c", "b"],
        "int64s": [4, -1, 7, -1],
        "floats": [0.5, float("nan"), -0.0, float("nan")],
    }
    key = one_of(random, *lists)
    value = one_of(random, *[kind for kind in lists if kind != key or kind != "floats"])
    inputs = {"strings": texts("b", "z", "a"), "int64s": np.array([7, 0, 4, -1]), "floats": np.array([0.5, 0.0, 3.0], np.float32)}
    values = {"strings": ["p", "q", "r", "s"], "int64s": [10, 20, 30, 40], "floats": [1.5, 2.5, 3.5, 4.5]}
    keys = [entry for entry in lists[key] if entry == entry]
    attributes = {f"keys_{key}": keys, f"values_{value}": values[value][: len(keys)]}
    if random.integers(2):
        attributes |= {"default_string": "d", "default_int64": 99, "default_float": 9.5}
    return ml("LabelEncoder", [("x", inputs[key])], attributes, versions=one_of(random, ML, ML_5))


def label_encoder_1(random):
    x = texts("b", "z", "a") if random.integers(2) else np.array([1, 0, 5])
    return ml("LabelEncoder", [("x", x)], {"classes_strings": ["a", "b", "c"]}, versions={"": 21, "ai.onnx.ml": 1})


def label_encoder_tensor(random):
    dtype = one_of(random, np.float64, np.int64, np.float32)
    keys = np.array([1, 2, 5], dtype)
    values = np.array([7, 8, 9], one_of(random, np.int64, np.float32) if dtype == np.int64 else dtype)
    attributes = {"keys_tensor": keys, "values_tensor": values, "default_tensor": np.array([-3], values.dtype)}
    return ml("LabelEncoder", [("x", np.array([[2, 3], [5, 1]], dtype))], attributes, versions=ML_5)


def labels(random, count, ints_name):
    if random.integers(2):
        return {"classlabels_strings": [f"c{at}" for at in range(count)]}
    return {ints_name: [5 * at - 3 for at in range(count)]}


def linear_classifier(random):
    classes = int(one_of(random, 2, 3, 4))
    targets = 1 if classes == 2 and random.integers(2) else classes
    # ONNX Runtime leaves the second score undefined for a single score and PROBIT.
    transform = one_of(random, *(TRANSFORMS if targets > 1 else TRANSFORMS[:-1]))
    attributes = {"coefficients": floats(random, targets, 3), "intercepts": floats(random, targets), "post_transform": transform}
    x = rows(random, 3)
    if transform == "PROBIT":
        # Scores between 0 and 1.
        attributes["coefficients"] = [0.01] * (3 * targets)
        attributes["intercepts"] = [0.7] * targets
    return ml("LinearClassifier", [("x", x)], attributes | labels(random, classes, "classlabels_ints"), ("y", "z"))


def linear_regressor(random):
    targets = int(one_of(random, 1, 1, 3))
    attributes = {"coefficients": floats(random, targets, 3), "targets": targets, "post_transform": one_of(random, "NONE", "NONE", "SOFTMAX", "LOGISTIC")}
    if random.integers(2):
        attributes["intercepts"] = floats(random, targets)
    return ml("LinearRegressor", [("x", rows(random, 3, np.float32))], attributes)


def normalizer(random):
    x = rows(random, 4)
    if random.integers(3) == 0:
        x[0] = 0
    if random.integers(4) == 0:
        x = x[0]
    return ml("Normalizer", [("x", x)], {"norm": one_of(random, "MAX", "L1", "L2")})


def one_hot_encoder(random):
    if random.integers(2):
        return ml("OneHotEncoder", [("x", texts("b", "z", "a"))], {"cats_strings": ["a", "b"]})
    x = ints(random, 0, 4, 2, 3).astype(one_of(random, np.int64, np.float32, np.float64))
    return ml("OneHotEncoder", [("x", x)], {"cats_int64s": [3, 1, 1, 0], "zeros": 1})


def scaler(random):
    width = int(one_of(random, 1, 3))
    return ml("Scaler", [("x", rows(random, 3))], {"offset": floats(random, width), "scale": floats(random, width)})


def kernel(random):
    kind = one_of(random, "LINEAR", "POLY", "RBF", "SIGMOID")
    degree = float(one_of(random, 2.0, 3.0, 4.0))
    return {"kernel_type": kind, "kernel_params": [0.3, 0.5, degree]}


def svm_regressor(random):
    if random.integers(3) == 0:
        attributes = {"coefficients": floats(random, 3), "rho": floats(random, 1), "kernel_params": [0.0, 0.0, 0.0]}
    else:
        attributes = {"coefficients": floats(random, 4), "rho": floats(random, 1), "support_vectors": floats(random, 4, 3), "n_supports": 4}
        attributes |= kernel(random)
    attributes["one_class"] = int(random.integers(2))
    return ml("SVMRegressor", [("x", rows(random, 3, np.float32, scale=1.0))], attributes)


def svm_classifier(random):
    classes = int(one_of(random, 2, 3, 4))
    per_class = [int(count) for count in random.integers(1, 4, classes)]
    total, pairs = sum(per_class), classes * (classes - 1) // 2
    coefficients = floats(random, classes - 1, total)
    if random.integers(3) == 0:
        coefficients = [abs(value) for value in coefficients]
    attributes = {
        "coefficients": coefficients,
        "rho": floats(random, pairs),
        "support_vectors": floats(random, total, 3),
        "vectors_per_class": per_class,
        "post_transform": one_of(random, "NONE", "NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"),
    } | kernel(random)
    if random.integers(2):
        attributes |= {"prob_a": floats(random, pairs), "prob_b": floats(random, pairs)}
    return ml("SVMClassifier", [("x", rows(random, 3, scale=1.0))], attributes | labels(random, classes, "classlabels_ints"), ("y", "z"))


def svm_classifier_linear(random):
    classes = int(one_of(random, 2, 3))
    attributes = {"coefficients": floats(random, classes, 3), "rho": floats(random, classes), "kernel_params": [0.0, 0.0, 0.0]}
    attributes["post_transform"] = one_of(random, "NONE", "LOGISTIC", "SOFTMAX")
    return ml("SVMClassifier", [("x", rows(random, 3, scale=1.0))], attributes | labels(random, classes, "classlabels_ints"), ("y", "z"))


def forest(random, prefix, targets, modes):
    """Random trees; each leaf has weights for some targets."""
    nodes = {name: [] for name in ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids", "missing_value_tracks_true")}
    weights = {name: [] for name in ("treeids", "nodeids", "ids", "weights")}
    for tree in range(int(random.integers(1, 5))):
        depths = [0]
        at = 0
        while at < len(depths):
            leaf = depths[at] >= 3 or (depths[at] > 0 and random.random() < 0.3)
            nodes["treeids"].append(tree)
            nodes["nodeids"].append(at)
            nodes["modes"].append("LEAF" if leaf else one_of(random, *modes))
            nodes["featureids"].append(int(random.integers(3)))
            nodes["values"].append(float(np.float32(random.integers(-2, 3) / 2)))
            nodes["missing_value_tracks_true"].append(int(random.integers(2)))
            if leaf:
                nodes["truenodeids"].append(0)
                nodes["falsenodeids"].append(0)
                ids = [targets[0]] if len(targets) == 1 else random.permutation(targets)[: int(random.integers(1, len(targets) + 1))]
                for target in ids:
                    weights["treeids"].append(tree)
                    weights["nodeids"].append(at)
                    weights["ids"].append(int(target))
                    weights["weights"].append(float(np.float32(random.standard_normal())))
            else:
                nodes["truenodeids"].append(len(depths))
                nodes["falsenodeids"].append(len(depths) + 1)
                depths += [depths[at] + 1] * 2
            at += 1
    if random.integers(2):
        del nodes["missing_value_tracks_true"]
    return {f"nodes_{name}": value for name, value in nodes.items()} | {f"{prefix}_{name}": value for name, value in weights.items()}


def tree_input(random):
    x = ints(random, -3, 4, int(one_of(random, 1, 2, 6, 70)), 3).astype(np.float64) / 2
    x = x.astype(one_of(random, *NUMERIC))
    if x.dtype.kind == "f":
        x[random.random(x.shape) < 0.1] = np.nan
    return x


def tree_modes(random):
    return one_of(random, ("BRANCH_LEQ",), ("BRANCH_LT",), ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"))


def as_tensors(attributes, dtype, names):
    for name in names:
        if name in attributes and dtype == np.float64:
            attributes[f"{name}_as_tensor"] = np.array(attributes.pop(name), np.float64)
    return attributes


def tree_regressor(random):
    targets = int(one_of(random, 1, 1, 3))
    x = tree_input(random)
    attributes = forest(random, "target", list(range(targets)), tree_modes(random))
    attributes |= {"n_targets": targets, "aggregate_function": one_of(random, "SUM", "AVERAGE", "MIN", "MAX")}
    attributes["post_transform"] = one_of(random, "NONE", "NONE", "NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO")
    # ONNX Runtime returns 0 instead of the base value of a target without weights.
    if random.integers(2) and targets == 1:
        attributes["base_values"] = floats(random, targets)
    as_tensors(attributes, x.dtype, ("nodes_values", "target_weights", "base_values"))
    return ml("TreeEnsembleRegressor", [("x", x)], attributes)


def tree_classifier(random):
    classes = int(one_of(random, 2, 2, 2, 3, 4))
    x = tree_input(random)
    targets = [int(one_of(random, 0, 1))] if classes == 2 and random.integers(2) else list(range(classes))
    attributes = forest(random, "class", targets, tree_modes(random))
    if random.integers(2):
        attributes["class_weights"] = [abs(value) for value in attributes["class_weights"]]
    attributes["post_transform"] = one_of(random, "NONE", "NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO")
    # Two classes with base values for both, or one that no leaf mentions: ONNX Runtime ignores some scores.
    base = int(one_of(random, 0, 1)) if targets == [0] else 0 if classes == 2 else int(one_of(random, 0, classes))
    if base:
        attributes["base_values"] = floats(random, base)
    as_tensors(attributes, x.dtype, ("nodes_values", "class_weights", "base_values"))
    named = labels(random, classes, "classlabels_int64s")
    if len(targets) == 2 and "classlabels_int64s" in named:
        # If leaves have weights for both classes, ONNX Runtime returns 0 or 1 instead of the label.
        named["classlabels_int64s"] = [0, 1]
    return ml("TreeEnsembleClassifier", [("x", x)], attributes | named, ("y", "z"))


def tree_ensemble(random):
    dtype = one_of(random, np.float32, np.float64)
    targets = int(one_of(random, 1, 2))
    names = ("featureids", "splits", "modes", "truenodeids", "falsenodeids", "trueleafs", "falseleafs", "missing_value_tracks_true")
    nodes = {name: [] for name in names}
    leaves, roots = {"targetids": [], "weights": []}, []
    modes = one_of(random, (0,), (1,), (0, 1, 2, 3, 4, 5))
    for _ in range(int(random.integers(1, 4))):
        roots.append(len(nodes["splits"]))
        open_nodes = [(None, None, 0)]
        while open_nodes:
            parent, side, depth = open_nodes.pop(0)
            if depth >= 3 or (depth > 0 and random.random() < 0.3):
                nodes[f"{side}nodeids"][parent] = len(leaves["weights"])
                nodes[f"{side}leafs"][parent] = 1
                leaves["targetids"].append(int(random.integers(targets)))
                leaves["weights"].append(random.standard_normal())
                continue
            own = len(nodes["splits"])
            if parent is not None:
                nodes[f"{side}nodeids"][parent] = own
            for name, value in zip(names, (int(random.integers(3)), int(random.integers(-2, 3)) / 2, one_of(random, *modes), 0, 0, 0, 0, int(random.integers(2)))):
                nodes[name].append(value)
            open_nodes += [(own, "true", depth + 1), (own, "false", depth + 1)]
    attributes = {f"nodes_{name}": value for name, value in nodes.items()} | {f"leaf_{name}": value for name, value in leaves.items()}
    attributes["nodes_splits"] = np.array(attributes["nodes_splits"], dtype)
    attributes["nodes_modes"] = np.array(attributes["nodes_modes"], np.uint8)
    attributes["leaf_weights"] = np.array(attributes["leaf_weights"], dtype)
    attributes |= {"tree_roots": roots, "n_targets": targets, "aggregate_function": int(random.integers(4)), "post_transform": 0}
    x = ints(random, -3, 4, int(one_of(random, 1, 5)), 3).astype(dtype) / 2
    return ml("TreeEnsemble", [("x", x.astype(dtype))], attributes, versions=ML_5)


def cast_map(random):
    keys = random.choice(np.arange(6), int(one_of(random, 1, 3, 5)), replace=False)
    attributes = {"cast_to": str(one_of(random, "TO_FLOAT", "TO_STRING", "TO_INT64"))}
    if random.random() < 0.5:
        attributes |= {"map_form": "SPARSE", "max_map": int(one_of(random, 1, 4, 8))}
    scale = float(one_of(random, 1e-4, 1.0, 1e6))
    return ml("CastMap", [("x", {int(key): float(value) for key, value in zip(keys, normal(random, len(keys), scale=scale))})], attributes)


def dict_vectorizer(random):
    words, is_text = list(range(5)), random.random() < 0.5
    name = (lambda key: f"w{key}") if is_text else int
    keys = random.choice(words, int(one_of(random, 1, 3, 5)), replace=False)
    vocabulary = [name(word) for word in random.choice(words, int(one_of(random, 1, 3, 6)))]
    x = {name(key): float(value) for key, value in zip(keys, normal(random, len(keys)))}
    return ml("DictVectorizer", [("x", x)], {"string_vocabulary" if is_text else "int64_vocabulary": vocabulary})


def zip_map(random):
    columns = int(one_of(random, 1, 2, 4))
    x = normal(random, *one_of(random, (columns,), (1, columns), (3, columns)))
    labels = ints(random, -3, 3, columns).tolist()
    if random.random() < 0.5:
        return ml("ZipMap", [("x", x)], {"classlabels_int64s": labels})
    return ml("ZipMap", [("x", x)], {"classlabels_strings": [f"c{label}" for label in labels]})


FORMS = [
    ("ArrayFeatureExtractor", array_feature_extractor),
    ("Binarizer", binarizer),
    ("CategoryMapper", category_mapper),
    ("FeatureVectorizer", feature_vectorizer),
    ("Imputer", imputer),
    ("Imputer", imputer_zero),
    ("LabelEncoder", label_encoder),
    ("LabelEncoder", label_encoder_1),
    ("LabelEncoder", label_encoder_tensor),
    ("LinearClassifier", linear_classifier),
    ("LinearRegressor", linear_regressor),
    ("Normalizer", normalizer),
    ("OneHotEncoder", one_hot_encoder),
    ("Scaler", scaler),
    ("SVMRegressor", svm_regressor),
    ("SVMClassifier", svm_classifier),
    ("SVMClassifier", svm_classifier_linear),
    ("TreeEnsembleRegressor", tree_regressor),
    ("TreeEnsembleClassifier", tree_classifier),
    ("TreeEnsemble", tree_ensemble),
    ("CastMap", cast_map),
    ("DictVectorizer", dict_vectorizer),
    ("ZipMap", zip_map),
]
