#ifndef WARPSMITH_RUNTIME
#define WARPSMITH_RUNTIME
typedef struct CUstream_st* cudaStream_t;
typedef struct CUevent_st* cudaEvent_t;
typedef struct cublasContext* cublasHandle_t;
typedef struct cublasLtContext* cublasLtHandle_t;
typedef struct cudnnContext* cudnnHandle_t;
typedef struct curandGenerator_st* curandGenerator_t;
typedef int cublasStatus_t;
typedef int cublasComputeType_t;
typedef struct ncclComm* ncclComm_t;
typedef struct { char internal[128]; } ncclUniqueId;
typedef int ncclResult_t;
typedef int ncclDataType_t;
typedef struct _IO_FILE FILE;
#endif
