// The arguments of a macro continue to the end of the text.
#define F(x) x
const bit<8> c = F(1; // E0113:18
