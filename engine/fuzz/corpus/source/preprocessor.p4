#define A(x, ...) x ## 1 #x __VA_ARGS__
#if defined(A) && A(1, 2) > 0
#elif 0
#endif
const int v = 8w255 ++ 4s3;
