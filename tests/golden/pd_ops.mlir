module {
  func.func @main(%arg0: !pd.vtensor<2x3xf32>, %arg1: !pd.vtensor<3xf32>, %arg2: !pd.vtensor<1x4x8x8xf32>, %arg3: !pd.vtensor<2x3xi1>, %arg4: !pd.vtensor<5xi32>) {
    %0 = "pd.gelu"(%arg0) {approximate = false} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %1 = "pd.softplus"(%arg0) {beta = 1.0 : f64, threshold = 20.0 : f64} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %2 = "pd.leaky_relu"(%arg0) {negative_slope = 0.1 : f64} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %3 = "pd.pow"(%arg0) {y = 3.0 : f64} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %4 = "pd.scale"(%arg0) {bias = 1.0 : f64, bias_after_scale = true, scale = 2.0 : f64} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %5 = "pd.cast"(%arg0) {dtype = bf16} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xbf16>
    %6 = "pd.where"(%arg3, %arg0, %arg1) : (!pd.vtensor<2x3xi1>, !pd.vtensor<2x3xf32>, !pd.vtensor<3xf32>) -> !pd.vtensor<2x3xf32>
    %7 = "pd.matmul"(%arg0, %arg0) {transpose_x = false, transpose_y = true} : (!pd.vtensor<2x3xf32>, !pd.vtensor<2x3xf32>) -> !pd.vtensor<2x2xf32>
    %8 = "pd.scaled_dot_product_attention"(%arg0, %arg0, %arg0) {is_causal = false, masked_score = 0xFFF0000000000000 : f64, nan_to_zero = false, scale = 0.5 : f64} : (!pd.vtensor<2x3xf32>, !pd.vtensor<2x3xf32>, !pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %9 = "pd.full"() {dtype = f32, shape = array<i64: 8, 4, 3, 3>, value = 0.5 : f64} : () -> !pd.vtensor<8x4x3x3xf32>
    %10 = "pd.full"() {dtype = f32, shape = array<i64: 8>, value = 0.5 : f64} : () -> !pd.vtensor<8xf32>
    %11 = "pd.conv2d"(%arg2, %9, %10) {data_format = "NCHW", dilations = array<i64: 1, 1>, filter_format = "OIHW", groups = 1 : i64, padding_algorithm = "EXPLICIT", paddings = array<i64: 1, 1>, strides = array<i64: 2, 2>} : (!pd.vtensor<1x4x8x8xf32>, !pd.vtensor<8x4x3x3xf32>, !pd.vtensor<8xf32>) -> !pd.vtensor<1x8x4x4xf32>
    %12 = "pd.full"() {dtype = f32, shape = array<i64: 2, 4, 3, 3>, value = 0.5 : f64} : () -> !pd.vtensor<2x4x3x3xf32>
    %13 = "pd.fused_conv2d_add_act"(%arg2, %12) {activation = "relu", data_format = "NCHW", dilations = array<i64: 1, 1>, filter_format = "OIHW", groups = 1 : i64, padding_algorithm = "EXPLICIT", paddings = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (!pd.vtensor<1x4x8x8xf32>, !pd.vtensor<2x4x3x3xf32>) -> !pd.vtensor<1x2x6x6xf32>
    %14 = "pd.full"() {dtype = f32, shape = array<i64: 4, 1, 3, 3>, value = 0.5 : f64} : () -> !pd.vtensor<4x1x3x3xf32>
    %15 = "pd.depthwise_conv2d"(%arg2, %14) {data_format = "NCHW", dilations = array<i64: 1, 1>, filter_format = "OIHW", groups = 4 : i64, padding_algorithm = "EXPLICIT", paddings = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (!pd.vtensor<1x4x8x8xf32>, !pd.vtensor<4x1x3x3xf32>) -> !pd.vtensor<1x4x6x6xf32>
    %16 = "pd.pool2d"(%arg2) {adaptive = false, ceil_mode = false, data_format = "NCHW", exclusive = true, global_pooling = false, kernel_size = array<i64: 2, 2>, padding_algorithm = "EXPLICIT", paddings = array<i64: 0, 0>, pooling_type = "max", strides = array<i64: 2, 2>} : (!pd.vtensor<1x4x8x8xf32>) -> !pd.vtensor<1x4x4x4xf32>
    %17 = "pd.full"() {dtype = f32, shape = array<i64: 4>, value = 1.0 : f64} : () -> !pd.vtensor<4xf32>
    %18 = "pd.batch_norm"(%arg2, %17, %17, %17, %17) {data_format = "NCHW", epsilon = 1.0e-05 : f64, is_test = true, momentum = 0.9 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>, use_global_stats = false} : (!pd.vtensor<1x4x8x8xf32>, !pd.vtensor<4xf32>, !pd.vtensor<4xf32>, !pd.vtensor<4xf32>, !pd.vtensor<4xf32>) -> !pd.vtensor<1x4x8x8xf32>
    %19:5 = "pd.batch_norm_training"(%arg2, %17, %17, %17) {data_format = "NCHW", epsilon = 1.0e-05 : f64, momentum = 0.9 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 1>} : (!pd.vtensor<1x4x8x8xf32>, !pd.vtensor<4xf32>, !pd.vtensor<4xf32>, !pd.vtensor<4xf32>) -> (!pd.vtensor<1x4x8x8xf32>, !pd.vtensor<4xf32>, !pd.vtensor<4xf32>, !pd.vtensor<4xf32>, !pd.vtensor<4xf32>)
    %20 = "pd.layer_norm"(%arg0, %arg1) {begin_norm_axis = 1 : i64, epsilon = 1.0e-05 : f64, operandSegmentSizes = array<i32: 1, 0, 1>} : (!pd.vtensor<2x3xf32>, !pd.vtensor<3xf32>) -> !pd.vtensor<2x3xf32>
    %21 = "pd.rms_norm"(%arg0, %arg1) {begin_norm_axis = -1 : i64, epsilon = 1.0e-06 : f64} : (!pd.vtensor<2x3xf32>, !pd.vtensor<3xf32>) -> !pd.vtensor<2x3xf32>
    %22 = "pd.softmax"(%arg0) {axis = -1 : i64} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %23 = "pd.sum"(%arg0) {axis = array<i64: -1>, keepdim = true} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x1xf32>
    %24 = "pd.mean"(%arg0) {axis = array<i64: -1>, keepdim = true} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x1xf32>
    %25 = "pd.max"(%arg0) {axis = array<i64: -1>, keepdim = true} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x1xf32>
    %26 = "pd.min"(%arg0) {axis = array<i64: -1>, keepdim = true} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x1xf32>
    %27 = "pd.prod"(%arg0) {axis = array<i64: -1>, keepdim = true} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x1xf32>
    %28 = "pd.reshape"(%arg0) {shape = array<i64: 3, -1>} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<3x2xf32>
    %29 = "pd.flatten"(%arg2) {start_axis = 1 : i64, stop_axis = 1 : i64} : (!pd.vtensor<1x4x8x8xf32>) -> !pd.vtensor<1x4x8x8xf32>
    %30 = "pd.unsqueeze"(%arg0) {axis = array<i64: 0>} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<1x2x3xf32>
    %31 = "pd.squeeze"(%30) {axis = array<i64: 0>} : (!pd.vtensor<1x2x3xf32>) -> !pd.vtensor<2x3xf32>
    %32 = "pd.transpose"(%arg0) {perm = array<i64: 1, 0>} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<3x2xf32>
    %33 = "pd.slice"(%arg0) {axes = array<i64: 1>, decrease_axis = array<i64: 1>, ends = array<i64: 1>, starts = array<i64: 0>} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2xf32>
    %34:2 = "pd.split"(%arg0) {axis = 1 : i64, sections = array<i64: 1, 2>} : (!pd.vtensor<2x3xf32>) -> (!pd.vtensor<2x1xf32>, !pd.vtensor<2x2xf32>)
    %35 = "pd.concat"(%34#0, %34#1) {axis = 1 : i64} : (!pd.vtensor<2x1xf32>, !pd.vtensor<2x2xf32>) -> !pd.vtensor<2x3xf32>
    %36 = "pd.expand"(%arg1) {shape = array<i64: 2, 3>} : (!pd.vtensor<3xf32>) -> !pd.vtensor<2x3xf32>
    %37 = "pd.pad"(%arg0) {pad_value = 0xFFF0000000000000 : f64, paddings = array<i64: 1, 0, 0, 2>} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<3x5xf32>
    %38 = "pd.embedding"(%arg4, %arg0) {padding_idx = -1 : i64} : (!pd.vtensor<5xi32>, !pd.vtensor<2x3xf32>) -> !pd.vtensor<5x3xf32>
    %39 = "pd.gather"(%arg0, %arg4) {axis = 0 : i64} : (!pd.vtensor<2x3xf32>, !pd.vtensor<5xi32>) -> !pd.vtensor<5x3xf32>
    %40 = "pd.cumsum"(%arg1) {axis = -1 : i64, exclusive = false, reverse = false} : (!pd.vtensor<3xf32>) -> !pd.vtensor<3xf32>
    %41:2 = "pd.topk"(%40) {axis = -1 : i64, dtype = i64, k = 2 : i64, largest = true} : (!pd.vtensor<3xf32>) -> (!pd.vtensor<2xf32>, !pd.vtensor<2xi64>)
    %42 = "pd.scatter"(%arg0, %41#1, %arg0) {reduce = "add"} : (!pd.vtensor<2x3xf32>, !pd.vtensor<2xi64>, !pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %43 = "pd.cumprod"(%arg0) {axis = 0 : i64, exclusive = false, reverse = true} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %44 = "pd.argmax"(%43) {axis = 0 : i64, dtype = i64, keepdims = false} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<3xi64>
    %45 = "pd.argmin"(%arg0) {axis = 1 : i64, dtype = i64, keepdims = true} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x1xi64>
    %46 = "pd.bitcast"(%arg0) {dtype = i32} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xi32>
    %47 = "pd.full"() {dtype = f32, shape = array<i64: 2, 2>, value = 1.0 : f64} : () -> !pd.vtensor<2x2xf32>
    %48 = "pd.det"(%47) : (!pd.vtensor<2x2xf32>) -> !pd.vtensor<f32>
    %49 = "pd.feed"() {col = 0 : i64, name = "extra"} : () -> !pd.vtensor<2x3xf32>
    "pd.fetch"(%49) {col = 0 : i64, name = "out"} : (!pd.vtensor<2x3xf32>) -> ()
    %50 = "pd.full"() {dtype = f32, shape = array<i64: 1>, value = 0.5 : f64} : () -> !pd.vtensor<1xf32>
    %51 = "pd.set_value"(%arg0, %50) {axes = array<i64: 0>, decrease_axis = array<i64>, ends = array<i64: 1>, starts = array<i64: 0>} : (!pd.vtensor<2x3xf32>, !pd.vtensor<1xf32>) -> !pd.vtensor<2x3xf32>
    %52 = "pd.fill"(%arg0) {value = 2.0 : f64} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %53 = "pd.sgd"(%arg0, %50, %arg0) : (!pd.vtensor<2x3xf32>, !pd.vtensor<1xf32>, !pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %54 = "pd.softmax"(%arg0) {axis = -1 : i64} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %55:2 = "pd.cross_entropy_with_softmax"(%arg0, %54) {axis = -1 : i64, ignore_index = -100 : i64, soft_label = true} : (!pd.vtensor<2x3xf32>, !pd.vtensor<2x3xf32>) -> (!pd.vtensor<2x3xf32>, !pd.vtensor<2x1xf32>)
    %56 = "pd.cross_entropy_with_softmax_grad"(%54, %55#0, %55#1) {axis = -1 : i64, ignore_index = -100 : i64, soft_label = true} : (!pd.vtensor<2x3xf32>, !pd.vtensor<2x3xf32>, !pd.vtensor<2x1xf32>) -> !pd.vtensor<2x3xf32>
    %57 = "builtin.to_tensor"(%arg0) : (!pd.vtensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %58 = "pd.leaky_relu_"(%57) {negative_slope = 0.02 : f64} : (!pd.tensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %59 = "pd.gelu_"(%57) {approximate = false} : (!pd.tensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %60 = "pd.softplus_"(%57) {beta = 1.0 : f64, threshold = 20.0 : f64} : (!pd.tensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %61 = "pd.pow_"(%57) {y = 1.0 : f64} : (!pd.tensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %62 = "pd.scale_"(%57) {bias = 0.0 : f64, bias_after_scale = true, scale = 1.0 : f64} : (!pd.tensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %63 = "pd.softmax_"(%57) {axis = -1 : i64} : (!pd.tensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %64 = "pd.fill_"(%57) {value = 0.0 : f64} : (!pd.tensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %65 = "pd.assign_"(%57, %arg0) : (!pd.tensor<2x3xf32>, !pd.vtensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %66 = "pd.set_value_"(%57, %50) {axes = array<i64: 0>, decrease_axis = array<i64>, ends = array<i64: 1>, starts = array<i64: 0>} : (!pd.tensor<2x3xf32>, !pd.vtensor<1xf32>) -> !pd.tensor<2x3xf32>
    %67 = "pd.sgd_"(%57, %50, %arg0) : (!pd.tensor<2x3xf32>, !pd.vtensor<1xf32>, !pd.vtensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %68 = "pd.fusion"(%arg0) ({
    ^bb0(%arg0: !pd.vtensor<2x3xf32>):
      %0 = "pd.exp"(%arg0) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
      "pd.fusion_yield"(%0) : (!pd.vtensor<2x3xf32>) -> ()
    }) {kind = "vertical"} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    return
  }
}
