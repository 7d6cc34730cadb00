module {
  func.func @main(%arg0: !pd.vtensor<2x3xf32>, %arg1: !pd.vtensor<3xf32>, %arg2: !pd.vtensor<1x4x8x8xf32>, %arg3: !pd.vtensor<2x3xi1>, %arg4: !pd.vtensor<5xi32>) {
    %0 = "pd.relu"(%arg0) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %1 = "pd.gelu"(%arg0) {approximate = false} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %2 = "pd.softplus"(%arg0) {beta = 1.0 : f64, threshold = 20.0 : f64} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %3 = "pd.tanh"(%arg0) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %4 = "pd.sigmoid"(%arg0) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %5 = "pd.erf"(%arg0) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %6 = "pd.exp"(%arg0) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %7 = "pd.log"(%arg0) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %8 = "pd.sqrt"(%arg0) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %9 = "pd.rsqrt"(%arg0) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %10 = "pd.reciprocal"(%arg0) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %11 = "pd.sin"(%arg0) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %12 = "pd.cos"(%arg0) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %13 = "pd.floor"(%arg0) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %14 = "pd.abs"(%arg0) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %15 = "pd.square"(%arg0) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %16 = "pd.isnan"(%arg0) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xi1>
    %17 = "pd.logical_not"(%arg0) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xi1>
    %18 = "pd.assign"(%arg0) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %19 = "pd.leaky_relu"(%arg0) {negative_slope = 0.1 : f64} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %20 = "pd.pow"(%arg0) {y = 3.0 : f64} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %21 = "pd.scale"(%arg0) {bias = 1.0 : f64, bias_after_scale = true, scale = 2.0 : f64} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %22 = "pd.cast"(%arg0) {dtype = bf16} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xbf16>
    %23 = "pd.add"(%arg0, %arg1) : (!pd.vtensor<2x3xf32>, !pd.vtensor<3xf32>) -> !pd.vtensor<2x3xf32>
    %24 = "pd.subtract"(%arg0, %arg1) : (!pd.vtensor<2x3xf32>, !pd.vtensor<3xf32>) -> !pd.vtensor<2x3xf32>
    %25 = "pd.multiply"(%arg0, %arg1) : (!pd.vtensor<2x3xf32>, !pd.vtensor<3xf32>) -> !pd.vtensor<2x3xf32>
    %26 = "pd.divide"(%arg0, %arg1) : (!pd.vtensor<2x3xf32>, !pd.vtensor<3xf32>) -> !pd.vtensor<2x3xf32>
    %27 = "pd.maximum"(%arg0, %arg1) : (!pd.vtensor<2x3xf32>, !pd.vtensor<3xf32>) -> !pd.vtensor<2x3xf32>
    %28 = "pd.minimum"(%arg0, %arg1) : (!pd.vtensor<2x3xf32>, !pd.vtensor<3xf32>) -> !pd.vtensor<2x3xf32>
    %29 = "pd.elementwise_pow"(%arg0, %arg1) : (!pd.vtensor<2x3xf32>, !pd.vtensor<3xf32>) -> !pd.vtensor<2x3xf32>
    %30 = "pd.equal"(%arg0, %arg1) : (!pd.vtensor<2x3xf32>, !pd.vtensor<3xf32>) -> !pd.vtensor<2x3xi1>
    %31 = "pd.not_equal"(%arg0, %arg1) : (!pd.vtensor<2x3xf32>, !pd.vtensor<3xf32>) -> !pd.vtensor<2x3xi1>
    %32 = "pd.greater_than"(%arg0, %arg1) : (!pd.vtensor<2x3xf32>, !pd.vtensor<3xf32>) -> !pd.vtensor<2x3xi1>
    %33 = "pd.greater_equal"(%arg0, %arg1) : (!pd.vtensor<2x3xf32>, !pd.vtensor<3xf32>) -> !pd.vtensor<2x3xi1>
    %34 = "pd.less_than"(%arg0, %arg1) : (!pd.vtensor<2x3xf32>, !pd.vtensor<3xf32>) -> !pd.vtensor<2x3xi1>
    %35 = "pd.less_equal"(%arg0, %arg1) : (!pd.vtensor<2x3xf32>, !pd.vtensor<3xf32>) -> !pd.vtensor<2x3xi1>
    %36 = "pd.logical_and"(%arg0, %arg1) : (!pd.vtensor<2x3xf32>, !pd.vtensor<3xf32>) -> !pd.vtensor<2x3xi1>
    %37 = "pd.logical_or"(%arg0, %arg1) : (!pd.vtensor<2x3xf32>, !pd.vtensor<3xf32>) -> !pd.vtensor<2x3xi1>
    %38 = "pd.where"(%arg3, %arg0, %arg1) : (!pd.vtensor<2x3xi1>, !pd.vtensor<2x3xf32>, !pd.vtensor<3xf32>) -> !pd.vtensor<2x3xf32>
    %39 = "pd.matmul"(%arg0, %arg0) {transpose_x = false, transpose_y = true} : (!pd.vtensor<2x3xf32>, !pd.vtensor<2x3xf32>) -> !pd.vtensor<2x2xf32>
    %40 = "pd.scaled_dot_product_attention"(%arg0, %arg0, %arg0) {is_causal = false, masked_score = 0xFFF0000000000000 : f64, nan_to_zero = false, scale = 0.5 : f64} : (!pd.vtensor<2x3xf32>, !pd.vtensor<2x3xf32>, !pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %41 = "pd.full"() {dtype = f32, shape = array<i64: 8, 4, 3, 3>, value = 0.5 : f64} : () -> !pd.vtensor<8x4x3x3xf32>
    %42 = "pd.full"() {dtype = f32, shape = array<i64: 8>, value = 0.5 : f64} : () -> !pd.vtensor<8xf32>
    %43 = "pd.conv2d"(%arg2, %41, %42) {data_format = "NCHW", dilations = array<i64: 1, 1>, filter_format = "OIHW", groups = 1 : i64, padding_algorithm = "EXPLICIT", paddings = array<i64: 1, 1>, strides = array<i64: 2, 2>} : (!pd.vtensor<1x4x8x8xf32>, !pd.vtensor<8x4x3x3xf32>, !pd.vtensor<8xf32>) -> !pd.vtensor<1x8x4x4xf32>
    %44 = "pd.full"() {dtype = f32, shape = array<i64: 2, 4, 3, 3>, value = 0.5 : f64} : () -> !pd.vtensor<2x4x3x3xf32>
    %45 = "pd.fused_conv2d_add_act"(%arg2, %44) {activation = "relu", data_format = "NCHW", dilations = array<i64: 1, 1>, filter_format = "OIHW", groups = 1 : i64, padding_algorithm = "EXPLICIT", paddings = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (!pd.vtensor<1x4x8x8xf32>, !pd.vtensor<2x4x3x3xf32>) -> !pd.vtensor<1x2x6x6xf32>
    %46 = "pd.full"() {dtype = f32, shape = array<i64: 4, 1, 3, 3>, value = 0.5 : f64} : () -> !pd.vtensor<4x1x3x3xf32>
    %47 = "pd.depthwise_conv2d"(%arg2, %46) {data_format = "NCHW", dilations = array<i64: 1, 1>, filter_format = "OIHW", groups = 4 : i64, padding_algorithm = "EXPLICIT", paddings = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (!pd.vtensor<1x4x8x8xf32>, !pd.vtensor<4x1x3x3xf32>) -> !pd.vtensor<1x4x6x6xf32>
    %48 = "pd.pool2d"(%arg2) {adaptive = false, ceil_mode = false, data_format = "NCHW", exclusive = true, global_pooling = false, kernel_size = array<i64: 2, 2>, padding_algorithm = "EXPLICIT", paddings = array<i64: 0, 0>, pooling_type = "max", strides = array<i64: 2, 2>} : (!pd.vtensor<1x4x8x8xf32>) -> !pd.vtensor<1x4x4x4xf32>
    %49 = "pd.full"() {dtype = f32, shape = array<i64: 4>, value = 1.0 : f64} : () -> !pd.vtensor<4xf32>
    %50 = "pd.batch_norm"(%arg2, %49, %49, %49, %49) {data_format = "NCHW", epsilon = 1.0e-05 : f64, is_test = true, momentum = 0.9 : f64, operandSegmentSizes = array<i64: 1, 1, 1, 1, 1>, use_global_stats = false} : (!pd.vtensor<1x4x8x8xf32>, !pd.vtensor<4xf32>, !pd.vtensor<4xf32>, !pd.vtensor<4xf32>, !pd.vtensor<4xf32>) -> !pd.vtensor<1x4x8x8xf32>
    %51:5 = "pd.batch_norm_training"(%arg2, %49, %49, %49) {data_format = "NCHW", epsilon = 1.0e-05 : f64, momentum = 0.9 : f64, operandSegmentSizes = array<i64: 1, 1, 1, 0, 1>} : (!pd.vtensor<1x4x8x8xf32>, !pd.vtensor<4xf32>, !pd.vtensor<4xf32>, !pd.vtensor<4xf32>) -> (!pd.vtensor<1x4x8x8xf32>, !pd.vtensor<4xf32>, !pd.vtensor<4xf32>, !pd.vtensor<4xf32>, !pd.vtensor<4xf32>)
    %52 = "pd.layer_norm"(%arg0, %arg1) {begin_norm_axis = 1 : i64, epsilon = 1.0e-05 : f64, operandSegmentSizes = array<i64: 1, 0, 1>} : (!pd.vtensor<2x3xf32>, !pd.vtensor<3xf32>) -> !pd.vtensor<2x3xf32>
    %53 = "pd.rms_norm"(%arg0, %arg1) {begin_norm_axis = -1 : i64, epsilon = 1.0e-06 : f64} : (!pd.vtensor<2x3xf32>, !pd.vtensor<3xf32>) -> !pd.vtensor<2x3xf32>
    %54 = "pd.softmax"(%arg0) {axis = -1 : i64} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %55 = "pd.sum"(%arg0) {axis = array<i64: -1>, keepdim = true} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x1xf32>
    %56 = "pd.mean"(%arg0) {axis = array<i64: -1>, keepdim = true} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x1xf32>
    %57 = "pd.max"(%arg0) {axis = array<i64: -1>, keepdim = true} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x1xf32>
    %58 = "pd.min"(%arg0) {axis = array<i64: -1>, keepdim = true} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x1xf32>
    %59 = "pd.reshape"(%arg0) {shape = array<i64: 3, -1>} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<3x2xf32>
    %60 = "pd.flatten"(%arg2) {start_axis = 1 : i64, stop_axis = 1 : i64} : (!pd.vtensor<1x4x8x8xf32>) -> !pd.vtensor<1x4x8x8xf32>
    %61 = "pd.unsqueeze"(%arg0) {axis = array<i64: 0>} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<1x2x3xf32>
    %62 = "pd.squeeze"(%61) {axis = array<i64: 0>} : (!pd.vtensor<1x2x3xf32>) -> !pd.vtensor<2x3xf32>
    %63 = "pd.transpose"(%arg0) {perm = array<i64: 1, 0>} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<3x2xf32>
    %64 = "pd.slice"(%arg0) {axes = array<i64: 1>, decrease_axis = array<i64: 1>, ends = array<i64: 1>, starts = array<i64: 0>} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2xf32>
    %65:2 = "pd.split"(%arg0) {axis = 1 : i64, sections = array<i64: 1, 2>} : (!pd.vtensor<2x3xf32>) -> (!pd.vtensor<2x1xf32>, !pd.vtensor<2x2xf32>)
    %66 = "pd.concat"(%65#0, %65#1) {axis = 1 : i64} : (!pd.vtensor<2x1xf32>, !pd.vtensor<2x2xf32>) -> !pd.vtensor<2x3xf32>
    %67 = "pd.expand"(%arg1) {shape = array<i64: 2, 3>} : (!pd.vtensor<3xf32>) -> !pd.vtensor<2x3xf32>
    %68 = "pd.pad"(%arg0) {pad_value = 0xFFF0000000000000 : f64, paddings = array<i64: 1, 0, 0, 2>} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<3x5xf32>
    %69 = "pd.embedding"(%arg4, %arg0) {padding_idx = -1 : i64} : (!pd.vtensor<5xi32>, !pd.vtensor<2x3xf32>) -> !pd.vtensor<5x3xf32>
    %70 = "pd.gather"(%arg0, %arg4) {axis = 0 : i64} : (!pd.vtensor<2x3xf32>, !pd.vtensor<5xi32>) -> !pd.vtensor<5x3xf32>
    %71 = "pd.feed"() {col = 0 : i64, name = "extra"} : () -> !pd.vtensor<2x3xf32>
    "pd.fetch"(%71) {col = 0 : i64, name = "out"} : (!pd.vtensor<2x3xf32>) -> ()
    %72 = "pd.full"() {dtype = f32, shape = array<i64: 1>, value = 0.5 : f64} : () -> !pd.vtensor<1xf32>
    %73 = "pd.set_value"(%arg0, %72) {axes = array<i64: 0>, decrease_axis = array<i64>, ends = array<i64: 1>, starts = array<i64: 0>} : (!pd.vtensor<2x3xf32>, !pd.vtensor<1xf32>) -> !pd.vtensor<2x3xf32>
    %74 = "pd.fill"(%arg0) {value = 2.0 : f64} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %75 = "pd.sgd"(%arg0, %72, %arg0) : (!pd.vtensor<2x3xf32>, !pd.vtensor<1xf32>, !pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %76 = "pd.softmax"(%arg0) {axis = -1 : i64} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %77:2 = "pd.cross_entropy_with_softmax"(%arg0, %76) {axis = -1 : i64, ignore_index = -100 : i64, soft_label = true} : (!pd.vtensor<2x3xf32>, !pd.vtensor<2x3xf32>) -> (!pd.vtensor<2x3xf32>, !pd.vtensor<2x1xf32>)
    %78 = "pd.cross_entropy_with_softmax_grad"(%76, %77#0, %77#1) {axis = -1 : i64, ignore_index = -100 : i64, soft_label = true} : (!pd.vtensor<2x3xf32>, !pd.vtensor<2x3xf32>, !pd.vtensor<2x1xf32>) -> !pd.vtensor<2x3xf32>
    %79 = "builtin.to_tensor"(%arg0) : (!pd.vtensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %80 = "pd.relu_"(%79) : (!pd.tensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %81 = "pd.leaky_relu_"(%79) {negative_slope = 0.02 : f64} : (!pd.tensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %82 = "pd.gelu_"(%79) {approximate = false} : (!pd.tensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %83 = "pd.softplus_"(%79) {beta = 1.0 : f64, threshold = 20.0 : f64} : (!pd.tensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %84 = "pd.tanh_"(%79) : (!pd.tensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %85 = "pd.sigmoid_"(%79) : (!pd.tensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %86 = "pd.erf_"(%79) : (!pd.tensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %87 = "pd.exp_"(%79) : (!pd.tensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %88 = "pd.log_"(%79) : (!pd.tensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %89 = "pd.sqrt_"(%79) : (!pd.tensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %90 = "pd.rsqrt_"(%79) : (!pd.tensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %91 = "pd.reciprocal_"(%79) : (!pd.tensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %92 = "pd.sin_"(%79) : (!pd.tensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %93 = "pd.cos_"(%79) : (!pd.tensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %94 = "pd.floor_"(%79) : (!pd.tensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %95 = "pd.abs_"(%79) : (!pd.tensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %96 = "pd.square_"(%79) : (!pd.tensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %97 = "pd.pow_"(%79) {y = 1.0 : f64} : (!pd.tensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %98 = "pd.scale_"(%79) {bias = 0.0 : f64, bias_after_scale = true, scale = 1.0 : f64} : (!pd.tensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %99 = "pd.softmax_"(%79) {axis = -1 : i64} : (!pd.tensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %100 = "pd.fill_"(%79) {value = 0.0 : f64} : (!pd.tensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %101 = "pd.add_"(%79, %arg0) : (!pd.tensor<2x3xf32>, !pd.vtensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %102 = "pd.subtract_"(%79, %arg0) : (!pd.tensor<2x3xf32>, !pd.vtensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %103 = "pd.multiply_"(%79, %arg0) : (!pd.tensor<2x3xf32>, !pd.vtensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %104 = "pd.divide_"(%79, %arg0) : (!pd.tensor<2x3xf32>, !pd.vtensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %105 = "pd.maximum_"(%79, %arg0) : (!pd.tensor<2x3xf32>, !pd.vtensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %106 = "pd.minimum_"(%79, %arg0) : (!pd.tensor<2x3xf32>, !pd.vtensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %107 = "pd.assign_"(%79, %arg0) : (!pd.tensor<2x3xf32>, !pd.vtensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %108 = "pd.set_value_"(%79, %72) {axes = array<i64: 0>, decrease_axis = array<i64>, ends = array<i64: 1>, starts = array<i64: 0>} : (!pd.tensor<2x3xf32>, !pd.vtensor<1xf32>) -> !pd.tensor<2x3xf32>
    %109 = "pd.sgd_"(%79, %72, %arg0) : (!pd.tensor<2x3xf32>, !pd.vtensor<1xf32>, !pd.vtensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %110 = "pd.fusion"(%arg0) ({
    ^bb0(%arg0: !pd.vtensor<2x3xf32>):
      %0 = "pd.exp"(%arg0) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
      "pd.fusion_yield"(%0) : (!pd.vtensor<2x3xf32>) -> ()
    }) {kind = "vertical"} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    return
  }
}
