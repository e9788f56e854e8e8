//! The C library reports the errors of recorded models that the command reports: `crates/cli/tests/faces.rs`
//! compares the command with the same findings.

use std::io::Write as _;
use std::process::{Command, Stdio};

use typeloom::types::Lattice;
use typeloom_ffi::status::Status;
use typeloom_project::check::SideFiles;
use typeloom_project::file::Source;
use typeloom_project::plan::Plan;
use typeloom_report::c_header::c_header;
use typeloom_testing::recorded;

use crate::c::{compiler, folder, libraries, run, source, strict, write};

#[test]
fn c_programs_get_the_errors_that_a_check_finds() {
    let Some(models) = recorded::models(200) else { return };
    let Some(cc) = compiler("CC", "cc") else { return };
    let folder = folder("faces");
    write(&folder, "typeloom.h", c_header(Lattice::get(), None).expect("the leaves have valid names"));
    let program = folder.join("faces");
    let mut command = strict(&cc, "-std=c99");
    command.arg("-I").arg(&folder).arg(source("faces.c")).arg("-o").arg(&program);
    command.arg("-L").arg(libraries()).arg("-ltypeloom_ffi");
    run(command.arg(format!("-Wl,-rpath,{}", libraries().display())));
    let mut child = Command::new(&program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut input = child.stdin.take().expect("it has an input");
    let paths: String = models.iter().map(|path| format!("{}\n", path.display())).collect();
    let writer = std::thread::spawn(move || input.write_all(paths.as_bytes()));
    let output = child.wait_with_output().expect("the program ends");
    writer.join().expect("the paths are written").expect("the program reads them");
    let text = String::from_utf8(output.stdout).expect("texts are UTF-8");
    let answers: Vec<&str> = text.split_terminator("\n--\n").collect();
    assert_eq!(answers.len(), models.len());
    let (plan, mut refused) = (Plan::standard(), 0);
    for (path, answer) in models.iter().zip(answers) {
        let (status, text) = answer.split_once('\n').expect("an answer has two parts");
        let file = Source::at(path.clone()).read().expect("the model is read");
        let examined = plan.check(&file, SideFiles::Unchecked).expect("there are no options");
        let shown: Vec<String> = examined.findings.diagnostics().map(ToString::to_string).collect();
        let name = path.display();
        if examined.findings.is_ok() {
            assert_ne!(status, (Status::IllTyped as i32).to_string(), "{name}: {text}");
        } else {
            refused += 1;
            assert_eq!(status, (Status::IllTyped as i32).to_string(), "{name}: {text}");
            assert_eq!(text, shown.join("\n"), "{name}");
        }
    }
    assert!(refused > 20, "{refused} models with errors");
}
