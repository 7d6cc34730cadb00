// before
module {
  func.func @main(%arg0: !pd.vtensor<2x3x8x6xf32>) -> !pd.vtensor<2x4xf32> {
    %0 = "builtin.get_parameter"() {name = "w0"} : () -> !pd.vtensor<4x3x3x3xf32>
    %1 = "builtin.get_parameter"() {name = "b"} : () -> !pd.vtensor<4xf32>
    %2 = "pd.conv2d"(%arg0, %0, %1) {data_format = "NCHW", dilations = array<i64: 1, 1>, filter_format = "OIHW", groups = 1 : i64, padding_algorithm = "EXPLICIT", paddings = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (!pd.vtensor<2x3x8x6xf32>, !pd.vtensor<4x3x3x3xf32>, !pd.vtensor<4xf32>) -> !pd.vtensor<2x4x8x6xf32>
    %3 = "builtin.get_parameter"() {name = "w1"} : () -> !pd.vtensor<4x4x3x3xf32>
    %4 = "builtin.get_parameter"() {name = "b"} : () -> !pd.vtensor<4xf32>
    %5 = "pd.conv2d"(%2, %3, %4) {data_format = "NCHW", dilations = array<i64: 1, 1>, filter_format = "OIHW", groups = 1 : i64, padding_algorithm = "EXPLICIT", paddings = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (!pd.vtensor<2x4x8x6xf32>, !pd.vtensor<4x4x3x3xf32>, !pd.vtensor<4xf32>) -> !pd.vtensor<2x4x8x6xf32>
    %6 = "builtin.get_parameter"() {name = "b"} : () -> !pd.vtensor<4xf32>
    %7 = "builtin.get_parameter"() {name = "v"} : () -> !pd.vtensor<4xf32>
    %8 = "builtin.get_parameter"() {name = "b"} : () -> !pd.vtensor<4xf32>
    %9 = "builtin.get_parameter"() {name = "v"} : () -> !pd.vtensor<4xf32>
    %10 = "pd.batch_norm"(%5, %6, %7, %8, %9) {data_format = "NCHW", epsilon = 1.0e-05 : f64, is_test = true, momentum = 0.9 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>, use_global_stats = false} : (!pd.vtensor<2x4x8x6xf32>, !pd.vtensor<4xf32>, !pd.vtensor<4xf32>, !pd.vtensor<4xf32>, !pd.vtensor<4xf32>) -> !pd.vtensor<2x4x8x6xf32>
    %11 = "pd.relu"(%10) : (!pd.vtensor<2x4x8x6xf32>) -> !pd.vtensor<2x4x8x6xf32>
    %12 = "pd.pool2d"(%11) {adaptive = false, ceil_mode = false, data_format = "NCHW", exclusive = true, global_pooling = false, kernel_size = array<i64: 3, 3>, padding_algorithm = "EXPLICIT", paddings = array<i64: 1, 1>, pooling_type = "max", strides = array<i64: 1, 1>} : (!pd.vtensor<2x4x8x6xf32>) -> !pd.vtensor<2x4x8x6xf32>
    %13 = "builtin.get_parameter"() {name = "w1"} : () -> !pd.vtensor<4x4x3x3xf32>
    %14 = "builtin.get_parameter"() {name = "b"} : () -> !pd.vtensor<4xf32>
    %15 = "pd.conv2d"(%12, %13, %14) {data_format = "NCHW", dilations = array<i64: 1, 1>, filter_format = "OIHW", groups = 1 : i64, padding_algorithm = "EXPLICIT", paddings = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (!pd.vtensor<2x4x8x6xf32>, !pd.vtensor<4x4x3x3xf32>, !pd.vtensor<4xf32>) -> !pd.vtensor<2x4x8x6xf32>
    %16 = "pd.add"(%15, %2) : (!pd.vtensor<2x4x8x6xf32>, !pd.vtensor<2x4x8x6xf32>) -> !pd.vtensor<2x4x8x6xf32>
    %17 = "pd.relu"(%16) : (!pd.vtensor<2x4x8x6xf32>) -> !pd.vtensor<2x4x8x6xf32>
    %18 = "builtin.get_parameter"() {name = "w1"} : () -> !pd.vtensor<4x4x3x3xf32>
    %19 = "builtin.get_parameter"() {name = "b"} : () -> !pd.vtensor<4xf32>
    %20 = "pd.conv2d"(%17, %18, %19) {data_format = "NCHW", dilations = array<i64: 1, 1>, filter_format = "OIHW", groups = 1 : i64, padding_algorithm = "EXPLICIT", paddings = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (!pd.vtensor<2x4x8x6xf32>, !pd.vtensor<4x4x3x3xf32>, !pd.vtensor<4xf32>) -> !pd.vtensor<2x4x8x6xf32>
    %21 = "builtin.get_parameter"() {name = "b"} : () -> !pd.vtensor<4xf32>
    %22 = "builtin.get_parameter"() {name = "v"} : () -> !pd.vtensor<4xf32>
    %23 = "builtin.get_parameter"() {name = "b"} : () -> !pd.vtensor<4xf32>
    %24 = "builtin.get_parameter"() {name = "v"} : () -> !pd.vtensor<4xf32>
    %25 = "pd.batch_norm"(%20, %21, %22, %23, %24) {data_format = "NCHW", epsilon = 1.0e-05 : f64, is_test = true, momentum = 0.9 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>, use_global_stats = false} : (!pd.vtensor<2x4x8x6xf32>, !pd.vtensor<4xf32>, !pd.vtensor<4xf32>, !pd.vtensor<4xf32>, !pd.vtensor<4xf32>) -> !pd.vtensor<2x4x8x6xf32>
    %26 = "pd.relu"(%25) : (!pd.vtensor<2x4x8x6xf32>) -> !pd.vtensor<2x4x8x6xf32>
    %27 = "pd.pool2d"(%26) {adaptive = false, ceil_mode = false, data_format = "NCHW", exclusive = true, global_pooling = false, kernel_size = array<i64: 3, 3>, padding_algorithm = "EXPLICIT", paddings = array<i64: 1, 1>, pooling_type = "max", strides = array<i64: 1, 1>} : (!pd.vtensor<2x4x8x6xf32>) -> !pd.vtensor<2x4x8x6xf32>
    %28 = "builtin.get_parameter"() {name = "w1"} : () -> !pd.vtensor<4x4x3x3xf32>
    %29 = "builtin.get_parameter"() {name = "b"} : () -> !pd.vtensor<4xf32>
    %30 = "pd.conv2d"(%27, %28, %29) {data_format = "NCHW", dilations = array<i64: 1, 1>, filter_format = "OIHW", groups = 1 : i64, padding_algorithm = "EXPLICIT", paddings = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (!pd.vtensor<2x4x8x6xf32>, !pd.vtensor<4x4x3x3xf32>, !pd.vtensor<4xf32>) -> !pd.vtensor<2x4x8x6xf32>
    %31 = "pd.add"(%30, %17) : (!pd.vtensor<2x4x8x6xf32>, !pd.vtensor<2x4x8x6xf32>) -> !pd.vtensor<2x4x8x6xf32>
    %32 = "pd.relu"(%31) : (!pd.vtensor<2x4x8x6xf32>) -> !pd.vtensor<2x4x8x6xf32>
    %33 = "pd.mean"(%32) {axis = array<i64: 2, 3>, keepdim = true} : (!pd.vtensor<2x4x8x6xf32>) -> !pd.vtensor<2x4x1x1xf32>
    %34 = "pd.reshape"(%33) {shape = array<i64: 2, 4>} : (!pd.vtensor<2x4x1x1xf32>) -> !pd.vtensor<2x4xf32>
    return %34 : !pd.vtensor<2x4xf32>
  }
}

// nhwc,cse
module {
  func.func @main(%arg0: !pd.vtensor<2x3x8x6xf32>) -> !pd.vtensor<2x4xf32> {
    %0 = "pd.transpose"(%arg0) {perm = array<i64: 0, 2, 3, 1>} : (!pd.vtensor<2x3x8x6xf32>) -> !pd.vtensor<2x8x6x3xf32>
    %1 = "builtin.get_parameter"() {name = "w0.hwoi"} : () -> !pd.vtensor<3x3x4x3xf32>
    %2 = "builtin.get_parameter"() {name = "b"} : () -> !pd.vtensor<4xf32>
    %3 = "pd.conv2d"(%0, %1, %2) {data_format = "NHWC", dilations = array<i64: 1, 1>, filter_format = "HWOI", groups = 1 : i64, padding_algorithm = "EXPLICIT", paddings = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (!pd.vtensor<2x8x6x3xf32>, !pd.vtensor<3x3x4x3xf32>, !pd.vtensor<4xf32>) -> !pd.vtensor<2x8x6x4xf32>
    %4 = "builtin.get_parameter"() {name = "w1.hwoi"} : () -> !pd.vtensor<3x3x4x4xf32>
    %5 = "pd.conv2d"(%3, %4, %2) {data_format = "NHWC", dilations = array<i64: 1, 1>, filter_format = "HWOI", groups = 1 : i64, padding_algorithm = "EXPLICIT", paddings = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (!pd.vtensor<2x8x6x4xf32>, !pd.vtensor<3x3x4x4xf32>, !pd.vtensor<4xf32>) -> !pd.vtensor<2x8x6x4xf32>
    %6 = "builtin.get_parameter"() {name = "v"} : () -> !pd.vtensor<4xf32>
    %7 = "pd.batch_norm"(%5, %2, %6, %2, %6) {data_format = "NHWC", epsilon = 1.0e-05 : f64, is_test = true, momentum = 0.9 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>, use_global_stats = false} : (!pd.vtensor<2x8x6x4xf32>, !pd.vtensor<4xf32>, !pd.vtensor<4xf32>, !pd.vtensor<4xf32>, !pd.vtensor<4xf32>) -> !pd.vtensor<2x8x6x4xf32>
    %8 = "pd.relu"(%7) : (!pd.vtensor<2x8x6x4xf32>) -> !pd.vtensor<2x8x6x4xf32>
    %9 = "pd.pool2d"(%8) {adaptive = false, ceil_mode = false, data_format = "NHWC", exclusive = true, global_pooling = false, kernel_size = array<i64: 3, 3>, padding_algorithm = "EXPLICIT", paddings = array<i64: 1, 1>, pooling_type = "max", strides = array<i64: 1, 1>} : (!pd.vtensor<2x8x6x4xf32>) -> !pd.vtensor<2x8x6x4xf32>
    %10 = "pd.conv2d"(%9, %4, %2) {data_format = "NHWC", dilations = array<i64: 1, 1>, filter_format = "HWOI", groups = 1 : i64, padding_algorithm = "EXPLICIT", paddings = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (!pd.vtensor<2x8x6x4xf32>, !pd.vtensor<3x3x4x4xf32>, !pd.vtensor<4xf32>) -> !pd.vtensor<2x8x6x4xf32>
    %11 = "pd.add"(%10, %3) : (!pd.vtensor<2x8x6x4xf32>, !pd.vtensor<2x8x6x4xf32>) -> !pd.vtensor<2x8x6x4xf32>
    %12 = "pd.relu"(%11) : (!pd.vtensor<2x8x6x4xf32>) -> !pd.vtensor<2x8x6x4xf32>
    %13 = "pd.conv2d"(%12, %4, %2) {data_format = "NHWC", dilations = array<i64: 1, 1>, filter_format = "HWOI", groups = 1 : i64, padding_algorithm = "EXPLICIT", paddings = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (!pd.vtensor<2x8x6x4xf32>, !pd.vtensor<3x3x4x4xf32>, !pd.vtensor<4xf32>) -> !pd.vtensor<2x8x6x4xf32>
    %14 = "pd.batch_norm"(%13, %2, %6, %2, %6) {data_format = "NHWC", epsilon = 1.0e-05 : f64, is_test = true, momentum = 0.9 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>, use_global_stats = false} : (!pd.vtensor<2x8x6x4xf32>, !pd.vtensor<4xf32>, !pd.vtensor<4xf32>, !pd.vtensor<4xf32>, !pd.vtensor<4xf32>) -> !pd.vtensor<2x8x6x4xf32>
    %15 = "pd.relu"(%14) : (!pd.vtensor<2x8x6x4xf32>) -> !pd.vtensor<2x8x6x4xf32>
    %16 = "pd.pool2d"(%15) {adaptive = false, ceil_mode = false, data_format = "NHWC", exclusive = true, global_pooling = false, kernel_size = array<i64: 3, 3>, padding_algorithm = "EXPLICIT", paddings = array<i64: 1, 1>, pooling_type = "max", strides = array<i64: 1, 1>} : (!pd.vtensor<2x8x6x4xf32>) -> !pd.vtensor<2x8x6x4xf32>
    %17 = "pd.conv2d"(%16, %4, %2) {data_format = "NHWC", dilations = array<i64: 1, 1>, filter_format = "HWOI", groups = 1 : i64, padding_algorithm = "EXPLICIT", paddings = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (!pd.vtensor<2x8x6x4xf32>, !pd.vtensor<3x3x4x4xf32>, !pd.vtensor<4xf32>) -> !pd.vtensor<2x8x6x4xf32>
    %18 = "pd.add"(%17, %12) : (!pd.vtensor<2x8x6x4xf32>, !pd.vtensor<2x8x6x4xf32>) -> !pd.vtensor<2x8x6x4xf32>
    %19 = "pd.relu"(%18) : (!pd.vtensor<2x8x6x4xf32>) -> !pd.vtensor<2x8x6x4xf32>
    %20 = "pd.mean"(%19) {axis = array<i64: 1, 2>, keepdim = true} : (!pd.vtensor<2x8x6x4xf32>) -> !pd.vtensor<2x1x1x4xf32>
    %21 = "pd.reshape"(%20) {shape = array<i64: 2, 4>} : (!pd.vtensor<2x1x1x4xf32>) -> !pd.vtensor<2x4xf32>
    return %21 : !pd.vtensor<2x4xf32>
  }
}
