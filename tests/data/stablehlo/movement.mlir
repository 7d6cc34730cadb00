module @jit_layout attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x4x5xf32>) -> (tensor<3x4x5xf32> {jax.result_info = "result[0]"}, tensor<4x6x5xf32> {jax.result_info = "result[1]"}, tensor<2x3x2xf32> {jax.result_info = "result[2]"}, tensor<5x3x4xf32> {jax.result_info = "result[3]"}, tensor<3x5x5xf32> {jax.result_info = "result[4]"}, tensor<3x4x5xf32> {jax.result_info = "result[5]"}, tensor<3x8x5xf32> {jax.result_info = "result[6]"}, tensor<8x5xf32> {jax.result_info = "result[7]"}, tensor<2x3x4x5xf32> {jax.result_info = "result[8]"}, tensor<7x7x3xf32> {jax.result_info = "result[9]"}, tensor<5xf32> {jax.result_info = "result[10]"}, tensor<2x3xi32> {jax.result_info = "result[11]"}) {
    %0 = call @_flip(%arg0) : (tensor<3x4x5xf32>) -> tensor<3x4x5xf32>
    %c = stablehlo.constant dense<7> : tensor<i32>
    %1 = call @_pad(%arg0, %c) : (tensor<3x4x5xf32>, tensor<i32>) -> tensor<4x6x5xf32>
    %2 = stablehlo.slice %arg0 [0:3:2, 1:4, 0:5:3] : (tensor<3x4x5xf32>) -> tensor<2x3x2xf32>
    %3 = stablehlo.transpose %arg0, dims = [2, 0, 1] : (tensor<3x4x5xf32>) -> tensor<5x3x4xf32>
    %4 = stablehlo.slice %arg0 [0:3, 0:1, 0:5] : (tensor<3x4x5xf32>) -> tensor<3x1x5xf32>
    %5 = stablehlo.concatenate %arg0, %4, dim = 1 : (tensor<3x4x5xf32>, tensor<3x1x5xf32>) -> tensor<3x5x5xf32>
    %6 = call @_roll_static(%arg0) : (tensor<3x4x5xf32>) -> tensor<3x4x5xf32>
    %7 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1, 3] : (tensor<3x4x5xf32>) -> tensor<3x4x2x5xf32>
    %8 = stablehlo.reshape %7 : (tensor<3x4x2x5xf32>) -> tensor<3x8x5xf32>
    %9 = stablehlo.slice %arg0 [0:1, 0:4, 0:5] : (tensor<3x4x5xf32>) -> tensor<1x4x5xf32>
    %10 = stablehlo.reshape %9 : (tensor<1x4x5xf32>) -> tensor<4x5xf32>
    %11 = stablehlo.reshape %10 : (tensor<4x5xf32>) -> tensor<1x4x1x5xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2, 3] : (tensor<1x4x1x5xf32>) -> tensor<2x4x1x5xf32>
    %13 = stablehlo.reshape %12 : (tensor<2x4x1x5xf32>) -> tensor<8x5xf32>
    %14 = stablehlo.broadcast_in_dim %arg0, dims = [1, 2, 3] : (tensor<3x4x5xf32>) -> tensor<1x3x4x5xf32>
    %15 = stablehlo.broadcast_in_dim %arg0, dims = [1, 2, 3] : (tensor<3x4x5xf32>) -> tensor<1x3x4x5xf32>
    %16 = stablehlo.concatenate %14, %15, dim = 0 : (tensor<1x3x4x5xf32>, tensor<1x3x4x5xf32>) -> tensor<2x3x4x5xf32>
    %cst = stablehlo.constant dense<1.500000e+00> : tensor<f32>
    %17 = stablehlo.pad %arg0, %cst, low = [0, -1, 0], high = [0, 1, -2], interior = [2, 1, 0] : (tensor<3x4x5xf32>, tensor<f32>) -> tensor<7x7x3xf32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %c_1 = stablehlo.constant dense<1> : tensor<i32>
    %18 = call @_linspace(%c_0, %c_1) : (tensor<i32>, tensor<i32>) -> tensor<5xf32>
    %19 = stablehlo.iota dim = 0 : tensor<6xi32>
    %20 = stablehlo.reshape %19 : (tensor<6xi32>) -> tensor<2x3xi32>
    return %0, %1, %2, %3, %5, %6, %8, %13, %16, %17, %18, %20 : tensor<3x4x5xf32>, tensor<4x6x5xf32>, tensor<2x3x2xf32>, tensor<5x3x4xf32>, tensor<3x5x5xf32>, tensor<3x4x5xf32>, tensor<3x8x5xf32>, tensor<8x5xf32>, tensor<2x3x4x5xf32>, tensor<7x7x3xf32>, tensor<5xf32>, tensor<2x3xi32>
  }
  func.func private @_flip(%arg0: tensor<3x4x5xf32>) -> tensor<3x4x5xf32> {
    %0 = stablehlo.reverse %arg0, dims = [0, 2] : tensor<3x4x5xf32>
    return %0 : tensor<3x4x5xf32>
  }
  func.func private @_pad(%arg0: tensor<3x4x5xf32>, %arg1: tensor<i32>) -> tensor<4x6x5xf32> {
    %0 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %1 = stablehlo.pad %arg0, %0, low = [1, 0, 0], high = [0, 2, 0], interior = [0, 0, 0] : (tensor<3x4x5xf32>, tensor<f32>) -> tensor<4x6x5xf32>
    return %1 : tensor<4x6x5xf32>
  }
  func.func private @_roll_static(%arg0: tensor<3x4x5xf32>) -> tensor<3x4x5xf32> {
    %0 = stablehlo.slice %arg0 [0:3, 0:4, 3:5] : (tensor<3x4x5xf32>) -> tensor<3x4x2xf32>
    %1 = stablehlo.slice %arg0 [0:3, 0:4, 0:3] : (tensor<3x4x5xf32>) -> tensor<3x4x3xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 2 : (tensor<3x4x2xf32>, tensor<3x4x3xf32>) -> tensor<3x4x5xf32>
    return %2 : tensor<3x4x5xf32>
  }
  func.func private @_linspace(%arg0: tensor<i32>, %arg1: tensor<i32>) -> tensor<5xf32> {
    %0 = stablehlo.convert %arg0 : (tensor<i32>) -> tensor<f32>
    %1 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %2 = stablehlo.iota dim = 0 : tensor<4xf32>
    %cst = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %4 = stablehlo.divide %2, %3 : tensor<4xf32>
    %5 = stablehlo.reshape %0 : (tensor<f32>) -> tensor<1xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %7 = stablehlo.subtract %6, %4 : tensor<4xf32>
    %8 = stablehlo.broadcast_in_dim %5, dims = [0] : (tensor<1xf32>) -> tensor<4xf32>
    %9 = stablehlo.multiply %8, %7 : tensor<4xf32>
    %10 = stablehlo.reshape %1 : (tensor<f32>) -> tensor<1xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0] : (tensor<1xf32>) -> tensor<4xf32>
    %12 = stablehlo.multiply %11, %4 : tensor<4xf32>
    %13 = stablehlo.add %9, %12 : tensor<4xf32>
    %14 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<1xf32>
    %15 = stablehlo.concatenate %13, %14, dim = 0 : (tensor<4xf32>, tensor<1xf32>) -> tensor<5xf32>
    return %15 : tensor<5xf32>
  }
}
