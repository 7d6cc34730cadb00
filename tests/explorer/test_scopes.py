"""Layers from names."""

from __future__ import annotations

from tx8ir.explorer.scopes import assign_scopes


def layers(names: list[str], parameters: list[list[str]]) -> list[str]:
    scopes, found = assign_scopes(names, parameters)
    return [scopes[number].path for number in found]


def test_operations_belong_to_the_module_whose_parameters_they_read() -> None:
    parameters = [["h.0.fc.weight"], ["h.0.fc.bias"], [], ["h.0.out.weight"], ["h.0.out.bias"], ["h.1.fc.weight"],
                  ["h.1.fc.bias"], ["h.1.out.weight"], ["h.1.out.bias"]]  # fmt: skip
    assert layers([""] * 9, parameters) == ["h.0.fc", "h.0.fc", "h.0", "h.0.out", "h.0.out", "h.1.fc", "h.1.fc",
                                            "h.1.out", "h.1.out"]  # fmt: skip


def test_or_to_the_one_that_their_name_says() -> None:
    names = ["/a/conv/Conv", "/a/relu/Relu", "/b/conv/Conv", "/b/relu/Relu"]
    assert layers(names, [[]] * 4) == ["a", "a", "b", "b"]


def test_a_parameter_that_several_read_says_nothing() -> None:
    parameters = [["rotary.cos"], ["a.x.weight"], ["a.y.weight"], ["rotary.cos"], ["b.x.weight"], ["b.y.weight"]]
    assert layers([""] * 6, parameters) == ["", "a", "a", "", "b", "b"]


def test_a_frame_around_nearly_everything_is_left_out() -> None:
    parameters = [["m.h.0.a.w"], ["m.h.0.b.w"], ["m.h.1.a.w"], ["m.h.1.b.w"]]
    scopes, _ = assign_scopes([""] * 4, parameters)
    assert [(scope.name, scope.path) for scope in scopes] == [("model", ""), ("h.0", "m.h.0"), ("h.1", "m.h.1")]


def test_programs_without_names_have_one_layer() -> None:
    assert layers(["", "node_1"], [[], []]) == ["", ""]
    assert assign_scopes([], [])[1] == []
