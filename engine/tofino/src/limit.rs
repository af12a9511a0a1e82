// SPDX-License-Identifier: MIT OR Apache-2.0
//! The closed list of what Tofino cannot do.
//!
//! Ids are stable: `E10` stateful ALUs, `E11` accesses of registers, `E12` parsers and deparsers, `E13` conditions,
//! `E14` actions, `E15` tables, `E16` placement, `W10` and `W12` warnings. Each has a case in `tests/err`.

use marklab_p4::problems;

problems! {
    /// What Tofino cannot do; the text is that of the message.
    Limit;

    "E1001" RegisterElement { register: String, bits: String } =
        "register `{register}` has elements of {bits} bits, which no stateful ALU can work on";
    "E1002" RegisterActions { register: String, found: usize, limit: usize } =
        "register `{register}` is used in {found} ways, and its ALU can be told {limit} apart";
    "E1003" Comparisons { action: String, found: usize, limit: usize } =
        "`{action}` needs {found} comparisons, and the ALU has {limit}";
    "E1004" ComparisonForm { what: &'static str } =
        "a comparison is of one word of the register, one value of the packet and one constant: this has {what}";
    "E1005" ComparisonOperand {} = "the ALU cannot calculate this for a comparison";
    "E1006" ReadsWritten { word: String } =
        "this reads `{word}` after it was written: the ALU sees what the register held before";
    "E1007" Values { word: &'static str, found: usize, limit: usize } =
        "the ALU would have to choose among {found} values for {word}, and it can among {limit}";
    "E1008" NotExclusive { name: String } = "`{name}` is written here and before, on the same path";
    "E1009" OneOperation {} = "one assignment can do one operation, this has more";
    "E1010" NoOperation { op: &'static str } = "a stateful ALU has no `{op}`";
    "E1011" OperandPlaces { left: &'static str, right: &'static str } =
        "one operand is of the register or constant, the other of the packet, constant or of a math unit: these are {left} and {right}";
    "E1012" ConstantRows { register: String, found: usize, limit: usize } =
        "the actions of `{register}` use {found} constants outside of -8..7, and there is room for {limit}";
    "E1013" PacketInputs { register: String, found: usize, limit: usize } =
        "the actions of `{register}` use {found} values of the packet, and {limit} reach the ALU";
    "E1014" OperandWidth { width: u32, word: u32 } = "a value of {width} bits does not fit into an ALU of {word} bits";
    "E1015" OneResult { action: String } =
        "what `{action}` returns comes from different places, and one of them can be wired to the output";
    "E1016" ResultNotStored {} =
        "with two words in an element, only what is stored, held before or of the packet can be returned";
    "E1017" ReadsResult {} = "the result cannot be read";
    "E1018" OneBit {} = "an element of one bit can be set, cleared and read, without conditions or operations";
    "E1019" SignedDifference { width: u32, word: u32 } =
        "the sign of a sum or difference of {width} bits cannot be seen by an ALU of {word} bits";
    "E1020" ComparedConstant { value: String } = "{value} is too large a constant for an unsigned comparison";
    "E1021" MathUnits { register: String } = "the actions of `{register}` use different math units, and its ALU has one";
    "E1022" MathToHigh {} = "a math unit can only write the first word of an element";
    "E1023" SliceOfWord {} = "bits of a word of the register cannot be taken";
    "E1024" WideWord { width: u32 } = "an ALU cannot assign {width} bits at once";
    "E1025" ConditionValue {} = "a comparison can be a condition or what is returned, not a value";
    "E1026" CastDifference {} =
        "the ALU compares this difference without wrapping it to its width, and so gets another sign";
    "E1027" NotInAlu { what: &'static str } = "a stateful ALU cannot do {what}";
    "E1028" ConditionalOperand {} =
        "what this was assigned depends on conditions, so that the ALU cannot calculate with it";

    "E1101" ExecutedTwice { register: String, action: String } = "`{action}` uses register `{register}` twice";
    "E1102" AccessedTwice { register: String } =
        "register `{register}` is used here and before by the same packet, and a packet gets one access";
    "E1103" BothGresses { register: String } = "register `{register}` is used in ingress and in egress, which share none";
    "E1104" RegisterIndex { register: String } = "the index of `{register}` would have to be calculated";
    "E1105" IndexDiffers { object: String } =
        "`{object}` is used here with another index than elsewhere in the table, which has one address for it";
    "E1106" NotAllObjects { action: String, used: String, unused: String } =
        "`{action}` uses `{used}` and not `{unused}`, and both are found by the one address that its table has for them";
    "E1107" MixedObjects { table: String, one: String, other: String } =
        "`{one}` and `{other}` differ in kind or width, and table `{table}` has one address for both";
    "E1108" NotEveryAction { object: String, table: String } =
        "`{object}` has to be used by every action of table `{table}`, and in the same way, since no entry can choose";

    "E1201" AdvanceConstant {} = "a parser advances by constants only";
    "E1202" ParserAlignment { state: String } = "state `{state}` advances by a part of a byte";
    "E1203" SelectBits { found: u32, limit: u32 } =
        "{found} bits are selected by, and a state of the parser can look at {limit}";
    "E1204" ParseDepth { found: u64, limit: u32 } =
        "the egress parser goes {found} bytes deep, and can go {limit}";
    "E1205" WrittenTwice { field: String } = "`{field}` is written here and before, and a parser writes a field once";
    "E1206" ParserCalculation { field: String } = "a parser cannot calculate, as it would have to for `{field}`";
    "E1207" Checksums { found: usize, limit: usize } =
        "{found} checksums are calculated, and the deparser has units for {limit}";
    "E1208" NotInDeparser {} = "a deparser can only emit, update checksums and send copies and digests";
    "E1209" ConditionalEmit {} = "headers are emitted if they are valid, and under no other condition";
    "E1210" CopiedBytes { what: &'static str, found: u32, limit: u32 } =
        "{found} bytes are {what}, and there is room for {limit}";
    "E1211" ParserRows { found: u64, limit: u64 } =
        "the states up to this one have {found} ways out, and a parser has rows for {limit}";

    "E1301" ConditionOperand {} = "a condition compares fields and constants, and cannot calculate this";
    "E1302" OrderOfFields {} = "a condition can tell the order of a field and a constant, not of two fields";
    "E1303" RangeBits { found: u32, limit: u32 } =
        "this condition compares {found} bits in order, and a gateway can compare {limit}";
    "E1304" GatewayBits { found: u32, limit: u32 } = "this condition needs {found} bits, and a gateway sees {limit}";
    "E1305" EqualFields { width: u32, limit: u32 } =
        "fields of {width} bits are compared, and a gateway can compare {limit}";
    "E1306" ConditionRows { found: usize, limit: usize } =
        "this condition has {found} alternatives or more, which is beyond the {limit} that are split over gateways";

    "E1307" ConditionCalculated {} =
        "what is calculated in `apply` becomes part of the condition that reads it, which cannot calculate";

    "E1401" MoreThanOneStep {} = "this takes more than one operation, and an action does one for each field";
    "E1402" ReadsCalculated { field: String } =
        "this reads `{field}`, which the same action calculates: all of an action happens at once";
    "E1403" NoInstruction { op: &'static str } = "Tofino has no `{op}`";
    "E1404" ShiftCount {} = "Tofino shifts by constants only";
    "E1405" ConditionInAction {} = "inside of an action only what its entry supplies can decide";
    "E1406" OperationWidth { width: u32, limit: u32 } = "this operation is on {width} bits, and can be on {limit}";
    "E1407" SubtractsParameter {} = "what an entry supplies cannot be subtracted";
    "E1408" TwoRandomNumbers {} = "an action can get one random number";
    "E1409" HashedParameter {} = "what an entry supplies cannot be hashed";
    "E1410" DefaultNeedsHash { action: String, table: String } =
        "this needs a hash or a random number, and so `{action}` cannot be the default of `{table}`";
    "E1411" FilterInput {} = "what is averaged has to be a field";
    "E1412" KeylessNeedsHash { action: String, table: String } =
        "this needs a hash or a random number, for which `{action}` would have to be the only action of `{table}`, without data";
    "E1413" NoFieldOperand {} = "one operand has to be a field, and both of these come with the entry";

    "E1501" AppliedTwice { table: String } = "table `{table}` is applied here and before by the same packet";
    "E1502" RangeKey { key: String, width: u32, limit: u32 } =
        "key `{key}` has {width} bits, and a `range` can have {limit}";
    "E1506" RangeNibbles { key: String, low: u32, found: u32, limit: u32 } =
        "key `{key}` begins at bit {low} of its field and touches {found} groups of 4 bits, and a `range` can touch {limit}";
    "E1503" MixedKeys { table: String, kind: &'static str } = "table `{table}` has both `lpm` and `{kind}` keys";
    "E1504" ResultInCondition {} = "what a table found cannot be part of another condition";
    "E1505" TernaryBits { table: String, found: u64, limit: u64 } =
        "table `{table}` needs {found} bits of TCAM, and all stages have {limit}";

    "E1601" Stages { found: usize, limit: usize, chain: String } =
        "the program takes {found} stages, and there are {limit}; the longest chain of tables that wait for each other is {chain}";
    "E1602" RegisterMemory { register: String, found: usize, limit: usize } =
        "register `{register}` takes {found} blocks of SRAM, and its ALU reaches {limit}";
    "E1603" RegisterStages { register: String } =
        "all that uses register `{register}` is in one stage, and this has to come after something that waits for it";

    "W1001" NoWrap {} = "the ALU compares this sum or difference in 34 bits: it does not wrap, unlike in P4";
    "W1201" MaybeWrittenTwice { field: String } =
        "`{field}` is written here and on some ways before: Tofino 1 then ORs both";
}
