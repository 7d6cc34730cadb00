// before
module {
  func.func @step(%x: !pd.vtensor<2x8xf32>) {
    %0 = "builtin.get_parameter"() {name = "count"} : () -> !pd.tensor<2x8xf32>
    %1 = "pd.add_"(%0, %x) : (!pd.tensor<2x8xf32>, !pd.vtensor<2x8xf32>) -> !pd.tensor<2x8xf32>
    return
  }
  func.func @main(%x: !pd.vtensor<2x8xf32>) -> !pd.vtensor<2x8xf32> attributes {arg_names = ["x"], result_names = ["y"]} {
    func.call @step(%x) : (!pd.vtensor<2x8xf32>) -> ()
    %0 = "builtin.get_parameter"() {name = "rate"} : () -> !pd.vtensor<2x8xf32>
    %1 = "builtin.get_parameter"() {name = "count"} : () -> !pd.vtensor<2x8xf32>
    %2 = "pd.multiply"(%0, %1) : (!pd.vtensor<2x8xf32>, !pd.vtensor<2x8xf32>) -> !pd.vtensor<2x8xf32>
    "builtin.set_parameter"(%2) {name = "count"} : (!pd.vtensor<2x8xf32>) -> ()
    %3 = "builtin.get_combine_parameter"() {names = ["kept", "count"]} : () -> !builtin.list<!pd.tensor<2x8xf32>, !pd.tensor<2x8xf32>>
    %4, %5 = "builtin.split"(%3) : (!builtin.list<!pd.tensor<2x8xf32>, !pd.tensor<2x8xf32>>) -> (!pd.tensor<2x8xf32>, !pd.tensor<2x8xf32>)
    %6 = "pd.add"(%4, %5) : (!pd.tensor<2x8xf32>, !pd.tensor<2x8xf32>) -> !pd.tensor<2x8xf32>
    "builtin.set_combine_parameter"(%3) {names = ["count", "kept"]} : (!builtin.list<!pd.tensor<2x8xf32>, !pd.tensor<2x8xf32>>) -> ()
    %7 = "builtin.to_vtensor"(%6) : (!pd.tensor<2x8xf32>) -> !pd.vtensor<2x8xf32>
    return %7 : !pd.vtensor<2x8xf32>
  }
}

// value-signature,lift-state
module {
  func.func @main(%arg0: !pd.vtensor<2x8xf32>, %arg1: !pd.vtensor<2x8xf32>, %arg2: !pd.vtensor<2x8xf32>) -> (!pd.vtensor<2x8xf32>, !pd.vtensor<2x8xf32>, !pd.vtensor<2x8xf32>) attributes {arg_names = ["x", "state:kept", "state:count"], result_names = ["y", "state:kept", "state:count"]} {
    %0 = "builtin.to_tensor"(%arg1) : (!pd.vtensor<2x8xf32>) -> !pd.tensor<2x8xf32>
    %1 = "builtin.to_tensor"(%arg2) : (!pd.vtensor<2x8xf32>) -> !pd.tensor<2x8xf32>
    %2 = "pd.add_"(%1, %arg0) : (!pd.tensor<2x8xf32>, !pd.vtensor<2x8xf32>) -> !pd.tensor<2x8xf32>
    %3 = "builtin.get_parameter"() {name = "rate"} : () -> !pd.vtensor<2x8xf32>
    %4 = "builtin.to_vtensor"(%1) : (!pd.tensor<2x8xf32>) -> !pd.vtensor<2x8xf32>
    %5 = "pd.multiply"(%3, %4) : (!pd.vtensor<2x8xf32>, !pd.vtensor<2x8xf32>) -> !pd.vtensor<2x8xf32>
    %6 = "pd.assign_"(%1, %5) : (!pd.tensor<2x8xf32>, !pd.vtensor<2x8xf32>) -> !pd.tensor<2x8xf32>
    %7 = "builtin.combine"(%0, %1) : (!pd.tensor<2x8xf32>, !pd.tensor<2x8xf32>) -> !builtin.list<!pd.tensor<2x8xf32>, !pd.tensor<2x8xf32>>
    %8:2 = "builtin.split"(%7) : (!builtin.list<!pd.tensor<2x8xf32>, !pd.tensor<2x8xf32>>) -> (!pd.tensor<2x8xf32>, !pd.tensor<2x8xf32>)
    %9 = "pd.add"(%8#0, %8#1) : (!pd.tensor<2x8xf32>, !pd.tensor<2x8xf32>) -> !pd.tensor<2x8xf32>
    %10:2 = "builtin.split"(%7) : (!builtin.list<!pd.tensor<2x8xf32>, !pd.tensor<2x8xf32>>) -> (!pd.tensor<2x8xf32>, !pd.tensor<2x8xf32>)
    %11 = "builtin.to_vtensor"(%10#0) : (!pd.tensor<2x8xf32>) -> !pd.vtensor<2x8xf32>
    %12 = "pd.assign_"(%1, %11) : (!pd.tensor<2x8xf32>, !pd.vtensor<2x8xf32>) -> !pd.tensor<2x8xf32>
    %13 = "builtin.to_vtensor"(%10#1) : (!pd.tensor<2x8xf32>) -> !pd.vtensor<2x8xf32>
    %14 = "pd.assign_"(%0, %13) : (!pd.tensor<2x8xf32>, !pd.vtensor<2x8xf32>) -> !pd.tensor<2x8xf32>
    %15 = "builtin.to_vtensor"(%9) : (!pd.tensor<2x8xf32>) -> !pd.vtensor<2x8xf32>
    %16 = "builtin.to_vtensor"(%0) : (!pd.tensor<2x8xf32>) -> !pd.vtensor<2x8xf32>
    %17 = "builtin.to_vtensor"(%1) : (!pd.tensor<2x8xf32>) -> !pd.vtensor<2x8xf32>
    return %15, %16, %17 : !pd.vtensor<2x8xf32>, !pd.vtensor<2x8xf32>, !pd.vtensor<2x8xf32>
  }
}
