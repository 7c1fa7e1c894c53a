"""What stands below each path of exact frames."""


def exact_paths(views):
    """{(thread, path): CPU ns}; the path's frames are methods, outermost first, behind the thread's own. What sampled
    frames have is that of the exact frame that they hang under."""
    return sums(views, lambda node: node["base"]["cpu_ns"])


def squared_errors(views):
    """Ditto: {(thread, path): the sum of the squares of what sampled rows there may be off, in ns}."""
    return sums(views, lambda node: node.get("error_ns", 0) ** 2)


def sums(views, value):
    found = {}
    for thread in views["tree"]["threads"]:
        place(thread["root"], (), thread["name"], value, found)
    return found


def place(node, path, thread, value, found):
    if node["kind"] == "exact":
        path += (node["method"],)
    found[thread, path] = found.get((thread, path), 0) + value(node)
    for child in node["children"]:
        place(child, path, thread, value, found)
