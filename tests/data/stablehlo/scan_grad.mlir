module @jit_recurrent_loss attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<5x2x3xf32>, %arg1: tensor<2x4xf32>, %arg2: tensor<4x4xf32>, %arg3: tensor<3x4xf32>) -> (tensor<5x2x3xf32> {jax.result_info = "result[0]"}, tensor<4x4xf32> {jax.result_info = "result[1]"}, tensor<3x4xf32> {jax.result_info = "result[2]"}) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<5x2x4xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<5x2x4xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<5x2x4xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %3:8 = stablehlo.while(%iterArg = %arg0, %iterArg_8 = %arg2, %iterArg_9 = %arg3, %iterArg_10 = %c, %iterArg_11 = %arg1, %iterArg_12 = %0, %iterArg_13 = %1, %iterArg_14 = %2) : tensor<5x2x3xf32>, tensor<4x4xf32>, tensor<3x4xf32>, tensor<i32>, tensor<2x4xf32>, tensor<5x2x4xf32>, tensor<5x2x4xf32>, tensor<5x2x4xf32>
    cond {
      %c_15 = stablehlo.constant dense<5> : tensor<i32>
      %12 = stablehlo.compare LT, %iterArg_10, %c_15, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %12 : tensor<i1>
    } do {
      %12 = func.call @dynamic_index_in_dim(%iterArg, %iterArg_10) : (tensor<5x2x3xf32>, tensor<i32>) -> tensor<2x3xf32>
      %13:4 = func.call @closed_call(%iterArg_8, %iterArg_9, %iterArg_11, %12) : (tensor<4x4xf32>, tensor<3x4xf32>, tensor<2x4xf32>, tensor<2x3xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
      %14 = func.call @dynamic_update_index_in_dim(%iterArg_12, %13#1, %iterArg_10) : (tensor<5x2x4xf32>, tensor<2x4xf32>, tensor<i32>) -> tensor<5x2x4xf32>
      %15 = func.call @dynamic_update_index_in_dim(%iterArg_13, %13#2, %iterArg_10) : (tensor<5x2x4xf32>, tensor<2x4xf32>, tensor<i32>) -> tensor<5x2x4xf32>
      %16 = func.call @dynamic_update_index_in_dim(%iterArg_14, %13#3, %iterArg_10) : (tensor<5x2x4xf32>, tensor<2x4xf32>, tensor<i32>) -> tensor<5x2x4xf32>
      %c_15 = stablehlo.constant dense<1> : tensor<i32>
      %17 = stablehlo.add %iterArg_10, %c_15 : tensor<i32>
      stablehlo.return %iterArg, %iterArg_8, %iterArg_9, %17, %13#0, %14, %15, %16 : tensor<5x2x3xf32>, tensor<4x4xf32>, tensor<3x4xf32>, tensor<i32>, tensor<2x4xf32>, tensor<5x2x4xf32>, tensor<5x2x4xf32>, tensor<5x2x4xf32>
    }
    %cst_2 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %5 = stablehlo.multiply %4, %3#4 : tensor<2x4xf32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %7 = stablehlo.multiply %6, %5 : tensor<2x4xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<5x2x3xf32>
    %c_7 = stablehlo.constant dense<0> : tensor<i32>
    %11:11 = stablehlo.while(%iterArg = %3#5, %iterArg_8 = %arg0, %iterArg_9 = %3#6, %iterArg_10 = %3#7, %iterArg_11 = %arg2, %iterArg_12 = %arg3, %iterArg_13 = %c_7, %iterArg_14 = %8, %iterArg_15 = %9, %iterArg_16 = %7, %iterArg_17 = %10) : tensor<5x2x4xf32>, tensor<5x2x3xf32>, tensor<5x2x4xf32>, tensor<5x2x4xf32>, tensor<4x4xf32>, tensor<3x4xf32>, tensor<i32>, tensor<4x4xf32>, tensor<3x4xf32>, tensor<2x4xf32>, tensor<5x2x3xf32>
    cond {
      %c_18 = stablehlo.constant dense<5> : tensor<i32>
      %12 = stablehlo.compare LT, %iterArg_13, %c_18, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %12 : tensor<i1>
    } do {
      %c_18 = stablehlo.constant dense<5> : tensor<i32>
      %12 = stablehlo.subtract %c_18, %iterArg_13 : tensor<i32>
      %c_19 = stablehlo.constant dense<1> : tensor<i32>
      %13 = stablehlo.subtract %12, %c_19 : tensor<i32>
      %14 = func.call @dynamic_index_in_dim_0(%iterArg, %13) : (tensor<5x2x4xf32>, tensor<i32>) -> tensor<2x4xf32>
      %15 = func.call @dynamic_index_in_dim(%iterArg_8, %13) : (tensor<5x2x3xf32>, tensor<i32>) -> tensor<2x3xf32>
      %16 = func.call @dynamic_index_in_dim_0(%iterArg_9, %13) : (tensor<5x2x4xf32>, tensor<i32>) -> tensor<2x4xf32>
      %17 = func.call @dynamic_index_in_dim_0(%iterArg_10, %13) : (tensor<5x2x4xf32>, tensor<i32>) -> tensor<2x4xf32>
      %18:4 = func.call @closed_call_1(%iterArg_11, %iterArg_12, %iterArg_14, %iterArg_15, %iterArg_16, %14, %15, %16, %17) : (tensor<4x4xf32>, tensor<3x4xf32>, tensor<4x4xf32>, tensor<3x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x3xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> (tensor<4x4xf32>, tensor<3x4xf32>, tensor<2x4xf32>, tensor<2x3xf32>)
      %19 = func.call @dynamic_update_index_in_dim_2(%iterArg_17, %18#3, %13) : (tensor<5x2x3xf32>, tensor<2x3xf32>, tensor<i32>) -> tensor<5x2x3xf32>
      %c_20 = stablehlo.constant dense<1> : tensor<i32>
      %20 = stablehlo.add %iterArg_13, %c_20 : tensor<i32>
      stablehlo.return %iterArg, %iterArg_8, %iterArg_9, %iterArg_10, %iterArg_11, %iterArg_12, %20, %18#0, %18#1, %18#2, %19 : tensor<5x2x4xf32>, tensor<5x2x3xf32>, tensor<5x2x4xf32>, tensor<5x2x4xf32>, tensor<4x4xf32>, tensor<3x4xf32>, tensor<i32>, tensor<4x4xf32>, tensor<3x4xf32>, tensor<2x4xf32>, tensor<5x2x3xf32>
    }
    return %11#10, %11#7, %11#8 : tensor<5x2x3xf32>, tensor<4x4xf32>, tensor<3x4xf32>
  }
  func.func private @dynamic_index_in_dim(%arg0: tensor<5x2x3xf32>, %arg1: tensor<i32>) -> tensor<2x3xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, %c_0, sizes = [1, 2, 3] : (tensor<5x2x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x3xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x2x3xf32>) -> tensor<2x3xf32>
    return %1 : tensor<2x3xf32>
  }
  func.func private @closed_call(%arg0: tensor<4x4xf32>, %arg1: tensor<3x4xf32>, %arg2: tensor<2x4xf32>, %arg3: tensor<2x3xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
    %0 = stablehlo.dot_general %arg2, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %1 = stablehlo.dot_general %arg3, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    %2 = stablehlo.add %0, %1 : tensor<2x4xf32>
    %3 = stablehlo.tanh %2 : tensor<2x4xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %5 = stablehlo.subtract %4, %3 : tensor<2x4xf32>
    return %3, %arg2, %3, %5 : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
  }
  func.func private @dynamic_update_index_in_dim(%arg0: tensor<5x2x4xf32>, %arg1: tensor<2x4xf32>, %arg2: tensor<i32>) -> tensor<5x2x4xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1, 2] : (tensor<2x4xf32>) -> tensor<1x2x4xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2, %c, %c_0 : (tensor<5x2x4xf32>, tensor<1x2x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<5x2x4xf32>
    return %1 : tensor<5x2x4xf32>
  }
  func.func private @dynamic_index_in_dim_0(%arg0: tensor<5x2x4xf32>, %arg1: tensor<i32>) -> tensor<2x4xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, %c_0, sizes = [1, 2, 4] : (tensor<5x2x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x4xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x2x4xf32>) -> tensor<2x4xf32>
    return %1 : tensor<2x4xf32>
  }
  func.func private @closed_call_1(%arg0: tensor<4x4xf32>, %arg1: tensor<3x4xf32>, %arg2: tensor<4x4xf32>, %arg3: tensor<3x4xf32>, %arg4: tensor<2x4xf32>, %arg5: tensor<2x4xf32>, %arg6: tensor<2x3xf32>, %arg7: tensor<2x4xf32>, %arg8: tensor<2x4xf32>) -> (tensor<4x4xf32>, tensor<3x4xf32>, tensor<2x4xf32>, tensor<2x3xf32>) {
    %0 = stablehlo.multiply %arg4, %arg8 : tensor<2x4xf32>
    %1 = stablehlo.multiply %0, %arg7 : tensor<2x4xf32>
    %2 = stablehlo.add %0, %1 : tensor<2x4xf32>
    %3 = stablehlo.dot_general %2, %arg6, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x4xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
    %4 = stablehlo.transpose %3, dims = [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
    %5 = stablehlo.add %arg3, %4 : tensor<3x4xf32>
    %6 = stablehlo.dot_general %2, %arg1, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>
    %7 = stablehlo.dot_general %2, %arg5, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
    %8 = stablehlo.transpose %7, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %9 = stablehlo.add %arg2, %8 : tensor<4x4xf32>
    %10 = stablehlo.dot_general %2, %arg0, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    return %9, %5, %10, %6 : tensor<4x4xf32>, tensor<3x4xf32>, tensor<2x4xf32>, tensor<2x3xf32>
  }
  func.func private @dynamic_update_index_in_dim_2(%arg0: tensor<5x2x3xf32>, %arg1: tensor<2x3xf32>, %arg2: tensor<i32>) -> tensor<5x2x3xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1, 2] : (tensor<2x3xf32>) -> tensor<1x2x3xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2, %c, %c_0 : (tensor<5x2x3xf32>, tensor<1x2x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<5x2x3xf32>
    return %1 : tensor<5x2x3xf32>
  }
}
