module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x5x8xf32>, %arg1: tensor<8x2x4xf32>, %arg2: tensor<8x2x4xf32>, %arg3: tensor<8x2x4xf32>) -> (tensor<2x5x8xf32> {jax.result_info = "result[0]"}, tensor<8x2x4xf32> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.dot_general %arg1, %arg0, contracting_dims = [0] x [2], precision = [DEFAULT, DEFAULT] : (tensor<8x2x4xf32>, tensor<2x5x8xf32>) -> tensor<2x4x2x5xf32>
    %1 = stablehlo.transpose %0, dims = [2, 0, 3, 1] : (tensor<2x4x2x5xf32>) -> tensor<2x2x5x4xf32>
    %2 = stablehlo.dot_general %arg2, %arg0, contracting_dims = [0] x [2], precision = [DEFAULT, DEFAULT] : (tensor<8x2x4xf32>, tensor<2x5x8xf32>) -> tensor<2x4x2x5xf32>
    %3 = stablehlo.transpose %2, dims = [2, 0, 3, 1] : (tensor<2x4x2x5xf32>) -> tensor<2x2x5x4xf32>
    %4 = stablehlo.dot_general %arg3, %arg0, contracting_dims = [0] x [2], precision = [DEFAULT, DEFAULT] : (tensor<8x2x4xf32>, tensor<2x5x8xf32>) -> tensor<2x4x2x5xf32>
    %5 = stablehlo.transpose %4, dims = [2, 0, 3, 1] : (tensor<2x4x2x5xf32>) -> tensor<2x2x5x4xf32>
    %6 = stablehlo.dot_general %1, %3, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x2x5x4xf32>, tensor<2x2x5x4xf32>) -> tensor<2x2x5x5xf32>
    %cst = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %7 = stablehlo.sqrt %cst : tensor<f32>
    %8 = stablehlo.convert %7 : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [] : (tensor<f32>) -> tensor<2x2x5x5xf32>
    %10 = stablehlo.divide %6, %9 : tensor<2x2x5x5xf32>
    %c = stablehlo.constant dense<true> : tensor<i1>
    %11 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i1>) -> tensor<5x5xi1>
    %12 = call @tril(%11) : (tensor<5x5xi1>) -> tensor<5x5xi1>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %13:2 = call @_where(%12, %10, %cst_0) : (tensor<5x5xi1>, tensor<2x2x5x5xf32>, tensor<f32>) -> (tensor<2x2x5x5xf32>, tensor<2x2x5x5xi1>)
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %14 = stablehlo.reduce(%13#0 init: %cst_1) applies stablehlo.maximum across dimensions = [3] : (tensor<2x2x5x5xf32>, tensor<f32>) -> tensor<2x2x5xf32>
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x2x5xf32>
    %16 = stablehlo.maximum %15, %14 : tensor<2x2x5xf32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1, 2] : (tensor<2x2x5xf32>) -> tensor<2x2x5x1xf32>
    %18 = stablehlo.broadcast_in_dim %17, dims = [0, 1, 2, 3] : (tensor<2x2x5x1xf32>) -> tensor<2x2x5x5xf32>
    %19 = stablehlo.subtract %13#0, %18 : tensor<2x2x5x5xf32>
    %20 = stablehlo.exponential %19 : tensor<2x2x5x5xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %21 = stablehlo.reduce(%20 init: %cst_3) applies stablehlo.add across dimensions = [3] : (tensor<2x2x5x5xf32>, tensor<f32>) -> tensor<2x2x5xf32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [0, 1, 2] : (tensor<2x2x5xf32>) -> tensor<2x2x5x1xf32>
    %23 = stablehlo.broadcast_in_dim %22, dims = [0, 1, 2, 3] : (tensor<2x2x5x1xf32>) -> tensor<2x2x5x5xf32>
    %24 = stablehlo.divide %20, %23 : tensor<2x2x5x5xf32>
    %25 = stablehlo.multiply %22, %22 : tensor<2x2x5x1xf32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %26 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<2x2x5x1xf32>
    %27 = stablehlo.divide %26, %25 : tensor<2x2x5x1xf32>
    %28 = stablehlo.dot_general %5, %24, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x2x5x4xf32>, tensor<2x2x5x5xf32>) -> tensor<2x2x4x5xf32>
    %29 = stablehlo.transpose %28, dims = [0, 3, 1, 2] : (tensor<2x2x4x5xf32>) -> tensor<2x5x2x4xf32>
    %cst_5 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %30 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<2x5x2x4xf32>
    %31 = stablehlo.multiply %30, %29 : tensor<2x5x2x4xf32>
    %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %32 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<2x5x2x4xf32>
    %33 = stablehlo.multiply %32, %31 : tensor<2x5x2x4xf32>
    %34 = stablehlo.transpose %33, dims = [0, 2, 3, 1] : (tensor<2x5x2x4xf32>) -> tensor<2x2x4x5xf32>
    %35 = stablehlo.dot_general %34, %5, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x2x4x5xf32>, tensor<2x2x5x4xf32>) -> tensor<2x2x5x5xf32>
    %36 = stablehlo.dot_general %34, %24, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x2x4x5xf32>, tensor<2x2x5x5xf32>) -> tensor<2x2x4x5xf32>
    %37 = stablehlo.transpose %36, dims = [0, 1, 3, 2] : (tensor<2x2x4x5xf32>) -> tensor<2x2x5x4xf32>
    %38 = stablehlo.broadcast_in_dim %27, dims = [0, 1, 2, 3] : (tensor<2x2x5x1xf32>) -> tensor<2x2x5x5xf32>
    %39 = stablehlo.multiply %35, %38 : tensor<2x2x5x5xf32>
    %40 = stablehlo.multiply %39, %20 : tensor<2x2x5x5xf32>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %41 = stablehlo.reduce(%40 init: %cst_7) applies stablehlo.add across dimensions = [3] : (tensor<2x2x5x5xf32>, tensor<f32>) -> tensor<2x2x5xf32>
    %42 = stablehlo.reshape %41 : (tensor<2x2x5xf32>) -> tensor<2x2x5x1xf32>
    %43 = stablehlo.negate %42 : tensor<2x2x5x1xf32>
    %44 = stablehlo.broadcast_in_dim %22, dims = [0, 1, 2, 3] : (tensor<2x2x5x1xf32>) -> tensor<2x2x5x5xf32>
    %45 = stablehlo.divide %35, %44 : tensor<2x2x5x5xf32>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %46 = stablehlo.reduce(%43 init: %cst_8) applies stablehlo.add across dimensions = [3] : (tensor<2x2x5x1xf32>, tensor<f32>) -> tensor<2x2x5xf32>
    %47 = stablehlo.broadcast_in_dim %46, dims = [0, 1, 2] : (tensor<2x2x5xf32>) -> tensor<2x2x5x5xf32>
    %48 = stablehlo.add %45, %47 : tensor<2x2x5x5xf32>
    %49 = stablehlo.multiply %48, %20 : tensor<2x2x5x5xf32>
    %50 = call @_where_0(%13#1, %49) : (tensor<2x2x5x5xi1>, tensor<2x2x5x5xf32>) -> tensor<2x2x5x5xf32>
    %51 = stablehlo.broadcast_in_dim %8, dims = [] : (tensor<f32>) -> tensor<2x2x5x5xf32>
    %52 = stablehlo.divide %50, %51 : tensor<2x2x5x5xf32>
    %53 = stablehlo.dot_general %52, %1, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x2x5x5xf32>, tensor<2x2x5x4xf32>) -> tensor<2x2x5x4xf32>
    %54 = stablehlo.dot_general %52, %3, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x2x5x5xf32>, tensor<2x2x5x4xf32>) -> tensor<2x2x5x4xf32>
    %55 = stablehlo.transpose %37, dims = [1, 3, 0, 2] : (tensor<2x2x5x4xf32>) -> tensor<2x4x2x5xf32>
    %56 = stablehlo.dot_general %55, %arg3, contracting_dims = [0, 1] x [1, 2], precision = [DEFAULT, DEFAULT] : (tensor<2x4x2x5xf32>, tensor<8x2x4xf32>) -> tensor<2x5x8xf32>
    %57 = stablehlo.transpose %53, dims = [1, 3, 0, 2] : (tensor<2x2x5x4xf32>) -> tensor<2x4x2x5xf32>
    %58 = stablehlo.dot_general %57, %arg2, contracting_dims = [0, 1] x [1, 2], precision = [DEFAULT, DEFAULT] : (tensor<2x4x2x5xf32>, tensor<8x2x4xf32>) -> tensor<2x5x8xf32>
    %59 = stablehlo.add %56, %58 : tensor<2x5x8xf32>
    %60 = stablehlo.transpose %54, dims = [1, 3, 0, 2] : (tensor<2x2x5x4xf32>) -> tensor<2x4x2x5xf32>
    %61 = stablehlo.dot_general %60, %arg1, contracting_dims = [0, 1] x [1, 2], precision = [DEFAULT, DEFAULT] : (tensor<2x4x2x5xf32>, tensor<8x2x4xf32>) -> tensor<2x5x8xf32>
    %62 = stablehlo.add %59, %61 : tensor<2x5x8xf32>
    %63 = stablehlo.dot_general %60, %arg0, contracting_dims = [2, 3] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<2x4x2x5xf32>, tensor<2x5x8xf32>) -> tensor<2x4x8xf32>
    %64 = stablehlo.transpose %63, dims = [2, 0, 1] : (tensor<2x4x8xf32>) -> tensor<8x2x4xf32>
    return %62, %64 : tensor<2x5x8xf32>, tensor<8x2x4xf32>
  }
  func.func private @tril(%arg0: tensor<5x5xi1>) -> tensor<5x5xi1> {
    %0 = stablehlo.iota dim = 0 : tensor<5x5xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<5x5xi32>
    %2 = stablehlo.add %0, %1 : tensor<5x5xi32>
    %3 = stablehlo.iota dim = 1 : tensor<5x5xi32>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<5x5xi32>, tensor<5x5xi32>) -> tensor<5x5xi1>
    %c_0 = stablehlo.constant dense<false> : tensor<i1>
    %5 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i1>) -> tensor<5x5xi1>
    %6 = stablehlo.select %4, %arg0, %5 : tensor<5x5xi1>, tensor<5x5xi1>
    return %6 : tensor<5x5xi1>
  }
  func.func private @_where(%arg0: tensor<5x5xi1>, %arg1: tensor<2x2x5x5xf32>, %arg2: tensor<f32>) -> (tensor<2x2x5x5xf32>, tensor<2x2x5x5xi1>) {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [2, 3] : (tensor<5x5xi1>) -> tensor<2x2x5x5xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x2x5x5xf32>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<2x2x5x5xi1>, tensor<2x2x5x5xf32>
    return %3, %1 : tensor<2x2x5x5xf32>, tensor<2x2x5x5xi1>
  }
  func.func private @_where_0(%arg0: tensor<2x2x5x5xi1>, %arg1: tensor<2x2x5x5xf32>) -> tensor<2x2x5x5xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x2x5x5xf32>
    %1 = stablehlo.select %arg0, %arg1, %0 : tensor<2x2x5x5xi1>, tensor<2x2x5x5xf32>
    return %1 : tensor<2x2x5x5xf32>
  }
}
