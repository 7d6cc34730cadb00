module @jit_transposed_convolution attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x3x4x4xf32>, %arg1: tensor<3x2x3x3xf32>) -> (tensor<1x2x8x8xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.reverse %arg1, dims = [2] : tensor<3x2x3x3xf32>
    %1 = stablehlo.reverse %0, dims = [3] : tensor<3x2x3x3xf32>
    %2 = stablehlo.transpose %1, dims = [1, 0, 2, 3] : (tensor<3x2x3x3xf32>) -> tensor<2x3x3x3xf32>
    %3 = stablehlo.convolution(%arg0, %2) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[2, 1], [2, 1]], lhs_dilate = [2, 2], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x3x4x4xf32>, tensor<2x3x3x3xf32>) -> tensor<1x2x8x8xf32>
    return %3 : tensor<1x2x8x8xf32>
  }
}
