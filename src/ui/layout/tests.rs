use proptest::prelude::*;

use super::{Heights, Place, Placed, place, reveal, step};
use crate::app::scroll::{Anchor, Motion, Scroll};
use crate::app::transcript::{Cell, CellId, Entry};

/// Cells that are only heights, and how often each was asked for.
struct Column {
    entries: Vec<Entry>,
    heights: Vec<usize>,
    asked: usize,
}

impl Column {
    fn new(heights: &[usize]) -> Self {
        let entry = |number| Entry {
            id: CellId(number),
            seq: None,
            revision: 0,
            cell: Cell::Welcome,
            open: false,
            unfolded: false,
        };
        Self {
            entries: (0..).map(entry).take(heights.len()).collect(),
            heights: heights.to_vec(),
            asked: 0,
        }
    }

    fn place(&mut self, scroll: &Scroll, height: usize) -> Placed {
        let entries = std::mem::take(&mut self.entries);
        let placed = place(&entries, self, scroll, height, None);
        self.entries = entries;
        placed
    }

    /// Performs the motions, and settles on the result.
    fn go(&mut self, scroll: &mut Scroll, motions: &[Motion], height: usize) -> Placed {
        scroll.motions.extend(motions);
        let placed = self.place(scroll, height);
        scroll.motions.clear();
        scroll.anchor = match self.entries.get(placed.top.index) {
            Some(entry) if !placed.follows => Anchor::At {
                cell: entry.id,
                line: placed.top.row,
            },
            Some(_) | None => Anchor::Follow,
        };
        placed
    }

    fn rows(&self) -> usize {
        self.heights.iter().sum()
    }

    /// A place as a row counted from the beginning.
    fn count(&self, place: Place) -> usize {
        self.heights[..place.index].iter().sum::<usize>() + place.row
    }

    fn end(&self, height: usize) -> usize {
        self.rows().saturating_sub(height)
    }
}

impl Heights for Column {
    fn height(&mut self, index: usize) -> usize {
        self.asked += 1;
        self.heights[index]
    }

    fn row_of_match(&mut self, index: usize, nth: usize) -> usize {
        nth.min(self.heights[index].saturating_sub(1))
    }
}

fn any_motion() -> impl Strategy<Value = Motion> {
    prop_oneof![
        (-40i64..40).prop_map(Motion::Rows),
        Just(Motion::Rows(i64::MIN)),
        Just(Motion::Rows(i64::MAX)),
        (-3i64..4).prop_map(Motion::HalfPages),
        Just(Motion::Start),
        Just(Motion::End),
        (0u64..40).prop_map(|cell| Motion::Cell(CellId(cell))),
        (0u64..40, 0usize..9).prop_map(|(cell, nth)| Motion::Match {
            cell: CellId(cell),
            nth
        }),
    ]
}

fn any_heights() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(0usize..12, 0..30)
}

