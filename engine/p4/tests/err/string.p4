@name("a string without an end) // E0202:7
const bit<8> d = 2;
