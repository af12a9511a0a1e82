// SPDX-License-Identifier: MIT OR Apache-2.0
//! Actions and tables.

use num_bigint::BigUint;

use super::Writer;
use super::scope::{Action, Type};

/// A component of a key.
struct Key {
    kind: &'static str,
    width: u32,
}

impl Writer<'_> {
    pub(super) fn action(&mut self) -> String {
        let name = self.name("a");
        let outside = self.scope.enter();
        let params: Vec<(String, Type)> =
            (0..self.input.below(4)).map(|_| (self.name("p"), Type::Bits(self.width()))).collect();
        for (param, ty) in &params {
            self.scope.add_constant(param.clone(), *ty);
        }
        self.scope.in_action = true;
        let body = self.block(1, 4);
        self.scope.in_action = false;
        self.scope.leave(outside);
        let declared: Vec<String> = params.iter().map(|(param, ty)| format!("{ty} {param}")).collect();
        let action = Action { name: name.clone(), params: params.into_iter().map(|(_, ty)| ty).collect() };
        self.scope.actions.push(action);
        format!("    action {name}({}) {body}", declared.join(", "))
    }

    pub(super) fn table(&mut self) -> String {
        let name = self.name("t");
        let counter = (self.input.below(3) == 2).then(|| self.name("d"));
        let mut text = String::new();
        if let Some(counter) = &counter {
            text += &format!("    direct_counter(CounterType.packets_and_bytes) {counter};\n");
        }
        text += &format!("    table {name} {{\n        key = {{\n");
        let keys: Vec<Key> = (0..self.input.below(4)).map(|number| self.key(number, &mut text)).collect();
        text += "        }\n        actions = { NoAction;";
        let mut actions = vec![Action { name: "NoAction".to_owned(), params: Vec::new() }];
        for action in self.scope.actions.clone() {
            if self.input.below(4) > 0 {
                text += &format!(" {};", action.name);
                actions.push(action);
            }
        }
        text += &format!(" }}\n        default_action = {};\n        size = 20;\n", self.action_call(&actions));
        if let Some(counter) = &counter {
            text += &format!("        counters = {counter};\n");
        }
        if !keys.is_empty() && self.input.below(2) == 1 {
            text += self.one_of(&["        entries = {\n", "        const entries = {\n"]);
            for number in 0..self.input.below(4) as u32 {
                let sets: Vec<String> = keys.iter().map(|key| self.key_set(key, number)).collect();
                text += &format!("            ({}): {};\n", sets.join(", "), self.action_call(&actions));
            }
            text += "        }\n";
        }
        self.scope.tables.push((name, actions.into_iter().map(|action| action.name).collect()));
        text + "    }\n"
    }

    fn key(&mut self, number: usize, text: &mut String) -> Key {
        const KINDS: [&str; 4] = ["exact", "ternary", "range", "optional"];
        let ty = match self.input.below(3) {
            2 => Type::Bits(self.one_of(&[8, 16, 32])),
            _ => Type::Bits(self.width()),
        };
        let kind = match self.input.below(8) {
            // At most one `lpm` key.
            7 if number == 0 => "lpm",
            other => KINDS[other % 4],
        };
        *text += &format!("            {}: {kind} @name(\"k{number}\");\n", self.expr(ty, 1));
        Key { kind, width: ty.width() }
    }

    fn action_call(&mut self, actions: &[Action]) -> String {
        let action = &actions[self.input.below(actions.len())];
        let args: Vec<String> = action.params.iter().map(|&ty| self.literal(ty)).collect();
        format!("{}({})", action.name, args.join(", "))
    }

    /// The match of entry `number` for a key component.
    fn key_set(&mut self, key: &Key, number: u32) -> String {
        let width = key.width;
        let literal = |value: &BigUint| format!("{width}w{value}");
        let all = (BigUint::from(1u32) << width) - 1u32;
        match key.kind {
            "exact" => literal(&(BigUint::from(number) & all)),
            "ternary" if self.input.below(4) > 0 => {
                format!("{} &&& {}", literal(&self.value(width)), literal(&self.value(width)))
            }
            "range" if self.input.below(4) > 0 => {
                let (one, other) = (self.value(width), self.value(width));
                format!("{} .. {}", literal((&one).min(&other)), literal((&one).max(&other)))
            }
            "lpm" => {
                let prefix = self.input.below(width as usize + 1) as u32;
                let mask = &all ^ (&all >> prefix);
                format!("{} &&& {}", literal(&(self.value(width) & &mask)), literal(&mask))
            }
            "optional" if self.input.below(2) == 1 => literal(&self.value(width)),
            _ => "_".to_owned(),
        }
    }
}
