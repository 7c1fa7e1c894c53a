"""The expected trees that stand in a program's head comment; the format is in javatest/README.md."""

import fnmatch
import json
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field

RANGE = re.compile(r"\{(\d+)\.\.(\d+)\}")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
NATIVE = re.compile(r"\bnative\s[^;(]*?(\w+)\(")
TREE_LINE = re.compile(r"(\d+|#) (\S+?)(\(\S*)?(?: \* (\d+))?$")
NUMBER = re.compile(r"\d+")
WORD = re.compile(r'"(?:[^"\\]|\\.)*"|\S+')


class Node:
    """A method in one calling context. `key` is (class.method, signature or None)."""

    def __init__(self, calls, name, signature=None):
        self.calls = calls
        self.name = name
        self.signature = signature
        self.children = []

    def lines(self, depth=0):
        """The subtree as text, siblings sorted: what is compared, and shown when it differs."""
        stack = [(depth, self, self.name)]
        while stack:
            level, node, shown = stack.pop()
            yield "  " * level + f"{node.calls} {shown}"
            stack += reversed(list(node.labelled_children(level + 1)))

    def labelled_children(self, level):
        """Children with signatures where siblings differ in nothing else."""
        same = Counter(child.name for child in self.children)
        label = {id(c): c.name + (c.signature or "") if same[c.name] > 1 else c.name
                 for c in self.children}
        return sorted(((level, child, label[id(child)]) for child in self.children),
                      key=lambda entry: entry[2])


@dataclass
class Thread:
    name: str
    kind: str = "platform"
    parent: str = None
    count: int = 1  # of threads whose names match the glob `name`
    is_glob: bool = False
    roots: list = field(default_factory=list)


@dataclass
class Expected:
    main_class: str
    java: list = field(default_factory=list)
    include: str = None
    exit: int = 0
    ledger_at_most: int = None
    resynchronises: bool = False
    threads: list = field(default_factory=list)
    skip: set = field(default_factory=set)
    totals: dict = field(default_factory=dict)
    renames: dict = field(default_factory=dict)
    same_tids: list = field(default_factory=list)
    pinned: dict = field(default_factory=dict)
    native: set = field(default_factory=set)

    def __post_init__(self):
        self.include = self.include or f"{self.main_class}.*;{self.main_class}$*.*"

    def name_of(self, reported):
        """What the head comment calls the thread of that name: itself, or a glob."""
        if any(t.name == reported and not t.is_glob for t in self.threads):
            return reported
        return next((t.name for t in self.threads
                     if t.is_glob and fnmatch.fnmatchcase(reported, t.name)), reported)

    def without_native_methods(self):
        """What is left to expect where native methods have no nodes: what they call is their
        caller's. `native` says which they are."""
        for thread in self.threads:
            thread.roots = without(thread.roots, self.native)
        self.totals = {name: n for name, n in self.totals.items() if name not in self.native}

    def parents(self):
        """(thread, parent) of each thread whose parent is said, as often as there are."""
        pairs = Counter()
        for thread in self.threads:
            if thread.parent:
                pairs[thread.name, thread.parent] += thread.count
        return pairs


def spread(text):
    """`a-{0..2}` gives a-0, a-1, a-2; as many digits as the range is written with."""
    match = RANGE.search(text)
    if not match:
        return [text]
    first, last = match.groups()
    return [text[:match.start()] + str(n).zfill(len(first)) + text[match.end():]
            for n in range(int(first), int(last) + 1)]


def words_of(text):
    return [json.loads(w) if w.startswith('"') else w for w in WORD.findall(text)]


def size_of(text):
    units = {"K": 1 << 10, "M": 1 << 20}
    return int(text[:-1]) * units[text[-1]] if text[-1] in units else int(text)


def without(siblings, names):
    """The nodes but those of that names, whose children move up; equal ones become one."""
    kept = {}
    for node in siblings:
        below = without(node.children, names)
        for one in below if node.name in names else [merged(node, below)]:
            same = kept.get((one.name, one.signature))
            if same:
                same.calls += one.calls
                same.children = without(same.children + one.children, names)
            else:
                kept[one.name, one.signature] = one
    return list(kept.values())


def merged(node, children):
    node.children = children
    return node


