// Modules in MLIR's generic form, over dialects that MLIR, xDSL and tx8ir know or keep as they are. Each piece between
// the marker lines is a module of its own; `tests/core/text/test_peers.py` takes them to xDSL and back.
"builtin.module"() ({
^bb0:
}) : () -> ()
// -----
"builtin.module"() <{sym_name = "outer"}> ({
  "builtin.module"() <{sym_name = "inner"}> ({
  ^bb0:
  }) {dialect.note = "nested"} : () -> ()
}) : () -> ()
// -----
"func.func"() <{sym_name = "declared", function_type = (i32, index) -> f32, sym_visibility = "private"}> ({
}) : () -> ()
// -----
"func.func"() <{sym_name = "annotated", function_type = (i32) -> (i32, f32), arg_attrs = [{test.a = 1 : i32}], res_attrs = [{}, {test.unit}]}> ({
^bb0(%image: i32):
  %c = "arith.constant"() <{value = 1.5 : f32}> : () -> f32
  "func.return"(%image, %c) : (i32, f32) -> ()
}) : () -> ()
// -----
"func.func"() <{sym_name = "callee", function_type = (i32) -> i32}> ({
^bb0(%a: i32):
  "func.return"(%a) : (i32) -> ()
}) : () -> ()
"func.func"() <{sym_name = "caller", function_type = (i32) -> i32}> ({
^bb0(%a: i32):
  %r = "func.call"(%a) <{callee = @callee}> : (i32) -> i32
  "func.return"(%r) : (i32) -> ()
}) : () -> ()
// -----
%0 = "test.op"() {value = 0 : i0, a = -8 : i4, b = 7 : ui3, c = -3 : si32, d = 1 : i128, e = 255 : i8, f = -1 : index, g = true, h = 1 : i1} : () -> i32
// -----
"test.op"() {a = 1.0 : f16, b = 1.0 : bf16, c = 1.0 : f32, d = 1.0, e = 0x7FC00000 : f32, f = 0xFF80 : bf16, g = -0.0 : f64, h = 1.0e-30 : f64, i = 0x7FF0000000000000 : f64} : () -> ()
// -----
"test.op"() {a = f80, b = f128, c = tf32, d = f8E4M3FN, e = f8E5M2, f = f8E4M3, g = f8E3M4, h = f4E2M1FN, i = f6E2M3FN, j = f8E8M0FNU} : () -> ()
// -----
"test.op"() {a = none, b = index, c = tuple<>, d = tuple<i32, tuple<f32, index>>, e = complex<f32>, f = complex<i8>, g = () -> (), h = (i32) -> f32, i = (i32) -> (() -> i1)} : () -> ()
// -----
"test.op"() {a = tensor<f32>, b = tensor<2x?xf32>, c = tensor<*xf32>, d = tensor<4xindex>, e = tensor<4xsi8>, f = tensor<2xcomplex<f64>>, g = tensor<0x4xi1>, h = tensor<2x2xf32, "csr">, i = tensor<3xi7>} : () -> ()
// -----
"test.op"() {a = vector<4xf32>, b = vector<f32>, c = vector<2x[4]xi32>, d = vector<[1]xindex>} : () -> ()
// -----
"test.op"() {a = memref<4xf32>, b = memref<*xi8>, c = memref<?x2xf32, strided<[?, 1], offset: ?>>, d = memref<4xf32, 1 : i32>, e = memref<4x4xf32, affine_map<(d0, d1) -> (d1, d0)>, 3 : i64>, f = memref<2xf32, strided<[4]>>, g = memref<*xf32, 1 : i64>} : () -> ()
// -----
"test.op"() {a = [], b = [1, 2.5, "s", unit, true], c = {}, d = {x = 1 : i8, "with space" = unit, "a-b" = 2 : i64}, e = array<i32>, f = array<i8: 1, -2>, g = array<f32: 1.0, -0.5>, h = array<i1: true, false>} : () -> ()
// -----
"test.op"() {a = @f, b = @a::@b, c = @"quoted name"::@inner::@"x y", d = "tab\09 quote\22 backslash\\ newline\0A"} : () -> ()
// -----
"test.op"() {a = dense<1> : tensor<i32>, b = dense<[1, -2, 3]> : tensor<3xi32>, c = dense<[[1.0, 2.0], [3.0, 4.5]]> : tensor<2x2xf32>, d = dense<true> : tensor<4xi1>, e = dense<[true, false]> : tensor<2xi1>} : () -> ()
// -----
"test.op"() {a = dense<[1, 2]> : vector<2xi32>, b = dense<0.5> : vector<4x4xf64>, c = dense<[1, 2]> : tensor<2xindex>, d = dense<> : tensor<0xf32>, e = dense<"0x0100000002000000"> : tensor<2xi32>} : () -> ()
// -----
"test.op"() {a = dense<(1.0, -2.0)> : tensor<2xcomplex<f32>>, b = dense<[(1, 2), (3, 4)]> : tensor<2xcomplex<i32>>} : () -> ()
// -----
"test.op"() {a = affine_map<() -> ()>, b = affine_map<(d0) -> (d0)>, c = affine_map<(d0, d1)[s0, s1] -> (d0 * 4 + s0, d1 - s1)>, d = affine_map<(d0) -> (d0 floordiv 4, d0 mod 4, d0 ceildiv 3)>} : () -> ()
// -----
"test.op"() {a = affine_map<(d0, d1) -> (-d0, d0 - d1 - 3, d0 * 2 + d1, 7 - d1)>, b = affine_map<(i, j)[n] -> ((i + j) mod 7 + n, i * -1 + 5)>} : () -> ()
// -----
"test.op"() {a = affine_set<(d0) : (d0 >= 0)>, b = affine_set<(d0, d1)[s0] : (d0 - d1 == 0, s0 - d0 - 1 >= 0)>} : () -> ()
// -----
"foreign.op"() <{first = 1 : i32, second}> {third = "discardable"} : () -> ()
// -----
%0:2 = "test.op"() : () -> (i32, f32)
%1 = "test.op"(%0#1, %0#0) : (f32, i32) -> !test.type<"x">
"test.op"(%1) : (!test.type<"x">) -> ()
// -----
"test.region"() ({
^bb0(%a: i32, %b: f32):
  "test.termop"(%a)[^bb1] : (i32) -> ()
^bb1:
  "test.termop"()[^bb0, ^bb1] : () -> ()
}, {
}) : () -> ()
// -----
"unknown.op"() {a = #unknown.attr<1, [2, 3]>, b = #unknown<other "x">, c = !unknown.type<vector<4xf32>>} : () -> ()
// -----
%lb, %ub, %step, %init = "test.op"() : () -> (index, index, index, f32)
%sum = "scf.for"(%lb, %ub, %step, %init) ({
^bb0(%i: index, %acc: f32):
  %next = "arith.addf"(%acc, %acc) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
  "scf.yield"(%next) : (f32) -> ()
}) : (index, index, index, f32) -> f32
// -----
%c, %a, %b = "test.op"() : () -> (i1, i32, i32)
%r = "scf.if"(%c) ({
  "scf.yield"(%a) : (i32) -> ()
}, {
  "scf.yield"(%b) : (i32) -> ()
}) : (i1) -> i32
"scf.if"(%c) ({
  "scf.yield"() : () -> ()
}, {
}) : (i1) -> ()
// -----
%init = "test.op"() : () -> i32
%r = "scf.while"(%init) ({
^bb0(%a: i32):
  %go = "test.op"(%a) : (i32) -> i1
  "scf.condition"(%go, %a) : (i1, i32) -> ()
}, {
^bb0(%a: i32):
  "scf.yield"(%a) : (i32) -> ()
}) : (i32) -> i32
// -----
"func.func"() <{sym_name = "blocks", function_type = (i1, i32) -> i32}> ({
^bb0(%c: i1, %x: i32):
  "cf.cond_br"(%c, %x, %x)[^bb1, ^bb2] <{operandSegmentSizes = array<i32: 1, 1, 1>}> : (i1, i32, i32) -> ()
^bb1(%y: i32):
  "cf.br"(%y)[^bb2] : (i32) -> ()
^bb2(%z: i32):
  "func.return"(%z) : (i32) -> ()
}) : () -> ()
// -----
%lb, %ub, %step = "test.op"() : () -> (index, index, index)
"scf.parallel"(%lb, %ub, %step) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
^bb0(%i: index):
  "scf.reduce"() : () -> ()
}) : (index, index, index) -> ()
// -----
%i = "test.op"() : () -> index
%r = "scf.index_switch"(%i) <{cases = array<i64: 2, 5>}> ({
  %d = "arith.constant"() <{value = 0 : i32}> : () -> i32
  "scf.yield"(%d) : (i32) -> ()
}, {
  %a = "arith.constant"() <{value = 1 : i32}> : () -> i32
  "scf.yield"(%a) : (i32) -> ()
}, {
  %b = "arith.constant"() <{value = 2 : i32}> : () -> i32
  "scf.yield"(%b) : (i32) -> ()
}) : (index) -> i32
// -----
%r = "scf.execute_region"() ({
  %a = "arith.constant"() <{value = 1 : i64}> : () -> i64
  "scf.yield"(%a) : (i64) -> ()
}) : () -> i64
// -----
%n = "test.op"() : () -> index
%m = "memref.alloc"(%n) <{operandSegmentSizes = array<i32: 1, 0>, alignment = 64 : i64}> : (index) -> memref<?x4xf32>
%c0 = "arith.constant"() <{value = 0 : index}> : () -> index
%v = "memref.load"(%m, %c0, %c0) : (memref<?x4xf32>, index, index) -> f32
"memref.store"(%v, %m, %c0, %c0) : (f32, memref<?x4xf32>, index, index) -> ()
"memref.dealloc"(%m) : (memref<?x4xf32>) -> ()
// -----
"memref.global"() <{sym_name = "table", sym_visibility = "private", type = memref<4xi32>, initial_value = dense<[1, 2, 3, 4]> : tensor<4xi32>, constant}> : () -> ()
%t = "memref.get_global"() <{name = @table}> : () -> memref<4xi32>
// -----
%m = "test.op"() : () -> memref<8x8xf32>
%s = "memref.subview"(%m) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 2, 0>, static_sizes = array<i64: 4, 4>, static_strides = array<i64: 1, 1>}> : (memref<8x8xf32>) -> memref<4x4xf32, strided<[8, 1], offset: 16>>
// -----
%t, %i = "test.op"() : () -> (tensor<4x?xf32>, index)
%d = "tensor.dim"(%t, %i) : (tensor<4x?xf32>, index) -> index
%e = "tensor.empty"(%d) : (index) -> tensor<?xf32>
%x = "tensor.extract"(%t, %i, %i) : (tensor<4x?xf32>, index, index) -> f32
%u = "tensor.insert"(%x, %e, %i) : (f32, tensor<?xf32>, index) -> tensor<?xf32>
%c = "tensor.cast"(%u) : (tensor<?xf32>) -> tensor<4xf32>
%f = "tensor.from_elements"(%x, %x) : (f32, f32) -> tensor<2xf32>
// -----
%a, %b, %c = "test.op"() : () -> (tensor<2x3xf32>, tensor<3x4xf32>, tensor<2x4xf32>)
%r = "linalg.generic"(%a, %b, %c) <{indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 2, 1>}> ({
^bb0(%x: f32, %y: f32, %z: f32):
  %p = "arith.mulf"(%x, %y) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
  %q = "arith.addf"(%z, %p) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
  "linalg.yield"(%q) : (f32) -> ()
}) : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
// -----
%c, %x = "test.op"() : () -> (tensor<2x4xf32>, f32)
%r = "linalg.fill"(%x, %c) <{operandSegmentSizes = array<i32: 1, 1>}> ({
^bb0(%a: f32, %b: f32):
  "linalg.yield"(%a) : (f32) -> ()
}) : (f32, tensor<2x4xf32>) -> tensor<2x4xf32>
// -----
%m, %n = "test.op"() : () -> (memref<16xf32>, index)
"affine.for"(%n) <{lowerBoundMap = affine_map<() -> (0)>, upperBoundMap = affine_map<()[s0] -> (s0)>, step = 1 : index, operandSegmentSizes = array<i32: 0, 1, 0>}> ({
^bb0(%i: index):
  %v = "affine.load"(%m, %i) <{map = affine_map<(d0) -> (d0 + 1)>}> : (memref<16xf32>, index) -> f32
  "affine.store"(%v, %m, %i) <{map = affine_map<(d0) -> (d0)>}> : (f32, memref<16xf32>, index) -> ()
  "affine.yield"() : () -> ()
}) : (index) -> ()
// -----
%i = "test.op"() : () -> index
%r = "affine.apply"(%i) <{map = affine_map<(d0) -> (d0 * 2 + 1)>}> : (index) -> index
"affine.if"(%i) <{condition = affine_set<(d0) : (d0 - 3 >= 0)>}> ({
  "affine.yield"() : () -> ()
}, {
}) : (index) -> ()
// -----
%v, %m, %i = "test.op"() : () -> (vector<4xf32>, memref<8xf32>, index)
%l = "vector.load"(%m, %i) : (memref<8xf32>, index) -> vector<4xf32>
%f = "vector.fma"(%v, %l, %l) : (vector<4xf32>, vector<4xf32>, vector<4xf32>) -> vector<4xf32>
"vector.store"(%f, %m, %i) : (vector<4xf32>, memref<8xf32>, index) -> ()
// -----
%x = "test.op"() : () -> i32
%y = "builtin.unrealized_conversion_cast"(%x) : (i32) -> !foreign.type
// -----
"ml_program.global"() <{sym_name = "weights", type = tensor<4xi32>, is_mutable, sym_visibility = "private", value = dense<0> : tensor<4xi32>}> : () -> ()
// -----
%p = "ub.poison"() <{value = #ub.poison}> : () -> i32
// -----
%x, %y = "test.op"() : () -> (complex<f32>, complex<f32>)
%z = "complex.add"(%x, %y) <{fastmath = #arith.fastmath<none>}> : (complex<f32>, complex<f32>) -> complex<f32>
%r = "complex.re"(%z) <{fastmath = #arith.fastmath<none>}> : (complex<f32>) -> f32
%c = "complex.constant"() <{value = [1.0 : f32, -1.0 : f32]}> : () -> complex<f32>
// -----
%t = "test.op"() : () -> tensor<4xf32>
%m = "bufferization.to_buffer"(%t) : (tensor<4xf32>) -> memref<4xf32>
%a = "bufferization.alloc_tensor"() <{operandSegmentSizes = array<i32: 0, 0, 0>}> : () -> tensor<4xf32>
// -----
%x = "test.op"() : () -> i64
%p = "llvm.inttoptr"(%x) : (i64) -> !llvm.ptr
%v = "llvm.load"(%p) <{ordering = 0 : i64}> : (!llvm.ptr) -> f32
// -----
"llvm.func"() <{sym_name = "printf", function_type = !llvm.func<i32 (!llvm.ptr, ...)>, CConv = #llvm.cconv<ccc>, linkage = #llvm.linkage<"external">, visibility_ = 0 : i64}> ({
}) : () -> ()
// -----
%q = "test.op"() : () -> vector<4xi32>
%r = "arith.addi"(%q, %q) <{overflowFlags = #arith.overflow<none>}> : (vector<4xi32>, vector<4xi32>) -> vector<4xi32>
%s = "arith.constant"() <{value = dense<[1, 2, 3, 4]> : vector<4xi32>}> : () -> vector<4xi32>
// -----
%x = "pd.unknown_to_peers"() {pd.note = 3 : i64} : () -> tensor<2x2xf32>
