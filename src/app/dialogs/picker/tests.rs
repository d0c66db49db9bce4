use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use proptest::prelude::*;

use super::{Choice, Item, Kind, Mark, Picker, Row};
use crate::app::dialogs::DialogLayout;
use crate::app::page::Line;
use crate::keymap::Action;

fn item(label: &str) -> Item {
    Item::new(label, Choice::Nothing)
}

fn typed(picker: &mut Picker, text: &str) {
    for letter in text.chars() {
        picker.key(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE));
    }
}

fn labels(picker: &Picker) -> Vec<&str> {
    picker.shown().map(|item| item.label.as_str()).collect()
}

fn visible(picker: &mut Picker, visible: usize) {
    picker.record_layout(DialogLayout {
        furthest: 0,
        visible,
        ..DialogLayout::default()
    });
}

#[test]
fn letters_in_their_order_find_a_name_and_whole_words_find_the_rest() {
    let items = || {
        vec![
            item("/theme").about("change the theme"),
            item("/model").about("show or switch the model"),
            item("/cost").about("tokens so far"),
        ]
    };
    let found = |filter: &str| {
        let mut picker = Picker::new(Kind::Commands, items());
        typed(&mut picker, filter);
        let labels = labels(&picker).into_iter().map(str::to_owned);
        labels.collect::<Vec<_>>()
    };
    assert_eq!(found("mdl"), ["/model"]);
    assert_eq!(found("TOKENS"), ["/cost"]);
    assert_eq!(found("theme change"), ["/theme"]);
    // "show or switch" has these letters in order, but not side by side.
    assert_eq!(found("shch"), [""; 0]);
}

#[test]
fn matches_in_names_come_before_matches_in_descriptions() {
    let items = vec![item("a").about("the cost"), item("cost"), item("c-o-s-t")];
    let mut picker = Picker::new(Kind::Commands, items);
    typed(&mut picker, "cost");
    assert_eq!(labels(&picker), ["cost", "c-o-s-t", "a"]);
    assert_eq!(
        picker.get(0).map(|(_, matched)| matched),
        Some(&[0, 1, 2, 3][..])
    );
}

#[test]
fn the_text_beside_the_list_is_searched_too() {
    let items = vec![
        item("one"),
        item("two").preview([Line::text("bad rows are skipped")]),
    ];
    let mut picker = Picker::new(Kind::Sessions, items);
    typed(&mut picker, "skipped");
    assert_eq!(labels(&picker), ["two"]);
}

#[test]
fn headings_are_shown_above_their_items_unless_filtered() {
    let items = vec![
        item("a").under("First"),
        item("b").under("First"),
        item("c").under("Second"),
    ];
    let mut picker = Picker::new(Kind::Commands, items);
    visible(&mut picker, 9);
    let rows = [
        Row::Heading(0),
        Row::Item(0),
        Row::Item(1),
        Row::Heading(2),
        Row::Item(2),
    ];
    assert_eq!(picker.window(), rows);
    typed(&mut picker, "b");
    assert_eq!(picker.window(), [Row::Item(0)]);
}

#[test]
fn an_unlisted_name_is_offered_where_it_is_valid() {
    let mut picker = Picker::new(Kind::Models, vec![item("small")]);
    typed(&mut picker, "large");
    let choice = picker.chosen().map(|item| item.choice.clone());
    assert_eq!(choice, Some(Choice::Model("large".to_owned())));
    let mut picker = Picker::new(Kind::Themes, vec![item("dark")]);
    typed(&mut picker, "large");
    assert_eq!(picker.chosen(), None);
}

#[test]
fn the_one_in_use_is_chosen_first() {
    let items = vec![item("a"), item("b").marked(Some(Mark::Current))];
    let picker = Picker::new(Kind::Themes, items).starting_at_current();
    assert_eq!(picker.chosen().map(|item| item.label.as_str()), Some("b"));
}

#[test]
fn the_selection_survives_when_the_items_are_replaced() {
    let model = |name: &str| Item::new(name, Choice::Model(name.to_owned()));
    let mut picker = Picker::new(Kind::Models, vec![model("a"), model("b")]);
    picker.choose_last();
    picker.replace(vec![model("b"), model("c"), model("a")]);
    assert_eq!(picker.chosen(), Some(&model("b")));
}

#[test]
fn an_action_with_confirmation_happens_at_the_second_press() {
    let mut picker = Picker::new(Kind::Rules, vec![item("a")]);
    let press = |picker: &mut Picker| picker.confirm(Action::Delete, "remove it");
    assert_eq!([0; 3].map(|_| press(&mut picker)), [false, true, false]);
    typed(&mut picker, "x");
    assert!(!press(&mut picker));
}

#[derive(Debug, Clone)]
enum Step {
    Type(char),
    Erase,
    Move(i64),
    Page(i64),
    Scroll(i64),
    Resize(usize),
    Click(usize),
    Replace(Vec<String>),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        proptest::char::range('a', 'e').prop_map(Step::Type),
        Just(Step::Type(' ')),
        Just(Step::Erase),
        (-3..3_i64).prop_map(Step::Move),
        (-1..=1_i64).prop_map(Step::Page),
        (-9..9_i64).prop_map(Step::Scroll),
        (0..9_usize).prop_map(Step::Resize),
        (0..9_usize).prop_map(Step::Click),
        names().prop_map(Step::Replace),
    ]
}

fn names() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("[a-e]{1,4}", 0..12)
}

fn items(names: Vec<String>) -> Vec<Item> {
    let items = names.into_iter();
    let group = |name: &str| name[..1].to_owned();
    items.map(|name| item(&name).under(group(&name))).collect()
}

fn take(picker: &mut Picker, step: Step) {
    match step {
        Step::Type(letter) => typed(picker, &letter.to_string()),
        Step::Erase => picker.key(KeyEvent::new(KeyCode::Backspace, KeyModifiers::NONE)),
        Step::Move(by) => picker.choose_next(by),
        Step::Page(by) => picker.page(by),
        Step::Scroll(by) => picker.scroll(by),
        Step::Resize(rows) => visible(picker, rows),
        Step::Click(row) => drop(picker.choose_row(row)),
        Step::Replace(names) => picker.replace(items(names)),
    }
}

proptest! {
    #[test]
    fn the_selected_item_is_among_those_shown_and_visible(
        first in names(),
        steps in prop::collection::vec(step(), 0..40),
    ) {
        let mut picker = Picker::new(Kind::Commands, items(first));
        visible(&mut picker, 4);
        for step in steps {
            take(&mut picker, step);
            prop_assert_eq!(picker.chosen().is_none(), picker.shown().len() == 0);
            let chosen = Row::Item(picker.chosen_number());
            let rows = picker.window();
            prop_assert!(rows.is_empty() || rows.contains(&chosen), "{picker:?}");
            let items = rows.iter().filter(|row| matches!(row, Row::Item(_)));
            let (above, below) = picker.out_of_view();
            prop_assert_eq!(above + items.count() + below, picker.shown().len());
        }
    }

    #[test]
    fn filtering_what_was_filtered_changes_nothing(all in names(), filter in "[a-e ]{0,4}") {
        let mut picker = Picker::new(Kind::Commands, items(all));
        typed(&mut picker, &filter);
        let found: Vec<Item> = picker.shown().cloned().collect();
        let mut again = Picker::new(Kind::Commands, found.clone());
        typed(&mut again, &filter);
        prop_assert_eq!(again.shown().cloned().collect::<Vec<_>>(), found);
    }
}