def parse(path):
    source = path.read_text()
    package = re.search(r"^package (\S+);", source, re.M)
    expected = Expected((package[1] + "." if package else "") + path.stem)
    expected.native = {f"{expected.main_class}.{name}" for name in NATIVE.findall(COMMENT.sub("", source))}
    comment = re.match(r"/\*.*?\n \* Expected:\n(.*?) \*/", source, re.S)
    if not comment:
        raise SystemExit(f"{path}: no head comment with a line 'Expected:'")
    threads = []  # those that the following lines of a tree belong to
    for number, line in enumerate(comment[1].splitlines(), 1):
        text = line.removeprefix(" *").rstrip()
        depth = (len(text) - len(text.lstrip())) // 2 - 1
        try:
            if depth == 0:
                threads = parse_statement(expected, text.strip())
            else:
                for thread in threads:
                    add_node(thread, text.strip(), depth)
        except (ValueError, IndexError, KeyError, TypeError) as e:
            raise SystemExit(f"{path}: line {number} of Expected: {text.strip()}: {e!r}") from e
    return expected


def parse_statement(expected, text):
    """Handles a line that is not part of a tree; returns the threads it announces."""
    word, _, rest = text.partition(" ")
    words = words_of(rest)
    if word in ("thread", "virtual", "threads", "virtuals"):
        is_glob = word.endswith("s")
        count = int(words.pop(0)) if is_glob else 1
        parent = words[2] if words[1:2] == ["from"] else None
        kind = "virtual" if word.startswith("virtual") else "platform"
        names = [words[0]] if rest.startswith('"') else spread(words[0])
        threads = [Thread(n, kind, parent, count, is_glob) for n in names]
        expected.threads += threads
        return threads
    if word == "total":
        expected.totals[words[0]] = int(words[1])
    elif word == "renamed":
        expected.renames[words[0]] = words[1:]
    elif word == "pinned":
        expected.pinned.update((name, int(words[1])) for name in spread(words[0]))
    elif word == "same-tid":
        expected.same_tids.append(words)
    elif word == "java":
        expected.java = words
    elif word == "exit":
        expected.exit = int(rest)
    elif word == "include":
        expected.include = rest
    elif word == "skip":
        expected.skip.add(rest)
    elif word == "resynchronises":
        expected.resynchronises = True
    elif word == "ledger-at-most":
        expected.ledger_at_most = size_of(rest)
    else:
        raise ValueError("no such statement")
    return []


def add_node(thread, text, depth):
    match = TREE_LINE.match(text)
    if not match:
        raise ValueError("want: CALLS CLASS.METHOD")
    calls, name, signature, chain = match.groups()
    if calls == "#":
        calls = NUMBER.search(thread.name)[0]
    siblings = thread.roots
    for _ in range(depth - 1):
        siblings = bottom(siblings[-1]).children
    for one in spread(name):
        top = last = Node(int(calls), one, signature)
        for _ in range(int(chain or 1) - 1):
            last.children.append(Node(int(calls), one, signature))
            last = last.children[0]
        top.chain_end = last
        siblings.append(top)


def bottom(node):
    """Where the next level hangs: a chain's last node."""
    return node.chain_end


def actual_roots(root, skip):
    """The exact nodes of a reported tree; other kinds of node are left out with what is below."""
    roots = []
    stack = [(root, roots)]
    while stack:
        reported, into = stack.pop()
        for child in reported["children"]:
            name = f"{child['class']}.{child['method']}"
            if child["kind"] == "exact" and name not in skip:
                node = Node(child["calls"], name, child["signature"])
                into.append(node)
                stack.append((child, node.children))
    return roots


def thread_lines(name, kind, roots):
    top = Node(0, "")
    top.children = roots
    return [f"{kind} thread {json.dumps(name)}", *list(top.lines())[1:]]


def compare(expected, reported_threads):
    """Both sides as lists of lines, equal if the trees are: (expected lines, actual lines)."""
    wanted, found = defaultdict(list), defaultdict(list)
    for thread in expected.threads:
        lines = thread_lines(thread.name, thread.kind, thread.roots)
        wanted[thread.name] += [lines] * thread.count
    for thread in reported_threads:
        roots = actual_roots(thread["root"], expected.skip)
        name = expected.name_of(thread["name"])
        if roots or name in wanted:
            found[name].append(thread_lines(name, thread["kind"], roots))

    def flat(groups):
        return [line for name in sorted(groups) for lines in sorted(groups[name]) for line in lines]
    return flat(wanted), flat(found)
