// before
module {
  func.func @main(%arg0: !pd.vtensor<2xf32>) -> (!pd.vtensor<i32>, !pd.vtensor<2xf32>) {
    %0 = "builtin.constant"() {value = dense<0> : !pd.vtensor<i32>} : () -> !pd.vtensor<i32>
    %1 = "builtin.constant"() {value = dense<1> : !pd.vtensor<i32>} : () -> !pd.vtensor<i32>
    %2 = "builtin.constant"() {value = dense<5> : !pd.vtensor<i32>} : () -> !pd.vtensor<i32>
    %3:2 = "scf.while"(%0, %arg0) ({
    ^bb0(%arg1: !pd.vtensor<i32>, %arg2: !pd.vtensor<2xf32>):
      %4 = "pd.less_than"(%arg1, %2) : (!pd.vtensor<i32>, !pd.vtensor<i32>) -> !pd.vtensor<i1>
      %5 = "pd.abs"(%arg2) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
      "scf.condition"(%4, %arg1, %5) : (!pd.vtensor<i1>, !pd.vtensor<i32>, !pd.vtensor<2xf32>) -> ()
    }, {
    ^bb0(%arg3: !pd.vtensor<i32>, %arg4: !pd.vtensor<2xf32>):
      %6 = "pd.add"(%arg3, %1) : (!pd.vtensor<i32>, !pd.vtensor<i32>) -> !pd.vtensor<i32>
      %7 = "pd.exp"(%arg4) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
      "scf.yield"(%6, %7) : (!pd.vtensor<i32>, !pd.vtensor<2xf32>) -> ()
    }) : (!pd.vtensor<i32>, !pd.vtensor<2xf32>) -> (!pd.vtensor<i32>, !pd.vtensor<2xf32>)
    return %3#0, %3#1 : !pd.vtensor<i32>, !pd.vtensor<2xf32>
  }
}

// unroll
module {
  func.func @main(%arg0: !pd.vtensor<2xf32>) -> (!pd.vtensor<i32>, !pd.vtensor<2xf32>) {
    %0 = "builtin.constant"() {value = dense<0> : !pd.vtensor<i32>} : () -> !pd.vtensor<i32>
    %1 = "builtin.constant"() {value = dense<1> : !pd.vtensor<i32>} : () -> !pd.vtensor<i32>
    %2 = "builtin.constant"() {value = dense<5> : !pd.vtensor<i32>} : () -> !pd.vtensor<i32>
    %3 = "pd.less_than"(%0, %2) : (!pd.vtensor<i32>, !pd.vtensor<i32>) -> !pd.vtensor<i1>
    %4 = "pd.abs"(%arg0) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %5 = "pd.add"(%0, %1) : (!pd.vtensor<i32>, !pd.vtensor<i32>) -> !pd.vtensor<i32>
    %6 = "pd.exp"(%4) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %7 = "pd.less_than"(%5, %2) : (!pd.vtensor<i32>, !pd.vtensor<i32>) -> !pd.vtensor<i1>
    %8 = "pd.abs"(%6) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %9 = "pd.add"(%5, %1) : (!pd.vtensor<i32>, !pd.vtensor<i32>) -> !pd.vtensor<i32>
    %10 = "pd.exp"(%8) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %11 = "pd.less_than"(%9, %2) : (!pd.vtensor<i32>, !pd.vtensor<i32>) -> !pd.vtensor<i1>
    %12 = "pd.abs"(%10) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %13 = "pd.add"(%9, %1) : (!pd.vtensor<i32>, !pd.vtensor<i32>) -> !pd.vtensor<i32>
    %14 = "pd.exp"(%12) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %15 = "pd.less_than"(%13, %2) : (!pd.vtensor<i32>, !pd.vtensor<i32>) -> !pd.vtensor<i1>
    %16 = "pd.abs"(%14) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %17 = "pd.add"(%13, %1) : (!pd.vtensor<i32>, !pd.vtensor<i32>) -> !pd.vtensor<i32>
    %18 = "pd.exp"(%16) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %19 = "pd.less_than"(%17, %2) : (!pd.vtensor<i32>, !pd.vtensor<i32>) -> !pd.vtensor<i1>
    %20 = "pd.abs"(%18) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %21 = "pd.add"(%17, %1) : (!pd.vtensor<i32>, !pd.vtensor<i32>) -> !pd.vtensor<i32>
    %22 = "pd.exp"(%20) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %23 = "pd.less_than"(%21, %2) : (!pd.vtensor<i32>, !pd.vtensor<i32>) -> !pd.vtensor<i1>
    %24 = "pd.abs"(%22) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    return %21, %24 : !pd.vtensor<i32>, !pd.vtensor<2xf32>
  }
}
