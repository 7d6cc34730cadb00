module @jit_bfloat attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x8xf32>, %arg1: tensor<8x5xf32>) -> (tensor<3x5xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.convert %arg0 : (tensor<3x8xf32>) -> tensor<3x8xbf16>
    %1 = stablehlo.convert %arg1 : (tensor<8x5xf32>) -> tensor<8x5xbf16>
    %2 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<3x8xbf16>, tensor<8x5xbf16>) -> tensor<3x5xbf16>
    %3 = stablehlo.multiply %2, %2 : tensor<3x5xbf16>
    %4 = stablehlo.multiply %3, %2 : tensor<3x5xbf16>
    %cst = stablehlo.constant dense<4.467770e-02> : tensor<bf16>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<bf16>) -> tensor<3x5xbf16>
    %6 = stablehlo.multiply %5, %4 : tensor<3x5xbf16>
    %7 = stablehlo.add %2, %6 : tensor<3x5xbf16>
    %cst_0 = stablehlo.constant dense<7.968750e-01> : tensor<bf16>
    %8 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<bf16>) -> tensor<3x5xbf16>
    %9 = stablehlo.multiply %8, %7 : tensor<3x5xbf16>
    %10 = stablehlo.tanh %9 : tensor<3x5xbf16>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<bf16>
    %11 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<bf16>) -> tensor<3x5xbf16>
    %12 = stablehlo.add %11, %10 : tensor<3x5xbf16>
    %cst_2 = stablehlo.constant dense<5.000000e-01> : tensor<bf16>
    %13 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<bf16>) -> tensor<3x5xbf16>
    %14 = stablehlo.multiply %13, %12 : tensor<3x5xbf16>
    %15 = stablehlo.multiply %2, %14 : tensor<3x5xbf16>
    %16 = stablehlo.convert %15 : (tensor<3x5xbf16>) -> tensor<3x5xf32>
    return %16 : tensor<3x5xf32>
  }
}
