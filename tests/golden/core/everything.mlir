module attributes {note = "x"} {
  func.func @main(%arg0: f32, %arg1: !pd.vtensor<2xf32>) -> (f32, f32) attributes {arg_names = ["a", "b"]} {
    %0 = "test.unary"(%arg0) : (f32) -> f32
    %1:2 = "test.many"(%0, %0) : (f32, f32) -> (f32, !pd.vtensor<2xf32>)
    "test.segments"(%0, %1#0) {operandSegmentSizes = array<i32: 1, 0, 1, 0>} : (f32, f32) -> ()
    "test.attributes"() {box = #test.box<{extents = [], is_open = false, names = [], scale = 1.0 : f64, size = 1 : i64}>, colour = #test<colour Red>, nested = {a, b = [1, "x"]}} : () -> ()
    %2 = "test.scope"(%0) ({
      %3 = "test.unary"(%1#0) : (f32) -> f32
    }, {
    ^bb0(%arg2: f32):
      %4 = "test.unary"(%arg2) : (f32) -> f32
    }) {a} : (f32) -> f32
    "test.isolated"() ({
    ^bb0(%arg0: f32, %arg1: f32):
      %0 = "test.binary"(%arg0, %arg1) : (f32, f32) -> f32
    }) : () -> ()
    "test.graph"() ({
    ^bb0:
      "test.branch"(%0)[^bb1, ^bb2] : (f32) -> ()
    ^bb1:
      "test.jump"(%0)[^bb3] {k} : (f32) -> ()
    ^bb2:
      "test.jump"(%2)[^bb3] : (f32) -> ()
    ^bb3(%arg3: f32):
      "test.stop"() : () -> ()
    }) : () -> ()
    return %0, %2 : f32, f32
  }
  func.func @nothing() {
    return
  }
}
