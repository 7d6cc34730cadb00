module @jit_elementwise attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x4xf32>, %arg1: tensor<3x4xf32>) -> (tensor<3x4xf32> {jax.result_info = "result[0]"}, tensor<3x4xf32> {jax.result_info = "result[1]"}, tensor<3x4xf32> {jax.result_info = "result[2]"}, tensor<3x4xf32> {jax.result_info = "result[3]"}, tensor<3x4xf32> {jax.result_info = "result[4]"}, tensor<3x4xf32> {jax.result_info = "result[5]"}, tensor<3x4xf32> {jax.result_info = "result[6]"}, tensor<3x4xf32> {jax.result_info = "result[7]"}, tensor<3x4xf32> {jax.result_info = "result[8]"}, tensor<3x4xf32> {jax.result_info = "result[9]"}, tensor<3x4xf32> {jax.result_info = "result[10]"}, tensor<3x4xf32> {jax.result_info = "result[11]"}, tensor<3x4xf32> {jax.result_info = "result[12]"}, tensor<3x4xf32> {jax.result_info = "result[13]"}, tensor<3x4xf32> {jax.result_info = "result[14]"}, tensor<3x4xi1> {jax.result_info = "result[15]"}, tensor<3x4xf32> {jax.result_info = "result[16]"}, tensor<3x4xf32> {jax.result_info = "result[17]"}, tensor<3x4xf32> {jax.result_info = "result[18]"}, tensor<3x4xf32> {jax.result_info = "result[19]"}, tensor<3x4xf32> {jax.result_info = "result[20]"}, tensor<3x4xi1> {jax.result_info = "result[21]"}, tensor<3x4xf32> {jax.result_info = "result[22]"}, tensor<3x4xf32> {jax.result_info = "result[23]"}) {
    %0 = call @remainder(%arg0, %arg1) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %1 = call @floor_divide(%arg0, %arg1) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %2 = stablehlo.multiply %arg0, %arg0 : tensor<3x4xf32>
    %3 = stablehlo.multiply %2, %arg0 : tensor<3x4xf32>
    %4 = stablehlo.abs %arg0 : tensor<3x4xf32>
    %5 = stablehlo.power %4, %arg1 : tensor<3x4xf32>
    %cst = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %cst_0 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %6 = call @clip(%arg0, %cst, %cst_0) : (tensor<3x4xf32>, tensor<f32>, tensor<f32>) -> tensor<3x4xf32>
    %7 = stablehlo.atan2 %arg0, %arg1 : tensor<3x4xf32>
    %8 = stablehlo.exponential_minus_one %arg0 : tensor<3x4xf32>
    %9 = stablehlo.abs %arg0 : tensor<3x4xf32>
    %10 = stablehlo.log_plus_one %9 : tensor<3x4xf32>
    %cst_1 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
    %12 = stablehlo.multiply %11, %arg0 : tensor<3x4xf32>
    %13 = stablehlo.negate %arg0 : tensor<3x4xf32>
    %cst_2 = stablehlo.constant dense<0.707106769> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
    %15 = stablehlo.multiply %13, %14 : tensor<3x4xf32>
    %16 = chlo.erfc %15 : tensor<3x4xf32> -> tensor<3x4xf32>
    %17 = stablehlo.multiply %12, %16 : tensor<3x4xf32>
    %18 = stablehlo.negate %arg0 : tensor<3x4xf32>
    %19 = stablehlo.exponential %18 : tensor<3x4xf32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %20 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
    %21 = stablehlo.add %20, %19 : tensor<3x4xf32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %22 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
    %23 = stablehlo.divide %22, %21 : tensor<3x4xf32>
    %24 = stablehlo.cbrt %arg0 : tensor<3x4xf32>
    %25 = chlo.sinh %arg0 : tensor<3x4xf32> -> tensor<3x4xf32>
    %cst_5 = stablehlo.constant dense<3.000000e+00> : tensor<f32>
    %26 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
    %27 = stablehlo.multiply %arg0, %26 : tensor<3x4xf32>
    %28 = call @round(%27) : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %29 = stablehlo.ceil %arg0 : tensor<3x4xf32>
    %30 = stablehlo.sign %arg0 : tensor<3x4xf32>
    %31 = call @round(%arg1) : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %32 = stablehlo.divide %arg0, %31 : tensor<3x4xf32>
    %33 = stablehlo.is_finite %32 : (tensor<3x4xf32>) -> tensor<3x4xi1>
    %34 = call @hypot(%arg0, %arg1) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %cst_6 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %35 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
    %36 = stablehlo.multiply %arg0, %35 : tensor<3x4xf32>
    %37 = stablehlo.round_nearest_afz %36 : tensor<3x4xf32>
    %38 = call @elu(%arg0) : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %39 = call @softplus(%arg0) : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %40 = stablehlo.tanh %arg0 : tensor<3x4xf32>
    %41 = chlo.erf_inv %40 : tensor<3x4xf32> -> tensor<3x4xf32>
    %42 = stablehlo.compare NE, %arg0, %arg0, FLOAT : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xi1>
    %43 = stablehlo.reduce_precision %arg0, format = e8m7 : tensor<3x4xf32>
    %44 = stablehlo.abs %arg0 : tensor<3x4xf32>
    %45 = stablehlo.rsqrt %44 : tensor<3x4xf32>
    return %0, %1, %3, %5, %6, %7, %8, %10, %17, %23, %24, %25, %28, %29, %30, %33, %34, %37, %38, %39, %41, %42, %43, %45 : tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xi1>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xi1>, tensor<3x4xf32>, tensor<3x4xf32>
  }
  func.func private @remainder(%arg0: tensor<3x4xf32>, %arg1: tensor<3x4xf32>) -> tensor<3x4xf32> {
    %0 = stablehlo.remainder %arg0, %arg1 : tensor<3x4xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
    %2 = stablehlo.compare NE, %0, %1, FLOAT : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xi1>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
    %4 = stablehlo.compare LT, %0, %3, FLOAT : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xi1>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
    %6 = stablehlo.compare LT, %arg1, %5, FLOAT : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xi1>
    %7 = stablehlo.compare NE, %4, %6, UNSIGNED : (tensor<3x4xi1>, tensor<3x4xi1>) -> tensor<3x4xi1>
    %8 = stablehlo.and %7, %2 : tensor<3x4xi1>
    %9 = stablehlo.add %0, %arg1 : tensor<3x4xf32>
    %10 = stablehlo.select %8, %9, %0 : tensor<3x4xi1>, tensor<3x4xf32>
    return %10 : tensor<3x4xf32>
  }
  func.func private @floor_divide(%arg0: tensor<3x4xf32>, %arg1: tensor<3x4xf32>) -> tensor<3x4xf32> {
    %0 = stablehlo.remainder %arg0, %arg1 : tensor<3x4xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
    %2 = stablehlo.compare EQ, %arg1, %1, FLOAT : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xi1>
    %3 = stablehlo.subtract %arg0, %0 : tensor<3x4xf32>
    %4 = call @_where(%2, %arg0, %3) : (tensor<3x4xi1>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %5 = stablehlo.divide %4, %arg1 : tensor<3x4xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
    %7 = stablehlo.compare NE, %0, %6, FLOAT : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xi1>
    %8 = stablehlo.sign %arg1 : tensor<3x4xf32>
    %9 = stablehlo.sign %0 : tensor<3x4xf32>
    %10 = stablehlo.compare NE, %8, %9, FLOAT : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xi1>
    %11 = stablehlo.and %7, %10 : tensor<3x4xi1>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
    %13 = stablehlo.subtract %5, %12 : tensor<3x4xf32>
    %14 = stablehlo.select %11, %13, %5 : tensor<3x4xi1>, tensor<3x4xf32>
    %15 = stablehlo.round_nearest_afz %14 : tensor<3x4xf32>
    return %15 : tensor<3x4xf32>
  }
  func.func private @_where(%arg0: tensor<3x4xi1>, %arg1: tensor<3x4xf32>, %arg2: tensor<3x4xf32>) -> tensor<3x4xf32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<3x4xi1>, tensor<3x4xf32>
    return %0 : tensor<3x4xf32>
  }
  func.func private @clip(%arg0: tensor<3x4xf32>, %arg1: tensor<f32>, %arg2: tensor<f32>) -> tensor<3x4xf32> {
    %0 = stablehlo.convert %arg1 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
    %2 = stablehlo.maximum %1, %arg0 : tensor<3x4xf32>
    %3 = stablehlo.convert %arg2 : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
    %5 = stablehlo.minimum %4, %2 : tensor<3x4xf32>
    return %5 : tensor<3x4xf32>
  }
  func.func private @round(%arg0: tensor<3x4xf32>) -> tensor<3x4xf32> {
    %0 = stablehlo.round_nearest_even %arg0 : tensor<3x4xf32>
    return %0 : tensor<3x4xf32>
  }
  func.func private @hypot(%arg0: tensor<3x4xf32>, %arg1: tensor<3x4xf32>) -> tensor<3x4xf32> {
    %0 = stablehlo.abs %arg0 : tensor<3x4xf32>
    %1 = stablehlo.abs %arg1 : tensor<3x4xf32>
    %cst = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
    %3 = stablehlo.compare EQ, %0, %2, FLOAT : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xi1>
    %cst_0 = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
    %5 = stablehlo.compare EQ, %1, %4, FLOAT : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xi1>
    %6 = stablehlo.or %3, %5 : tensor<3x4xi1>
    %7 = stablehlo.maximum %0, %1 : tensor<3x4xf32>
    %8 = stablehlo.minimum %0, %1 : tensor<3x4xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
    %10 = stablehlo.compare EQ, %7, %9, FLOAT : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xi1>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
    %12 = stablehlo.compare EQ, %7, %11, FLOAT : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xi1>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
    %14 = call @_where(%12, %13, %7) : (tensor<3x4xi1>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %15 = stablehlo.divide %8, %14 : tensor<3x4xf32>
    %16 = chlo.square %15 : tensor<3x4xf32> -> tensor<3x4xf32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %17 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
    %18 = stablehlo.add %17, %16 : tensor<3x4xf32>
    %19 = stablehlo.sqrt %18 : tensor<3x4xf32>
    %20 = stablehlo.multiply %7, %19 : tensor<3x4xf32>
    %21 = call @_where(%10, %7, %20) : (tensor<3x4xi1>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %cst_5 = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %22 = call @_where_0(%6, %cst_5, %21) : (tensor<3x4xi1>, tensor<f32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    return %22 : tensor<3x4xf32>
  }
  func.func private @_where_0(%arg0: tensor<3x4xi1>, %arg1: tensor<f32>, %arg2: tensor<3x4xf32>) -> tensor<3x4xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
    %1 = stablehlo.select %arg0, %0, %arg2 : tensor<3x4xi1>, tensor<3x4xf32>
    return %1 : tensor<3x4xf32>
  }
  func.func private @elu(%arg0: tensor<3x4xf32>) -> tensor<3x4xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
    %1 = stablehlo.compare GT, %arg0, %0, FLOAT : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xi1>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
    %3 = stablehlo.compare GT, %arg0, %2, FLOAT : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xi1>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = call @_where_1(%3, %cst_1, %arg0) : (tensor<3x4xi1>, tensor<f32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %5 = stablehlo.exponential_minus_one %4 : tensor<3x4xf32>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
    %7 = stablehlo.multiply %6, %5 : tensor<3x4xf32>
    %8 = call @_where(%1, %arg0, %7) : (tensor<3x4xi1>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    return %8 : tensor<3x4xf32>
  }
  func.func private @_where_1(%arg0: tensor<3x4xi1>, %arg1: tensor<f32>, %arg2: tensor<3x4xf32>) -> tensor<3x4xf32> {
    %0 = stablehlo.convert %arg1 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
    %2 = stablehlo.select %arg0, %1, %arg2 : tensor<3x4xi1>, tensor<3x4xf32>
    return %2 : tensor<3x4xf32>
  }
  func.func private @softplus(%arg0: tensor<3x4xf32>) -> tensor<3x4xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<3x4xf32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
    %3 = stablehlo.subtract %arg0, %2 : tensor<3x4xf32>
    %4 = stablehlo.compare NE, %3, %3, FLOAT : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xi1>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
    %6 = stablehlo.add %arg0, %5 : tensor<3x4xf32>
    %7 = stablehlo.abs %3 : tensor<3x4xf32>
    %8 = stablehlo.negate %7 : tensor<3x4xf32>
    %9 = stablehlo.exponential %8 : tensor<3x4xf32>
    %10 = stablehlo.log_plus_one %9 : tensor<3x4xf32>
    %11 = stablehlo.add %1, %10 : tensor<3x4xf32>
    %12 = stablehlo.select %4, %6, %11 : tensor<3x4xi1>, tensor<3x4xf32>
    return %12 : tensor<3x4xf32>
  }
}
