module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x7xf32>, %arg1: tensor<7xf32>, %arg2: tensor<7xf32>) -> (tensor<3x7xf32> {jax.result_info = "result[0]"}, tensor<7xf32> {jax.result_info = "result[1]"}, tensor<7xf32> {jax.result_info = "result[2]"}) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<3x7xf32>, tensor<f32>) -> tensor<3xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<3xf32>) -> tensor<3x1xf32>
    %cst_0 = stablehlo.constant dense<7.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<3x1xf32>
    %3 = stablehlo.divide %1, %2 : tensor<3x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<3x1xf32>) -> tensor<3x7xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<3x7xf32>
    %6 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<3x1xf32>) -> tensor<3x7xf32>
    %7 = stablehlo.subtract %arg0, %6 : tensor<3x7xf32>
    %8 = stablehlo.multiply %7, %7 : tensor<3x7xf32>
    %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<3x7xf32>
    %10 = stablehlo.multiply %9, %7 : tensor<3x7xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %11 = stablehlo.reduce(%8 init: %cst_2) applies stablehlo.add across dimensions = [1] : (tensor<3x7xf32>, tensor<f32>) -> tensor<3xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [0] : (tensor<3xf32>) -> tensor<3x1xf32>
    %cst_3 = stablehlo.constant dense<7.000000e+00> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<3x1xf32>
    %14 = stablehlo.divide %12, %13 : tensor<3x1xf32>
    %cst_4 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<3x1xf32>
    %16 = stablehlo.add %14, %15 : tensor<3x1xf32>
    %17 = stablehlo.rsqrt %16 : tensor<3x1xf32>
    %18 = stablehlo.divide %17, %16 : tensor<3x1xf32>
    %cst_5 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %19 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<3x1xf32>
    %20 = stablehlo.multiply %19, %18 : tensor<3x1xf32>
    %21 = stablehlo.broadcast_in_dim %17, dims = [0, 1] : (tensor<3x1xf32>) -> tensor<3x7xf32>
    %22 = stablehlo.multiply %5, %21 : tensor<3x7xf32>
    %23 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<7xf32>) -> tensor<1x7xf32>
    %24 = stablehlo.broadcast_in_dim %23, dims = [0, 1] : (tensor<1x7xf32>) -> tensor<3x7xf32>
    %25 = stablehlo.multiply %22, %24 : tensor<3x7xf32>
    %26 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<7xf32>) -> tensor<1x7xf32>
    %27 = stablehlo.broadcast_in_dim %26, dims = [0, 1] : (tensor<1x7xf32>) -> tensor<3x7xf32>
    %28 = stablehlo.add %25, %27 : tensor<3x7xf32>
    %29 = stablehlo.multiply %28, %28 : tensor<3x7xf32>
    %cst_6 = stablehlo.constant dense<3.000000e+00> : tensor<f32>
    %30 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<3x7xf32>
    %31 = stablehlo.multiply %30, %29 : tensor<3x7xf32>
    %cst_7 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %32 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<3x7xf32>
    %33 = stablehlo.multiply %32, %31 : tensor<3x7xf32>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %34 = stablehlo.reduce(%33 init: %cst_8) applies stablehlo.add across dimensions = [0] : (tensor<3x7xf32>, tensor<f32>) -> tensor<7xf32>
    %35 = stablehlo.reshape %34 : (tensor<7xf32>) -> tensor<1x7xf32>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %36 = stablehlo.reduce(%35 init: %cst_9) applies stablehlo.add across dimensions = [0] : (tensor<1x7xf32>, tensor<f32>) -> tensor<7xf32>
    %37 = stablehlo.multiply %22, %33 : tensor<3x7xf32>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %38 = stablehlo.reduce(%37 init: %cst_10) applies stablehlo.add across dimensions = [0] : (tensor<3x7xf32>, tensor<f32>) -> tensor<7xf32>
    %39 = stablehlo.reshape %38 : (tensor<7xf32>) -> tensor<1x7xf32>
    %40 = stablehlo.broadcast_in_dim %23, dims = [0, 1] : (tensor<1x7xf32>) -> tensor<3x7xf32>
    %41 = stablehlo.multiply %33, %40 : tensor<3x7xf32>
    %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %42 = stablehlo.reduce(%39 init: %cst_11) applies stablehlo.add across dimensions = [0] : (tensor<1x7xf32>, tensor<f32>) -> tensor<7xf32>
    %43 = stablehlo.multiply %5, %41 : tensor<3x7xf32>
    %cst_12 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %44 = stablehlo.reduce(%43 init: %cst_12) applies stablehlo.add across dimensions = [1] : (tensor<3x7xf32>, tensor<f32>) -> tensor<3xf32>
    %45 = stablehlo.reshape %44 : (tensor<3xf32>) -> tensor<3x1xf32>
    %46 = stablehlo.broadcast_in_dim %17, dims = [0, 1] : (tensor<3x1xf32>) -> tensor<3x7xf32>
    %47 = stablehlo.multiply %41, %46 : tensor<3x7xf32>
    %48 = stablehlo.multiply %45, %20 : tensor<3x1xf32>
    %cst_13 = stablehlo.constant dense<7.000000e+00> : tensor<f32>
    %49 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<3x1xf32>
    %50 = stablehlo.divide %48, %49 : tensor<3x1xf32>
    %cst_14 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %51 = stablehlo.reduce(%50 init: %cst_14) applies stablehlo.add across dimensions = [1] : (tensor<3x1xf32>, tensor<f32>) -> tensor<3xf32>
    %52 = stablehlo.broadcast_in_dim %51, dims = [0] : (tensor<3xf32>) -> tensor<3x7xf32>
    %53 = stablehlo.multiply %52, %10 : tensor<3x7xf32>
    %54 = stablehlo.negate %53 : tensor<3x7xf32>
    %cst_15 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %55 = stablehlo.reduce(%54 init: %cst_15) applies stablehlo.add across dimensions = [1] : (tensor<3x7xf32>, tensor<f32>) -> tensor<3xf32>
    %56 = stablehlo.reshape %55 : (tensor<3xf32>) -> tensor<3x1xf32>
    %57 = stablehlo.negate %47 : tensor<3x7xf32>
    %cst_16 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %58 = stablehlo.reduce(%57 init: %cst_16) applies stablehlo.add across dimensions = [1] : (tensor<3x7xf32>, tensor<f32>) -> tensor<3xf32>
    %59 = stablehlo.reshape %58 : (tensor<3xf32>) -> tensor<3x1xf32>
    %60 = stablehlo.add %53, %47 : tensor<3x7xf32>
    %61 = stablehlo.add %56, %59 : tensor<3x1xf32>
    %cst_17 = stablehlo.constant dense<7.000000e+00> : tensor<f32>
    %62 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f32>) -> tensor<3x1xf32>
    %63 = stablehlo.divide %61, %62 : tensor<3x1xf32>
    %cst_18 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %64 = stablehlo.reduce(%63 init: %cst_18) applies stablehlo.add across dimensions = [1] : (tensor<3x1xf32>, tensor<f32>) -> tensor<3xf32>
    %65 = stablehlo.broadcast_in_dim %64, dims = [0] : (tensor<3xf32>) -> tensor<3x7xf32>
    %66 = stablehlo.add %60, %65 : tensor<3x7xf32>
    return %66, %42, %36 : tensor<3x7xf32>, tensor<7xf32>, tensor<7xf32>
  }
}
