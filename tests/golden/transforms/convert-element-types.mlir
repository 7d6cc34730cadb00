// before
module {
  func.func @main(%arg0: !pd.vtensor<2x3xf64>, %arg1: !pd.vtensor<4xi64>) -> (!pd.vtensor<2x3xf64>, !pd.vtensor<i64>, !pd.vtensor<4xf64>) {
    %0 = "builtin.get_parameter"() {name = "w"} : () -> !pd.vtensor<3xf64>
    %1 = "pd.add"(%arg0, %0) : (!pd.vtensor<2x3xf64>, !pd.vtensor<3xf64>) -> !pd.vtensor<2x3xf64>
    %2 = "builtin.constant"() {value = dense<[0.5]> : !pd.vtensor<1xf64>} : () -> !pd.vtensor<1xf64>
    %3 = "pd.multiply"(%1, %2) : (!pd.vtensor<2x3xf64>, !pd.vtensor<1xf64>) -> !pd.vtensor<2x3xf64>
    %4 = "pd.max"(%3) {axis = array<i64>, keepdim = false} : (!pd.vtensor<2x3xf64>) -> !pd.vtensor<f64>
    %5 = "pd.full"() {dtype = f64, shape = array<i64>, value = 1.0 : f64} : () -> !pd.vtensor<f64>
    %6 = "pd.greater_than"(%4, %5) : (!pd.vtensor<f64>, !pd.vtensor<f64>) -> !pd.vtensor<i1>
    %7 = "scf.if"(%6) ({
      %8 = "pd.exp"(%3) : (!pd.vtensor<2x3xf64>) -> !pd.vtensor<2x3xf64>
      "scf.yield"(%8) : (!pd.vtensor<2x3xf64>) -> ()
    }, {
      "scf.yield"(%3) : (!pd.vtensor<2x3xf64>) -> ()
    }) : (!pd.vtensor<i1>) -> !pd.vtensor<2x3xf64>
    %9 = "pd.sum"(%arg1) {axis = array<i64>, keepdim = false} : (!pd.vtensor<4xi64>) -> !pd.vtensor<i64>
    %10 = "pd.cast"(%arg1) {dtype = f64} : (!pd.vtensor<4xi64>) -> !pd.vtensor<4xf64>
    return %7, %9, %10 : !pd.vtensor<2x3xf64>, !pd.vtensor<i64>, !pd.vtensor<4xf64>
  }
}

// convert-element-types
module {
  func.func @main(%arg0: !pd.vtensor<2x3xf64>, %arg1: !pd.vtensor<4xi64>) -> (!pd.vtensor<2x3xf64>, !pd.vtensor<i64>, !pd.vtensor<4xf64>) {
    %0 = "pd.cast"(%arg1) {dtype = i32} : (!pd.vtensor<4xi64>) -> !pd.vtensor<4xi32>
    %1 = "pd.cast"(%arg0) {dtype = f32} : (!pd.vtensor<2x3xf64>) -> !pd.vtensor<2x3xf32>
    %2 = "builtin.get_parameter"() {name = "w.f32"} : () -> !pd.vtensor<3xf32>
    %3 = "pd.add"(%1, %2) : (!pd.vtensor<2x3xf32>, !pd.vtensor<3xf32>) -> !pd.vtensor<2x3xf32>
    %4 = "builtin.constant"() {value = dense<[0.5]> : !pd.vtensor<1xf32>} : () -> !pd.vtensor<1xf32>
    %5 = "pd.multiply"(%3, %4) : (!pd.vtensor<2x3xf32>, !pd.vtensor<1xf32>) -> !pd.vtensor<2x3xf32>
    %6 = "pd.max"(%5) {axis = array<i64>, keepdim = false} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<f32>
    %7 = "pd.full"() {dtype = f32, shape = array<i64>, value = 1.0 : f64} : () -> !pd.vtensor<f32>
    %8 = "pd.greater_than"(%6, %7) : (!pd.vtensor<f32>, !pd.vtensor<f32>) -> !pd.vtensor<i1>
    %9 = "scf.if"(%8) ({
      %10 = "pd.exp"(%5) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
      "scf.yield"(%10) : (!pd.vtensor<2x3xf32>) -> ()
    }, {
      "scf.yield"(%5) : (!pd.vtensor<2x3xf32>) -> ()
    }) : (!pd.vtensor<i1>) -> !pd.vtensor<2x3xf32>
    %11 = "pd.cast"(%9) {dtype = f64} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf64>
    %12 = "pd.sum"(%0) {axis = array<i64>, dtype = i32, keepdim = false} : (!pd.vtensor<4xi32>) -> !pd.vtensor<i32>
    %13 = "pd.cast"(%12) {dtype = i64} : (!pd.vtensor<i32>) -> !pd.vtensor<i64>
    %14 = "pd.cast"(%arg1) {dtype = f64} : (!pd.vtensor<4xi64>) -> !pd.vtensor<4xf64>
    return %11, %13, %14 : !pd.vtensor<2x3xf64>, !pd.vtensor<i64>, !pd.vtensor<4xf64>
  }
}

// convert-element-types{signatures=true}
module {
  func.func @main(%arg0: !pd.vtensor<2x3xf32>, %arg1: !pd.vtensor<4xi32>) -> (!pd.vtensor<2x3xf32>, !pd.vtensor<i32>, !pd.vtensor<4xf32>) {
    %0 = "builtin.get_parameter"() {name = "w.f32"} : () -> !pd.vtensor<3xf32>
    %1 = "pd.add"(%arg0, %0) : (!pd.vtensor<2x3xf32>, !pd.vtensor<3xf32>) -> !pd.vtensor<2x3xf32>
    %2 = "builtin.constant"() {value = dense<[0.5]> : !pd.vtensor<1xf32>} : () -> !pd.vtensor<1xf32>
    %3 = "pd.multiply"(%1, %2) : (!pd.vtensor<2x3xf32>, !pd.vtensor<1xf32>) -> !pd.vtensor<2x3xf32>
    %4 = "pd.max"(%3) {axis = array<i64>, keepdim = false} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<f32>
    %5 = "pd.full"() {dtype = f32, shape = array<i64>, value = 1.0 : f64} : () -> !pd.vtensor<f32>
    %6 = "pd.greater_than"(%4, %5) : (!pd.vtensor<f32>, !pd.vtensor<f32>) -> !pd.vtensor<i1>
    %7 = "scf.if"(%6) ({
      %8 = "pd.exp"(%3) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
      "scf.yield"(%8) : (!pd.vtensor<2x3xf32>) -> ()
    }, {
      "scf.yield"(%3) : (!pd.vtensor<2x3xf32>) -> ()
    }) : (!pd.vtensor<i1>) -> !pd.vtensor<2x3xf32>
    %9 = "pd.sum"(%arg1) {axis = array<i64>, dtype = i32, keepdim = false} : (!pd.vtensor<4xi32>) -> !pd.vtensor<i32>
    %10 = "pd.cast"(%arg1) {dtype = f32} : (!pd.vtensor<4xi32>) -> !pd.vtensor<4xf32>
    return %7, %9, %10 : !pd.vtensor<2x3xf32>, !pd.vtensor<i32>, !pd.vtensor<4xf32>
  }
}
