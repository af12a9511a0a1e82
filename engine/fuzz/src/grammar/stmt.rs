// SPDX-License-Identifier: MIT OR Apache-2.0
//! Statements of controls and actions.

use super::Writer;
use super::expr::convert;
use super::scope::{Type, Variable};

/// Largest depth of nested loops.
const MOST_LOOPS: usize = 2;

impl Writer<'_> {
    /// A block of up to `most` statements, with blocks nested at most `depth` deep.
    pub(super) fn block(&mut self, depth: u32, most: usize) -> String {
        let outside = self.scope.enter();
        let mut text = String::from("{\n");
        for _ in 0..self.input.below(most + 1) {
            if self.statements == 0 {
                break;
            }
            self.statements -= 1;
            text += "    ";
            text += &self.statement(depth);
            text.push('\n');
        }
        self.scope.leave(outside);
        text + "}\n"
    }

    fn statement(&mut self, depth: u32) -> String {
        match self.input.below(28) {
            0..=3 => self.assignment(),
            4 => self.compound_assignment(),
            5 => self.slice_assignment(),
            6 | 7 if depth > 0 => self.choice(depth - 1),
            8 if depth > 0 && !self.scope.in_action => self.switch(depth - 1),
            9 if depth > 0 && self.loops < MOST_LOOPS => self.repetition(depth - 1),
            10 | 11 => self.validity(),
            12 => {
                let (left, right) = self.alike();
                format!("{left} = {right};")
            }
            13 => self.stack_operation(),
            14 | 15 => self.stack_access(),
            16 | 17 => self.register_access(),
            18 => self.count(),
            19 => self.local(),
            20 => self.hash(),
            21..=23 => self.apply_table(depth),
            24 => self.call_action(),
            25 => self.effect(),
            26 if self.loops > 0 => self.one_of(&["break;", "continue;"]).to_owned(),
            // Only in an `if`: the statements behind an unconditional exit would be unreachable.
            27 if depth > 0 => {
                format!("if ({}) {{ {} }}", self.expr(Type::Bool, 1), self.one_of(&["exit;", "return;"]))
            }
            _ => self.assignment(),
        }
    }

    fn writable(&mut self, is: impl Fn(Type) -> bool) -> Option<Variable> {
        let mut places = self.places(is);
        places.retain(|&at| self.scope.variables[at].writable);
        (!places.is_empty()).then(|| self.scope.variables[places[self.input.below(places.len())]].clone())
    }

    /// A variable that can be written. There is always `egress_spec`.
    fn target(&mut self) -> Variable {
        self.writable(|_| true).expect("egress_spec")
    }

    fn assignment(&mut self) -> String {
        let Variable { name, ty, .. } = self.target();
        format!("{name} = {};", self.expr(ty, 3))
    }

    fn compound_assignment(&mut self) -> String {
        let operator = self.one_of(&["+", "-", "*", "&", "|", "^", "|+|", "|-|", "<<", ">>"]);
        let Some(Variable { name, ty, .. }) = self.writable(|ty| ty != Type::Bool) else { return self.assignment() };
        let amount = if matches!(operator, "<<" | ">>") { Type::Bits(8) } else { ty };
        format!("{name} {operator}= {};", self.expr(amount, 2))
    }

    fn slice_assignment(&mut self) -> String {
        let Some(Variable { name, ty, .. }) = self.writable(|ty| ty != Type::Bool) else { return self.assignment() };
        let low = self.input.below(ty.width() as usize) as u32;
        let high = low + self.input.below((ty.width() - low) as usize) as u32;
        format!("{name}[{high}:{low}] = {};", self.expr(Type::Bits(high - low + 1), 2))
    }

    fn choice(&mut self, depth: u32) -> String {
        let condition = self.expr(Type::Bool, 2);
        let then = self.block(depth, 3);
        if self.input.below(2) == 0 {
            return format!("if ({condition}) {then}");
        }
        format!("if ({condition}) {then} else {}", self.block(depth, 3))
    }

    fn switch(&mut self, depth: u32) -> String {
        let ty = Type::Bits(self.one_of(&[8, 2, 33, 64, 100, 200]));
        let mut text = format!("switch ({}) {{\n", self.expr(ty, 2));
        let mut next = 0;
        for _ in 0..self.input.below(4) {
            // About a quarter of the labels get an empty block.
            let (label, falls_through) = (next, self.input.below(4) == 3);
            next += 1 + self.input.below(3);
            if next > 4 {
                break;
            }
            text += &format!("{}w{label}: ", ty.width());
            if !falls_through {
                text += &self.block(depth, 2);
            } else {
                text += "{ }\n";
            }
        }
        if self.input.below(2) == 1 {
            text += &format!("default: {}", self.block(depth, 2));
        }
        text + "}"
    }

    fn repetition(&mut self, depth: u32) -> String {
        self.loops += 1;
        let (name, ty, most) = (self.name("i"), Type::Bits(self.one_of(&[8, 4, 65])), self.input.below(6));
        let outside = self.scope.enter();
        self.scope.add_constant(name.clone(), ty);
        let head = match self.input.below(2) {
            0 => format!("{ty} {name} = 0; {name} < {most}; {name} += 1"),
            _ => format!("{ty} {name} in 1 .. {}", most + 1),
        };
        let body = self.block(depth, 3);
        self.scope.leave(outside);
        self.loops -= 1;
        format!("for ({head}) {body}")
    }

    fn validity(&mut self) -> String {
        let header = self.scope.headers[self.input.below(self.scope.headers.len())].name.clone();
        format!("{header}.{}();", self.one_of(&["setValid", "setInvalid"]))
    }

    fn stack_operation(&mut self) -> String {
        if self.scope.stacks.is_empty() {
            return self.validity();
        }
        let stack = self.scope.stacks[self.input.below(self.scope.stacks.len())].clone();
        let operation = self.one_of(&["push_front", "pop_front"]);
        format!("{}.{operation}({});", stack.name, 1 + self.input.below(stack.len))
    }

    /// Reads or writes an element of a stack that is chosen at run time.
    fn stack_access(&mut self) -> String {
        if self.scope.stacks.is_empty() {
            return self.assignment();
        }
        let stack = self.scope.stacks[self.input.below(self.scope.stacks.len())].clone();
        let element = format!("{}[{}]", stack.name, self.index());
        let fields = self.scope.header_types[stack.of].fields.clone();
        let (field, ty) = fields[self.input.below(fields.len())].clone();
        match self.input.below(5) {
            0 | 1 => format!("{element}.{field} = {};", self.expr(ty, 2)),
            2 | 3 => {
                let Variable { name, ty: to, .. } = self.target();
                format!("{name} = {};", convert(format!("{element}.{field}"), ty, to))
            }
            _ => format!("{element}.{}();", self.one_of(&["setValid", "setInvalid"])),
        }
    }

    fn register_access(&mut self) -> String {
        if self.scope.registers.is_empty() {
            return self.assignment();
        }
        let (register, ty) = self.scope.registers[self.input.below(self.scope.registers.len())].clone();
        let index = format!("(bit<32>)({})", self.index());
        match self.input.below(2) {
            0 => format!("{register}.write({index}, {});", self.expr(ty, 2)),
            _ => match self.writable(|known| known == ty) {
                Some(to) => format!("{register}.read({}, {index});", to.name),
                None => {
                    let (name, to) = (self.name("v"), self.target());
                    let back = convert(name.clone(), ty, to.ty);
                    format!("{{ {ty} {name}; {register}.read({name}, {index}); {} = {back}; }}", to.name)
                }
            },
        }
    }

    fn count(&mut self) -> String {
        match self.scope.counters.first().cloned() {
            Some(counter) => format!("{counter}.count((bit<32>)({}));", self.index()),
            None => self.assignment(),
        }
    }

    fn local(&mut self) -> String {
        let (name, ty) = (self.name("v"), self.scalar_type());
        let text = match self.input.below(4) {
            0 => format!("{ty} {name};"),
            _ => format!("{ty} {name} = {};", self.expr(ty, 2)),
        };
        self.scope.add_variable(name, ty);
        text
    }

    fn hash(&mut self) -> String {
        let Some(to) = self.writable(|ty| matches!(ty, Type::Bits(_))) else { return self.assignment() };
        let base = self.expr(Type::Bits(16), 1);
        let data: Vec<String> = (0..1 + self.input.below(4))
            .map(|_| {
                let ty = self.number_type();
                self.expr(ty, 1)
            })
            .collect();
        let algorithm = self.algorithm();
        let most = self.literal(Type::Bits(32));
        format!("hash({}, {algorithm}, {base}, {{ {} }}, {most});", to.name, data.join(", "))
    }

    fn apply_table(&mut self, depth: u32) -> String {
        if self.scope.in_action || self.scope.tables.is_empty() || depth == 0 || self.loops > 0 {
            return self.assignment();
        }
        let (table, actions) = self.scope.tables.remove(self.input.below(self.scope.tables.len()));
        match self.input.below(4) {
            0 | 1 => format!("{table}.apply();"),
            2 => {
                let way = self.one_of(&["hit", "miss"]);
                let (then, otherwise) = (self.block(depth - 1, 2), self.block(depth - 1, 2));
                format!("if ({table}.apply().{way}) {then} else {otherwise}")
            }
            _ => {
                let cases: String =
                    actions.iter().map(|action| format!("{action}: {}", self.block(depth - 1, 2))).collect();
                format!("switch ({table}.apply().action_run) {{\n{cases}}}")
            }
        }
    }

    fn call_action(&mut self) -> String {
        if self.scope.in_action || self.scope.actions.is_empty() {
            return self.assignment();
        }
        let action = self.scope.actions[self.input.below(self.scope.actions.len())].clone();
        let args: Vec<String> = action.params.iter().map(|&ty| self.expr(ty, 1)).collect();
        format!("{}({});", action.name, args.join(", "))
    }

    /// A request to the switch, or a random number.
    fn effect(&mut self) -> String {
        match self.input.below(4) {
            0 => "mark_to_drop(sm);".to_owned(),
            1 => format!("truncate({});", self.expr(Type::Bits(32), 1)),
            2 => {
                let ty = self.scalar_type();
                format!("log_msg(\"{{}}\", {{ {} }});", self.expr(ty, 1))
            }
            _ => match self.writable(|ty| matches!(ty, Type::Bits(width) if width <= 64)) {
                Some(Variable { name, ty, .. }) => {
                    format!("random({name}, {}, {});", self.literal(ty), self.literal(ty))
                }
                None => self.assignment(),
            },
        }
    }
}
