//! The calls of an answer: their ids on the wire, and their `CallRef`s.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::protocol::{Block, CallNumbers, CallRef, ServerCall, ToolCall, ToolUse, WireId};

/// The calls of one answer. An id may occur twice: after the block of a call has ended, its id names another call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Names {
    /// The calls that are being written.
    open: HashMap<WireId, CallRef>,
    /// The calls whose blocks have ended, in the order of their blocks.
    ended: HashMap<WireId, VecDeque<Named>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Named {
    pub call: CallRef,
    /// It was handed to the executor.
    pub runs: bool,
}

impl Names {
    /// Calls that have all been handed over to be run, in the order of their blocks.
    pub fn ended<'c>(calls: impl Iterator<Item = (&'c ToolUse, CallRef)>) -> Self {
        let mut names = Self::default();
        for (block, call) in calls {
            let same = names.ended.entry(block.id.clone()).or_default();
            same.push_back(Named { call, runs: true });
        }
        names
    }

    /// The call that is being written with this id.
    pub fn open(&mut self, id: &WireId, numbers: &mut CallNumbers) -> CallRef {
        if let Some(call) = self.open.get(id) {
            return *call;
        }
        let call = numbers.next();
        self.open.insert(id.clone(), call);
        call
    }

    /// The block of a call has ended; `runs` says whether it is executed.
    pub fn end(&mut self, id: &WireId, runs: bool, numbers: &mut CallNumbers) -> CallRef {
        let call = self.open(id, numbers);
        self.open.remove(id);
        let same = self.ended.entry(id.clone()).or_default();
        same.push_back(Named { call, runs });
        call
    }

    /// The next call with this id, in the order of the blocks. A call that was not seen while the answer streamed
    /// gets its number now.
    pub fn take(&mut self, id: &WireId, numbers: &mut CallNumbers) -> Named {
        let ended = self.ended.get_mut(id).and_then(VecDeque::pop_front);
        ended.unwrap_or_else(|| {
            let open = self.open.remove(id);
            let call = open.unwrap_or_else(|| numbers.next());
            Named { call, runs: false }
        })
    }
}

/// The calls of one answer that the provider runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Served {
    names: HashMap<WireId, CallRef>,
    /// Those whose block is still to come.
    begun: HashSet<WireId>,
}

impl Served {
    /// A call has begun; its block follows.
    pub fn begin(&mut self, id: WireId, numbers: &mut CallNumbers) -> CallRef {
        let call = numbers.next();
        self.names.insert(id.clone(), call);
        self.begun.insert(id);
        call
    }

    /// The call that a block tells of: one that is made has a new name unless it has begun before, a result the name of
    /// its call.
    pub fn name(&mut self, server_call: &ServerCall, numbers: &mut CallNumbers) -> CallRef {
        let has_begun = self.begun.remove(&server_call.id);
        let known = self.names.get(&server_call.id).copied();
        let known = known.filter(|_| has_begun || server_call.made.is_none());
        known.unwrap_or_else(|| {
            let call = numbers.next();
            self.names.insert(server_call.id.clone(), call);
            call
        })
    }
}

/// The call with its reference.
pub fn admitted(call: CallRef, block: &ToolUse) -> ToolCall {
    ToolCall {
        call,
        id: block.id.clone(),
        name: block.name.clone(),
        input: block.input.clone(),
    }
}

/// The blocks of an answer. If a call ran but is missing from them, which should not happen, it is added.
pub fn with_all_calls(mut blocks: Vec<Block>, ended: Vec<Block>) -> Vec<Block> {
    for block in ended {
        let Block::ToolUse(call) = &block else {
            continue;
        };
        let known = blocks
            .iter()
            .any(|other| matches!(other, Block::ToolUse(other) if other.id == call.id));
        if !known {
            blocks.push(block);
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Names, Served};
    use crate::protocol::{AgentId, CallNumbers, CallRef, ServerCall, WireId};

    #[test]
    fn an_id_that_occurs_twice_names_two_calls_in_the_order_of_their_blocks() {
        let mut numbers = CallNumbers::after(AgentId::MAIN, 0);
        let (mut names, id) = (Names::default(), WireId::from("call_1"));
        assert_eq!(names.open(&id, &mut numbers), CallRef::main(1));
        assert_eq!(names.open(&id, &mut numbers), CallRef::main(1));
        assert_eq!(names.end(&id, false, &mut numbers), CallRef::main(1));
        assert_eq!(names.end(&id, true, &mut numbers), CallRef::main(2));
        assert_eq!(names.open(&id, &mut numbers), CallRef::main(3));
        let taken = [(); 4].map(|()| names.take(&id, &mut numbers));
        let expected = [(1, false), (2, true), (3, false), (4, false)];
        assert_eq!(
            taken.map(|named| (named.call, named.runs)),
            expected.map(|(number, runs)| (CallRef::main(number), runs))
        );
    }

    #[test]
    fn a_result_of_the_provider_has_the_name_of_its_call() {
        let mut numbers = CallNumbers::after(AgentId::MAIN, 0);
        let mut served = Served::default();
        let mut name = |id: &str, made: bool| {
            let made = made.then(|| ("web_search".to_owned(), json!({}).into()));
            let server_call = ServerCall {
                id: id.into(),
                made,
                result: None,
            };
            served.name(&server_call, &mut numbers).number
        };
        let names = [("a", true), ("b", true), ("a", false), ("b", false)];
        assert_eq!(names.map(|(id, made)| name(id, made)), [1, 2, 1, 2]);
        assert_eq!(name("a", true), 3, "asked for again after a break");
        assert_eq!(name("a", false), 3);
    }
}
