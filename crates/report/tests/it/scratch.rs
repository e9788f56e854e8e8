use prost::Message;
use typeloom_report::human::{Color, diagnostic};
use typeloom_solver::diagnostic::diagnose;
use typeloom_solver::model::{Mode, Options, check};
use typeloom_solver::universe::Universe;

#[test]
fn all() {
    let files: Vec<_> = std::env::var("FILES").unwrap_or_default().split(' ').map(str::to_owned).collect();
    let universe = Universe::of_default_lattice().unwrap();
    for file in files {
        let bytes = if file.ends_with(".txt") {
            typeloom_onnx::text::parse_model(&std::fs::read_to_string(&file).unwrap()).unwrap().encode_to_vec()
        } else {
            std::fs::read(&file).unwrap()
        };
        let name = file.rsplit('/').next().unwrap();
        match check(&bytes, &typeloom_ops::catalogue::Standard, &universe, &Options { mode: Mode::Strict, ..Options::default() }) {
            Ok(mut checked) => {
                let found = diagnose(&mut checked);
                if found.is_empty() { println!("{name}: ok\n"); }
                for d in found.iter().take(5) {
                    println!("{}", diagnostic(name, d, Color::Never));
                }
            }
            Err(error) => println!("{name}: {error}"),
        }
    }
}
