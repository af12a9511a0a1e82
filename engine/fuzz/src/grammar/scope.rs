// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names that statements and expressions may use.

use std::fmt;

/// Type of a scalar.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Type {
    Bool,
    /// `bit` with this width.
    Bits(u32),
    /// `int` with this width.
    Int(u32),
}

impl Type {
    pub(super) fn width(self) -> u32 {
        match self {
            Type::Bool => 1,
            Type::Bits(width) | Type::Int(width) => width,
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Bool => f.write_str("bool"),
            Type::Bits(width) => write!(f, "bit<{width}>"),
            Type::Int(width) => write!(f, "int<{width}>"),
        }
    }
}

/// A scalar variable or field.
#[derive(Clone, Debug)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) ty: Type,
    pub(super) writable: bool,
}

/// A header type. Its number gives its name.
#[derive(Debug)]
pub(super) struct HeaderType {
    pub(super) fields: Vec<(String, Type)>,
    /// Largest width of the varbit at its end.
    pub(super) varbit: Option<u32>,
}

/// A header, or an element of a stack with a constant index.
#[derive(Clone, Debug)]
pub(super) struct Header {
    pub(super) name: String,
    pub(super) of: usize,
    /// Whether the deparser emits it by itself, and not as part of a stack.
    alone: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Stack {
    pub(super) name: String,
    pub(super) of: usize,
    pub(super) len: usize,
}

#[derive(Clone, Debug)]
pub(super) struct Action {
    pub(super) name: String,
    /// Types of its parameters, which a caller or an entry supplies.
    pub(super) params: Vec<Type>,
}

/// All names that can be used.
#[derive(Default, Debug)]
pub(super) struct Scope {
    pub(super) header_types: Vec<HeaderType>,
    pub(super) headers: Vec<Header>,
    pub(super) stacks: Vec<Stack>,
    pub(super) variables: Vec<Variable>,
    pub(super) registers: Vec<(String, Type)>,
    pub(super) counters: Vec<String>,
    pub(super) actions: Vec<Action>,
    /// Tables that are not applied yet, with the actions of each.
    pub(super) tables: Vec<(String, Vec<String>)>,
    /// Whether the present statements are in an action, which can have neither tables nor `switch`.
    pub(super) in_action: bool,
}

/// Number of variables when a block began.
#[derive(Clone, Copy)]
pub(super) struct Outside(usize);

impl Scope {
    pub(super) fn add_header_type(&mut self, fields: Vec<(String, Type)>, varbit: Option<u32>) {
        self.header_types.push(HeaderType { fields, varbit });
    }

    pub(super) fn add_header(&mut self, name: String, of: usize) {
        self.add_fields(&name, of);
        self.headers.push(Header { name, of, alone: true });
    }

    pub(super) fn add_stack(&mut self, name: &str, of: usize, len: usize) {
        for element in 0..len {
            let name = format!("{name}[{element}]");
            self.add_fields(&name, of);
            self.headers.push(Header { name, of, alone: false });
        }
        self.stacks.push(Stack { name: name.to_owned(), of, len });
    }

    fn add_fields(&mut self, header: &str, of: usize) {
        let fields = &self.header_types[of].fields;
        let variables = fields.iter().map(|(field, ty)| (format!("{header}.{field}"), *ty));
        self.variables.extend(variables.map(|(name, ty)| Variable { name, ty, writable: true }));
    }

    pub(super) fn add_variable(&mut self, name: String, ty: Type) {
        self.variables.push(Variable { name, ty, writable: true });
    }

    pub(super) fn add_constant(&mut self, name: String, ty: Type) {
        self.variables.push(Variable { name, ty, writable: false });
    }

    pub(super) fn add_standard_metadata(&mut self) {
        for (name, width, writable) in [
            ("egress_spec", 9, true),
            ("ingress_port", 9, false),
            ("packet_length", 32, false),
            ("enq_qdepth", 19, false),
            ("deq_timedelta", 32, false),
        ] {
            self.variables.push(Variable { name: format!("sm.{name}"), ty: Type::Bits(width), writable });
        }
    }

    /// Removes standard metadata: controls after egress do not have it.
    pub(super) fn forget_standard_metadata(&mut self) {
        self.variables.retain(|variable| !variable.name.starts_with("sm."));
    }

    /// Begins a block.
    pub(super) fn enter(&self) -> Outside {
        Outside(self.variables.len())
    }

    /// Ends a block, and removes its names.
    pub(super) fn leave(&mut self, Outside(variables): Outside) {
        self.variables.truncate(variables);
    }

    /// Fields of headers.
    pub(super) fn fields(&self) -> Vec<(String, Type)> {
        let fields = self.variables.iter().filter(|variable| variable.name.starts_with("hdr."));
        fields.map(|variable| (variable.name.clone(), variable.ty)).collect()
    }

    /// Headers and whole stacks.
    pub(super) fn emitted(&self) -> Vec<String> {
        let alone = self.headers.iter().filter(|header| header.alone).map(|header| header.name.clone());
        alone.chain(self.stacks.iter().map(|stack| stack.name.clone())).collect()
    }
}
