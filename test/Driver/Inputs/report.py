"""Checks a page of --report and a trace of --trace-out against the JSON of the same plan.

report.py PAGE.html PLAN.json [TRACE.json]
report.py --evil MODEL.onnx     gives nodes and parameters of the model names that are markup
"""
import html.parser
import json
import math
import re
import sys

VOID = {"meta", "br", "hr", "img", "link", "input"}


class Page(html.parser.HTMLParser):
    """Every element is closed where it was opened; ids are unique; nothing is fetched."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.values, self.texts, self.tags = [], set(), {}, {}, {}

    def handle_starttag(self, tag, attributes):
        self.tags[tag] = self.tags.get(tag, 0) + 1
        names = [name for name, _ in attributes]
        assert len(names) == len(set(names)), (tag, names)
        attributes = dict(attributes)
        for name in attributes:
            assert name not in ("src", "href", "srcset", "action", "background", "xlink:href") and not name.startswith("on"), (tag, name)
        identity = attributes.get("id")
        if identity:
            assert identity not in self.ids, identity
            self.ids.add(identity)
        if tag == "data":
            self.values[identity] = float(attributes["value"])
        if tag not in VOID:
            self.open.append((tag, identity))

    def handle_startendtag(self, tag, attributes):
        raise AssertionError("<%s/> is no HTML" % tag)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1][0] == tag, (tag, self.open[-3:])
        self.open.pop()

    def handle_data(self, data):
        for _, identity in self.open:
            if identity:
                self.texts[identity] = self.texts.get(identity, "") + data


def check_page(text, plan):
    assert not re.search(r"https?:|//[a-z]|url\(|@import|<script[^>]+src", text), "something from outside"
    assert "prefers-color-scheme:dark" in text and 'name="viewport"' in text
    page = Page()
    page.feed(text)
    page.close()
    assert not page.open, page.open
    assert page.tags["html"] == page.tags["main"] == page.tags["h1"] == page.tags["script"] == 1
    values = page.values
    assert values["step"] == plan["seconds_per_step"]
    assert values["samples"] == plan["samples_per_second"]
    assert values["mfu"] == plan["model_flops_utilization"]
    assert int(values["peak"]) == max(plan["peak_bytes"])
    for stage, peak in enumerate(plan["peak_bytes"]):
        assert stage >= 16 or int(values["peak-%d" % stage]) == peak
    assert values["lower-bound"] == plan["lower_bound"] and math.isclose(values["gap"], plan["gap"])
    assert json.loads(page.texts["plan"]) == plan["plan"]
    assert page.texts["command"].startswith("para-opt ")
    explain = plan["explain"]
    assert values["priced"] == explain["certificate"]["plans_priced"]
    for section in ("map", "timeline", "memory", "costly", "alternatives", "certificate", "reproduce"):
        assert section in page.ids, section
    assert ("refusal" in page.ids) == ("refusal" in explain) and ("whatifs" in page.ids) == bool(explain["what_ifs"])
    for row in explain["stages"]:
        assert row["name"] in page.texts["map"] and row["first_node"] in page.texts["map"], row
    for what in explain["what_ifs"]:
        assert what["change"] in page.texts["whatifs"]
    assert page.tags["rect"] >= 2 * len(plan["peak_bytes"])


def check_trace(trace, plan):
    events = trace["traceEvents"]
    names = [event["args"]["name"] for event in events if event["name"] == "process_name"]
    assert len(names) == len(plan["peak_bytes"]) and all(name.startswith("stage ") for name in names)
    assert plan["explain"]["stages"][0]["name"] in names[0], names
    end = max(event["ts"] + event["dur"] for event in events if event["ph"] == "X")
    assert math.isclose(end * 1e-6, plan["seconds_per_step"], rel_tol=1e-4), (end, plan["seconds_per_step"])
    passes = [event for event in events if event["ph"] == "X" and re.fullmatch(r"F ?\d+", event["name"])]
    assert len(passes) == plan["plan"]["microbatches"] * len(plan["peak_bytes"]), len(passes)


def spoil(path):
    import onnx

    model = onnx.load(path, load_external_data=False)
    evil = "</script><script>alert('1')</script>&\"<b>"
    renamed = {}
    for tensor in model.graph.initializer:
        renamed[tensor.name] = tensor.name.replace("transformer.", evil + ".")
        tensor.name = renamed[tensor.name]
    for node in model.graph.node:
        node.name = evil + node.name
        node.input[:] = [renamed.get(name, name) for name in node.input]
    onnx.save(model, path)


if sys.argv[1] == "--evil":
    spoil(sys.argv[2])
else:
    plan = json.load(open(sys.argv[2]))
    check_page(open(sys.argv[1], encoding="utf-8").read(), plan)
    if len(sys.argv) > 3:
        check_trace(json.load(open(sys.argv[3])), plan)
