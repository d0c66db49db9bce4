//! Lists to choose from and pages to read, in the whole program.

use crate::support::{Piece, Program, Pty, Reply, Server, Wire};

const BUILTIN: [&str; 2] = ["--provider", "builtin"];

#[test]
fn an_earlier_session_is_resumed_from_the_list_that_shows_its_end() {
    let program = Program::new();
    program.run(&["-p", "find *.nothing", "--provider", "builtin"]);
    let mut tui = Pty::spawn_in(program, &BUILTIN, 120, 40);
    tui.wait_for("builtin").send("/sessions\r");
    tui.wait_for("find *.nothing").wait_for("1 message");
    tui.send("\r").wait_gone("Sessions in this directory");
    tui.wait_for("find *.nothing");
    tui.send("\x03\x03").exit();
}

#[test]
fn a_session_that_is_open_elsewhere_is_marked_and_can_be_copied() {
    let program = Program::new();
    let wire = Wire::Anthropic;
    let server = Server::start([Reply::pieces(vec![Piece::Silence])]);
    let mut busy = program.start(&server, wire, &["-p", "wait for me"]);
    server.wait_for(1);
    let mut tui = Pty::spawn_in(program, &BUILTIN, 120, 40);
    tui.wait_for("builtin").send("/sessions\r");
    tui.wait_for("this session").wait_for("open elsewhere");
    tui.send("\r")
        .wait_for("another agent-tui is using it; Ctrl+F continues with a copy");
    tui.send("\x06").wait_gone("Sessions in this directory");
    tui.wait_for("wait for me");
    tui.send("\x03\x03").exit();
    busy.kill().expect("it runs");
    busy.wait().expect("it ends");
}

#[test]
fn a_session_is_renamed_in_the_list_and_keeps_its_title() {
    let program = Program::new();
    program.run(&["-p", "find *.nothing", "--provider", "builtin"]);
    let mut tui = Pty::spawn_in(program, &BUILTIN, 120, 40);
    tui.wait_for("builtin").send("/sessions\r");
    tui.wait_for("1 message").send("\x12");
    tui.wait_for("New title: find *.nothing");
    tui.send("\x15look for nothing\r")
        .wait_for("session renamed");
    tui.send("\x1b").wait_gone("Sessions in this directory");
    tui.send("/sessions\r").wait_for("look for nothing");
    tui.send("\x1b").wait_gone("Sessions in this directory");
    tui.send("\x03\x03").exit();
}

#[test]
fn a_theme_is_previewed_while_selected_and_esc_removes_it() {
    let environment = [("COLORTERM", "truecolor")];
    let arguments = ["--provider", "builtin", "--theme", "dark"];
    let mut tui = Pty::spawn_with(Program::new(), &arguments, &environment, 80, 24);
    tui.wait_for("builtin")
        .send("/theme\r")
        .wait_for("high-contrast");
    // The mark before the program's name.
    let colour = |screen: &vt100::Screen| screen.cell(0, 0).map(vt100::Cell::fgcolor);
    let dark = colour(&tui.vt());
    tui.send("\x1b[B");
    tui.wait_until(|screen| colour(screen) != dark);
    tui.send("\x1b").wait_gone("Themes");
    tui.send("/theme\r").wait_for("high-contrast");
    tui.wait_until(|screen| colour(screen) == dark);
    tui.send("\x1b").wait_gone("Themes").send("\x03\x03").exit();
}

#[test]
fn the_doctor_is_read_on_a_page_that_esc_closes() {
    let mut tui = Pty::spawn(&BUILTIN, 100, 30);
    tui.wait_for("builtin").send("/doctor\r");
    tui.wait_for("─ Setup ").wait_gone("checking");
    tui.send("G")
        .wait_until(|screen| !screen.contents().contains("more ↓"));
    tui.send("g/sandbox\r").wait_for("n next match");
    tui.send("n").wait_for("2 of ");
    tui.send("\x1b").wait_gone("next match");
    tui.send("\x1b").wait_gone("─ Setup ");
    tui.send("\x03\x03").exit();
}
