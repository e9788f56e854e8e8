//! Reading and writing a program returns the message, up to the spelling of ONNX's own domain and of absent
//! texts.

use std::fs;

use typeloom_onnx::messages::{ModelProto, NodeProto, Text, read as decode};
use typeloom_onnx::prost::Message as _;
use typeloom_onnx::{domain, nested};
use typeloom_program::read::{ReadError, read};
use typeloom_program::write::{encode, write};
use typeloom_testing::recorded;

/// A message in which ONNX's domain has one name, and an empty text is absent.
fn normal(mut model: ModelProto) -> ModelProto {
    let text = |text: &mut Text| {
        if text.is_empty() {
            *text = Text::default();
        }
    };
    let node = |node: &mut NodeProto| {
        let name = domain::canonical(node.domain()).to_owned();
        node.domain = name.into();
        text(&mut node.domain);
        text(&mut node.op_type);
    };
    let graphs = model.graph.iter_mut();
    for graph in graphs {
        nested::each_graph_mut(graph, |graph, _| {
            text(&mut graph.name);
            for info in graph.input.iter_mut().chain(&mut graph.output).chain(&mut graph.value_info) {
                text(&mut info.name);
            }
            graph.initializer.iter_mut().for_each(|tensor| text(&mut tensor.name));
        });
        nested::each_node_mut(graph, node);
    }
    for function in &mut model.functions {
        let name = domain::canonical(function.domain()).to_owned();
        function.domain = name.into();
        text(&mut function.overload);
        for inner in &mut function.node {
            node(inner);
            nested::graphs_mut(inner).for_each(|graph| nested::each_node_mut(graph, node));
        }
    }
    model
}

#[test]
fn recorded_models_are_read_and_written() {
    let Some(models) = recorded::models(1000) else { return };
    let mut read_models = 0;
    let mut odd = Vec::new();
    for path in models {
        let Ok(model) = decode::<ModelProto>(fs::read(&path).expect("the file can be read").into()) else {
            continue;
        };
        let (program, facts) = match read(model.clone()) {
            Ok(read) => read,
            Err(ReadError::NoGraph | ReadError::NestedTooDeep) => continue,
        };
        read_models += 1;
        // Messages with NaN differ from themselves; their bytes do not.
        let bytes = |model| normal(model).encode_to_vec();
        let encoded = decode::<ModelProto>(encode(&program, &facts).into()).expect("it is a model");
        if bytes(write(&program, &facts)) != bytes(model) || bytes(encoded) != bytes(write(&program, &facts))
        {
            odd.push(path.display().to_string());
        }
    }
    assert!(read_models > 100, "{read_models} models were read");
    assert!(odd.is_empty(), "{} models differ:\n{}", odd.len(), odd.join("\n"));
}
