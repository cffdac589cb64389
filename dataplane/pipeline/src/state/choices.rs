//! The choices that chance or a selector's hash makes for a packet, where all are tried: a run for each way.

use crate::program::entry::ActionCall;
use crate::program::Program;
use crate::state::group::Group;

/// The most values of a `random` that are tried one by one; of more, three are a sample.
const ALL: u128 = 16;

/// The choices of a run. Those that come beyond them take their first option.
#[derive(Debug, Clone, Default)]
pub struct Choices {
    /// The option that each takes, the number of options, and the decision in words.
    made: Vec<(usize, usize, String)>,
    /// The choices that are behind the packet.
    behind: usize,
}

impl Choices {
    /// Makes the next choice. `decide` gives the value of an option, in words, too.
    fn choose<T>(&mut self, options: usize, decide: impl FnOnce(usize) -> (T, String)) -> T {
        if options == 1 {
            return decide(0).0;
        }
        if self.behind == self.made.len() {
            self.made.push((0, options, String::new()));
        }
        let (option, _, words) = &mut self.made[self.behind];
        self.behind += 1;
        let value;
        (value, *words) = decide(*option);
        value
    }

    /// The action of a group; one without actions has none.
    pub(crate) fn member<'a>(&mut self, program: &Program, group: &'a Group) -> Option<&'a ActionCall> {
        let members: Vec<_> = group.members().collect();
        (!members.is_empty()).then(|| {
            self.choose(members.len(), |option| {
                let (call, of) = (members[option], members.len());
                let action = &program.actions[call.action.index()];
                let arguments = action.shown(&call.arguments).into_iter();
                let arguments: Vec<_> = arguments.map(|(name, value)| format!("{name}={value}")).collect();
                (call, format!("member {} of {of}: {}({})", option + 1, action.name, arguments.join(" ")))
            })
        })
    }

    /// A value of `random`, or the one drawn.
    pub(crate) fn value(&mut self, low: u128, high: u128, drawn: u128) -> u128 {
        let all = high - low < ALL;
        self.choose(if all { (high - low) as usize + 1 } else { 3 }, |option| {
            let value = if all { low + option as u128 } else { [low, high, drawn][option] };
            (value, format!("random {value} of {low}..{high}{}", if all { "" } else { " (a sample)" }))
        })
    }

    /// The decisions of the run, in words and in their order.
    pub fn decisions(&self) -> Vec<String> {
        self.made.iter().map(|(_, _, words)| words.clone()).collect()
    }

    /// The choices of the next way, if there is one.
    pub fn next(mut self) -> Option<Choices> {
        while self.made.last().is_some_and(|(option, options, _)| option + 1 == *options) {
            self.made.pop();
        }
        self.made.last_mut()?.0 += 1;
        Some(Choices { behind: 0, ..self })
    }
}