proptest! {
    #[test]
    fn after_any_motion_the_view_is_full_of_rows(
        heights in any_heights(),
        motions in prop::collection::vec(any_motion(), 0..20),
        height in 0usize..20,
    ) {
        let mut column = Column::new(&heights);
        let mut scroll = Scroll::default();
        for motion in motions {
            let placed = column.go(&mut scroll, &[motion], height);
            prop_assert!(column.count(placed.top) <= column.end(height));
            prop_assert_eq!(placed.follows, column.count(placed.top) == column.end(height));
        }
    }

    #[test]
    fn following_shows_the_last_row(heights in any_heights(), height in 1usize..20) {
        let mut column = Column::new(&heights);
        let placed = column.place(&Scroll::default(), height);
        prop_assert_eq!(column.count(placed.top), column.end(height));
        prop_assert!(placed.follows);
    }

    #[test]
    fn down_takes_back_what_up_did(heights in any_heights(), height in 1usize..20, rows in 0usize..60) {
        let mut column = Column::new(&heights);
        let mut scroll = Scroll::default();
        let rows = rows.min(column.end(height));
        let by = i64::try_from(rows).expect("few rows");
        let up = column.go(&mut scroll, &[Motion::Rows(-by)], height);
        prop_assert_eq!(column.count(up.top), column.end(height) - rows);
        let down = column.go(&mut scroll, &[Motion::Rows(by)], height);
        prop_assert!(down.follows);
    }

    #[test]
    fn enough_steps_down_reach_the_end(heights in any_heights(), height in 1usize..20) {
        let mut column = Column::new(&heights);
        let mut scroll = Scroll::default();
        column.go(&mut scroll, &[Motion::Start], height);
        for _ in 0..column.rows() {
            column.go(&mut scroll, &[Motion::Rows(1)], height);
        }
        prop_assert_eq!(scroll.anchor, Anchor::Follow);
    }

    #[test]
    fn new_rows_below_move_nothing_in_view(
        heights in any_heights(),
        more in any_heights(),
        height in 1usize..20,
        up in 1i64..60,
    ) {
        let mut column = Column::new(&heights);
        let mut scroll = Scroll::default();
        let before = column.go(&mut scroll, &[Motion::Rows(-up)], height);
        if before.follows {
            return Ok(());
        }
        let mut longer = Column::new(&[heights, more].concat());
        let after = longer.place(&scroll, height);
        prop_assert_eq!(after, before);
    }

    #[test]
    fn a_revealed_row_is_visible(
        heights in any_heights(),
        height in 1usize..20,
        up in 0i64..60,
        steps in prop::collection::vec(-30i64..30, 0..10),
    ) {
        let mut column = Column::new(&heights);
        prop_assume!(column.rows() > 0);
        let mut scroll = Scroll::default();
        let mut placed = column.go(&mut scroll, &[Motion::Rows(-up)], height);
        let entries = column.entries.clone();
        let mut at = step(&entries, &mut column, placed.top, 0);
        for rows in steps {
            let expected = i64::try_from(column.count(at)).expect("few rows") + rows;
            at = step(&entries, &mut column, at, rows);
            let last = i64::try_from(column.rows()).expect("few rows") - 1;
            let now = i64::try_from(column.count(at)).expect("few rows");
            prop_assert_eq!(now, expected.clamp(0, last));
            placed = reveal(&entries, &mut column, placed, at, height);
            let (top, row) = (column.count(placed.top), column.count(at));
            prop_assert!(top <= row && row < top + height);
        }
    }
}

#[test]
fn a_frame_asks_only_for_cells_near_what_is_in_view() {
    let mut column = Column::new(&vec![3; 100_000]);
    let mut scroll = Scroll::default();
    column.go(&mut scroll, &[], 40);
    assert!(column.asked < 20, "{}", column.asked);

    column.asked = 0;
    column.go(&mut scroll, &[Motion::Rows(-300)], 40);
    assert!(column.asked < 130, "{}", column.asked);

    column.asked = 0;
    column.go(&mut scroll, &[Motion::Start], 40);
    column.go(&mut scroll, &[], 40);
    column.go(&mut scroll, &[Motion::Cell(CellId(50_000))], 40);
    column.go(&mut scroll, &[Motion::Rows(2)], 40);
    assert!(column.asked < 100, "{}", column.asked);
}

#[test]
fn a_page_keeps_one_row_visible() {
    let mut column = Column::new(&[1; 100]);
    let mut scroll = Scroll::default();
    let placed = column.go(&mut scroll, &[Motion::HalfPages(-2)], 10);
    assert_eq!(column.count(placed.top), 81);
    let placed = column.go(&mut scroll, &[Motion::HalfPages(-1)], 10);
    assert_eq!(column.count(placed.top), 76);
}

#[test]
fn the_next_cell_takes_the_place_of_a_removed_one() {
    let mut column = Column::new(&[5; 10]);
    let mut scroll = Scroll::default();
    scroll.anchor = Anchor::At {
        cell: CellId(3),
        line: 4,
    };
    column.entries.remove(3);
    column.heights.remove(3);
    let placed = column.go(&mut scroll, &[], 10);
    assert_eq!(placed.top, Place { index: 3, row: 0 });
}
