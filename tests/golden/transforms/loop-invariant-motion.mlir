// before
module {
  func.func @main(%arg0: !pd.vtensor<2xf32>, %arg1: !pd.vtensor<2xf32>, %arg2: !pd.vtensor<i32>) -> (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>, !pd.vtensor<2xf32>) {
    %0 = "pd.full"() {dtype = i32, shape = [], value = 0.0 : f64} : () -> !pd.vtensor<i32>
    %1:5 = "scf.while"(%0, %arg0, %arg1, %arg1, %arg0) ({
    ^bb0(%arg3: !pd.vtensor<i32>, %arg4: !pd.vtensor<2xf32>, %arg5: !pd.vtensor<2xf32>, %arg6: !pd.vtensor<2xf32>, %arg7: !pd.vtensor<2xf32>):
      %2 = "pd.add"(%arg2, %arg2) : (!pd.vtensor<i32>, !pd.vtensor<i32>) -> !pd.vtensor<i32>
      %3 = "pd.divide"(%2, %arg2) : (!pd.vtensor<i32>, !pd.vtensor<i32>) -> !pd.vtensor<i32>
      %4 = "pd.less_than"(%arg3, %3) : (!pd.vtensor<i32>, !pd.vtensor<i32>) -> !pd.vtensor<i1>
      "scf.condition"(%4, %arg3, %arg4, %arg5, %arg6, %3) : (!pd.vtensor<i1>, !pd.vtensor<i32>, !pd.vtensor<2xf32>, !pd.vtensor<2xf32>, !pd.vtensor<2xf32>, !pd.vtensor<i32>) -> ()
    }, {
    ^bb0(%arg8: !pd.vtensor<i32>, %arg9: !pd.vtensor<2xf32>, %arg10: !pd.vtensor<2xf32>, %arg11: !pd.vtensor<2xf32>, %arg12: !pd.vtensor<i32>):
      %5 = "pd.full"() {dtype = i32, shape = [], value = 1.0 : f64} : () -> !pd.vtensor<i32>
      %6 = "pd.add"(%arg8, %5) : (!pd.vtensor<i32>, !pd.vtensor<i32>) -> !pd.vtensor<i32>
      %7 = "pd.exp"(%arg10) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
      %8 = "pd.divide"(%arg12, %arg2) : (!pd.vtensor<i32>, !pd.vtensor<i32>) -> !pd.vtensor<i32>
      %9 = "pd.cast"(%8) {dtype = f32} : (!pd.vtensor<i32>) -> !pd.vtensor<f32>
      %10 = "pd.multiply"(%arg9, %7) : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
      %11 = "pd.add"(%10, %9) : (!pd.vtensor<2xf32>, !pd.vtensor<f32>) -> !pd.vtensor<2xf32>
      "scf.yield"(%6, %11, %arg10, %arg11, %arg0) : (!pd.vtensor<i32>, !pd.vtensor<2xf32>, !pd.vtensor<2xf32>, !pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> ()
    }) : (!pd.vtensor<i32>, !pd.vtensor<2xf32>, !pd.vtensor<2xf32>, !pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> (!pd.vtensor<i32>, !pd.vtensor<2xf32>, !pd.vtensor<2xf32>, !pd.vtensor<2xf32>, !pd.vtensor<i32>)
    return %1#1, %1#2, %1#3 : !pd.vtensor<2xf32>, !pd.vtensor<2xf32>, !pd.vtensor<2xf32>
  }
}

// loop-invariant-motion
module {
  func.func @main(%arg0: !pd.vtensor<2xf32>, %arg1: !pd.vtensor<2xf32>, %arg2: !pd.vtensor<i32>) -> (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>, !pd.vtensor<2xf32>) {
    %0 = "pd.full"() {dtype = i32, shape = [], value = 0.0 : f64} : () -> !pd.vtensor<i32>
    %1 = "pd.add"(%arg2, %arg2) : (!pd.vtensor<i32>, !pd.vtensor<i32>) -> !pd.vtensor<i32>
    %2 = "pd.divide"(%1, %arg2) : (!pd.vtensor<i32>, !pd.vtensor<i32>) -> !pd.vtensor<i32>
    %3 = "pd.full"() {dtype = i32, shape = [], value = 1.0 : f64} : () -> !pd.vtensor<i32>
    %4 = "pd.exp"(%arg1) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %5:2 = "scf.while"(%0, %arg0) ({
    ^bb0(%arg3: !pd.vtensor<i32>, %arg4: !pd.vtensor<2xf32>):
      %6 = "pd.less_than"(%arg3, %2) : (!pd.vtensor<i32>, !pd.vtensor<i32>) -> !pd.vtensor<i1>
      "scf.condition"(%6, %arg3, %arg4) : (!pd.vtensor<i1>, !pd.vtensor<i32>, !pd.vtensor<2xf32>) -> ()
    }, {
    ^bb0(%arg5: !pd.vtensor<i32>, %arg6: !pd.vtensor<2xf32>):
      %7 = "pd.add"(%arg5, %3) : (!pd.vtensor<i32>, !pd.vtensor<i32>) -> !pd.vtensor<i32>
      %8 = "pd.divide"(%2, %arg2) : (!pd.vtensor<i32>, !pd.vtensor<i32>) -> !pd.vtensor<i32>
      %9 = "pd.cast"(%8) {dtype = f32} : (!pd.vtensor<i32>) -> !pd.vtensor<f32>
      %10 = "pd.multiply"(%arg6, %4) : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
      %11 = "pd.add"(%10, %9) : (!pd.vtensor<2xf32>, !pd.vtensor<f32>) -> !pd.vtensor<2xf32>
      "scf.yield"(%7, %11) : (!pd.vtensor<i32>, !pd.vtensor<2xf32>) -> ()
    }) : (!pd.vtensor<i32>, !pd.vtensor<2xf32>) -> (!pd.vtensor<i32>, !pd.vtensor<2xf32>)
    return %5#1, %arg1, %arg1 : !pd.vtensor<2xf32>, !pd.vtensor<2xf32>, !pd.vtensor<2xf32>
  }
}
