const bit<8> c = 1;
/* a comment without an end // E0201:1
const bit<8> d = 2;
