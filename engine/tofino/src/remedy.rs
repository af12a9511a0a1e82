// SPDX-License-Identifier: MIT OR Apache-2.0
//! What to do about each limit.

use crate::limit::Limit;

impl Limit {
    /// How the program can be changed.
    pub fn remedy(&self) -> &'static str {
        let remedy = self
            .remedy_in_alu()
            .or_else(|| self.remedy_of_access())
            .or_else(|| self.remedy_of_step())
            .or_else(|| self.remedy_of_ends());
        remedy.unwrap_or("see docs/tofino.md")
    }

    fn remedy_in_alu(&self) -> Option<&'static str> {
        Some(match self {
            Limit::RegisterElement { .. } => "use 1, 8, 16 or 32 bits, or a struct of two fields of 8, 16 or 32 bits",
            Limit::RegisterActions { .. } => {
                "merge two `RegisterAction`s into one that a value of the packet controls, or use another register"
            }
            Limit::Comparisons { .. } => {
                "compare values of the packet in an earlier table, and pass the result in a separate field"
            }
            Limit::ComparisonForm { .. } => "calculate part of it in an earlier action, and compare with the result",
            Limit::ComparisonOperand {} => {
                "compare plain values, sums or differences; calculate others in an earlier action"
            }
            Limit::ReadsWritten { .. } => "read it before it is written, or calculate it from the old value",
            Limit::Values { .. } => "let branches share values, or keep some of them in another register",
            Limit::NotExclusive { .. } => "write it once on each path, with `if` and `else`",
            Limit::OneOperation {} => "calculate one of the operands in an earlier action",
            Limit::NoOperation { .. } => "calculate it in an earlier action, or approximate it with a `MathUnit`",
            Limit::OperandPlaces { .. } => "calculate in an earlier action, so that one value of the packet is left",
            Limit::ConstantRows { .. } => "pass some of them in fields of the packet, which an earlier action sets",
            Limit::PacketInputs { .. } => "combine values of the packet in an earlier action",
            Limit::OperandWidth { .. } => "take a slice of it",
            Limit::OneResult { .. } => "return one kind of value, and distinguish the cases by another field",
            Limit::ResultNotStored {} => "return a word or a flag, and calculate with it in a later action",
            Limit::ReadsResult {} => "use the word, or a variable of the body",
            Limit::OneBit {} => "use elements of 8 bits to do more",
            Limit::SignedDifference { .. } => "make it as wide as the element",
            Limit::ComparedConstant { .. } => "compare with a constant below 2^31, or with a value of the packet",
            Limit::MathUnits { .. } => "give them the same setting, or use another register",
            Limit::MathToHigh {} => {
                "swap the fields of the element, and write the result of the unit to the first word only"
            }
            Limit::SliceOfWord {} => "return the whole word and take the slice in a later action",
            Limit::WideWord { .. } => "use a struct of two fields",
            Limit::ConditionValue {} => "use `if` with an assignment on each side",
            Limit::CastDifference {} => "subtract signed values: `(int<32>)a - (int<32>)b`",
            Limit::NotInAlu { .. } => "do it outside of the register action, with its result",
            Limit::ConditionalOperand {} => "assign to it without a condition, or write the operation in each branch",
            Limit::NoWrap {} => "this is fine if it cannot exceed its width or be negative; else compare signed values",
            _ => return None,
        })
    }

    fn remedy_of_access(&self) -> Option<&'static str> {
        Some(match self {
            Limit::ExecutedTwice { .. } | Limit::AccessedTwice { .. } => {
                "do both in one `RegisterAction`, or let each packet use only one of them"
            }
            Limit::BothGresses { .. } => {
                "declare one register for each, and carry values that the other gress needs in a header"
            }
            Limit::RegisterIndex { .. } => "calculate it in an earlier action, into a separate field",
            Limit::NotAllObjects { .. } => "use one object with different indices, or one table for each object",
            Limit::MixedObjects { .. } => "use a separate table for each",
            Limit::NotEveryAction { .. } => {
                "use it in all actions, or give the table a key and let entries supply the index"
            }
            Limit::IndexDiffers { .. } => "let an earlier action put the index into one field",
            Limit::AppliedTwice { .. } => "apply it once, or declare a second table",
            _ => return None,
        })
    }

    fn remedy_of_step(&self) -> Option<&'static str> {
        Some(match self {
            Limit::ConditionOperand {} => "calculate it in an earlier action, into a separate field",
            Limit::ConditionCalculated {} => "calculate it in an action, and call the action",
            Limit::OrderOfFields {} => {
                "subtract them in an earlier action with `|-|`, and compare the result with 0; or use a register"
            }
            Limit::RangeBits { .. } => {
                "compare with a multiple of a power of two, which needs fewer bits; or use a table with a `range` key"
            }
            Limit::GatewayBits { .. } => "split it into two `if`s, or use a table",
            Limit::EqualFields { .. } => "compare their parts in two `if`s",
            Limit::ConditionRows { .. } => "use a table with constant entries",
            Limit::MoreThanOneStep {} => "calculate part of it earlier, into a separate field: each part takes a stage",
            Limit::ReadsCalculated { .. } => "read the field in a later action",
            Limit::NoInstruction { .. } => "shift, or get the result from a table or a `MathUnit`",
            Limit::ShiftCount {} => "let a table choose among actions that shift by constants",
            Limit::ConditionInAction {} => "put the `if` into the `apply` block, or the condition into a key",
            Limit::OperationWidth { .. } => "use only the bits that matter",
            Limit::SubtractsParameter {} => "let the entry supply the negative value, and add it",
            Limit::NoFieldOperand {} => "let the entry supply the result",
            Limit::TwoRandomNumbers {} => "use parts of one number, or a second action",
            Limit::HashedParameter {} => "put it into a field in an earlier action",
            Limit::DefaultNeedsHash { .. } => {
                "do it in an action before the table, or in one after a miss; an index from the packet counts as a hash"
            }
            Limit::KeylessNeedsHash { .. } => "give the table a key, or do it in the `apply` block",
            Limit::FilterInput {} => "put it into a field in an earlier action",
            _ => return None,
        })
    }

    /// Parsers, deparsers and tables.
    fn remedy_of_ends(&self) -> Option<&'static str> {
        Some(match self {
            Limit::AdvanceConstant {} => "select by the length, with one state for each length",
            Limit::ParserAlignment { .. } => "extract or skip whole bytes",
            Limit::SelectBits { .. } => "select by some of them, and by the rest in the next state",
            Limit::ParserRows { .. } => "let a table distinguish the cases",
            Limit::ParseDepth { .. } => "leave inner headers unparsed in egress",
            Limit::WrittenTwice { .. } | Limit::MaybeWrittenTwice { .. } => {
                "write it in one state on each path, or in the control after the parser"
            }
            Limit::ParserCalculation { .. } => "calculate it in the control after the parser",
            Limit::Checksums { .. } => "calculate one of them in the other gress",
            Limit::NotInDeparser {} => "do it at the end of the control before the deparser",
            Limit::ConditionalEmit {} => "set the header invalid in the control before the deparser",
            Limit::CopiedBytes { .. } => "leave out values that the packet has anyway",
            Limit::RangeKey { .. } => "use its upper bits, or several tables",
            Limit::RangeNibbles { .. } => "let it begin at a multiple of 4 bits",
            Limit::MixedKeys { .. } => "make all of them `ternary`",
            Limit::ResultInCondition {} => "test the result in a separate `if`",
            Limit::Stages { .. } => "let tables of the chain depend on earlier values, or remove some of them",
            Limit::RegisterMemory { .. } => "use fewer or narrower elements, or several registers",
            Limit::RegisterStages { .. } => "use a single access, at a place where all of its inputs are known",
            Limit::TernaryBits { .. } => "make the table smaller",
            _ => return None,
        })
    }
}
