//! Programs of the compiler: graphs, nodes and values with identities, and facts about them.
//!
//! ONNX refers to a value by its name and to a node by its position. Both change while a compiler works: a
//! pass renames a value, and inserts a node in front of another. Here each graph, node and value has an id
//! that stays the same. A fact about a node or value is an entry of a table by id, not a text in metadata.
//!
//! | module | contents |
//! |---|---|
//! | [`domain`] | the domains of operators, and the only place that knows their names |
//! | [`program`] | [`Program`](program::Program): arenas of graphs, nodes and values |
//! | [`declared`] | declared types as a message states them |
//! | [`facts`] | [`Facts`](facts::Facts): slots, methods, peer classes, locations and types by id |
//! | [`keys`] | the keys of the metadata that stores facts in files |
//! | [`read`](mod@read), [`write`](mod@write) | the conversion from ONNX messages and back |
//!
//! ```
//! use typeloom_program::read::read;
//! use typeloom_program::write::write;
//!
//! let text = r#"<ir_version: 10, opset_import: ["" : 21]> g (float[N] x) => (y) { y = Relu (x) }"#;
//! let model = typeloom_onnx::text::parse_model(text)?;
//! let (mut program, facts) = read(model).expect("it has a graph");
//! let [relu] = program[program.main()].nodes[..] else { unreachable!() };
//! let y = program[relu].outputs[0].expect("the output has a name");
//!
//! // The id still means the same value after it is renamed, and so does the output of the graph.
//! program[y].name = "z".into();
//! let graph = write(&program, &facts).graph.unwrap_or_default();
//! assert_eq!((graph.node[0].output[0].as_str(), graph.output[0].name()), ("z", "z"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Invariant:** ids are positions in arenas that only grow, so an id is never reused. A node that no graph
//! lists is not part of the program.

pub mod declared;
pub mod domain;
pub mod facts;
pub mod keys;
pub mod program;
pub mod read;
pub mod write;
