"""Logical frames in the trees of a report, as tests compare them."""

from collections import Counter, defaultdict


def name_of(node):
    if node["kind"] != "logical":
        return node["method"]
    return node["identifier"] + (f" ({node['parameter']})" if node["parameter"] is not None else "")


def below(root):
    """(node, the nodes above it) of all nodes below the root."""
    stack = [(child, ()) for child in root["children"]]
    while stack:
        node, above = stack.pop()
        yield node, above
        stack += [(child, (*above, node)) for child in node["children"]]


def pushes(tree):
    found = Counter()
    for row in tree["threads"]:
        for node, _ in below(row["root"]):
            if node["kind"] == "logical":
                found[name_of(node)] += node["calls"]
    return found


def shown_below(node, shown):
    for child in node["children"]:
        if child["kind"] == "logical" or child["method"] in shown:
            yield child
        else:
            yield from shown_below(child, shown)


def lines(nodes, shown, level=0):
    """Logical frames and the methods `shown` below these nodes, the same names together, methods first: calls and
    names, a level two spaces. `~`: logical."""
    by_name = defaultdict(list)
    for node in nodes:
        for child in shown_below(node, shown):
            by_name[child["kind"] == "logical", name_of(child)].append(child)
    for (is_logical, name), same in sorted(by_name.items()):
        yield f"{'  ' * level}{sum(node['calls'] for node in same)} {'~' * is_logical}{name}"
        yield from lines(same, shown, level + 1)


def trees(tree, names, shown):
    """By thread."""
    return {row["name"]: "\n" + "\n".join(lines([row["root"]], shown)) for row in tree["threads"] if row["name"] in names}
