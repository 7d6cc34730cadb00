module @jit_batch_norm attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x2x4x4xf32>, %arg1: tensor<2xf32>, %arg2: tensor<2xf32>) -> (tensor<f32> {jax.result_info = "result[0][0]"}, tensor<2xf32> {jax.result_info = "result[0][1][0]"}, tensor<2xf32> {jax.result_info = "result[0][1][1]"}, tensor<3x2x4x4xf32> {jax.result_info = "result[1][0]"}, tensor<2xf32> {jax.result_info = "result[1][1]"}, tensor<2xf32> {jax.result_info = "result[1][2]"}) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<3x2x4x4xf32>, tensor<f32>) -> tensor<2xf32>
    %cst_0 = stablehlo.constant dense<4.800000e+01> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %2 = stablehlo.divide %0, %1 : tensor<2xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %3:4 = call @_var(%arg0, %c) : (tensor<3x2x4x4xf32>, tensor<i32>) -> (tensor<2xf32>, tensor<3x2x4x4xf32>, tensor<f32>, tensor<i1>)
    %4 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xf32>) -> tensor<2x1x1xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [1, 2, 3] : (tensor<2x1x1xf32>) -> tensor<1x2x1x1xf32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2, 3] : (tensor<1x2x1x1xf32>) -> tensor<3x2x4x4xf32>
    %7 = stablehlo.subtract %arg0, %6 : tensor<3x2x4x4xf32>
    %8 = stablehlo.broadcast_in_dim %3#0, dims = [0] : (tensor<2xf32>) -> tensor<2x1x1xf32>
    %cst_1 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x1x1xf32>
    %10 = stablehlo.add %8, %9 : tensor<2x1x1xf32>
    %11 = stablehlo.sqrt %10 : tensor<2x1x1xf32>
    %cst_2 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x1x1xf32>
    %13 = stablehlo.divide %12, %11 : tensor<2x1x1xf32>
    %14 = stablehlo.broadcast_in_dim %11, dims = [1, 2, 3] : (tensor<2x1x1xf32>) -> tensor<1x2x1x1xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2, 3] : (tensor<1x2x1x1xf32>) -> tensor<3x2x4x4xf32>
    %16 = stablehlo.divide %7, %15 : tensor<3x2x4x4xf32>
    %17 = stablehlo.multiply %14, %14 : tensor<1x2x1x1xf32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<1x2x1x1xf32>
    %19 = stablehlo.divide %18, %17 : tensor<1x2x1x1xf32>
    %20 = stablehlo.broadcast_in_dim %arg1, dims = [0] : (tensor<2xf32>) -> tensor<2x1x1xf32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [1, 2, 3] : (tensor<2x1x1xf32>) -> tensor<1x2x1x1xf32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [0, 1, 2, 3] : (tensor<1x2x1x1xf32>) -> tensor<3x2x4x4xf32>
    %23 = stablehlo.multiply %16, %22 : tensor<3x2x4x4xf32>
    %24 = stablehlo.broadcast_in_dim %arg2, dims = [0] : (tensor<2xf32>) -> tensor<2x1x1xf32>
    %25 = stablehlo.broadcast_in_dim %24, dims = [1, 2, 3] : (tensor<2x1x1xf32>) -> tensor<1x2x1x1xf32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [0, 1, 2, 3] : (tensor<1x2x1x1xf32>) -> tensor<3x2x4x4xf32>
    %27 = stablehlo.add %23, %26 : tensor<3x2x4x4xf32>
    %28 = stablehlo.sine %27 : tensor<3x2x4x4xf32>
    %29 = stablehlo.cosine %27 : tensor<3x2x4x4xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %30 = stablehlo.reduce(%28 init: %cst_4) applies stablehlo.add across dimensions = [0, 1, 2, 3] : (tensor<3x2x4x4xf32>, tensor<f32>) -> tensor<f32>
    %cst_5 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %31 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %32 = stablehlo.multiply %31, %2 : tensor<2xf32>
    %cst_6 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %33 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %34 = stablehlo.multiply %33, %3#0 : tensor<2xf32>
    %cst_7 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %35 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<3x2x4x4xf32>
    %36 = stablehlo.multiply %35, %29 : tensor<3x2x4x4xf32>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %37 = stablehlo.reduce(%36 init: %cst_8) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<3x2x4x4xf32>, tensor<f32>) -> tensor<2xf32>
    %38 = stablehlo.reshape %37 : (tensor<2xf32>) -> tensor<1x2x1x1xf32>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %39 = stablehlo.reduce(%38 init: %cst_9) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<1x2x1x1xf32>, tensor<f32>) -> tensor<2xf32>
    %40 = stablehlo.broadcast_in_dim %39, dims = [0] : (tensor<2xf32>) -> tensor<2x1x1xf32>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %41 = stablehlo.reduce(%40 init: %cst_10) applies stablehlo.add across dimensions = [1, 2] : (tensor<2x1x1xf32>, tensor<f32>) -> tensor<2xf32>
    %42 = stablehlo.multiply %16, %36 : tensor<3x2x4x4xf32>
    %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %43 = stablehlo.reduce(%42 init: %cst_11) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<3x2x4x4xf32>, tensor<f32>) -> tensor<2xf32>
    %44 = stablehlo.reshape %43 : (tensor<2xf32>) -> tensor<1x2x1x1xf32>
    %45 = stablehlo.broadcast_in_dim %21, dims = [0, 1, 2, 3] : (tensor<1x2x1x1xf32>) -> tensor<3x2x4x4xf32>
    %46 = stablehlo.multiply %36, %45 : tensor<3x2x4x4xf32>
    %cst_12 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %47 = stablehlo.reduce(%44 init: %cst_12) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<1x2x1x1xf32>, tensor<f32>) -> tensor<2xf32>
    %48 = stablehlo.broadcast_in_dim %47, dims = [0] : (tensor<2xf32>) -> tensor<2x1x1xf32>
    %cst_13 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %49 = stablehlo.reduce(%48 init: %cst_13) applies stablehlo.add across dimensions = [1, 2] : (tensor<2x1x1xf32>, tensor<f32>) -> tensor<2xf32>
    %50 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2, 3] : (tensor<1x2x1x1xf32>) -> tensor<3x2x4x4xf32>
    %51 = stablehlo.multiply %46, %50 : tensor<3x2x4x4xf32>
    %52 = stablehlo.multiply %51, %7 : tensor<3x2x4x4xf32>
    %cst_14 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %53 = stablehlo.reduce(%52 init: %cst_14) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<3x2x4x4xf32>, tensor<f32>) -> tensor<2xf32>
    %54 = stablehlo.reshape %53 : (tensor<2xf32>) -> tensor<1x2x1x1xf32>
    %55 = stablehlo.negate %54 : tensor<1x2x1x1xf32>
    %56 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2, 3] : (tensor<1x2x1x1xf32>) -> tensor<3x2x4x4xf32>
    %57 = stablehlo.divide %46, %56 : tensor<3x2x4x4xf32>
    %cst_15 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %58 = stablehlo.reduce(%55 init: %cst_15) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<1x2x1x1xf32>, tensor<f32>) -> tensor<2xf32>
    %59 = stablehlo.broadcast_in_dim %58, dims = [0] : (tensor<2xf32>) -> tensor<2x1x1xf32>
    %60 = stablehlo.multiply %59, %13 : tensor<2x1x1xf32>
    %cst_16 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %61 = stablehlo.reduce(%60 init: %cst_16) applies stablehlo.add across dimensions = [1, 2] : (tensor<2x1x1xf32>, tensor<f32>) -> tensor<2xf32>
    %62 = stablehlo.negate %57 : tensor<3x2x4x4xf32>
    %cst_17 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %63 = stablehlo.reduce(%62 init: %cst_17) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<3x2x4x4xf32>, tensor<f32>) -> tensor<2xf32>
    %64 = stablehlo.reshape %63 : (tensor<2xf32>) -> tensor<1x2x1x1xf32>
    %cst_18 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %65 = stablehlo.reduce(%64 init: %cst_18) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<1x2x1x1xf32>, tensor<f32>) -> tensor<2xf32>
    %66 = stablehlo.broadcast_in_dim %65, dims = [0] : (tensor<2xf32>) -> tensor<2x1x1xf32>
    %cst_19 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %67 = stablehlo.reduce(%66 init: %cst_19) applies stablehlo.add across dimensions = [1, 2] : (tensor<2x1x1xf32>, tensor<f32>) -> tensor<2xf32>
    %68 = call @_var_0(%3#1, %3#2, %3#3, %61) : (tensor<3x2x4x4xf32>, tensor<f32>, tensor<i1>, tensor<2xf32>) -> tensor<3x2x4x4xf32>
    %69 = stablehlo.add %57, %68 : tensor<3x2x4x4xf32>
    %cst_20 = stablehlo.constant dense<4.800000e+01> : tensor<f32>
    %70 = stablehlo.broadcast_in_dim %cst_20, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %71 = stablehlo.divide %67, %70 : tensor<2xf32>
    %72 = stablehlo.broadcast_in_dim %71, dims = [1] : (tensor<2xf32>) -> tensor<3x2x4x4xf32>
    %73 = stablehlo.add %69, %72 : tensor<3x2x4x4xf32>
    return %30, %32, %34, %73, %49, %41 : tensor<f32>, tensor<2xf32>, tensor<2xf32>, tensor<3x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>
  }
  func.func private @_var(%arg0: tensor<3x2x4x4xf32>, %arg1: tensor<i32>) -> (tensor<2xf32>, tensor<3x2x4x4xf32>, tensor<f32>, tensor<i1>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<3x2x4x4xf32>, tensor<f32>) -> tensor<2xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<2xf32>) -> tensor<1x2x1x1xf32>
    %cst_0 = stablehlo.constant dense<4.800000e+01> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<1x2x1x1xf32>
    %3 = stablehlo.divide %1, %2 : tensor<1x2x1x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2, 3] : (tensor<1x2x1x1xf32>) -> tensor<3x2x4x4xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<3x2x4x4xf32>
    %6 = chlo.square %5 : tensor<3x2x4x4xf32> -> tensor<3x2x4x4xf32>
    %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<3x2x4x4xf32>
    %8 = stablehlo.multiply %7, %5 : tensor<3x2x4x4xf32>
    %9 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %cst_2 = stablehlo.constant dense<4.800000e+01> : tensor<f32>
    %10 = stablehlo.subtract %cst_2, %9 : tensor<f32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %11 = stablehlo.reduce(%6 init: %cst_3) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<3x2x4x4xf32>, tensor<f32>) -> tensor<2xf32>
    %12 = stablehlo.broadcast_in_dim %10, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %13 = stablehlo.divide %11, %12 : tensor<2xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %14 = stablehlo.compare GT, %10, %cst_4, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %cst_5 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %15 = call @_where(%14, %13, %cst_5) : (tensor<i1>, tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
    return %15, %8, %10, %14 : tensor<2xf32>, tensor<3x2x4x4xf32>, tensor<f32>, tensor<i1>
  }
  func.func private @_where(%arg0: tensor<i1>, %arg1: tensor<2xf32>, %arg2: tensor<f32>) -> tensor<2xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<i1>, tensor<2xf32>
    return %2 : tensor<2xf32>
  }
  func.func private @_var_0(%arg0: tensor<3x2x4x4xf32>, %arg1: tensor<f32>, %arg2: tensor<i1>, %arg3: tensor<2xf32>) -> tensor<3x2x4x4xf32> {
    %0 = call @_where_1(%arg2, %arg3) : (tensor<i1>, tensor<2xf32>) -> tensor<2xf32>
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %2 = stablehlo.divide %0, %1 : tensor<2xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [1] : (tensor<2xf32>) -> tensor<3x2x4x4xf32>
    %4 = stablehlo.multiply %3, %arg0 : tensor<3x2x4x4xf32>
    %5 = stablehlo.negate %4 : tensor<3x2x4x4xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %6 = stablehlo.reduce(%5 init: %cst) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<3x2x4x4xf32>, tensor<f32>) -> tensor<2xf32>
    %7 = stablehlo.reshape %6 : (tensor<2xf32>) -> tensor<1x2x1x1xf32>
    %cst_0 = stablehlo.constant dense<4.800000e+01> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<1x2x1x1xf32>
    %9 = stablehlo.divide %7, %8 : tensor<1x2x1x1xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %10 = stablehlo.reduce(%9 init: %cst_1) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<1x2x1x1xf32>, tensor<f32>) -> tensor<2xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [1] : (tensor<2xf32>) -> tensor<3x2x4x4xf32>
    %12 = stablehlo.add %4, %11 : tensor<3x2x4x4xf32>
    return %12 : tensor<3x2x4x4xf32>
  }
  func.func private @_where_1(%arg0: tensor<i1>, %arg1: tensor<2xf32>) -> tensor<2xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %1 = stablehlo.select %arg0, %arg1, %0 : tensor<i1>, tensor<2xf32>
    return %1 : tensor<2xf32>
  }
}
