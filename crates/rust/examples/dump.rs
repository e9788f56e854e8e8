//! scratch
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "scratch")]
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let mut symbols = typeloom_term::Symbols::new();
    let t = std::time::Instant::now();
    let old = typeloom_rust::read(&std::fs::read(&a[1]).unwrap()).unwrap();
    println!("read {:?}", t.elapsed());
    let old = typeloom_rust::lower(&old, &mut symbols, None).unwrap();
    println!("lower {:?}", t.elapsed());
    println!("{:#?}", old.counts);
    if let Some(new) = a.get(2) {
        if new == "list" {
            for i in &old.items { println!("{}", typeloom_rust::text::item(i, &mut symbols)); }
            return;
        }
        let new = typeloom_rust::read(&std::fs::read(new).unwrap()).unwrap();
        let new = typeloom_rust::lower(&new, &mut symbols, Some(&old)).unwrap();
        let t = std::time::Instant::now();
        for c in typeloom_rust::diff(&old, &new, &mut symbols).unwrap() { println!("{:?} {} | {} | {} | {:?} -> {:?}", c.change, c.breaking, c.item, c.path, c.old, c.new); }
        println!("diff {:?}", t.elapsed());
    }
}
