#ifndef WARPSMITH_INTEGERS
#define WARPSMITH_INTEGERS
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
typedef unsigned long long uintptr_t;
typedef long long intptr_t;
typedef unsigned int uint;
typedef unsigned short ushort;
typedef unsigned long ulong;
namespace std {
using ::int8_t;
using ::uint8_t;
using ::int16_t;
using ::uint16_t;
using ::int32_t;
using ::uint32_t;
using ::int64_t;
using ::uint64_t;
using ::uintptr_t;
using ::intptr_t;
using ::size_t;
using ::ptrdiff_t;
}
#endif
