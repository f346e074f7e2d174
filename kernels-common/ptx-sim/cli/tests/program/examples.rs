//! The examples of the help, the book and the README run as they are printed.

use std::path::Path;

use crate::{Execution, Folder, broken, foreign, run_in};

/// A folder as the examples have it.
fn folder() -> Folder {
    let folder = Folder::new();
    for name in ["saxpy", "histogram", "matmul", "grid", "bitonic", "compact", "structs"] {
        std::fs::copy(foreign(name), folder.path(&format!("{name}.ptx"))).unwrap();
    }
    std::fs::copy(foreign("saxpy").replace(".sm_75.ptx", ".cu"), folder.path("saxpy.cu")).unwrap();
    std::fs::copy(broken("xor_tree"), folder.path("xor_tree.ptx")).unwrap();
    let source = std::fs::read_to_string(broken("xor_tree").replace(".sm_75.ptx", ".cu")).unwrap();
    // The book does not need the marks at lines that race.
    let lines = source.lines().map(|line| line.split("// <-").next().unwrap_or_default().to_owned() + "\n");
    std::fs::write(folder.path("xor_tree.cu"), lines.collect::<String>()).unwrap();
    folder.write("x.npy", &[1000], &(0..1000).map(|i| i as f32).collect::<Vec<_>>());
    folder.write("y.npy", &[1000], &[1f32; 1000]);
    folder.write("image.npy", &[64, 64], &(0..4096u32).map(|i| ((i * i) >> 3) as u8).collect::<Vec<_>>());
    folder
}

#[test]
fn of_the_help() {
    let folder = folder();
    let help = folder.line("run --help").fine().to_owned();
    let mut run = 0;
    for line in help.lines().filter_map(|line| line.trim_start().strip_prefix("ptx-sim run ")) {
        // The line of the usage.
        if !line.starts_with('[') {
            folder.line(&format!("run {line}")).fine();
            run += 1;
        }
    }
    assert!(run >= 4, "{help}");
    // Where a line is broken, it cannot be copied. Without a terminal it is broken after 100 columns.
    assert!(help.lines().all(|line| line.len() <= 100), "{help}");
}

/// The words of a line, as a shell takes it: quotes hold words together.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
    for each in line.chars() {
        match each {
            '"' | '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(std::mem::take(&mut word)),
            _ => word.push(each),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

/// The command of a line of a document, without the program's name and with what it goes on in.
fn commands(document: &str, program: &str) -> Vec<(String, Option<String>)> {
    let mut commands = Vec::new();
    let joined = document.replace("\\\n", " ");
    let mut blocks = joined.split("```");
    let (mut text_before, mut last) = (true, "");
    for block in blocks.by_ref() {
        if !text_before {
            let (language, body) = block.split_once('\n').unwrap_or((block, ""));
            match language {
                "sh" => {
                    let lines = body.lines().filter_map(|line| line.strip_prefix(program));
                    commands.extend(lines.map(|line| (line.split(" # ").next().unwrap_or_default().to_owned(), None)));
                }
                "text" if last == "sh" => {
                    if let Some((_, output)) = commands.last_mut() {
                        *output = Some(body.to_owned());
                    }
                }
                _ => {}
            }
            last = language;
        }
        text_before = !text_before;
    }
    commands
}

/// What was printed, without the time that it took.
fn printed(execution: &Execution) -> String {
    let text = format!("{}{}", execution.out, execution.err);
    let first = text.lines().next().unwrap_or_default();
    match first.rsplit_once("; ") {
        Some((head, time)) if time.ends_with('s') => text.replacen(first, &format!("{head}; 0.1 ms"), 1),
        _ => text,
    }
}

#[test]
fn of_the_book() {
    let book = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/ptx-sim.md")).unwrap();
    let folder = folder();
    let commands = commands(&book, "ptx-sim ");
    assert!(commands.len() >= 10, "{commands:?}");
    let mut compared = 0;
    for (line, output) in commands {
        let words = words(&line);
        let execution = folder.words(&words.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(execution.code <= 1, "{line}: {execution:?}");
        match output {
            Some(output) => {
                assert_eq!(printed(&execution), output, "{line}");
                compared += 1;
            }
            None => drop(execution.fine()),
        }
    }
    assert!(compared >= 2);
}

#[test]
fn of_the_readme() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.."));
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let commands = commands(&readme, "cargo run --release -p ptx-sim-cli -- ");
    assert!(!commands.is_empty());
    for (line, _) in commands {
        let words = words(&line);
        run_in(root, &words.iter().map(String::as_str).collect::<Vec<_>>()).fine();
    }
}
