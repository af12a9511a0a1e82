// SPDX-License-Identifier: MIT OR Apache-2.0
//! What to do about each limit.

use crate::limit::Limit;

impl Limit {
    /// How the program can be written instead.
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
            Limit::RegisterElement { .. } => "take 1, 8, 16 or 32 bits, or a struct of two fields of 8, 16 or 32 bits",
            Limit::RegisterActions { .. } => {
                "let one `RegisterAction` do the work of two, chosen by a value of the packet, or take another register"
            }
            Limit::Comparisons { .. } => {
                "compare values of the packet in a table before, and pass the outcome in a field of its own"
            }
            Limit::ComparisonForm { .. } => "calculate part of it in an action before, and compare with that",
            Limit::ComparisonOperand {} => "compare plain values, sums or differences; calculate others before",
            Limit::ReadsWritten { .. } => "read it before it is written, or express it by what was held before",
            Limit::Values { .. } => "let branches share values, or keep some of them in another register",
            Limit::NotExclusive { .. } => "write it once on each path, by `if` and `else`",
            Limit::OneOperation {} => "calculate one of the operands in an action before",
            Limit::NoOperation { .. } => "calculate it in an action before, or approximate it by a `MathUnit`",
            Limit::OperandPlaces { .. } => "calculate in an action before, so that one value of the packet is left",
            Limit::ConstantRows { .. } => "pass some of them in fields of the packet, set by an action before",
            Limit::PacketInputs { .. } => "combine values of the packet in an action before",
            Limit::OperandWidth { .. } => "take a slice of it",
            Limit::OneResult { .. } => "return one kind of value, and tell the cases apart by another field",
            Limit::ResultNotStored {} => "return a word or a flag, and calculate with it in an action after",
            Limit::ReadsResult {} => "use the word, or a variable of the body",
            Limit::OneBit {} => "take 8 bits if there is more to do",
            Limit::SignedDifference { .. } => "make it as wide as the element",
            Limit::ComparedConstant { .. } => "compare with less than 2^31, or with a value of the packet",
            Limit::MathUnits { .. } => "give them the same setting, or take another register",
            Limit::MathToHigh {} => "swap the fields of the element, and write the result of the unit to the word only",
            Limit::SliceOfWord {} => "return the whole word and take the bits in an action after",
            Limit::WideWord { .. } => "take a struct of two fields",
            Limit::ConditionValue {} => "use `if` with an assignment on each side",
            Limit::CastDifference {} => "subtract signed values: `(int<32>)a - (int<32>)b`",
            Limit::NotInAlu { .. } => "do it outside, with what the action returns",
            Limit::ConditionalOperand {} => "assign to it without a condition, or write the operation in each branch",
            Limit::NoWrap {} => "this is fine if it cannot exceed its width or be negative; else compare signed values",
            _ => return None,
        })
    }

    fn remedy_of_access(&self) -> Option<&'static str> {
        Some(match self {
            Limit::ExecutedTwice { .. } | Limit::AccessedTwice { .. } => {
                "do both in one `RegisterAction`, or have each packet take one of them only"
            }
            Limit::BothGresses { .. } => "declare one for each, and carry what the other needs in a header",
            Limit::RegisterIndex { .. } => "calculate it in an action before, into a field of its own",
            Limit::NotAllObjects { .. } => "use one object with another index, or a table for each",
            Limit::MixedObjects { .. } => "take a table for each",
            Limit::NotEveryAction { .. } => {
                "use it in all of them, or give the table a key and let entries supply the index"
            }
            Limit::IndexDiffers { .. } => "let an action before put the index into one field",
            Limit::AppliedTwice { .. } => "apply it once, or declare a second table",
            _ => return None,
        })
    }

    fn remedy_of_step(&self) -> Option<&'static str> {
        Some(match self {
            Limit::ConditionOperand {} => "calculate it in an action before, into a field of its own",
            Limit::ConditionCalculated {} => "calculate it in an action, and call that",
            Limit::OrderOfFields {} => {
                "subtract them in an action before, by `|-|`, and compare with 0; or use a register"
            }
            Limit::RangeBits { .. } => {
                "compare with a power of two or a multiple of one, which drops bits; or use a table with a `range` key"
            }
            Limit::GatewayBits { .. } => "split it into two `if`s, or use a table",
            Limit::EqualFields { .. } => "compare their parts in two `if`s",
            Limit::ConditionRows { .. } => "use a table with constant entries",
            Limit::MoreThanOneStep {} => {
                "calculate a part of it before, into a field of its own: each part takes a stage"
            }
            Limit::ReadsCalculated { .. } => "let an action after it read the field",
            Limit::NoInstruction { .. } => "shift, or look the result up in a table or a `MathUnit`",
            Limit::ShiftCount {} => "let a table choose among actions that shift by constants",
            Limit::ConditionInAction {} => "put the `if` into the `apply` block, or the condition into a key",
            Limit::OperationWidth { .. } => "take the bits that matter",
            Limit::SubtractsParameter {} => "let the entry supply the negative, and add it",
            Limit::NoFieldOperand {} => "let the entry supply the result",
            Limit::TwoRandomNumbers {} => "take parts of one number, or a second action",
            Limit::HashedParameter {} => "put it into a field in an action before",
            Limit::DefaultNeedsHash { .. } => {
                "let an action before the table do it, or an action after a miss; an index of the packet is a hash"
            }
            Limit::KeylessNeedsHash { .. } => "give the table a key, or do it in the `apply` block",
            Limit::FilterInput {} => "put it into a field in an action before",
            _ => return None,
        })
    }

    /// Parsers, deparsers and tables.
    fn remedy_of_ends(&self) -> Option<&'static str> {
        Some(match self {
            Limit::AdvanceConstant {} => "select by the length, with a state for each",
            Limit::ParserAlignment { .. } => "extract or skip whole bytes",
            Limit::SelectBits { .. } => "select by a part of them, and by the rest in a state after",
            Limit::ParserRows { .. } => "let a table tell the cases apart",
            Limit::ParseDepth { .. } => "leave inner headers unparsed in egress",
            Limit::WrittenTwice { .. } | Limit::MaybeWrittenTwice { .. } => {
                "write it in one state on each way, or in the control behind"
            }
            Limit::ParserCalculation { .. } => "calculate it in the control behind",
            Limit::Checksums { .. } => "calculate one of them in the other gress",
            Limit::NotInDeparser {} => "do it at the end of the control before",
            Limit::ConditionalEmit {} => "set the header invalid in the control before",
            Limit::CopiedBytes { .. } => "leave out what can be told from the packet",
            Limit::RangeKey { .. } => "take its upper bits, or several tables",
            Limit::RangeNibbles { .. } => "let it begin at a multiple of 4 bits",
            Limit::MixedKeys { .. } => "let all of them be `ternary`",
            Limit::ResultInCondition {} => "let the result be the condition of an `if` of its own",
            Limit::Stages { .. } => "let tables of the chain depend on what was there before, or do without some",
            Limit::RegisterMemory { .. } => "take fewer or narrower elements, or several registers",
            Limit::RegisterStages { .. } => "let one access stand where all of them can come together",
            Limit::TernaryBits { .. } => "make the table smaller",
            _ => return None,
        })
    }
}
