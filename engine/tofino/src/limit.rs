// SPDX-License-Identifier: MIT OR Apache-2.0
//! The closed list of what Tofino cannot do.
//!
//! Ids are stable: `E10` stateful ALUs, `E11` accesses of registers, `E12` parsers and deparsers, `E13` conditions,
//! `E14` actions, `E15` tables, `E16` placement, `W10` and `W12` warnings. Each has a case in `tests/err`.

use marklab_p4::problems;

problems! {
    /// What Tofino cannot do, with the text of the message.
    Limit;

    "E1001" RegisterElement { register: String, bits: String } =
        "register `{register}` has elements of {bits} bits, which no stateful ALU can work on";
    "E1002" RegisterActions { register: String, found: usize, limit: usize } =
        "register `{register}` has {found} different uses, and its ALU can have {limit}";
    "E1003" Comparisons { action: String, found: usize, limit: usize } =
        "`{action}` needs {found} comparisons, and the ALU has {limit}";
    "E1004" ComparisonForm { what: &'static str } =
        "a comparison takes at most one word of the register, one value of the packet and one constant: this has {what}";
    "E1005" ComparisonOperand {} = "the ALU cannot calculate this for a comparison";
    "E1006" ReadsWritten { word: String } =
        "this reads `{word}` after a write: the ALU sees the old value of the register";
    "E1007" Values { word: &'static str, found: usize, limit: usize } =
        "the ALU would have to choose among {found} values for {word}, and can choose among {limit}";
    "E1008" NotExclusive { name: String } = "`{name}` is written twice on the same path";
    "E1009" OneOperation {} = "an assignment can do one operation, and this has more";
    "E1010" NoOperation { op: &'static str } = "a stateful ALU has no `{op}`";
    "E1011" OperandPlaces { left: &'static str, right: &'static str } =
        "an operation takes a word of the register or a constant, and a value of the packet, a constant or a result of a math unit: this has {left} and {right}";
    "E1012" ConstantRows { register: String, found: usize, limit: usize } =
        "the actions of `{register}` use {found} constants outside of -8..7, and there is room for {limit}";
    "E1013" PacketInputs { register: String, found: usize, limit: usize } =
        "the actions of `{register}` use {found} values of the packet, and {limit} reach the ALU";
    "E1014" OperandWidth { width: u32, word: u32 } = "a value of {width} bits does not fit into an ALU of {word} bits";
    "E1015" OneResult { action: String } =
        "the result of `{action}` comes from different sources, and only one can be wired to the output";
    "E1016" ResultNotStored {} =
        "with two words in an element, only an old word, a stored word, a value of the packet or a power of two can be returned";
    "E1017" ReadsResult {} = "the result cannot be read";
    "E1018" OneBit {} = "an element of one bit can be set, cleared and read, without conditions or operations";
    "E1019" SignedDifference { width: u32, word: u32 } =
        "an ALU of {word} bits cannot see the sign of a sum or difference of {width} bits";
    "E1020" ComparedConstant { value: String } = "{value} is too large a constant for an unsigned comparison";
    "E1021" MathUnits { register: String } = "the actions of `{register}` use different math units, and its ALU has one";
    "E1022" MathToHigh {} = "a math unit can only write the first word of an element";
    "E1023" SliceOfWord {} = "a stateful ALU cannot take a slice of a word of the register";
    "E1024" WideWord { width: u32 } = "an ALU cannot assign {width} bits at once";
    "E1025" ConditionValue {} = "a comparison can be a condition or the result, but no other value";
    "E1026" CastDifference {} =
        "the ALU compares this difference without wrapping it to its width, and so gets another sign";
    "E1027" NotInAlu { what: &'static str } = "a stateful ALU cannot execute {what}";
    "E1028" ConditionalOperand {} =
        "the value of an operand depends on conditions, so the ALU cannot calculate with it";

    "E1101" ExecutedTwice { register: String, action: String } = "`{action}` uses register `{register}` twice";
    "E1102" AccessedTwice { register: String } =
        "the same packet uses register `{register}` here and before, and a packet gets one access";
    "E1103" BothGresses { register: String } =
        "register `{register}` is used in ingress and in egress, which cannot share registers";
    "E1104" RegisterIndex { register: String } =
        "the index of `{register}` must be a field, a constant or a hash, and cannot be calculated here";
    "E1105" IndexDiffers { object: String } =
        "the index of `{object}` differs from the one elsewhere in the table, which has one address for it";
    "E1106" NotAllObjects { action: String, used: String, unused: String } =
        "`{action}` uses `{used}` and not `{unused}`, and its table has one address for both";
    "E1107" MixedObjects { table: String, one: String, other: String } =
        "`{one}` and `{other}` differ in kind or width, and table `{table}` has one address for both";
    "E1108" NotEveryAction { object: String, table: String } =
        "every action of table `{table}` must use `{object}`, and in the same way, since entries cannot choose";

    "E1201" AdvanceConstant {} = "a parser can advance by constants only";
    "E1202" ParserAlignment { state: String } = "state `{state}` does not advance by whole bytes";
    "E1203" SelectBits { found: u32, limit: u32 } =
        "this `select` uses {found} bits, and a state of the parser can match {limit}";
    "E1204" ParseDepth { found: u64, limit: u32 } =
        "the egress parser goes {found} bytes deep, and the limit is {limit}";
    "E1205" WrittenTwice { field: String } = "`{field}` is written twice, and a parser can write a field only once";
    "E1206" ParserCalculation { field: String } = "a parser cannot calculate a value for `{field}`";
    "E1207" Checksums { found: usize, limit: usize } =
        "{found} checksums are calculated, and the deparser has units for {limit}";
    "E1208" NotInDeparser {} = "a deparser can only emit, update checksums and send copies and digests";
    "E1209" ConditionalEmit {} = "a header is emitted if it is valid, and no other condition is possible";
    "E1210" CopiedBytes { what: &'static str, found: u32, limit: u32 } =
        "{found} bytes are {what}, and there is room for {limit}";
    "E1211" ParserRows { found: u64, limit: u64 } =
        "the states up to this one have {found} transitions, and a parser has rows for {limit}";

    "E1301" ConditionOperand {} = "a condition can compare fields and constants, but cannot calculate this";
    "E1302" OrderOfFields {} = "a condition can tell the order of a field and a constant, not of two fields";
    "E1303" RangeBits { found: u32, limit: u32 } =
        "this condition tests the order of {found} bits, and a gateway can test {limit}";
    "E1304" GatewayBits { found: u32, limit: u32 } = "this condition needs {found} bits, and a gateway sees {limit}";
    "E1305" EqualFields { width: u32, limit: u32 } =
        "fields of {width} bits are compared, and a gateway can compare {limit}";
    "E1306" ConditionRows { found: usize, limit: usize } =
        "this condition has {found} or more alternatives, and p4c splits at most {limit} over gateways";

    "E1307" ConditionCalculated {} =
        "a calculation in `apply` becomes part of the condition that reads it, and a condition cannot calculate";

    "E1401" MoreThanOneStep {} = "this takes more than one operation, and an action can do one for each field";
    "E1402" ReadsCalculated { field: String } =
        "this reads `{field}`, which the same action calculates: all operations of an action happen at once";
    "E1403" NoInstruction { op: &'static str } = "Tofino has no `{op}`";
    "E1404" ShiftCount {} = "Tofino shifts by constants only";
    "E1405" ConditionInAction {} = "a condition in an action can only test parameters, which come from the table entry";
    "E1406" OperationWidth { width: u32, limit: u32 } = "this operation has {width} bits, and the limit is {limit}";
    "E1407" SubtractsParameter {} = "a parameter of an action cannot be subtracted";
    "E1408" TwoRandomNumbers {} = "an action can get only one random number";
    "E1409" HashedParameter {} = "a parameter of an action cannot be hashed";
    "E1410" DefaultNeedsHash { action: String, table: String } =
        "this needs a hash or a random number, so `{action}` cannot be the default of `{table}`";
    "E1411" FilterInput {} = "the input of a filter must be a field";
    "E1412" KeylessNeedsHash { action: String, table: String } =
        "this needs a hash or a random number, so `{action}` must be the only action of `{table}`, and have no parameters";
    "E1413" NoFieldOperand {} = "one operand must be a field, and these are parameters or constants";

    "E1501" AppliedTwice { table: String } = "table `{table}` is applied twice to the same packet";
    "E1502" RangeKey { key: String, width: u32, limit: u32 } =
        "key `{key}` has {width} bits, and a `range` key can have {limit}";
    "E1506" RangeNibbles { key: String, low: u32, found: u32, limit: u32 } =
        "key `{key}` begins at bit {low} of its field and touches {found} groups of 4 bits, and a `range` key can touch {limit}";
    "E1503" MixedKeys { table: String, kind: &'static str } = "table `{table}` has both `lpm` and `{kind}` keys";
    "E1504" ResultInCondition {} = "the result of a table cannot be part of a larger condition";
    "E1505" TernaryBits { table: String, found: u64, limit: u64 } =
        "table `{table}` needs {found} bits of TCAM, and all stages have {limit}";

    "E1601" Stages { found: usize, limit: usize, chain: String } =
        "the program takes {found} stages, and the chip has {limit}; the longest chain of dependent tables is {chain}";
    "E1602" RegisterMemory { register: String, found: usize, limit: usize } =
        "register `{register}` takes {found} blocks of SRAM, and its ALU reaches {limit}";
    "E1603" RegisterStages { register: String } =
        "all uses of register `{register}` must be in one stage, but this one depends on a table that waits for another";

    "W1001" NoWrap {} = "the ALU compares this sum or difference in 34 bits: it does not wrap, unlike in P4";
    "W1201" MaybeWrittenTwice { field: String } =
        "`{field}` is written here and, on some paths, before: Tofino 1 then ORs both values";
}
