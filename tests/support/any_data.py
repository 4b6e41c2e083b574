"""Data at random, with texts that YAML reads as something else where nobody quotes them."""

from hypothesis import strategies as st

_SCALARS = st.sampled_from(["a", "b # no comment", "1", "yes", "", "two\nlines\n", "- c", "{d}", "é", 1, 0.5, True, None])
MAPPINGS = st.dictionaries(
    st.sampled_from(["k", "l", "a b", "1", "sidecar.io/x"]),
    st.recursive(
        _SCALARS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["x", "y", "z"]), inner, max_size=3),
        max_leaves=8,
    ),
    min_size=1,
)
